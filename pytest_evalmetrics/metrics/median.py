"""median: the median over tasks of the task's mean reward."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pytest_evalmetrics.metrics.forms import Vectorised
from pytest_evalmetrics.metrics.segments import task_means
from pytest_evalmetrics.registry import register_metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskRewards

__all__ = ["Median"]


@register_metric("median")
class Median(Vectorised):
    """The task in the middle: half of the tasks do better, half worse."""

    name: ClassVar[str] = "median"

    def task_values(self, rewards: TaskRewards) -> NDArray[np.float64]:
        """Average each task, shape (tasks,)."""
        return task_means(rewards)

    def combine(self, values: NDArray[np.float64]) -> float:
        """Take the median of the tasks' means."""
        return float(np.median(values))

    def combine_weighted(self, values: NDArray[np.float64], times: NDArray[np.float64]) -> float:
        """Take the median of means that occur so many times each."""
        order = np.argsort(values, kind="stable")
        reached = np.cumsum(times[order])
        half = reached[-1] / 2
        # the two in the middle are the same one unless the halves meet between them
        low = order[np.searchsorted(reached, half, side="left")]
        high = order[np.searchsorted(reached, half, side="right")]
        return float((values[low] + values[high]) / 2)
