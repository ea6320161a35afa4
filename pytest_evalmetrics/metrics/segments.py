"""Sums and counts over each task's stretch of a ragged array, without a loop over tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.masks import any_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskRewards

__all__ = ["passes", "task_means", "task_sums"]


def task_sums(rewards: TaskRewards) -> NDArray[np.float64]:
    """Sum each task's rewards, shape (tasks,); 0 for an empty one."""
    sums = np.zeros(len(rewards))
    held = rewards.counts > 0
    if any_of(held):  # reduceat knows no empty stretch: the starts of the others bound it
        sums[held] = np.add.reduceat(rewards.values, rewards.offsets[:-1][held])
    return sums


def task_means(rewards: TaskRewards) -> NDArray[np.float64]:
    """Average each task's rewards, shape (tasks,); NaN for an empty one."""
    means = np.full(len(rewards), np.nan)
    np.divide(task_sums(rewards), rewards.counts, out=means, where=rewards.counts > 0)
    return means


def passes(
    rewards: TaskRewards, threshold: float, *, first: int | None = None
) -> NDArray[np.int64]:
    """Count each task's passing rollouts, shape (tasks,)."""
    running = np.zeros(len(rewards.values) + 1, dtype=np.int64)
    (rewards.values >= threshold).cumsum(out=running[1:])
    starts, stops = rewards.offsets[:-1], rewards.offsets[1:]
    if first is not None:
        stops = np.minimum(starts + first, stops)
    return running[stops] - running[starts]
