"""mean_reward, avg: the mean over tasks of the task's mean reward."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pytest_evalmetrics.metrics.forms import Vectorised
from pytest_evalmetrics.metrics.segments import task_means
from pytest_evalmetrics.registry import register_metric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskRewards

__all__ = ["Avg", "MeanReward"]


@register_metric("mean_reward")
class MeanReward(Vectorised):
    """The mean over tasks of the task's mean: each task weighs the same."""

    name: ClassVar[str] = "mean_reward"

    def task_values(self, rewards: TaskRewards) -> NDArray[np.float64]:
        """Average each task, shape (tasks,)."""
        return task_means(rewards)


@register_metric("avg")
class Avg(MeanReward):
    """mean_reward under its other name: each task weighs the same."""

    name: ClassVar[str] = "avg"
