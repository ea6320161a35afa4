"""A metric's value and its confidence interval.

What is independent are tasks, or clusters of tasks: K rollouts of a task are never K
observations. Where no honest interval can be had there is none, with the reason.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_evalmetrics import stats
from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.results import Estimate, Interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskRewards
    from pytest_evalmetrics.metrics.metric import BoundMetric, TaskParts
    from pytest_evalmetrics.metrics.samples import Sample

DRAWS = 999
_NAMED = 10
_MOST_TASKS = 20_000  # resampled in about a second
_MOST_SAMPLES = 20_000  # the same for a metric that takes nested lists
_NO_SPREAD = "every task has the same value, which says nothing of the spread"


def estimate(
    metric: BoundMetric,
    sample: Sample,
    *,
    level: float = 0.95,
    value: float | None = None,
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

    `value` is the metric's where it is known to the last digit already, and `ends` the range that
    its values lie in, where one is known. Miller 2024 (arXiv 2411.00640); Bowyer et al. 2025 (arXiv
    2503.01747) for rates of few tasks; Cochran 1977, Sampling Techniques, for the ratio.
    """
    rewards = sample.rewards
    measured, parts = metric.measure(rewards, sample.tasks)
    held = rewards.counts > 0 if parts is None else parts.held
    clusters = None if sample.clusters is None else sample.clusters[held]
    outcome = _Observed(metric, rewards, parts, held, clusters, level, ends).interval()
    interval, reason = (None, outcome) if isinstance(outcome, str) else (outcome, "")
    return Estimate(
        name=str(metric),
        value=measured if value is None else value,
        tasks=int(np.count_nonzero(held)),
        rollouts=int(rewards.counts[held].sum()),
        interval=interval,
        reason=reason,
        score=sample.score,
        missing=sample.missing,
        of_tasks=_of_tasks(metric, sample, parts) if metric.extreme else (),
    )


def _of_tasks(metric: BoundMetric, sample: Sample, parts: TaskParts | None) -> tuple[str, ...]:
    """Name the tasks that a metric of one task alone is of."""
    rewards = sample.rewards
    held = np.flatnonzero(rewards.counts)
    lowest = metric.extreme == "lowest"
    if parts is not None:
        values = parts.values[held]
    else:
        ends = np.minimum if lowest else np.maximum
        values = ends.reduceat(rewards.values, rewards.offsets[:-1][held])
    places = held[np.flatnonzero(values == (values.min() if lowest else values.max()))]
    return tuple(str(sample.tasks[i]) for i in places[:_NAMED].tolist())


class _Observed(msgspec.Struct, frozen=True):
    """A metric on its rewards: what an interval rests on."""

    metric: BoundMetric
    rewards: TaskRewards
    parts: TaskParts | None
    held: NDArray[np.bool_]  # which tasks have a value, shape (tasks,)
    clusters: NDArray[np.int64] | None  # of those that have
    level: float
    ends: tuple[float, float] | None

    def interval(self) -> Interval | str:  # noqa: PLR0911 - a table
        """Compute the interval that fits the metric, or say why there is none."""
        parts, clusters, n = self.parts, self.clusters, int(np.count_nonzero(self.held))
        if self.metric.no_interval:
            return self.metric.no_interval
        if n < stats.FEWEST:
            return "a single task says nothing of the spread between tasks"
        if clusters is not None and len(np.unique(clusters)) < stats.FEWEST:
            return "all tasks are in one cluster, which says nothing of the spread"
        if parts is not None and parts.combine is None:
            return self._of_mean(parts)
        quantile = getattr(self.metric.target, "quantile", None)
        if quantile is not None and clusters is None:  # of independent values
            if parts is not None:
                return self._of_quantile(parts.values[self.held], quantile)
            if self.rewards.counts.max() == 1:
                return self._of_quantile(self.rewards.values, quantile)
        if n > _MOST_TASKS:
            return f"not computed for this metric over more than {_MOST_TASKS} tasks"
        if not self.metric.vectorised and len(self.rewards.values) > _MOST_SAMPLES:
            return (
                f"not computed over more than {_MOST_SAMPLES} rollouts for a metric without a "
                "vectorised form"
            )
        return self._bootstrapped()

    def _of_mean(self, parts: TaskParts) -> Interval | str:
        bounded, held = self.metric.bounded, self.held
        tops, bottoms, values = parts.tops[held], parts.bottoms[held], parts.values[held]
        mean = stats.ratio_mean(tops, bottoms, self.clusters)
        is_rate = self.clusters is None and (bottoms == bottoms[0]).all()
        is_rate = is_rate and ((values == 0) | (values == 1)).all()
        if bounded and (is_rate or not mean.se > 0):
            successes = min(max(mean.mean, 0.0), 1.0) * mean.units
            bounds = stats.wilson(successes, mean.units, self.level)
            return Interval(*bounds, self.level, "wilson")
        if not mean.se > 0:
            return _NO_SPREAD
        low, high = stats.t_interval(mean, self.level)
        least, most = (0.0, 1.0) if bounded else self.ends or (-math.inf, math.inf)
        method = "t" if self.clusters is None else "clustered t"
        return Interval(max(low, least), min(high, most), self.level, method)

    def _of_quantile(self, values: NDArray[np.float64], quantile: float) -> Interval | str:
        low, high = stats.quantile_interval(values, quantile, self.level)
        if low < high:
            return Interval(low, high, self.level, "order statistics")
        if (values == values[0]).all():
            return _NO_SPREAD
        name = "their median" if quantile == 0.5 else self.metric.name.metric  # noqa: PLR2004
        return f"{len(values)} tasks are too few for an interval of {name}"

    def _bootstrapped(self) -> Interval | str:
        parts, clusters, tasks = self.parts, self.clusters, np.flatnonzero(self.held)
        reducer: Callable[[NDArray[np.intp]], float]
        n = len(tasks)
        if parts is not None and parts.combine is not None:
            order = np.argsort(parts.values[tasks], kind="stable")  # sorted sorts faster
            clusters = None if clusters is None else clusters[order]
            values, combine = parts.values[tasks[order]], parts.combine
            weighted = parts.combine_weighted and partial(parts.combine_weighted, values)

            def reducer(picked: NDArray[np.intp]) -> float:
                return combine(values[picked])
        else:
            sampled = self.rewards.take(tasks)
            reducer = self.metric.of_choice(sampled)
            weighted = partial(self.metric.weighed, sampled) if self.metric.weighs else None
        if weighted is None and n > stats.MOST_TASKS:
            return f"{n} tasks are too many to resample this metric"
        rng = np.random.Generator(np.random.PCG64(stats.seed_of(str(self.metric), str(n))))
        try:
            draws = stats.reducer_draws(reducer, n, clusters, DRAWS, rng, weighted=weighted)
        except MetricError as error:
            return f"on resampled tasks the metric is not defined: {error.message}"
        low, high = (stats.quantile7(draws, (1 + side * self.level) / 2) for side in (-1, 1))
        if low == high:
            return "every resampling of the tasks gives the same value"
        return Interval(low, high, self.level, "bootstrap")
