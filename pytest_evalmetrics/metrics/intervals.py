"""A metric's estimate, with the confidence interval that its form allows.

What is independent are tasks, or clusters of tasks: K rollouts of a task are never K
observations. Where no honest interval can be had there is none, with the reason.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics import stats
from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.metrics.metric import BoundMetric, TaskParts, vectorised
from pytest_evalmetrics.model.estimates import Estimate, Interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pytest_evalmetrics.metrics.metric import WeightedCombine
    from pytest_evalmetrics.metrics.samples import Sample
    from pytest_evalmetrics.model.rollout_table import TaskRewards

    Reducer = Callable[[NDArray[np.intp]], float]
    Weighed = Callable[[NDArray[np.float64]], float]

_UNIT = (0.0, 1.0)
_DRAWS = 999
_MOST_LEFT_OUT = 500  # tasks, or clusters, of which each is left out once
_NAMED = 10
_MOST_TASKS = 20_000  # resampled in about a second
_MOST_SAMPLES = 20_000  # the same for a metric that takes nested lists
_MIDDLE = (0.25, 0.75)  # rates whose tasks are not skewed much
_FEW_CLUSTERS = 30
_FEW_OFF = 6  # least tasks of a rate away from its end for which t is used
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
    a rate whose every task is at 0 or 1              Clopper and Pearson over tasks
    a mean over tasks                                 Student t over tasks, df = n - 1
    a mean that is no rate, of skewed tasks           the same, wider towards the tail by
                                                      Hall's transformation, and by Cox's
                                                      interval of a lognormal mean
    a rate most of whose tasks are at 0, or at 1      the wider of both, ends of each
    a rate below .25, above .75, or of few clusters   the wider of t and of Korn and
                                                      Graubard's, ends of each
    a ratio pooled over tasks of unequal size         t, linearised by task
    either of them with clusters                      t with clustered SE, df = G - 1
    a rate without any spread                         the same with value * n successes
    a median or quantile of independent tasks         between two order statistics
    any other reduction of tasks                      the wider of the BCa bootstrap and
                                                      the jackknife, over tasks or
                                                      clusters
    ================================================  ==================================

    `value` is the metric's where it is known to the last digit already, and `ends` the range that
    its values lie in, where one is known; any mean on [0, 1] is treated as a rate. Miller 2024
    (arXiv 2411.00640); Clopper and Pearson 1934 for rates of single rollouts; Cochran 1977,
    Sampling Techniques, for the ratio.
    """
    rewards = sample.rewards
    measured, parts = metric.measure(rewards, sample.tasks)
    held = rewards.counts > 0
    if parts is not None:
        held = parts.held
    clusters = sample.clusters
    if clusters is not None:
        clusters = clusters[held]
    observed = _Observed(
        metric=metric,
        rewards=rewards,
        parts=parts,
        held=held,
        clusters=clusters,
        level=level,
        ends=ends,
    )
    if value is None:
        value = measured
    estimated = Estimate(
        name=str(metric),
        value=value,
        tasks=int(np.count_nonzero(held)),
        rollouts=int(rewards.counts[held].sum()),
        score=sample.score,
        missing=sample.missing,
    )
    if metric.extreme:
        of_tasks = _tasks_at_extreme(metric, sample, parts)
        estimated = structs.replace(estimated, of_tasks=of_tasks)
    outcome = observed.interval()
    if isinstance(outcome, str):
        return structs.replace(estimated, interval=None, reason=outcome)
    return structs.replace(estimated, interval=outcome, reason="")


def _tasks_at_extreme(
    metric: BoundMetric, sample: Sample, parts: TaskParts | None
) -> tuple[str, ...]:
    """Name the tasks that a metric of one task alone is of."""
    rewards = sample.rewards
    end_of: np.ufunc = np.maximum
    if metric.extreme == "lowest":
        end_of = np.minimum
    held = np.flatnonzero(rewards.counts)
    if parts is not None:
        values = parts.values[held]
    else:
        values = end_of.reduceat(rewards.values, rewards.offsets[:-1][held])
    extreme = end_of.reduce(values)
    places = held[np.flatnonzero(values == extreme)]
    return tuple(str(sample.tasks[place]) for place in places[:_NAMED].tolist())


