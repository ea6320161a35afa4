"""NeMo Gym's base statistics of one score as metrics, so that they can be gated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.metrics.basestats import statistics_of
from pytest_evalmetrics.metrics.forms import Vectorised
from pytest_evalmetrics.metrics.segments import task_sums
from pytest_evalmetrics.spec.metric_names import STATISTICS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskRewards

__all__ = ["PooledMean", "PooledStatistic", "statistic"]


class PooledMean(Vectorised):
    """The mean over all rollouts; its interval is by task, for these are independent."""

    name = "mean"

    def task_parts(self, rewards: TaskRewards) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Sum each task's rollouts, and count them."""
        return task_sums(rewards), rewards.counts.astype(np.float64)


class PooledStatistic(Vectorised):
    """max, min, median or std over all rollouts.

    Parameters
    ----------
    name
        Which of them.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.extreme = {"min": "lowest", "max": "highest"}.get(name, "")
        self.no_interval = f"no interval is computed for the {name} of pooled rollouts"

    def compute_array(self, rewards: TaskRewards) -> float:
        """Pool all rollouts; the std of a single one is not defined."""
        if self.name == "std" and len(rewards.values) == 1:
            return float("nan")
        return statistics_of(rewards.values)[STATISTICS.index(self.name)]


def statistic(name: str) -> PooledMean | PooledStatistic:
    """Return the base statistic of that name as a metric."""
    return PooledMean() if name == "mean" else PooledStatistic(name)
