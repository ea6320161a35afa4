"""worst_task: the lowest mean reward of any task."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pytest_evalmetrics.metrics.forms import Vectorised
from pytest_evalmetrics.metrics.segments import task_means
from pytest_evalmetrics.registry import register_metric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskRewards

__all__ = ["WorstTask"]


@register_metric("worst_task")
class WorstTask(Vectorised):
    """The task that does worst."""

    name: ClassVar[str] = "worst_task"
    extreme: ClassVar[Literal["lowest"]] = "lowest"
    no_interval: ClassVar[str] = (
        "the lowest of the tasks has no interval: no resampling of them can show a lower one"
    )

    def task_values(self, rewards: TaskRewards) -> NDArray[np.float64]:
        """Average each task, shape (tasks,)."""
        return task_means(rewards)

    def combine(self, values: NDArray[np.float64]) -> float:
        """Take the lowest of the tasks' means."""
        return float(values.min())

    def combine_weighted(self, values: NDArray[np.float64], times: NDArray[np.float64]) -> float:
        """Take the lowest of the means that occur."""
        return float(values[times > 0].min())