class _Observed(msgspec.Struct, frozen=True):
    """A metric on its rewards: what an interval rests on.

    Attributes
    ----------
    metric, rewards, parts
        The metric, the rollouts by task, and each task's part; None if it has none.
    held
        The tasks that have a value, shape (tasks,).
    clusters
        The cluster of each task that has a value; None for independent tasks.
    level
        The level of the interval, such as 0.95.
    ends
        The range that values lie in; None if it is not known.
    """

    metric: BoundMetric
    rewards: TaskRewards
    parts: TaskParts | None
    held: NDArray[np.bool_]
    clusters: NDArray[np.int64] | None
    level: float
    ends: tuple[float, float] | None

    def interval(self) -> Interval | str:
        """Compute the metric's interval, or return the reason why it has none."""
        if reason := self._why_none():
            return reason
        if self.parts is not None and self.parts.combine is None:
            return self._of_mean(self.parts)
        quantile = self.metric.quantile
        if quantile is not None and self.clusters is None:
            values = self._independent_values()
            if values is not None:
                return self._of_quantile(values, quantile)
        return self._why_not_resampled() or self._bootstrapped()

    def _why_none(self) -> str:
        """Say why there is no interval whatever the form of the metric; empty if there is."""
        if self.metric.no_interval:
            return self.metric.no_interval
        if np.count_nonzero(self.held) < stats.FEWEST:
            return "a single task says nothing of the spread between tasks"
        if self.clusters is not None and len(np.unique(self.clusters)) < stats.FEWEST:
            return "all tasks are in one cluster, which says nothing of the spread"
        return ""

    def _independent_values(self) -> NDArray[np.float64] | None:
        """Return what a quantile is taken of, if that is one value of each task."""
        if self.parts is not None:
            return self.parts.values[self.held]
        if self.rewards.counts.max() == 1:
            return self.rewards.values
        return None

    # -- means and rates ---------------------------------------------------------------------

    def _of_mean(self, parts: TaskParts) -> Interval | str:
        held = _HeldParts(
            tops=self._of_held(parts.tops),
            bottoms=self._of_held(parts.bottoms),
            values=self._of_held(parts.values),
        )
        mean = stats.ratio_mean(held.tops, held.bottoms, self.clusters)
        bounded = self.metric.bounded or self.ends == _UNIT
        if bounded and (self._are_all_or_none(held) or not mean.se > 0):
            share = min(max(mean.mean, 0.0), 1.0)
            passed = share * mean.units
            low, high = stats.clopper_pearson(passed, mean.units, self.level)
            return Interval(low, high, self.level, "clopper-pearson")
        if not mean.se > 0:
            return _NO_SPREAD
        if bounded:
            low, high = self._ends_of_rate(held, mean)
        else:
            low, high = self._ends_of_amount(held, mean)
        least, most = self._range(bounded=bounded)
        method = "t"
        if self.clusters is not None:
            method = "clustered t"
        return Interval(max(low, least), min(high, most), self.level, method)

    def _are_all_or_none(self, held: _HeldParts) -> bool:
        """Check whether each task counts alike, by itself, and passes wholly or not at all."""
        if self.clusters is not None or not held.weigh_alike:
            return False
        return bool(((held.values == 0) | (held.values == 1)).all())

    def _ends_of_rate(
        self, held: _HeldParts, mean: stats.MeanSE
    ) -> tuple[float, float]:
        """Widen Student's interval where few tasks pass, or fail, or the rate is skewed."""
        low, high = stats.t_interval(mean, self.level)
        if self._is_near_an_end(held.values):
            exact_low, exact_high = stats.clopper_pearson(
                mean.mean * mean.units, mean.units, self.level
            )
            low = min(low, exact_low)
            high = max(high, exact_high)
        if self._is_skewed(mean):
            errors = held.errors(mean) / held.bottoms.mean()
            exact_low, exact_high = stats.skewed_rate_interval(
                mean, errors, self.clusters, self.level
            )
            low = min(low, exact_low)
            high = max(high, exact_high)
        return low, high

    def _ends_of_amount(
        self, held: _HeldParts, mean: stats.MeanSE
    ) -> tuple[float, float]:
        """Return the interval of numbers without a range, which may be skewed."""
        values = None
        if held.weigh_alike:
            values = held.values
        return stats.skewed_mean_interval(
            mean, held.errors(mean), self.level, clusters=self.clusters, values=values
        )

    def _of_held(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Choose the tasks that have a value; nothing is copied where all have one."""
        if self.held.all():
            return values
        return values[self.held]

    def _is_near_an_end(self, values: NDArray[np.float64]) -> bool:
        """Check whether too few tasks of a rate are away from 0, or from 1, for t alone."""
        away = min(np.count_nonzero(values < 1), np.count_nonzero(values > 0))
        return bool(away < min(_FEW_OFF, len(values) / 2))

    def _is_skewed(self, mean: stats.MeanSE) -> bool:
        """Check whether a rate is near 0 or 1, or of few clusters, where t is too sure."""
        if self.clusters is not None and mean.units < _FEW_CLUSTERS:
            return True
        return not _MIDDLE[0] <= mean.mean <= _MIDDLE[1]

    def _range(self, *, bounded: bool) -> tuple[float, float]:
        if bounded:
            return _UNIT
        return self.ends or (-math.inf, math.inf)

    # -- quantiles -----------------------------------------------------------------------------

    def _of_quantile(
        self, values: NDArray[np.float64], quantile: float
    ) -> Interval | str:
        low, high = stats.quantile_interval(values, quantile, self.level)
        if low < high:
            return Interval(low, high, self.level, "order statistics")
        if (values == values[0]).all():
            return _NO_SPREAD
        name = "their median"
        if quantile != 0.5:
            name = self.metric.name.metric
        return f"{len(values)} tasks are too few for an interval of {name}"

    # -- any other reduction -------------------------------------------------------------------

    def _why_not_resampled(self) -> str:
        """Say why resampling would take too long; empty if it would not."""
        if np.count_nonzero(self.held) > _MOST_TASKS:
            return f"not computed for this metric over more than {_MOST_TASKS} tasks"
        takes_lists = not vectorised(self.metric.target)
        if takes_lists and len(self.rewards.values) > _MOST_SAMPLES:
            return (
                f"not computed over more than {_MOST_SAMPLES} rollouts for a metric "
                "without a vectorised form"
            )
        return ""

    def _bootstrapped(self) -> Interval | str:
        resampling = self._resampling()
        count = resampling.count
        if resampling.weighed is None and count > stats.MOST_TASKS:
            return f"{count} tasks are too many to resample this metric"
        seed = stats.seed_of(str(self.metric), str(count))
        try:
            draws = stats.reducer_draws(
                resampling.reducer,
                count,
                resampling.clusters,
                _DRAWS,
                np.random.Generator(np.random.PCG64(seed)),
                weighted=resampling.weighed,
            )
        except MetricError as error:
            return f"on resampled tasks the metric is not defined: {error.message}"
        if draws.min() == draws.max():
            return "every resampling of the tasks gives the same value"
        value = resampling.reducer(np.arange(count))
        left_out = self._without_each_unit(resampling)
        low, high = stats.bootstrap_interval(draws, value, left_out, self.level)
        return Interval(low, high, self.level, "bootstrap")

    def _without_each_unit(self, resampling: _Resampling) -> NDArray[np.float64] | None:
        """Compute the metric without each task, or cluster; None where it can't be."""
        tasks = np.arange(resampling.count)
        units = resampling.clusters
        if units is None:
            units = tasks
        names = np.unique(units)
        if len(names) > _MOST_LEFT_OUT:
            return None
        try:
            values = [resampling.reducer(tasks[units != name]) for name in names]
        except MetricError:
            return None
        return np.array(values)

    def _resampling(self) -> _Resampling:
        tasks = np.flatnonzero(self.held)
        parts = self.parts
        if parts is not None and parts.combine is not None:
            # what is sorted once sorts faster in each draw
            order = np.argsort(parts.values[tasks], kind="stable")
            values = parts.values[tasks[order]]
            clusters = self.clusters
            if clusters is not None:
                clusters = clusters[order]
            return _Resampling(
                count=len(tasks),
                reducer=partial(_reduced, parts.combine, values),
                clusters=clusters,
                weighed=_weighed(parts.combine_weighted, values),
            )
        sampled = self.rewards.take(tasks)
        weighed = None
        if self.metric.weighs:
            weighed = partial(self.metric.weighed, sampled)
        return _Resampling(
            count=len(tasks),
            reducer=self.metric.of_choice(sampled),
            clusters=self.clusters,
            weighed=weighed,
        )


class _HeldParts(msgspec.Struct, frozen=True):
    """What the tasks that have a value add to a mean, shapes (tasks,); see `TaskParts`."""

    tops: NDArray[np.float64]
    bottoms: NDArray[np.float64]
    values: NDArray[np.float64]

    @property
    def weigh_alike(self) -> bool:
        """Whether each task has the same weight."""
        return bool((self.bottoms == self.bottoms[0]).all())

    def errors(self, mean: stats.MeanSE) -> NDArray[np.float64]:
        """Return how far each task is from the mean, times its weight."""
        return np.asarray(self.tops - mean.mean * self.bottoms)


class _Resampling(msgspec.Struct, frozen=True):
    """How tasks are drawn again.

    Attributes
    ----------
    count
        The number of tasks.
    reducer
        Returns the metric over a choice of tasks, repeats allowed.
    clusters
        The cluster of each task, shape (count,); None for independent tasks.
    weighed
        Returns the metric where each task occurs so many times, shape (count,); None if
        the metric doesn't offer it.
    """

    count: int
    reducer: Reducer
    clusters: NDArray[np.int64] | None
    weighed: Weighed | None


def _reduced(
    combine: Callable[[NDArray[np.float64]], float],
    values: NDArray[np.float64],
    picked: NDArray[np.intp],
) -> float:
    return combine(values[picked])


def _weighed(
    combine: WeightedCombine | None, values: NDArray[np.float64]
) -> Weighed | None:
    if combine is None:
        return None
    return lambda times: float(combine(values, times[None])[0])
