"""The smallest drop that a test finds with 80 % power."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics import stats
from pytest_evalmetrics.comparison.noise_scale import OF_AMOUNTS
from pytest_evalmetrics.comparison.relabelling import task_statistic
from pytest_evalmetrics.comparison.typical_drop import (
    LEVEL_SHARE,
    has_extremes,
    rank_damage,
)
from pytest_evalmetrics.model.comparison import RuleName

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_evalmetrics.comparison.drop_tests import DropTest
    from pytest_evalmetrics.comparison.inputs import TaskDamage
    from pytest_evalmetrics.comparison.noise_scale import NoiseScale
    from pytest_evalmetrics.comparison.run_noise import RunNoise
    from pytest_evalmetrics.model.comparison import Floats, Ints, PairedMetric

_POWER = 0.8
_STEPS = 24  # halvings of the share that is lost, and rounds of a swapped metric
_SETTLED = 1e-3  # the largest relative change in the last of these rounds
_MOST_SCALED = 15.0  # times that a value without an upper end may grow by
# the logarithm of the same, where two or three runs differ by a factor
_MOST_OF_LOGS = 10.0
_MOST_RANKED = 40_000  # rollouts of the run: more are ranked too slowly for a forecast
_RANKED_STEPS = 6  # halvings
# of two tests' findings: how often one finds what the other misses, beside independence
_APART = 0.45
_CARRIERS = 10  # tasks on which a metric without an upper end has to rest


class Needed(msgspec.Struct, frozen=True, kw_only=True):
    """What a true drop has to be to fail with 80 % power."""

    t_fail: float  # standard errors that a seen drop has to be at least
    t_power: float  # standard errors that four seen drops of five are not short of
    # the drop that the rule ignores, in the metric's unit
    least: float = 0.0

    # what noise between runs adds to either, in squares and on its scale
    beyond: float = 0.0
    short: float = 0.0
    scale: NoiseScale = OF_AMOUNTS

    def seen(self, se: float, *, at: float = 0.0) -> float:
        """Return the drop that has to be seen, for such a standard error over tasks."""
        return self.scale.drop_of(self._seen_on_scale(se, at=at))

    def drop(self, se: float, *, spread: float | None = None, at: float = 0.0) -> float:
        """Return the true drop for such a standard error over tasks.

        It is the error of a drop of about `at`. `spread` is that of the drops that are
        seen, where the test takes another; of logarithms it is that of no drop.
        """
        seen = self._seen_on_scale(se, at=at)
        if spread is None:
            error = self.scale.of_error(se, at=at)
        else:
            error = self.scale.of_error(spread)
        # four of five drops are not short of the true one by more
        margin = math.hypot(self.t_power * error, self.short)
        return self.scale.drop_of(seen + margin)

    def _seen_on_scale(self, se: float, *, at: float) -> float:
        error = self.scale.of_error(se, at=at)
        proven = math.hypot(self.t_fail * error, self.beyond)
        return max(proven, self.scale.of_drop(self.least))

    def largest_se(self, drop: float) -> float:
        """Return the largest standard error with which a true drop is found, or 0.

        For the rule that ignores no drop, however small.
        """
        any_drop = structs.replace(self, least=0.0)
        if not any_drop.drop(0.0) < drop:
            return 0.0
        most = drop / (self.t_fail + self.t_power)
        return stats.falls_to(lambda se: -any_drop.drop(se), -drop, 0.0, most)


def needed_drop(
    df: float, alpha: float, *, least: float = 0.0, noise: RunNoise | None = None
) -> Needed:
    """Return what a t test with noise between runs needs; NaN for no df."""
    if not df > 0:
        return Needed(t_fail=math.nan, t_power=math.nan)
    needed = Needed(
        t_fail=stats.t_ppf(1 - alpha, df),
        t_power=stats.t_ppf(_POWER, df),
        least=least,
    )
    if noise is None:
        return needed
    return structs.replace(
        needed, beyond=noise.beyond, short=noise.short, scale=noise.scale
    )


def detectable_drop(
    damage: TaskDamage, test: DropTest, *, alpha: float, noise: RunNoise | None = None
) -> float:
    """Return the drop that a test finds with 80 % power; NaN if none is, or it is unknown.

    `alpha` is the level that is left for this test of all that share it.
    """
    if not test.result.se > 0:
        return math.nan
    least = 0.0
    rule = damage.given.rule
    if rule.rule is RuleName.PRACTICAL:
        least = rule.max_drop
    needed = needed_drop(test.result.df, alpha, least=least, noise=noise)
    if damage.given.stated is not None:
        return needed.drop(test.result.se)
    is_blind = 0.5**damage.units >= alpha
    if test.blind is not None or is_blind or damage.pair.extreme:
        return math.nan
    if test.draws:
        return _swapped_drop(damage, test, needed)
    return _drop_over_tasks(damage, test, needed, noise=noise)


# -- a mean over tasks -------------------------------------------------------------------


def _drop_over_tasks(
    damage: TaskDamage, test: DropTest, needed: Needed, *, noise: RunNoise | None
) -> float:
    """Return the drop that a test of tasks' damage finds.

    Of rewards with two values each task loses the same share of its good rollouts: that
    thins the current side at random, which adds to the variance of a difference what
    the loss itself brings. Amounts without a sign, such as latencies, change in
    proportion, and other rewards fall by the same amount. Then drop = (t_{1-alpha} +
    t_{0.8}) SE(drop) (Miller 2024, arXiv 2411.00640, section 5), or t_{0.8} SE(drop)
    more than `max_drop`, which a drop also has to reach.
    """
    thinned = _thinned_run(damage)
    if thinned is not None:
        return thinned_drop(thinned.lost, needed)
    scaled = _scaled_run(damage)
    if scaled is not None:
        by_mean = _scaled_drop(damage, scaled, needed)
        if noise is None and not math.isnan(by_mean):
            return _drop_by_either(damage, scaled, needed, by_mean=by_mean)
        return by_mean
    return needed.drop(test.result.se)


def thinned_drop(
    lost: Callable[[float], tuple[float, float]],
    needed: Needed,
    *,
    most: float = 1.0,
    spread: float | None = None,
) -> float:
    """Solve for the share that is lost; NaN if the most is not enough.

    `lost` takes a share and returns the drop and its standard error; `spread` as for
    `Needed.drop`.
    """
    drop, se = lost(most)
    if not drop >= needed.drop(se, spread=spread, at=drop):
        return math.nan
    low = 0.0
    high = most
    for _ in range(_STEPS):
        middle = (low + high) / 2
        drop, se = lost(middle)
        if drop < needed.drop(se, spread=spread, at=drop):
            low = middle
        else:
            high = middle
    # further digits depend on the processor, not on the rollouts
    return float(f"{drop:.6g}")


class _ScaledRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run in which the value of every task changed in proportion."""

    baseline: Floats  # each task's value, shape (tasks,)
    current: Floats
    clusters: Ints | None
    sign: float

    def lost(self, share: float) -> tuple[float, float]:
        """Return the drop where values change by such a share, and its standard error."""
        after = self.current * (1 - self.sign * share)
        # the drop beyond the one that was seen: that may be by chance
        drop = share * float(self.current.mean())
        return drop, stats.mean_se(self.baseline - after, self.clusters).se


