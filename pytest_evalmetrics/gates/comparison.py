"""The comparison of a metric with its baseline: change, significance and detectable drop."""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics import stats
from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.gates.randomization import (
    extreme_test,
    relabel_whole,
    swap_test,
)
from pytest_evalmetrics.gates.run_noise import Runs, with_run_noise
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.model.rollout_table import PairedMetric, TaskRewards, TaskRows
from pytest_evalmetrics.sums import mean_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_evalmetrics.gates.decisions import Rule
    from pytest_evalmetrics.model.results import Estimate
    from pytest_evalmetrics.stats.basics import Floats, Ints

LEVEL = 0.95
_POWER = 0.8
_NO_ROOM = 1e-12  # from the end of a rate's range
_STEPS = (
    24  # halvings of the share that is lost, and rounds of a drop of swapped metrics
)
_SETTLED = 1e-3  # the largest relative change in the last of these rounds
_CARRIERS = 10  # tasks on which a metric without an upper end has to rest


class Gated(msgspec.Struct, frozen=True):
    """A metric that is compared with its baseline."""

    pair: PairedMetric  # the metric, on both sides
    rule: Rule
    line: int | None = None  # of the benchmark file that asks for it
    gate_id: str = (
        ""  # of the benchmark and the agent; with the task ids it seeds random numbers
    )
    agent: str = ""  # where a benchmark has several
    worst: PairedMetric | None = None  # the same with missing rewards at their worst
    missing: float = 0.0  # the larger share of missing rewards of both sides
    estimate: Estimate | None = None  # the metric over all tasks of the run
    runs: Runs | None = (
        None  # of a baseline with several: their noise is added to that of tasks
    )
    stated: tuple[float, float] | None = (
        None  # of aggregates: the drop's error, and its df
    )


