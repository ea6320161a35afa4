"""A metric over the tasks of one side, and the two sides put together."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.data import PairedMetric, TaskRewards
from pytest_evalmetrics.masks import any_of
from pytest_evalmetrics.metrics.calling import call, finite
from pytest_evalmetrics.sums import mean_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskId
    from pytest_evalmetrics.metrics.lookup import BoundMetric

__all__ = ["Side", "WeightedCombine", "paired", "reward_range", "side_of"]

WeightedCombine = Callable[["NDArray[np.float64]", "NDArray[np.float64]"], float]


class Side(msgspec.Struct, frozen=True):
    """A metric over some of the tasks of one side.

    Attributes
    ----------
    metric
        The metric.
    rewards
        What it reduces.
    values
        Each task's value, shape (tasks,), NaN where it has none; None for a metric that is
        no reduction of such.
    combine, combine_weighted
        How the values are reduced where that is no mean.
    """

    metric: BoundMetric
    rewards: TaskRewards
    values: NDArray[np.float64] | None = None
    combine: Callable[[NDArray[np.float64]], float] | None = None
    combine_weighted: WeightedCombine | None = None

    @property
    def is_mean(self) -> bool:
        """Whether the metric is the mean of `values`."""
        return self.values is not None and self.combine is None

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Which tasks have a value, shape (tasks,)."""
        usable = self.rewards.counts >= max(self.metric.samples_needed, 1)
        if self.values is not None:
            usable &= ~np.isnan(self.values)
        return usable

    @property
    def weighted(self) -> WeightedCombine | None:
        """The metric of values that occur so many times each, if it is offered."""
        combine = self.combine_weighted
        if combine is None:
            return None
        return lambda values, times: self._checked("combine_weighted", combine, values, times)

    def take(self, tasks: NDArray[np.int64]) -> Side:
        """Select tasks, ascending."""
        if len(tasks) == len(self.rewards):
            return self
        values = None if self.values is None else self.values[tasks]
        return structs.replace(self, rewards=self.rewards.take(tasks), values=values)

    def value(self) -> float:
        """Compute the metric over all tasks.

        Raises
        ------
        MetricError
            If it fails, or is no finite number.
        """
        if not len(self.rewards):
            return math.nan
        if self.values is None:
            return self.metric.value(self.rewards)
        return self.reduced(self.values)

    def reduced(self, values: NDArray[np.float64]) -> float:
        """Reduce tasks' values; see `value`."""
        if self.combine is not None:
            return self._checked("combine", self.combine, values)
        # in a comparison each task weighs the same, however many rollouts it has on a side
        return mean_of(values)

    def _checked(self, doing: str, function: Any, *args: Any) -> float:
        metric = self.metric
        result = call(metric.label, doing, metric.target, function, *args)
        return finite(metric.label, result, metric.target)


class _Stacked:
    """The tasks of both sides, to be mixed: the metric of one choice of them less of another."""

    def __init__(self, baseline: Side, current: Side) -> None:
        self.side = baseline
        self.values: NDArray[np.float64] | None = None
        self.lists: list[list[float]] | None = None
        if baseline.values is not None and current.values is not None:
            self.values = np.concatenate((baseline.values, current.values))
            return
        one, other = baseline.rewards, current.rewards
        self.rewards = TaskRewards(
            np.concatenate((one.values, other.values)),
            np.concatenate((one.offsets, other.offsets[1:] + one.offsets[-1])),
        )
        if not baseline.metric.vectorised:  # it takes lists: these are made once
            self.lists = self.rewards.to_lists()

    def __call__(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
        return self._over(first) - self._over(second)

    def _over(self, tasks: NDArray[np.int64]) -> float:
        metric = self.side.metric
        if self.values is not None:
            return self.side.reduced(self.values[tasks])
        if self.lists is None:
            return metric.value(self.rewards.take(tasks))
        lists = self.lists
        nested = [lists[i][:] for i in tasks.tolist()]  # a metric may change what it is given
        function = getattr(metric.target, "compute", None) or metric.target
        return finite(
            metric.label,
            call(metric.label, "compute", metric.target, function, nested),
            metric.target,
        )


def side_of(metric: BoundMetric, rewards: TaskRewards, tasks: NDArray[np.int64] | None) -> Side:
    """Select tasks of a side, in that order; None is all of them."""
    if tasks is not None:
        rewards = _taken(rewards, tasks)
    parts = metric.parts(rewards)
    if parts is None:
        return Side(metric, rewards)
    return Side(metric, rewards, parts.values, parts.combine, parts.combine_weighted)


def _taken(rewards: TaskRewards, tasks: NDArray[np.int64]) -> TaskRewards:
    """Select tasks; in less memory where all have as many rollouts."""
    n, rollouts = len(rewards), len(rewards.values)
    k = rollouts // max(n, 1)
    if not k or k * n != rollouts or any_of(np.diff(rewards.offsets) != k):
        return rewards.take(tasks)
    values = rewards.values.reshape(n, k)[tasks].ravel()
    return TaskRewards(values, np.arange(0, len(values) + 1, k))


def paired(
    metric: BoundMetric,
    tasks: tuple[TaskId, ...],
    current: Side,
    baseline: Side,
    *,
    excluded: tuple[TaskId, ...],
) -> PairedMetric:
    """Put two sides of the same tasks together.

    Parameters
    ----------
    metric
        The metric.
    tasks
        The tasks' ids.
    current, baseline
        The metric on them.
    excluded
        Common tasks that are not among them.
    """
    mean = current.is_mean and baseline.is_mean
    values = baseline.value(), current.value()

    def task_values(rewards: TaskRewards) -> NDArray[np.float64]:
        parts = metric.parts(rewards)
        assert parts is not None  # noqa: S101 - it had parts for these tasks
        return parts.values

    # "on [0, 1]" is told by the metric, or seen from the rewards
    seen = reward_range(current.rewards, baseline.rewards) == (0.0, 1.0)
    return PairedMetric(
        name=str(metric),
        tasks=tasks,
        baseline=baseline.values,
        current=current.values,
        value_baseline=values[0],
        value_current=values[1],
        rewards_baseline=baseline.rewards,
        rewards_current=current.rewards,
        difference=None if mean else _Stacked(baseline, current),
        reduce=None if mean else metric.value,
        task_values=None if current.values is None or current.combine else task_values,
        extreme=metric.extreme,
        excluded=excluded,
        bounded=metric.bounded or (seen and not any(v < 0 or v > 1 for v in values)),
    )


def reward_range(*sides: TaskRewards) -> tuple[float, float]:
    """Return what any reward may be: [0, 1] where all lie in it, else what there is."""
    low = min((float(s.values.min()) for s in sides if len(s.values)), default=0.0)
    high = max((float(s.values.max()) for s in sides if len(s.values)), default=1.0)
    return (0.0, 1.0) if low >= 0 and high <= 1 else (low, high)
