"""Both sides of a comparison: how their tasks differ, and one metric on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from pytest_evalmetrics.data.rewards import TaskId, TaskRewards

__all__ = ["Drift", "PairedMetric"]


@dataclass(frozen=True)
class Drift:
    """How the tasks of a run differ from those of its baseline.

    Attributes
    ----------
    expected
        How many tasks the baseline has.
    moved
        Tasks of the same content under another id: the baseline's id and the run's.
    edited
        Ids whose content changed: they are other tasks now.
    lost, new
        Tasks of the baseline alone and of the run alone, without the edited ones.
    blind
        Whether ids are positions in a data set and nothing tells whether they moved.
    unknown
        Whether the run holds content and its baseline does not.
    """

    expected: int
    moved: tuple[tuple[str, str], ...] = ()
    edited: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    blind: bool = False
    unknown: bool = False


@dataclass(frozen=True)
class PairedMetric:
    """One metric on both sides of a comparison, task by task.

    Attributes
    ----------
    name
        The metric.
    tasks
        The tasks that both sides have, and on which the metric has a value on both.
    baseline, current
        Each task's value, shape (tasks,); None for a metric that can't be split into tasks.
    value_baseline, value_current
        The metric over these tasks.
    rewards_baseline, rewards_current
        The rollouts behind it, aligned with `tasks`.
    difference
        Indices into the tasks of the baseline followed by those of the run, two arrays of shape
        (m,), repeats allowed -> the metric over the first less the metric over the second. None
        where the metric is the mean over tasks.
    reduce
        The metric over other rewards of such tasks; None where it is the mean over tasks.
    task_values
        Each task's value of other rewards; None for a metric that can't be split into tasks.
    extreme
        ``lowest`` or ``highest`` where the metric is that of one task alone; else empty.
    excluded
        Common tasks without a value on one side, such as too few rollouts for pass@k.
    bounded
        Whether the metric is a rate in [0, 1].
    """

    name: str
    tasks: tuple[TaskId, ...]
    baseline: NDArray[np.float64] | None
    current: NDArray[np.float64] | None
    value_baseline: float
    value_current: float
    rewards_baseline: TaskRewards
    rewards_current: TaskRewards
    difference: Callable[[NDArray[np.int64], NDArray[np.int64]], float] | None = None
    reduce: Callable[[TaskRewards], float] | None = None
    task_values: Callable[[TaskRewards], NDArray[np.float64]] | None = None
    extreme: Literal["", "lowest", "highest"] = ""
    excluded: tuple[TaskId, ...] = ()
    bounded: bool = False