class Comparison(msgspec.Struct, kw_only=True):
    """One metric against its baseline; a positive drop is damage, whatever the direction."""

    # its tasks have a `RolloutTable`'s order, whatever that of the input, on which sums and draws
    # depend
    gated: Gated
    # each task's damage, shape (tasks,): of the task's value, or where a metric has none for a
    # task, of its mean reward
    damage: Floats
    # each task's share of the drop: `damage`, or the jackknife's pseudo-values; None for a
    # metric that is that of one task alone
    influence: Floats | None = None
    clusters: Ints | None = None  # each task's, from 0; None if tasks are independent
    units: int  # independent ones: tasks, or clusters
    span: float = math.nan  # the largest change of a task: 1 for rates, else as seen
    drop: float = math.nan  # mean damage, in the metric's unit; NaN without tasks
    # the one-sided test of no damage at all, and the drop's interval; p is NaN if nothing can be
    # tested, and the mid-p where all signs are taken
    result: stats.StatResult = stats.StatResult("", math.nan)
    # of no change in any task, by relabelling rollouts within the tasks; NaN where not needed
    p_rollouts: float = math.nan
    blind: str = ""  # why no drop of any size could be significant; empty if one could
    by_rollouts: bool = (
        False  # judged by rollouts alone: too few units for anything else
    )
    mde: float = (
        math.nan
    )  # the smallest drop that the test sees with 80 % power; NaN where unknown
    # where all tasks moved alike, which is where the standard error is 0: the upper bound on the
    # share of tasks that may do otherwise
    unseen: float | None = None
    draws: int = 0  # swaps behind `p`
    carriers: float = (
        0.0  # of a swapped metric: how many tasks it rests on, the unequal as fewer
    )
    untested: str = ""  # why nothing could be tested
    proven: tuple[
        object, ...
    ] = ()  # of a metric of one task: those worse by their own rollouts
    run_sd: float = (
        math.nan
    )  # the noise between runs beyond that of tasks; NaN if unknown

    @property
    def pair(self) -> PairedMetric:
        """The metric on both sides."""
        return self.gated.pair

    @property
    def seed(self) -> int:
        """The seed of the gate's random numbers: reading a million ids costs half a second."""
        digest = blake2b(digest_size=16)
        for task in map(str, self.pair.tasks):
            digest.update(f"{len(task)}:{task}".encode("utf-8", "surrogatepass"))
        return stats.seed_of(
            f"{self.gated.gate_id}::{self.pair.name}", digest.hexdigest()
        )

    @property
    def worse_and_better(self) -> tuple[int, int]:
        """The numbers of tasks that got worse and better."""
        return int((self.damage > 0).sum()), int((self.damage < 0).sum())

    @property
    def improved(self) -> bool:
        """Whether an improvement is significant at the one-sided level of the interval."""
        tail, result = (1 - LEVEL) / 2, self.result
        if not self.drop < 0:
            return False
        if not math.isnan(result.mid_p):
            return 1 - result.p < tail
        if math.isnan(result.high):  # all tasks moved alike
            return result.se == 0 and 0.5**self.units < tail
        return result.high < 0

    def test_drop(self) -> None:
        """Test the drop, see `compare`."""
        pair, rule, stated = self.pair, self.gated.rule, self.gated.stated
        try:
            if len(self.damage) and not self.untested:
                self.drop = rule.sign * (pair.value_baseline - pair.value_current) + 0.0
                if pair.baseline is not None and pair.difference is None:
                    self.drop = mean_of(self.damage)
                if stated is not None:
                    self._test_aggregates(*stated)
                elif pair.extreme:
                    self._test_one_task()
                else:
                    self._test_all_tasks()
                    self._test_by_relabelling()
        except stats.StatsError as error:
            self.untested = str(error)
        except EvalMetricsError as error:  # a metric that is not defined on other tasks
            self.untested = f"on resampled tasks it is not defined: {error.message}"
        se = self.result.se
        if se == 0 and stated is None:
            self.unseen = stats.zero_flip_bound(self.units, rule.alpha)
        if se > 0 and stated is None and not (self.blind or pair.extreme):
            self.mde = self._swapped_drop() if self.draws else self._detectable_drop()
        if self.gated.runs is not None and not math.isnan(self.result.p):
            self._add_run_noise(self.gated.runs, rule.alpha)

    def _add_run_noise(self, runs: Runs, alpha: float) -> None:
        p, se = self.result.p, self.result.se
        noise = with_run_noise(runs, self.drop, p, se, alpha=alpha, level=LEVEL)
        self.run_sd, self.mde = noise.sd, self.mde * noise.wider
        self.result = structs.replace(self.result, p=noise.p)
        if not math.isnan(noise.half):
            wider = structs.replace(self.result, mid_p=math.nan, se=se * noise.wider)
            self.result = wider.around(self.drop, noise.half)

    def _test_all_tasks(self) -> None:
        pair, rule = self.pair, self.gated.rule
        self.influence = self.damage
        if pair.difference is None:
            self.result = stats.mean_test(self.damage, self.clusters, LEVEL)
        elif pair.rewards_baseline.same_as(pair.rewards_current):
            self.result = stats.StatResult("swapped sides", 1.0, se=0.0)
        else:
            self.result, self.influence, self.draws = swap_test(
                pair,
                rule,
                self.damage,
                level=LEVEL,
                seed=self.seed,
                clusters=self.clusters,
            )
        if self.draws:
            df = self.units - 1
            tail, p = (1 - LEVEL) / 2, self.result.p
            half = stats.t_ppf(1 - tail, max(df, 1)) * (self.result.se or math.nan)
            if (
                p < tail and half > self.drop > 0
            ):  # swaps spread a large drop of a median further
                half = self.drop * stats.normal_ppf(tail) / stats.normal_ppf(p)
            self.result = structs.replace(self.result, df=df).around(self.drop, half)
            if pair.bounded:
                low, high = max(self.result.low, -1.0), min(self.result.high, 1.0)
                self.result = structs.replace(self.result, low=low, high=high)
            rest = self.influence - self.influence.mean()
            self.carriers = float((rest @ rest) ** 2 / ((rest**4).sum() or 1.0))
            self.influence = None  # the sum does not represent the metric

    def _test_aggregates(self, se: float, df: float) -> None:
        """Test a drop of aggregates by the standard errors that they came with."""
        p = stats.t_sf(self.drop / se, df) if se > 0 else float(self.drop <= 0)
        name = "Welch's t of the stated standard errors, unpaired"
        half = stats.t_ppf(0.5 + LEVEL / 2, df) * se
        self.result = stats.StatResult(name, p, df=df, se=se).around(self.drop, half)
        self.mde = (
            stats.mde_factor(df, self.gated.rule.alpha) * se if se > 0 else math.nan
        )

    def _test_by_relabelling(self) -> None:
        """Test by rollouts where sides are unequal, or if there are too few units."""
        pair, alpha, sign = self.pair, self.gated.rule.alpha, self.gated.rule.sign
        unequal = bool(
            (pair.rewards_baseline.counts != pair.rewards_current.counts).any()
        )
        clustered = self.clusters is not None
        if 0.5**self.units >= alpha:
            self.blind = too_few(self.units, "cluster" if clustered else "task", alpha)
            if clustered:  # mid-p may be below the least p that is possible
                least = max(self.result.p, 0.5**self.units)
                self.result = structs.replace(self.result, p=least)
        few = not clustered and bool(self.blind)
        if not (few or clustered) and pair.bounded and pair.baseline is not None:
            # does the baseline leave enough tasks room to fall?
            room = pair.baseline if sign > 0 else 1 - pair.baseline
            few = bool(0.5 ** int(np.count_nonzero(room > _NO_ROOM)) >= alpha)
        if not (unequal or few) or self.drop <= 0:
            return
        full, mid = _relabelled(pair, sign, self.seed, self.influence)
        # the full p if it decides alone: with few rollouts mid-p would be much lower
        self.p_rollouts = full if few else mid
        p, name = self.p_rollouts, "relabelled rollouts"
        self.by_rollouts = few and (bool(self.blind) or unequal or p < self.result.p)
        if self.by_rollouts or (unequal and p > self.result.p):
            self.result = structs.replace(self.result, p=p, name=name, mid_p=math.nan)

    def _test_one_task(self) -> None:
        alpha = self.gated.rule.alpha
        self.p_rollouts, least, worst = extreme_test(self.pair, self.gated.rule.sign)
        self.result = stats.StatResult(
            "relabelled rollouts of each task", self.p_rollouts
        )
        self.by_rollouts = True
        self.proven = tuple(self.pair.tasks[i] for i in worst)
        if least >= alpha:
            k = next(k for k in range(1, 64) if 1 / math.comb(2 * k, k) < alpha)
            self.blind = (
                f"a task has too few rollouts: no drop of one task can reach p < {alpha:g}; "
                f"{k} of each task are needed on both sides"
            )

    def _detectable_drop(self) -> float:
        """Return the smallest drop that the test finds with 80 % power; NaN if none is.

        Of rewards with two values each task loses the same share of its good rollouts: that thins
        the current side at random, which adds to the variance of a difference what the loss itself
        brings. Other rewards fall by the same amount. Then drop = (t_{1-alpha} + t_{0.8}) SE(drop)
        (Miller 2024, arXiv 2411.00640, section 5).
        """
        pair, clusters, sign = self.pair, self.clusters, self.gated.rule.sign
        df = self.result.df if self.result.df > 0 else math.inf
        factor = stats.mde_factor(df, self.gated.rule.alpha)
        sides = pair.rewards_baseline.values, pair.rewards_current.values
        low, high = min(v.min() for v in sides), max(v.max() for v in sides)
        two_valued = low < high and all(((v == low) | (v == high)).all() for v in sides)
        if not two_valued or pair.baseline is None or pair.difference is not None:
            return factor * self.result.se
        ends = (low, high) if sign > 0 else (high, low)
        rewards, counts = pair.rewards_current, pair.rewards_current.counts
        passes = np.add.reduceat(
            rewards.values == ends[1], rewards.offsets[:-1], dtype=np.int64
        )
        most = int(counts.max()) + 1
        passes += counts * most
        kinds, times = np.unique(passes, return_counts=True)
        kind = np.searchsorted(kinds, passes)
        sizes, ups = kinds // most, kinds % most
        upto = np.minimum(np.arange(most), ups[:, None])
        # with 0, 1, ... of its good rollouts left, shape (kinds, most)
        held = stats.two_valued(sizes[:, None], upto, ends, _statistic(pair, rewards))
        n = len(counts)
        before = np.bincount(kind, weights=pair.baseline)
        squares, mean = (
            float(pair.baseline @ pair.baseline),
            float(pair.baseline.mean()),
        )

        def lost(share: float) -> tuple[float, float]:
            """Return the drop where such a share is lost, and its standard error."""
            chance = _binomial(ups, most, 1 - share)
            after = (chance * held).sum(axis=1)
            extra = float(times @ ((chance * held**2).sum(axis=1) - after**2)) / n
            drop = sign * float(times @ (held[np.arange(len(kinds)), ups] - after)) / n
            if clusters is not None:
                se = stats.mean_se(pair.baseline - after[kind], clusters).se
                return drop, math.hypot(se, math.sqrt(max(extra, 0.0) / n))
            gap = mean - float(times @ after) / n
            spread = (squares - 2 * before @ after + times @ after**2) / n - gap**2
            variance = spread * n / (n - 1) + extra
            return drop, math.sqrt(max(float(variance), 0.0) / n)

        return thinned_drop(lost, factor)

    def _swapped_drop(self) -> float:
        """Return the drop that a swap test finds with 80 % power, by its errors under that drop.

        Swapping the sides of tasks that differ by a drop spreads the metric by drop / sqrt(units)
        more. A metric without an upper end, such as a latency, mostly grows in proportion, and its
        error with it; NaN where that outruns the drop, or where few tasks carry the metric, as they
        do a high percentile.
        """
        rule, current, se = self.gated.rule, self.pair.value_current, self.result.se
        df = max(self.result.df, 1)
        t_fail, t_power = (stats.t_ppf(p, df) for p in (1 - rule.alpha, _POWER))
        grows = rule.sign < 0 and not self.pair.bounded and current > 0
        if grows and self.carriers < _CARRIERS:
            return math.nan
        drop, last = 0.0, math.inf
        for _ in range(_STEPS):
            times = 1 + drop / current if grows else 1.0
            critical = se * (1 + times) / 2
            if not grows:
                critical = math.hypot(se, drop / math.sqrt(self.units))
            last, drop = (
                drop,
                t_fail * critical + t_power * se * math.sqrt((1 + times**2) / 2),
            )
        return float(f"{drop:.6g}") if drop - last < _SETTLED * drop else math.nan


