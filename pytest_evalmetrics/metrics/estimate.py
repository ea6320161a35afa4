"""A metric's value and how sure it is.

What is independent are tasks, or clusters of tasks: K rollouts of a task are never K
observations. Where no honest interval can be had there is none, and the reason is said.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.masks import all_of
from pytest_evalmetrics.metrics.calling import call, finite
from pytest_evalmetrics.metrics.median import Median
from pytest_evalmetrics.results import Estimate, Interval
from pytest_evalmetrics.stats import (
    FEWEST,
    StatsError,
    TooManyUnitsError,
    cluster_codes,
    median_interval,
    quantile7,
    ratio_mean,
    reducer_draws,
    seed_of,
    t_interval,
    wilson,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskRewards
    from pytest_evalmetrics.metrics.forms import TaskParts
    from pytest_evalmetrics.metrics.lookup import BoundMetric

    Outcome = tuple[Interval | None, str]

__all__ = ["estimate"]

DRAWS = 999
_NAMED = 10
_MOST_TASKS = 20_000  # resampled in about a second
_MOST_SAMPLES = 20_000  # the same for a metric that takes nested lists


def estimate(
    metric: BoundMetric,
    rewards: TaskRewards,
    *,
    tasks: Sequence[object] | None = None,
    clusters: NDArray[np.int64] | None = None,
    level: float = 0.95,
    value: float | None = None,
    score: str = "",
    missing: int = 0,
    ends: tuple[float, float] | None = None,
) -> Estimate:
    """Compute a metric with its confidence interval.

    ================================================  ==================================
    the metric                                        its interval
    ================================================  ==================================
    a rate whose every task is at 0 or 1              Wilson over tasks
    a mean over tasks                                 Student t over tasks, df = n - 1
    a ratio pooled over tasks of unequal size         t, linearised by task
    either of them with clusters                      t with clustered SE, df = G - 1
    a rate without any spread                         Wilson with value * n successes
    the median of independent tasks                   between two order statistics
    any other reduction of tasks                      percentile bootstrap over tasks,
                                                      or over clusters
    ================================================  ==================================

    Parameters
    ----------
    metric
        The metric.
    rewards
        What it reduces; a task may be empty.
    tasks
        The tasks' ids, for messages.
    clusters
        Each task's cluster, shape (tasks,).
    level
        The interval's confidence.
    value
        The metric's value where it is known to the last digit already.
    score, missing
        What `rewards` are, and how many rollouts have none.
    ends
        The range that its values lie in, where one is known: no interval leaves it.

    Returns
    -------
    Estimate
        Without an interval where none can be had, and then with the reason.

    Raises
    ------
    MetricError
        If the metric can't be computed.

    Notes
    -----
    Miller 2024 (arXiv 2411.00640); Bowyer et al. 2025 (arXiv 2503.01747) for rates of few
    tasks; Cochran 1977, Sampling Techniques, for the ratio.
    """
    measured, parts = metric.measure(rewards, tasks)
    held = rewards.counts > 0 if parts is None else parts.held
    n = int(np.count_nonzero(held))
    observed = _Observed(
        metric, rewards, parts, held, n, None if clusters is None else clusters[held], level, ends
    )
    reason = observed.no_interval()
    interval, reason = (None, reason) if reason else observed.interval()
    return Estimate(
        name=str(metric),
        value=measured if value is None else value,
        tasks=n,
        rollouts=len(rewards.values) if n == len(held) else int(rewards.counts[held].sum()),
        interval=interval,
        reason=reason,
        score=score,
        missing=missing,
        of_tasks=_of_tasks(metric, rewards, parts, tasks) if metric.extreme else (),
    )


def _of_tasks(
    metric: BoundMetric,
    rewards: TaskRewards,
    parts: TaskParts | None,
    tasks: Sequence[object] | None,
) -> tuple[str, ...]:
    """Name the tasks that a metric of one task alone is of."""
    held = np.flatnonzero(rewards.counts)
    lowest = metric.extreme == "lowest"
    if parts is not None:
        values = parts.values[held]
    else:
        ends = np.minimum if lowest else np.maximum
        values = ends.reduceat(rewards.values, rewards.offsets[:-1][held])
    found = held[np.flatnonzero(values == (values.min() if lowest else values.max()))]
    return tuple(str(i if tasks is None else tasks[i]) for i in found[:_NAMED].tolist())


class _Observed(msgspec.Struct, frozen=True):
    """A metric on its rewards: what an interval rests on.

    Attributes
    ----------
    held
        Which tasks have a value, shape (tasks,).
    n
        How many have one.
    clusters
        The clusters of those that have, shape (n,).
    """

    metric: BoundMetric
    rewards: TaskRewards
    parts: TaskParts | None
    held: NDArray[np.bool_]
    n: int
    clusters: NDArray[np.int64] | None
    level: float
    ends: tuple[float, float] | None

    @property
    def is_median(self) -> bool:
        return isinstance(self.metric.target, Median) and self.clusters is None

    @property
    def is_mean(self) -> bool:
        return self.parts is not None and self.parts.combine is None

    def no_interval(self) -> str:
        """Say why none can be had, as far as that is seen from here."""
        if self.metric.no_interval:
            return self.metric.no_interval
        if self.n < FEWEST:
            return "a single task says nothing of the spread between tasks"
        if self.clusters is not None and len(np.unique(self.clusters)) < FEWEST:
            return "all tasks are in one cluster, which says nothing of the spread"
        if not (self.is_mean or self.is_median) and self.n > _MOST_TASKS:
            return f"not computed for this metric over more than {_MOST_TASKS} tasks"
        if not self.metric.vectorised and len(self.rewards.values) > _MOST_SAMPLES:
            return (
                f"not computed over more than {_MOST_SAMPLES} rollouts for a metric without a "
                "vectorised form"
            )
        return ""

    def interval(self) -> Outcome:
        """Compute the interval that fits the metric."""
        if self.parts is not None and self.is_mean:
            return self._of_mean(self.parts)
        if self.parts is not None and self.is_median:
            return self._of_median(self.parts)
        return self._bootstrapped()

    def _of_mean(self, parts: TaskParts) -> Outcome:
        bounded, clusters, held = self.metric.bounded, self.clusters, self.held
        every = self.n == len(held)
        tops, bottoms = (part if every else part[held] for part in (parts.tops, parts.bottoms))
        found = ratio_mean(tops, bottoms, clusters)
        if bounded and (not found.se > 0 or (clusters is None and self._is_rate(parts))):
            successes = min(max(found.mean, 0.0), 1.0) * found.units
            low, high = wilson(successes, found.units, self.level)
            return Interval(low, high, self.level, "wilson"), ""
        if not found.se > 0:
            return None, "every task has the same value, which says nothing of the spread"
        low, high = t_interval(found, self.level)
        least, most = (0.0, 1.0) if bounded else self.ends or (-math.inf, math.inf)
        low, high = max(low, least), min(high, most)
        return Interval(low, high, self.level, "t" if clusters is None else "clustered t"), ""

    def _of_median(self, parts: TaskParts) -> Outcome:
        values = parts.values[self.held]
        low, high = median_interval(values, self.level)
        if low < high:
            return Interval(low, high, self.level, "order statistics"), ""
        if all_of(values == values[0]):
            return None, "every task has the same value, which says nothing of the spread"
        return None, f"{self.n} tasks are too few for an interval of their median"

    def _is_rate(self, parts: TaskParts) -> bool:
        """Whether every task is at 0 or 1."""
        values = parts.values[self.held]
        return parts.additive and all_of((values == 0) | (values == 1))

    def _bootstrapped(self) -> Outcome:
        tasks = np.flatnonzero(self.held)
        weighted: Callable[[NDArray[np.float64]], float] | None = None
        clusters = self.clusters
        if self.parts is not None and self.parts.combine is not None:
            order = np.argsort(self.parts.values[tasks], kind="stable")  # sorted sorts faster
            tasks = tasks[order]
            clusters = None if clusters is None else clusters[order]
            reducer, weighted = self._of_values(self.parts, self.parts.values[tasks])
        else:
            sampled = self.rewards.take(tasks)

            def reducer(picked: NDArray[np.intp]) -> float:
                return self.metric.value(sampled.take(picked))

        groups = None if clusters is None else cluster_codes(clusters, len(tasks))
        rng = np.random.Generator(np.random.PCG64(seed_of(str(self.metric), [len(tasks)])))
        try:
            found = reducer_draws(reducer, len(tasks), groups, DRAWS, rng, weighted=weighted)
        except TooManyUnitsError:
            return None, f"{len(tasks)} tasks are too many to resample this metric"
        except (MetricError, StatsError) as error:
            return None, f"on resampled tasks the metric is not defined: {error.args[0]}"
        low, high = (quantile7(found, (1 + side * self.level) / 2) for side in (-1, 1))
        if low == high:
            return None, "every resampling of the tasks gives the same value"
        return Interval(low, high, self.level, "bootstrap"), ""

    def _of_values(
        self, parts: TaskParts, values: NDArray[np.float64]
    ) -> tuple[Callable[[NDArray[np.intp]], float], Callable[[NDArray[np.float64]], float] | None]:
        """Reduce the tasks' values, picked by index or counted."""
        metric, combine, combine_weighted = self.metric, parts.combine, parts.combine_weighted

        def checked(doing: str, function: Any, *args: Any) -> float:
            result = call(metric.label, doing, metric.target, function, *args)
            return finite(metric.label, result, metric.target)

        def picked(tasks: NDArray[np.intp]) -> float:
            return checked("combine", combine, values[tasks])

        def counted(times: NDArray[np.float64]) -> float:
            return checked("combine_weighted", combine_weighted, values, times)

        return picked, None if combine_weighted is None else counted
