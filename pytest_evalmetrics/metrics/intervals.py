"""A metric's value and its confidence interval.

What is independent are tasks, or clusters of tasks: K rollouts of a task are never K
observations. Where no honest interval can be had there is none, with the reason.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from pytest_evalmetrics import stats
from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.results import Estimate, Interval

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskRewards
    from pytest_evalmetrics.metrics.metric import BoundMetric, TaskParts

    Outcome = tuple[Interval | None, str]  # without an interval the reason

DRAWS = 999
_NAMED = 10
_MOST_TASKS = 20_000  # resampled in about a second
_MOST_SAMPLES = 20_000  # the same for a metric that takes nested lists
_NO_SPREAD = "every task has the same value, which says nothing of the spread"


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
    a median or quantile of independent tasks         between two order statistics
    any other reduction of tasks                      percentile bootstrap over tasks,
                                                      or over clusters
    ================================================  ==================================

    `tasks` are the tasks' ids, for messages. `value` is the metric's where it is known to the last
    digit already, and `ends` the range that its values lie in, where one is known. Miller 2024
    (arXiv 2411.00640); Bowyer et al. 2025 (arXiv 2503.01747) for rates of few tasks; Cochran 1977,
    Sampling Techniques, for the ratio.
    """
    measured, parts = metric.measure(rewards, tasks)
    held = rewards.counts > 0 if parts is None else parts.held
    n = int(np.count_nonzero(held))
    clusters = None if clusters is None else clusters[held]
    interval, reason = _Observed(metric, rewards, parts, held, n, clusters, level, ends).interval()
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
    places = held[np.flatnonzero(values == (values.min() if lowest else values.max()))]
    return tuple(str(i if tasks is None else tasks[i]) for i in places[:_NAMED].tolist())


class _Observed(msgspec.Struct, frozen=True):
    """A metric on its rewards: what an interval rests on."""

    metric: BoundMetric
    rewards: TaskRewards
    parts: TaskParts | None
    held: NDArray[np.bool_]  # which tasks have a value, shape (tasks,)
    n: int  # how many have one
    clusters: NDArray[np.int64] | None  # of those that have, shape (n,)
    level: float
    ends: tuple[float, float] | None

    def interval(self) -> Outcome:  # noqa: PLR0911 - a table
        """Compute the interval that fits the metric, or say why there is none."""
        parts, clusters = self.parts, self.clusters
        if self.metric.no_interval:
            return None, self.metric.no_interval
        if self.n < stats.FEWEST:
            return None, "a single task says nothing of the spread between tasks"
        if clusters is not None and len(np.unique(clusters)) < stats.FEWEST:
            return None, "all tasks are in one cluster, which says nothing of the spread"
        is_mean = parts is not None and parts.combine is None
        quantile = self._ordered()
        if not is_mean and quantile is None and self.n > _MOST_TASKS:
            return None, f"not computed for this metric over more than {_MOST_TASKS} tasks"
        if not self.metric.vectorised and len(self.rewards.values) > _MOST_SAMPLES:
            return None, (
                f"not computed over more than {_MOST_SAMPLES} rollouts for a metric without a "
                "vectorised form"
            )
        if parts is not None and is_mean:
            return self._of_mean(parts)
        if quantile is not None:
            return self._of_quantile(*quantile)
        return self._bootstrapped()

    def _of_mean(self, parts: TaskParts) -> Outcome:
        bounded, clusters, held = self.metric.bounded, self.clusters, self.held
        every = self.n == len(held)
        tops, bottoms = (part if every else part[held] for part in (parts.tops, parts.bottoms))
        mean = stats.ratio_mean(tops, bottoms, clusters)
        values = parts.values[held]
        is_rate = clusters is None and parts.additive and ((values == 0) | (values == 1)).all()
        if bounded and (is_rate or not mean.se > 0):
            successes = min(max(mean.mean, 0.0), 1.0) * mean.units
            return Interval(
                *stats.wilson(successes, mean.units, self.level), self.level, "wilson"
            ), ""
        if not mean.se > 0:
            return None, _NO_SPREAD
        low, high = stats.t_interval(mean, self.level)
        least, most = (0.0, 1.0) if bounded else self.ends or (-math.inf, math.inf)
        method = "t" if clusters is None else "clustered t"
        return Interval(max(low, least), min(high, most), self.level, method), ""

    def _ordered(self) -> tuple[NDArray[np.float64], float] | None:
        """Return the independent values of a quantile, and which it is; else None."""
        quantile = getattr(self.metric.target, "quantile", None)
        if quantile is None or self.clusters is not None:
            return None
        if self.parts is not None:
            return self.parts.values[self.held], quantile
        return (self.rewards.values, quantile) if self.rewards.counts.max() == 1 else None

    def _of_quantile(self, values: NDArray[np.float64], quantile: float) -> Outcome:
        low, high = stats.quantile_interval(values, quantile, self.level)
        if low < high:
            return Interval(low, high, self.level, "order statistics"), ""
        if (values == values[0]).all():
            return None, _NO_SPREAD
        name = "their median" if quantile == 0.5 else self.metric.name.metric  # noqa: PLR2004
        return None, f"{self.n} tasks are too few for an interval of {name}"

    def _bootstrapped(self) -> Outcome:  # noqa: C901 - a form of the metric each
        metric, parts, clusters = self.metric, self.parts, self.clusters
        tasks = np.flatnonzero(self.held)
        weighted: Callable[[NDArray[Any]], float] | None = None
        if parts is not None and parts.combine is not None:
            order = np.argsort(parts.values[tasks], kind="stable")  # sorted sorts faster
            clusters = None if clusters is None else clusters[order]
            values, combine = parts.values[tasks[order]], parts.combine
            of_weights = parts.combine_weighted

            def reducer(picked: NDArray[np.intp]) -> float:
                return metric.checked("combine", combine, values[picked])

            if of_weights is not None:

                def weighted(times: NDArray[np.float64]) -> float:
                    return metric.checked("combine_weighted", of_weights, values, times)
        else:
            sampled = self.rewards.take(tasks)
            if metric.weighs:
                weighted = partial(metric.weighed, sampled)

            def reducer(picked: NDArray[np.intp]) -> float:
                if weighted is not None:
                    return weighted(np.bincount(picked, minlength=len(tasks)))
                return metric.anew(sampled.take(picked))

        groups = None if clusters is None else stats.cluster_codes(clusters, len(tasks))
        rng = np.random.Generator(np.random.PCG64(stats.seed_of(str(metric), [len(tasks)])))
        try:
            draws = stats.reducer_draws(reducer, len(tasks), groups, DRAWS, rng, weighted=weighted)
        except stats.TooManyUnitsError:
            return None, f"{len(tasks)} tasks are too many to resample this metric"
        except (MetricError, stats.StatsError) as error:
            return None, f"on resampled tasks the metric is not defined: {error.args[0]}"
        low, high = (stats.quantile7(draws, (1 + side * self.level) / 2) for side in (-1, 1))
        if low == high:
            return None, "every resampling of the tasks gives the same value"
        return Interval(low, high, self.level, "bootstrap"), ""