def compare(gated: Gated) -> Comparison:
    """Test one metric against its baseline; p will be judged at the level of its rule.

    ==================================  =====================================================
    the metric and its tasks            p is
    ==================================  =====================================================
    a mean, fewer than 20 differ        exact sign flips, mid-p (Fisher 1935)
    a mean, 20 or more differ           the paired t test (Miller 2024, arXiv 2411.00640)
    clusters, fewer than 25 differ      exact sign flips of clusters
    clusters, 25 or more differ         t with CR2 errors (Imbens and Kolesar 2016)
    no mean over tasks                  swapped sides, see `randomization.swap_test`
    of one task alone                   see `randomization.extreme_test`
    unequal numbers of rollouts         the larger of it and of relabelled rollouts
    too few tasks for any of these      relabelled rollouts
    aggregates with standard errors     Welch's t (Welch 1947)
    ==================================  =====================================================
    """
    pair, untested = gated.pair, ""
    if pair.baseline is not None and pair.current is not None:
        sides = pair.baseline, pair.current
    else:
        sides = _means(pair.rewards_baseline), _means(pair.rewards_current)
    try:
        damage = gated.rule.sign * stats.paired_differences(*sides) + 0.0  # no -0
    except stats.StatsError as error:  # a value is not a finite number
        damage, untested = np.zeros(len(pair.tasks)), str(error)
    clusters, units = pair.clusters, len(damage)
    if clusters is not None:  # numbered as they appear
        _, first, codes = np.unique(clusters, return_index=True, return_inverse=True)
        clusters, units = np.argsort(np.argsort(first))[codes], len(first)
    comparison = Comparison(gated=gated, damage=damage, clusters=clusters, units=units)
    comparison.untested, comparison.span = untested, _span(pair)
    comparison.test_drop()
    if pair.bounded and comparison.mde > comparison.span:  # no rate falls that far
        comparison.mde = math.nan
    return comparison


