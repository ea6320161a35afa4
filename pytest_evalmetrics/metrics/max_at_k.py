"""max@k: the best of k rollouts of a task, averaged over tasks; pass@k for graded rewards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.metrics.forms import Vectorised
from pytest_evalmetrics.metrics.protocol import MetricOptions
from pytest_evalmetrics.registry import register_metric
from pytest_evalmetrics.stats import max_at_k

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskRewards

__all__ = ["MaxAtK"]


@register_metric("max@{k}")
class MaxAtK(Vectorised):
    """The expected best of k rollouts of a task, averaged over tasks.

    Parameters
    ----------
    k
        Rollouts that are looked at together.
    options
        The estimator. ``unbiased`` averages over all sets of k rollouts of the task;
        ``first_k`` takes the best of the first k, or of what there is of them.
    """

    def __init__(self, k: int, options: MetricOptions | None = None) -> None:
        self.k = k
        self.first_k = (options or MetricOptions()).first_k
        self.samples_needed = 1 if self.first_k else k

    @property
    def name(self) -> str:
        """``max@3``."""
        return f"max@{self.k}"

    def task_values(self, rewards: TaskRewards) -> NDArray[np.float64]:
        """Estimate each task's best, shape (tasks,); NaN where n < k, if unbiased."""
        values = np.full(len(rewards), np.nan)
        for tasks, block in rewards.blocks():
            best = block[:, : self.k].max(axis=1) if self.first_k else max_at_k(block, self.k)
            values[tasks] = best
        return values