def _scaled_drop(damage: TaskDamage, scaled: _ScaledRun, needed: Needed) -> float:
    """Return the drop that the test of the mean finds, of values that change alike."""
    if not needed.scale.is_of_logs:
        return thinned_drop(scaled.lost, needed, most=_most_scaled(damage))
    return grown_drop(scaled.lost, needed)


def grown_drop(lost: Callable[[float], tuple[float, float]], needed: Needed) -> float:
    """Solve for the rise of values whose runs differ by a factor, as `thinned_drop` does.

    `lost` takes the share by which values grow.
    """

    def grown(log_factor: float) -> tuple[float, float]:
        return lost(math.expm1(log_factor))

    # logarithms spread alike, whatever the values grow to
    _, spread = lost(0.0)
    return thinned_drop(grown, needed, most=_MOST_OF_LOGS, spread=spread)


def _drop_by_either(
    damage: TaskDamage, scaled: _ScaledRun, needed: Needed, *, by_mean: float
) -> float:
    """Return the drop that the test of the mean, or that of most tasks, finds.

    At most the one that the mean needs by itself.
    """
    rollouts = len(damage.pair.rewards_current.values)
    if not has_extremes(damage) or rollouts > _MOST_RANKED:
        return by_mean
    whole = float(scaled.current.mean())
    high = by_mean / whole
    low = high / 2
    for _ in range(_RANKED_STEPS):
        middle = (low + high) / 2
        drop, se = scaled.lost(middle)
        # of four of five drops at the drop that is needed, see `Needed`
        of_mean = stats.normal_sf((needed.seen(se) - drop) / se)
        of_ranks = _power_of_ranks(damage, middle, drop - needed.least)
        if _of_either(of_mean, of_ranks) < _POWER:
            low = middle
        else:
            high = middle
    return float(f"{high * whole:.6g}")