def too_few(units: int, of: str, alpha: float) -> str:
    """Explain that no drop over so few tasks, or clusters, can be significant."""
    needed = math.floor(-math.log2(alpha)) + 1
    return f"{many(units, of)}: no drop of any size can reach p < {alpha:g}; {needed} are needed"


def _relabelled(
    pair: PairedMetric, sign: float, seed: int, influence: Floats | None
) -> tuple[float, float]:
    """Return the p and the mid-p of relabelling rollouts within tasks."""
    one, other = pair.rewards_baseline, pair.rewards_current
    means, statistic = (_means(one), _means(other)), _statistic(pair, one)
    # is it the mean of a task's rewards, of these at least?
    if pair.difference is not None:
        if influence is None or not np.allclose(
            influence, sign * (means[0] - means[1])
        ):
            return relabel_whole(pair, sign, seed=seed)
    elif not isinstance(one, TaskRows) and all(
        v is not None and np.allclose(v, m, rtol=1e-9, atol=0)
        for v, m in zip((pair.baseline, pair.current), means, strict=True)
    ):
        statistic = None
    sides = (one.values, one.offsets), (other.values, other.offsets)
    result = stats.relabel_test(*sides, sign=sign, statistic=statistic, seed=seed)
    return result.p, result.mid_p


