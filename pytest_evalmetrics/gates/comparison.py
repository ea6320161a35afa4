"""How a metric differs from its baseline, how sure that is, and how many tasks flipped."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from pytest_evalmetrics import stats
from pytest_evalmetrics.data import TaskRewards
from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.gates.nonlinear import extreme_test, relabel_whole, swap_test
from pytest_evalmetrics.gates.ordering import in_order, seed_of
from pytest_evalmetrics.gates.power import detectable_drop
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.masks import any_of
from pytest_evalmetrics.sums import mean_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.data import PairedMetric
    from pytest_evalmetrics.gates.nonlinear import WeightedCombine

__all__ = ["LEVEL", "Comparison", "Direction", "compare", "too_few"]

Direction = Literal["higher", "lower"]

LEVEL = 0.95
_FEW = 20  # tasks that differ: below it all signs, above it Student's t
_FEW_CLUSTERS = 25  # the same for clusters, whose sizes skew t for longer
_EXACT = 1e-12  # of the largest: a sum of differences that is 0 but for rounding


class Comparison(msgspec.Struct, frozen=True):
    """One metric against its baseline; a positive drop is damage, whatever the direction.

    Attributes
    ----------
    pair
        The metric on both sides, its tasks in an order that does not depend on the input's.
    damage
        Each task's damage, shape (tasks,): of the task's value, or where a metric has none
        for a task, of its mean reward.
    influence
        What each task adds to the drop, shape (tasks,): `damage`, or the jackknife's
        pseudo-values; None for a metric that is that of one task alone.
    clusters
        What is independent, shape (tasks,), from 0; None where tasks are.
    drop
        Mean damage, in the metric's unit; NaN without tasks.
    low, high
        Its two-sided 95 % interval; NaN where there is none.
    se, df
        Its standard error, with how many degrees of freedom.
    p
        One-sided, of no damage at all; NaN where nothing can be tested.
    p_rollouts
        Of no change in any task, by relabelling rollouts within the tasks; NaN where it was
        not needed.
    test
        The test that `p` comes from; empty where there is none.
    units, clustered
        How many are independent, and whether they are clusters.
    blind
        Why no drop of any size could be significant; empty where one could.
    by_rollouts
        Whether a drop is judged by rollouts alone: too few units for anything else.
    mde
        The smallest drop that the test sees with 80 % power; NaN where it can't be told.
    unseen
        Where all tasks moved alike, which is where the standard error is 0: the upper bound
        on the share of tasks that may do otherwise. Else None.
    span
        The most that a task's value can move: 1 for rates, else what is seen.
    improved
        Whether it is better than the baseline beyond noise.
    draws, seed
        Of a swap test: swaps behind `p`, and the seed.
    untested
        Why nothing could be tested.
    proven
        The tasks that are worse by their own rollouts, for a metric of one task alone.
    """

    pair: PairedMetric
    damage: NDArray[np.float64]
    influence: NDArray[np.float64] | None
    clusters: NDArray[np.int64] | None
    drop: float
    low: float
    high: float
    se: float
    df: float
    p: float
    p_rollouts: float
    test: str
    units: int
    clustered: bool
    blind: str
    by_rollouts: bool
    mde: float
    unseen: float | None
    span: float
    improved: bool
    draws: int = 0
    seed: int | None = None
    untested: str = ""
    proven: tuple[object, ...] = ()

    @property
    def baseline(self) -> float:
        """The metric of the baseline."""
        return self.pair.value_baseline

    @property
    def current(self) -> float:
        """The metric of the run."""
        return self.pair.value_current

    @property
    def tasks(self) -> int:
        """How many tasks are paired."""
        return len(self.pair.tasks)


def compare(
    pair: PairedMetric,
    *,
    direction: Direction,
    alpha: float,
    gate_id: str,
    clusters: NDArray[np.int64] | None = None,
    combine_weighted: WeightedCombine | None = None,
) -> Comparison:
    """Test one metric against its baseline.

    Parameters
    ----------
    pair
        The metric on both sides.
    direction
        Which way is good.
    alpha
        The level at which the caller will judge p.
    gate_id
        Names the gate: with the task ids it seeds random numbers, where any are needed.
    clusters
        Each task's cluster, shape (tasks,).
    combine_weighted
        Reduces tasks' values that occur so many times each, where the metric offers that.

    Returns
    -------
    Comparison
        Without a p value where the metric can't be tested, and then with the reason.

    Notes
    -----
    ==================================  =====================================================
    the metric and its tasks            p is
    ==================================  =====================================================
    a mean, fewer than 20 differ        exact sign flips, mid-p (Fisher 1935)
    a mean, 20 or more differ           the paired t test (Miller 2024, arXiv 2411.00640)
    clusters, fewer than 25 differ      exact sign flips of clusters
    clusters, 25 or more differ         t with CR2 errors (Imbens and Kolesar 2016)
    no mean over tasks                  swapped sides, see `nonlinear.swap_test`
    of one task alone                   see `nonlinear.extreme_test`
    unequal numbers of rollouts         the larger of it and of relabelled rollouts
    too few tasks for any of these      relabelled rollouts
    ==================================  =====================================================
    """
    pair, clusters = in_order(pair, clusters)
    sign = 1.0 if direction == "higher" else -1.0
    damage, untested = _damage(pair, sign)
    n = len(damage)
    units = n if clusters is None else len(np.unique(clusters))
    found = _Found(units, clusters)
    drop = math.nan
    try:
        if n and not untested:
            if pair.baseline is None or pair.difference is not None:
                drop = sign * (pair.value_baseline - pair.value_current) + 0.0
            else:
                drop = mean_of(damage)
            found.seed = seed_of(f"{gate_id}::{pair.name}", pair.tasks)
            if pair.extreme:
                found.of_one_task(pair, sign, alpha)
            else:
                found.of_all_tasks(pair, sign, damage, alpha, combine_weighted)
                found.by_relabelling(pair, sign, drop, alpha)
    except stats.StatsError as error:
        untested = str(error)
    except EvalMetricsError as error:  # a metric that is not defined on other tasks
        untested = f"on resampled tasks it is not defined: {error.message}"
    interval = found.interval
    unseen = stats.zero_flip_bound(units, alpha) if interval.se == 0 else None
    return Comparison(
        pair=pair,
        damage=damage,
        influence=found.influence,
        clusters=found.clusters,
        drop=drop,
        low=interval.low,
        high=interval.high,
        se=interval.se,
        df=interval.df,
        p=found.p,
        p_rollouts=found.p_rollouts,
        test=found.test,
        units=units,
        clustered=clusters is not None,
        blind=found.blind,
        by_rollouts=found.rollouts_alone,
        mde=math.nan
        if found.blind or pair.extreme or not interval.se > 0
        else detectable_drop(pair, sign, interval, alpha=alpha, clusters=clusters),
        unseen=unseen,
        span=_span(pair),
        improved=_improved(drop, interval, found.p if found.exact else math.nan),
        draws=found.draws,
        seed=found.seed if found.draws else None,
        untested=untested,
        proven=tuple(pair.tasks[i] for i in found.proven),
    )


def too_few(units: int, of: str, alpha: float) -> str:
    """Say that with so many tasks, or clusters, no drop can be significant."""
    needed = math.floor(-math.log2(alpha)) + 1
    return f"{many(units, of)}: no drop of any size can reach p < {alpha:g}; {needed} are needed"


class _Found:
    """What the tests of one comparison find, one after the other."""

    def __init__(self, units: int, clusters: NDArray[np.int64] | None) -> None:
        self.units, self.clusters = units, clusters
        self.interval = stats.StatResult("", math.nan)
        self.influence: NDArray[np.float64] | None = None
        self.p = self.p_rollouts = math.nan
        self.test = self.blind = ""
        self.exact = self.rollouts_alone = False
        self.draws, self.seed = 0, 0
        self.proven: tuple[int, ...] = ()

    def of_all_tasks(
        self,
        pair: PairedMetric,
        sign: float,
        damage: NDArray[np.float64],
        alpha: float,
        combine_weighted: WeightedCombine | None,
    ) -> None:
        """Test the drop over tasks, or over clusters of them."""
        self.influence = damage
        if pair.difference is None:
            self._take(_linear_test(damage, self.clusters))
        elif _same(pair):
            self.p, self.test = 1.0, "swapped sides"
            self.interval = stats.StatResult(self.test, 1.0, se=0.0, units=self.units)
        else:
            swapped = swap_test(
                pair,
                sign,
                _linear_test,
                alpha=alpha,
                seed=self.seed,
                clusters=self.clusters,
                combine_weighted=combine_weighted,
            )
            self.influence = swapped.damage
            self._take(swapped.linear)
            if swapped.draws:
                self.p, self.draws, self.test = swapped.p, swapped.draws, "swapped sides"
                self.influence = None  # its sum is no stand-in for the metric
                half = stats.t_ppf(0.5 + LEVEL / 2, max(self.units - 1, 1)) * swapped.se
                drop = sign * (pair.value_baseline - pair.value_current)
                self.interval = stats.StatResult(
                    self.test,
                    self.p,
                    df=self.units - 1,
                    se=swapped.se,
                    low=drop - half,
                    high=drop + half,
                    units=self.units,
                )

    def _take(self, linear: _Linear) -> None:
        self.p, self.test, self.exact = linear.p, linear.name, linear.exact
        self.interval = linear.interval

    def by_relabelling(self, pair: PairedMetric, sign: float, drop: float, alpha: float) -> None:
        """Test by rollouts where sides are unequal, or where there are too few units."""
        counts = pair.rewards_baseline.counts, pair.rewards_current.counts
        unequal = any_of(counts[0] != counts[1])
        of = "cluster" if self.clusters is not None else "task"
        if 0.5**self.units >= alpha:
            self.blind = too_few(self.units, of, alpha)
        if self.blind and self.clusters is not None:  # mid-p may fall below what can be reached
            self.p = max(self.p, 0.5**self.units)
        few = self.clusters is None and (bool(self.blind) or _susceptible(pair, sign, alpha))
        if not (unequal or few) or drop <= 0:
            return
        full, mid = _relabelled(pair, sign, self.seed, self.influence)
        # alone it decides by the full p: of few rollouts half of what was seen is much
        self.p_rollouts = full if few else mid
        if few and (self.blind or unequal or self.p_rollouts < self.p):
            self.p, self.test, self.rollouts_alone = self.p_rollouts, "relabelled rollouts", True
        elif unequal and self.p_rollouts > self.p:
            self.p, self.test = self.p_rollouts, "relabelled rollouts"
        self.exact = self.exact and self.test != "relabelled rollouts"

    def of_one_task(self, pair: PairedMetric, sign: float, alpha: float) -> None:
        """Test single tasks by their own rollouts."""
        found = extreme_test(pair, sign)
        self.p = self.p_rollouts = found.p
        self.test, self.rollouts_alone = "relabelled rollouts of each task", True
        self.proven = found.tasks
        if found.least >= alpha:
            k = next(k for k in range(1, 64) if 1 / math.comb(2 * k, k) < alpha)
            self.blind = (
                f"a task has too few rollouts: no drop of any size can reach p < {alpha:g}; "
                f"{k} of each task are needed on both sides"
            )


class _Linear(msgspec.Struct, frozen=True):
    """The test of a mean: its p, by which test, and the interval."""

    p: float
    name: str
    exact: bool
    interval: stats.StatResult

    @property
    def se(self) -> float:
        return self.interval.se

    @property
    def units(self) -> int:
        return self.interval.units


def _linear_test(damage: NDArray[np.float64], clusters: NDArray[np.int64] | None) -> _Linear:
    """Test a mean over tasks, or clusters of them."""
    interval = stats.paired_t(damage, clusters=clusters, alternative="greater", level=LEVEL)
    # a cluster's tasks have one sign to flip
    units = damage if clusters is None else np.bincount(clusters, weights=damage)
    moved = np.abs(units) > _EXACT * np.abs(units).max(initial=0.0)
    count = int(np.count_nonzero(moved))
    p, name, exact = interval.p, interval.name, False
    if 0 < count < (_FEW if clusters is None else _FEW_CLUSTERS):
        found = stats.signflip_exact(units, alternative="greater")
        p, name, exact = found.mid_p, found.name, True
        if clusters is not None:
            name = f"clustered {name}"
    elif count and not any_of(units[moved] < 0):
        p = min(p, 0.5**count)  # all worse: a spread among these is no doubt
    return _Linear(p, name, exact, interval)


def _susceptible(pair: PairedMetric, sign: float, alpha: float) -> bool:
    """Whether the baseline leaves so few tasks room to fall that no drop could be significant."""
    if not pair.bounded or pair.baseline is None:
        return False
    room = pair.baseline if sign > 0 else 1 - pair.baseline
    return bool(0.5 ** int(np.count_nonzero(room > _EXACT)) >= alpha)


def _relabelled(
    pair: PairedMetric, sign: float, seed: int, influence: NDArray[np.float64] | None
) -> tuple[float, float]:
    """Return the p and the mid-p of relabelling rollouts within tasks."""
    sides = pair.rewards_baseline, pair.rewards_current
    means = [_means(side) for side in sides]
    values = pair.task_values
    # is it the mean of a task's rewards, of these at least?
    if pair.difference is not None:
        if influence is None or not np.allclose(influence, sign * (means[0] - means[1])):
            return relabel_whole(pair, sign, seed=seed)
    elif all(
        v is not None and np.allclose(v, m, rtol=1e-9, atol=0)
        for v, m in zip((pair.baseline, pair.current), means, strict=True)
    ):
        values = None
    found = stats.relabel_test(
        (sides[0].values, sides[0].offsets),
        (sides[1].values, sides[1].offsets),
        sign=sign,
        statistic=None if values is None else lambda v, o: values(TaskRewards(v, o)),
        seed=seed,
    )
    return found.p, found.mid_p


def _same(pair: PairedMetric) -> bool:
    """Whether both sides hold the same numbers."""
    one, other = pair.rewards_baseline, pair.rewards_current
    return np.array_equal(one.values, other.values) and np.array_equal(one.offsets, other.offsets)


def _improved(drop: float, interval: stats.StatResult, exact: float) -> bool:
    """Whether the one-sided p of an improvement is below what the interval leaves out."""
    tail = (1 - LEVEL) / 2
    if not drop < 0:
        return False
    if not math.isnan(exact):
        return 1 - exact < tail
    if math.isnan(interval.high):  # all tasks moved alike
        return interval.se == 0 and 0.5**interval.units < tail
    return interval.high < 0


def _damage(pair: PairedMetric, sign: float) -> tuple[NDArray[np.float64], str]:
    """Return each task's damage; zeros and the reason where a value is no finite number."""
    if pair.baseline is not None and pair.current is not None:
        sides = pair.baseline, pair.current
    else:
        sides = _means(pair.rewards_baseline), _means(pair.rewards_current)
    try:
        damage = stats.paired_differences(*sides)
    except stats.StatsError as error:
        return np.zeros(len(pair.tasks)), str(error)
    damage *= sign
    damage += 0.0  # no -0
    return damage, ""


def _means(rewards: TaskRewards) -> NDArray[np.float64]:
    sums = np.add.reduceat(np.append(rewards.values, 0.0), rewards.offsets[:-1])
    means: NDArray[np.float64] = np.where(rewards.counts > 0, sums, 0.0) / np.maximum(
        rewards.counts, 1
    )
    return means


def _span(pair: PairedMetric) -> float:
    if pair.bounded:
        return 1.0
    sides = [side for side in (pair.baseline, pair.current) if side is not None and len(side)]
    sides = sides or [r.values for r in (pair.rewards_baseline, pair.rewards_current)]
    filled = [side for side in sides if len(side)]
    if not filled:
        return math.nan
    return float(max(s.max() for s in filled) - min(s.min() for s in filled))