def _power_of_ranks(damage: TaskDamage, share: float, beyond: float) -> float:
    """Return the power of the test of most tasks where values change by such a share."""
    if beyond <= 0:
        return 0.0
    pair = damage.pair
    now = pair.rewards_current
    values = now.numbers * (1 - damage.sign * share)
    changed = structs.replace(pair, rewards_current=structs.replace(now, values=values))
    worse = stats.mean_se(rank_damage(changed, damage.sign), damage.clusters)
    if not worse.se > 0:
        return 1.0
    t = stats.t_ppf(1 - LEVEL_SHARE * damage.share, max(worse.df, 1.0))
    return stats.normal_sf(t - worse.mean / worse.se)


def _of_either(one: float, other: float) -> float:
    """Return the chance of either of two findings whose numbers correlate by .7."""
    larger = max(one, other)
    return larger + _APART * min(one, other) * (1 - larger)


def _most_scaled(damage: TaskDamage) -> float:
    """Return the largest share that values can change by."""
    return 1.0 if damage.sign > 0 else _MOST_SCALED


def _scaled_run(damage: TaskDamage) -> _ScaledRun | None:
    """Scale the current side; None for rates, and for values of either sign."""
    pair = damage.pair
    is_sum = pair.difference is None
    if pair.bounded or not is_sum or pair.baseline is None or pair.current is None:
        return None
    smallest = min(float(pair.baseline.min()), float(pair.current.min()))
    if not smallest > 0:
        return None
    return _ScaledRun(
        baseline=pair.baseline,
        current=pair.current,
        clusters=damage.clusters,
        sign=damage.sign,
    )