def _statistic(
    pair: PairedMetric, like: TaskRewards
) -> Callable[[Floats, Ints], Floats] | None:
    """Return what values tasks of other rewards, and where these begin; None for their mean."""
    values = pair.task_values
    return (
        None
        if values is None
        else lambda v, o: values(structs.replace(like, values=v, offsets=o))
    )


def _means(rewards: TaskRewards) -> Floats:
    sums = np.add.reduceat(np.append(rewards.numbers, 0.0), rewards.offsets[:-1])
    return np.asarray(
        np.where(rewards.counts > 0, sums, 0.0) / np.maximum(rewards.counts, 1)
    )


def _span(pair: PairedMetric) -> float:
    if pair.bounded:
        return 1.0
    values = [side for side in (pair.baseline, pair.current) if side is not None]
    seen = np.concatenate(
        values or [pair.rewards_baseline.numbers, pair.rewards_current.numbers]
    )
    return float(np.ptp(seen)) if seen.size else math.nan


def thinned_drop(lost: Callable[[float], tuple[float, float]], factor: float) -> float:
    """Solve drop = factor * SE over the share that is lost; NaN where losing all is not enough."""
    low, high = 0.0, 1.0
    drop, se = lost(1.0)
    if drop < factor * se:
        return math.nan
    for _ in range(_STEPS):
        middle = (low + high) / 2
        drop, se = lost(middle)
        low, high = (middle, high) if drop < factor * se else (low, middle)
    return float(
        f"{drop:.6g}"
    )  # further digits depend on the processor, not on the rollouts


def _binomial(trials: Ints, width: int, chance: float) -> Floats:
    """Return P(X = j), shape (kinds, width)."""
    j = np.arange(width)
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, width + 1)))))
    rest = np.maximum(trials[:, None] - j, 0)
    ways = np.exp(logs[trials][:, None] - logs[j] - logs[rest])
    return np.where(j <= trials[:, None], ways * chance**j * (1 - chance) ** rest, 0.0)