class _ThinnedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run in which each task lost the same share of its good rollouts.

    Tasks of as many rollouts, as many of them good, are of one kind.
    """

    baseline: Floats  # each task's value, shape (tasks,)
    mean: float  # of these values
    squares: float  # the sum of their squares
    clusters: Ints | None
    sign: float
    kind: Ints  # of each task, shape (tasks,)
    times: Ints  # how many tasks each kind has, shape (kinds,)
    sums: Floats  # of the baseline's values of each kind, shape (kinds,)
    good: Ints  # the good rollouts of a task, shape (kinds,)
    kept: _Binomials  # of the good rollouts of each kind
    # a task's value with 0, 1, ... good rollouts left, shape (kinds, most + 1)
    held: Floats

    def lost(self, share: float) -> tuple[float, float]:
        """Return the drop where such a share is lost, and its standard error."""
        tasks = len(self.kind)
        chances = self.kept.chances(1 - share)
        # of each kind: the value before, its mean after the loss, and the variance
        whole = self.held[np.arange(len(self.times)), self.good]
        after = (chances * self.held).sum(axis=1)
        variances = (chances * self.held**2).sum(axis=1) - after**2
        drop = self.sign * float(self.times @ (whole - after)) / tasks
        of_loss = float(self.times @ variances) / tasks
        if self.clusters is None:
            variance = self._variance_of_difference(after) + of_loss
            return drop, math.sqrt(max(float(variance), 0.0) / tasks)
        difference = self.baseline - after[self.kind]
        se = stats.mean_se(difference, self.clusters).se
        return drop, math.hypot(se, math.sqrt(max(of_loss, 0.0) / tasks))

    def _variance_of_difference(self, after: Floats) -> float:
        """Return the variance over tasks of the baseline less `after`, by kind."""
        tasks = len(self.kind)
        mean = self.mean - float(self.times @ after) / tasks
        squares = self.squares - 2 * self.sums @ after + self.times @ after**2
        variance = squares / tasks - mean**2
        return float(variance * tasks / (tasks - 1))


def _thinned_run(damage: TaskDamage) -> _ThinnedRun | None:
    """Thin the current side; None for rewards of more than two values, or no values."""
    pair = damage.pair
    ends = _two_values(pair)
    if ends is None or pair.baseline is None or pair.difference is not None:
        return None
    if damage.sign < 0:
        ends = ends[::-1]
    rewards = pair.rewards_current
    width = int(rewards.counts.max()) + 1
    coded = rewards.counts
    coded *= width
    coded += rewards.count(rewards.values == ends[1])
    codes, times = _counted(coded, below=width * width)
    good_of_kind = codes % width
    left = np.minimum(np.arange(width), good_of_kind[:, None])
    statistic = task_statistic(pair, like=rewards)
    kind = np.searchsorted(codes, coded)
    sums = np.bincount(kind, weights=pair.baseline).astype(np.float64, copy=False)
    return _ThinnedRun(
        baseline=pair.baseline,
        mean=float(pair.baseline.mean()),
        squares=float(pair.baseline @ pair.baseline),
        clusters=damage.clusters,
        sign=damage.sign,
        kind=kind,
        times=times,
        sums=sums,
        good=good_of_kind,
        kept=_Binomials.of(good_of_kind, width),
        held=stats.two_valued((codes // width)[:, None], left, ends, statistic),
    )


def _counted(codes: Ints, *, below: int) -> tuple[Ints, Ints]:
    """Return each code that occurs, ascending, and how often."""
    if below > len(codes):
        return np.unique(codes, return_counts=True)
    # few codes of many tasks: without a sorted copy
    times = np.bincount(codes)
    occurring = np.flatnonzero(times)
    return occurring, times[occurring]


def _two_values(pair: PairedMetric) -> tuple[float, float] | None:
    """Return the two values of all rewards, the lower first; None for more, or one."""
    before = pair.rewards_baseline.values
    now = pair.rewards_current.values
    low = min(before.min(), now.min())
    high = max(before.max(), now.max())
    if low == high:
        return None
    for values in (before, now):
        if not ((values == low) | (values == high)).all():
            return None
    return low, high


class _Binomials(msgspec.Struct, frozen=True):
    """The numbers of successes of several numbers of trials: X = 0, 1, ... of each.

    Arrays of shape (trials, most + 1).
    """

    successes: Ints
    failures: Ints
    ways: Floats  # to succeed so many times; 0 for more successes than trials

    @classmethod
    def of(cls, trials: Ints, width: int) -> _Binomials:
        """Count the ways of up to `width` - 1 successes."""
        successes = np.arange(width)
        failures = np.maximum(trials[:, None] - successes, 0)
        logs = np.log(np.arange(1, width + 1))
        log_factorials = np.concatenate(([0.0], np.cumsum(logs)))
        log_ways = log_factorials[trials][:, None] - log_factorials[successes]
        ways = np.exp(log_ways - log_factorials[failures])
        is_possible = successes <= trials[:, None]
        return cls(successes, failures, np.where(is_possible, ways, 0.0))

    def chances(self, chance: float) -> Floats:
        """Return P(X = successes), of a success with such a chance."""
        chances: Floats = self.ways * chance**self.successes
        chances *= (1 - chance) ** self.failures
        return chances


# -- swapped sides -----------------------------------------------------------------------


def _swapped_drop(damage: TaskDamage, test: DropTest, needed: Needed) -> float:
    """Return the drop that a swap test finds, by its errors under that drop.

    Swapping the sides of tasks that differ by a drop spreads the metric by drop /
    sqrt(units) more. A metric without an upper end, such as a latency, mostly grows in
    proportion, and its error with it; NaN where that outruns the drop, or where few
    tasks carry the metric, as they do a high percentile.
    """
    current = damage.pair.value_current
    se = test.result.se
    grows = damage.sign < 0 and not damage.pair.bounded and current > 0
    if grows and test.carriers < _CARRIERS:
        return math.nan
    drop = 0.0
    last = math.inf
    for _ in range(_STEPS):
        if grows:
            times = 1 + drop / current
            critical = se * (1 + times) / 2
            spread = se
            if not needed.scale.is_of_logs:
                spread = se * math.sqrt((1 + times**2) / 2)
        else:
            critical = math.hypot(se, drop / math.sqrt(damage.units))
            spread = se
        last = drop
        drop = needed.drop(critical, spread=spread, at=drop)
    if not drop - last < _SETTLED * drop:
        return math.nan
    return float(f"{drop:.6g}")
