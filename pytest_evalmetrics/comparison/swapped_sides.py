"""The test of a metric that is no mean over tasks, by random changes of sides.

Nothing changed means that a task's two results could have changed sides, so the metric
is computed again with the sides of random tasks swapped. Its linear part, the
jackknife's pseudo-values, is tested as a mean is; where both always agree, the p value
is that of the linear test.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics import stats
from pytest_evalmetrics.comparison.grouped_quantiles import GroupedValues
from pytest_evalmetrics.comparison.intervals import LEVEL, TAIL, around, result_of
from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.model.comparison import TestResult
from pytest_evalmetrics.sums import fourth_powers, squares

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.comparison.inputs import TaskDamage
    from pytest_evalmetrics.model.comparison import Floats, Ints, PairedMetric

# tasks up to which each is swapped alone; more are swapped in random groups
_ONE_BY_ONE = 512
_GROUPS = 200
_LARGE_GROUPS = 64
_LARGE = 100_000  # tasks from which on fewer evaluations are affordable
# evaluations of the metric; the later ones where p is near the level at which it is
# judged, or near the share of one of many tests
_COUNTS = (500, 2_000, 10_000)
_LARGE_COUNTS = (100, 2_000)
_MOST_RESAMPLED = 20_000  # tasks
_RESAMPLED = 499  # times
# values from which on it takes less time to sort those of both sides once
_MANY_VALUES = 4_096
# tasks up to which those that are drawn are counted; more are drawn one by one
_MOST_COUNTED = 2_048
_ENUMERATED = 10  # most units whose swaps are all enumerated
_DISTINCT = 2_048  # most pairs of values that are counted instead of listed
_CELLS = 30_000  # of arrays that a cache holds
_CLOSE = 3  # standard errors of p
_TIE = 1e-9  # relative: equal but for rounding


class SwapTest(msgspec.Struct, frozen=True, kw_only=True):
    """A drop tested by swapped sides, or by the linear test that gives the same."""

    result: TestResult
    # each task's share of the drop; None where a sum does not represent the metric
    influence: Floats | None
    draws: int  # behind p; 0 for the linear test
    # how many tasks the metric rests on, the unequal as fewer
    carriers: float


def swap_test(damage: TaskDamage, *, seed: int) -> SwapTest:
    """Test the drop of a metric by swapping the sides of tasks, or clusters of tasks.

    p will be judged at the level of the rule, or at the share of one of several tests:
    with more swaps until these are decided (Besag and Clifford 1991, Biometrika 78).
    Where no swap reaches the drop, p is at most that of a sign test over the tasks:
    below 1 / draws, it is that test alone which keeps the level. Swaps of the same
    damage are ranked by the mean of the tasks' damage: where all tasks go from 1 to 0,
    half of the swaps have medians as far apart.

    Swaps: the randomisation test of Fisher 1935, The Design of Experiments, chapter
    III, with mid-p. Pseudo-values: Tukey 1958; of clusters of unequal size Busing,
    Meijer and van der Leeden 1999. More than 512 tasks are left out and swapped in 200
    random groups.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    swaps = _swaps_of(damage, rng)
    linear = stats.mean_test(swaps.of_tasks, swaps.clusters, LEVEL)
    signs = stats.sign_test(damage.values, damage.clusters)
    drawn = _drawn_until_decided(damage, swaps, rng, linear_p=linear.p, signs_p=signs.p)
    if drawn is None:
        return SwapTest(
            result=result_of(linear),
            influence=swaps.of_tasks,
            draws=0,
            carriers=0.0,
        )
    draws = drawn.draws
    spread = _spread_without_change(draws, swaps.observed.metric, units=linear.units)
    se = math.sqrt(spread) if spread > 0 else linear.se
    result = TestResult(name="swapped sides", p=drawn.p, se=float(f"{se:.6g}"))
    if drawn.is_beyond and signs.p < drawn.p:
        result = structs.replace(result, p=signs.p, log_tail=signs.log_tail)
    result = _with_interval(result, damage)
    result = _with_resampled_ends(result, damage, swaps, rng)
    return SwapTest(
        result=result,
        influence=None,
        draws=len(draws.metric),
        carriers=_carriers(swaps.of_tasks),
    )


class _Decided(msgspec.Struct, frozen=True):
    """Draws of swaps, and what they show."""

    draws: SwapDraws
    p: float
    is_beyond: bool  # no random swap reaches the drop


def _drawn_until_decided(
    damage: TaskDamage,
    swaps: Swaps,
    rng: np.random.Generator,
    *,
    linear_p: float,
    signs_p: float,
) -> _Decided | None:
    """Draw swaps until p is decided; None where the metric is its linear approximation."""
    ties = _ties_of(damage, swaps.observed)
    counts = _COUNTS if len(damage.values) <= _LARGE else _LARGE_COUNTS
    for count in counts:
        draws = swaps.draw(rng, count)
        if not math.isnan(linear_p) and _agree(draws, ties):
            return None
        p = _p_of(draws, swaps, linear_p=linear_p, ties=ties)
        is_beyond = p <= _least_p(draws) and not swaps.is_complete
        decided = _Decided(draws, p, is_beyond)
        if swaps.is_complete or _is_settled(p, draws, damage):
            return decided
        if is_beyond and signs_p < damage.share:
            return decided
    return decided


# -- the outcome of swaps ----------------------------------------------------------------


class SwappedDrop(msgspec.Struct, frozen=True):
    """The drop where the sides of some tasks are swapped."""

    metric: float  # of the metric itself
    linear: float  # of its linear approximation
    total: float  # summed over tasks


class SwapDraws(msgspec.Struct, frozen=True):
    """The same for many swaps: arrays of shape (draws,)."""

    metric: Floats
    linear: Floats
    total: Floats


class Ties(msgspec.Struct, frozen=True):
    """Distances below which two drops are the same but for rounding."""

    metric: float
    total: float


def _with_opposites(parts: Sequence[SwapDraws]) -> SwapDraws:
    """Count each swap twice: its opposite has the same drop but for the sign."""
    metric = np.concatenate([part.metric for part in parts])
    linear = np.concatenate([part.linear for part in parts])
    total = np.concatenate([part.total for part in parts])
    return SwapDraws(
        metric=np.concatenate((metric, -metric)),
        linear=np.concatenate((linear, -linear)),
        total=np.concatenate((total, -total)),
    )


def _ties_of(damage: TaskDamage, observed: SwappedDrop) -> Ties:
    pair = damage.pair
    sizes = (abs(pair.value_baseline), abs(pair.value_current), abs(observed.metric))
    total = float(np.abs(damage.values).sum())
    return Ties(metric=_TIE * max(sizes), total=_TIE * total)


def _agree(draws: SwapDraws, ties: Ties) -> bool:
    """Check whether the metric is its linear approximation."""
    return np.allclose(draws.metric, draws.linear, rtol=1e-6, atol=ties.metric)


def _p_of(draws: SwapDraws, swaps: Swaps, *, linear_p: float, ties: Ties) -> float:
    """Return the one-sided p of the observed drop among swapped ones."""
    observed = swaps.observed
    by_total = reached(draws.total, observed.total, ties.total)
    by_metric = reached(draws.metric, observed.metric, ties.metric, by_total)
    by_linear = reached(draws.linear, observed.linear, ties.metric)
    p = float(by_metric.mean())
    unlike = float(np.abs(by_metric - by_linear).sum())
    is_alike = unlike < by_metric.sum() and not math.isnan(linear_p)
    if is_alike and not swaps.is_complete:
        # the linear test's p has no noise of draws: only the difference is drawn
        p = linear_p + float((by_metric - by_linear).mean())
    return min(max(p, _least_p(draws)), 1.0)


def _least_p(draws: SwapDraws) -> float:
    """Return the p of a drop that only the observed choice of sides reaches."""
    return 0.5 / len(draws.metric)


def _is_settled(p: float, draws: SwapDraws, damage: TaskDamage) -> bool:
    """Check whether more draws could not move p across the level, or its share."""
    error = math.sqrt(max(p * (1 - p), 0.0) / len(draws.metric))
    is_above = p - damage.alpha >= _CLOSE * error
    is_below = damage.share - p >= _CLOSE * error
    return is_above or is_below


def _spread_without_change(draws: SwapDraws, observed: float, *, units: int) -> float:
    """Return the variance of swaps, less the part that the damage itself adds."""
    drops = draws.metric
    return float((drops @ drops) / len(drops)) - observed**2 / max(units, 1)


def _with_interval(result: TestResult, damage: TaskDamage) -> TestResult:
    drop = damage.drop
    df = damage.units - 1
    half = stats.t_ppf(1 - TAIL, max(df, 1)) * (result.se or math.nan)
    if result.p < TAIL and half > drop > 0:
        # swaps spread a large drop of a median further: the interval of p
        half = drop * stats.normal_ppf(TAIL) / stats.normal_ppf(result.p)
    result = around(structs.replace(result, df=df), drop, half)
    if not damage.pair.bounded:
        return result
    return structs.replace(
        result, low=max(result.low, -1.0), high=min(result.high, 1.0)
    )


def _with_resampled_ends(
    result: TestResult, damage: TaskDamage, swaps: Swaps, rng: np.random.Generator
) -> TestResult:
    """Widen the interval to that of resampled tasks: swaps know the error of no change.

    A latency that rises spreads in proportion, and its drop with it.
    """
    tasks = len(damage.values)
    if tasks > _MOST_RESAMPLED or math.isnan(result.low):
        return result
    try:
        draws = swaps.resample(rng, _RESAMPLED)
    except EvalMetricsError:  # not defined on some of the tasks
        return result
    low, high = stats.bootstrap_interval(draws, damage.drop, None, LEVEL)
    if result.p < TAIL and low <= 0:  # the interval of p holds no 0
        low = result.low
    return structs.replace(
        result,
        low=float(f"{min(result.low, low):.6g}"),
        high=float(f"{max(result.high, high):.6g}"),
    )


def _carriers(influence: Floats) -> float:
    rest = influence - influence.mean()
    return squares(rest) ** 2 / (fourth_powers(rest) or 1.0)


def reached(
    draws: Floats, seen: float, tie: float, tied: Floats | float = 0.5
) -> Floats:
    """Count each draw beyond `seen`; one that ties counts `tied`, half for a mid-p."""
    at_least = np.where(draws >= seen - tie, tied, 0.0)
    return np.where(draws > seen + tie, 1.0, at_least)


# -- what is swapped ---------------------------------------------------------------------


class Swaps(Protocol):
    """Ways to swap the sides of tasks."""

    @property
    def observed(self) -> SwappedDrop:
        """The drop with no side swapped."""

    @property
    def of_tasks(self) -> Floats:
        """Each task's pseudo-value, shape (tasks,)."""

    @property
    def clusters(self) -> Ints | None:
        """The tasks that change sides together, shape (tasks,); None for each alone."""

    @property
    def is_complete(self) -> bool:
        """Whether the draws are all the swaps that there are."""

    def draw(self, rng: np.random.Generator, count: int) -> SwapDraws:
        """Swap at random, `count` times, and the opposite ways."""

    def resample(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw tasks, or clusters of them, anew: the drop of each draw, shape (count,)."""


def _swaps_of(damage: TaskDamage, rng: np.random.Generator) -> Swaps:
    """Count tasks of the same two values where these are few of many, else list all."""
    counted = None if damage.clusters is not None else _value_swaps(damage)
    return counted or _unit_swaps(damage, rng)


class UnitSwaps(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks, clusters or random groups of tasks, which change sides one by one."""

    drop_of: DropOfUnits
    redrawn: RedrawnTasks
    units: int
    clusters: Ints | None
    observed: SwappedDrop
    of_tasks: Floats
    linear: Floats  # each unit's share of the linear approximation, shape (units,)
    totals: Floats  # each unit's damage, shape (units,)

    @property
    def is_complete(self) -> bool:
        """Whether the draws are all the swaps that there are."""
        return self.units <= _ENUMERATED

    def draw(self, rng: np.random.Generator, count: int) -> SwapDraws:
        """Swap at random, or in every way if there are few."""
        choices = self._choices(rng, count)
        swapped = SwapDraws(
            metric=self.drop_of.swapped(choices),
            linear=np.where(choices, -self.linear, self.linear).sum(axis=1),
            total=np.where(choices, -self.totals, self.totals).sum(axis=1),
        )
        return _with_opposites([swapped])

    def resample(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw tasks, or clusters of them, anew."""
        return self.redrawn.drops(rng, count)

    def _choices(self, rng: np.random.Generator, count: int) -> NDArray[np.bool_]:
        """Choose the units that change sides, shape (choices, units)."""
        if self.is_complete:
            numbers = np.arange(1 << (self.units - 1))
            bits = numbers[:, None] >> np.arange(self.units) & 1
            return bits.astype(bool)
        choices = rng.random((count, self.units)) < 0.5  # a fair coin
        # the observed choice counts as one: a p of 0 would claim too much
        choices[0] = False
        return choices


def _unit_swaps(damage: TaskDamage, rng: np.random.Generator) -> UnitSwaps:
    tasks = len(damage.values)
    codes, units = _units_of(damage, rng)
    sizes = np.bincount(codes, minlength=units)
    drop_of = _drop_of_units(damage, codes, units)
    whole = drop_of.whole()
    pseudo = _pseudo_values(drop_of, whole, sizes=sizes)
    linear = pseudo * sizes / tasks
    totals = np.bincount(codes, damage.values, units).astype(np.float64, copy=False)
    return UnitSwaps(
        drop_of=drop_of,
        redrawn=_redrawn_tasks(damage),
        units=units,
        clusters=codes if units < tasks else None,
        observed=SwappedDrop(
            metric=whole, linear=float(linear.sum()), total=float(totals.sum())
        ),
        of_tasks=pseudo[codes],
        linear=linear,
        totals=totals,
    )


def _units_of(damage: TaskDamage, rng: np.random.Generator) -> tuple[Ints, int]:
    """Return each task's unit, and how many there are: many are put into groups."""
    tasks = len(damage.values)
    codes: Ints = np.arange(tasks)
    if damage.clusters is not None:
        codes = damage.clusters
    units = int(codes.max()) + 1
    if units <= _ONE_BY_ONE:
        return codes, units
    groups = _GROUPS if tasks <= _LARGE else _LARGE_GROUPS
    return rng.permutation(units)[codes] % groups, groups


def _pseudo_values(drop_of: DropOfUnits, whole: float, *, sizes: Ints) -> Floats:
    """Return the jackknife's pseudo-value of each unit, shape (units,)."""
    units = len(sizes)
    if units == 1:  # nothing is left without it
        return np.full(units, whole)
    ratios = sizes.sum() / sizes
    pseudo: Floats = ratios * whole - (ratios - 1) * drop_of.without_each()
    return pseudo


# -- the drop of units that change sides -------------------------------------------------


class DropOfUnits(Protocol):
    """The damage where units are left out, or change sides."""

    def whole(self) -> float:
        """Return the damage with no side swapped."""

    def without_each(self) -> Floats:
        """Return the damage of all units but one, shape (units,)."""

    def swapped(self, choices: NDArray[np.bool_]) -> Floats:
        """Return that of such units swapped, shapes (draws, units) and (draws,)."""


def _drop_of_units(damage: TaskDamage, codes: Ints, units: int) -> DropOfUnits:
    """Compute a metric anew for each choice of units, or find the quantile of many values."""
    if _is_of_many_values(damage):
        return _quantile_drop(damage, codes, units)
    return _ComputedDrop(difference=_damage_of(damage), codes=codes, units=units)


def _is_of_many_values(damage: TaskDamage) -> bool:
    """Check whether a metric is a quantile of so many values that it pays to sort them."""
    pair = damage.pair
    values = len(pair.rewards_baseline.values) + len(pair.rewards_current.values)
    if pair.baseline is not None:
        values = 2 * len(pair.baseline)
    return pair.quantile is not None and values >= _MANY_VALUES


def _damage_of(damage: TaskDamage) -> Callable[[Ints, Ints], Floats]:
    """Return the damage of indices into both sides' tasks, see `PairedMetric`."""
    difference = damage.pair.difference
    assert difference is not None  # noqa: S101 - a metric that is no mean has one
    sign = damage.sign
    return lambda first, second: sign * difference(first, second)


class _ComputedDrop(msgspec.Struct, frozen=True, kw_only=True):
    """The damage of a metric that is computed anew for each choice of tasks."""

    difference: Callable[[Ints, Ints], Floats]
    codes: Ints  # each task's unit, shape (tasks,)
    units: int

    def whole(self) -> float:
        """Return the damage with no side swapped."""
        return self._of(np.arange(len(self.codes)))

    def without_each(self) -> Floats:
        """Return the damage of all units but one, shape (units,)."""
        places = np.arange(len(self.codes))
        order = np.argsort(self.codes, kind="stable")
        sizes = np.bincount(self.codes, minlength=self.units)
        ends = np.cumsum(sizes)
        drops = np.empty(self.units)
        for unit, end in enumerate(ends.tolist()):
            of_unit = order[end - sizes[unit] : end]
            drops[unit] = self._of(np.delete(places, of_unit))
        return drops

    def _of(self, places: Ints) -> float:
        tasks = len(self.codes)
        return float(self.difference(places[None], places[None] + tasks)[0])

    def swapped(self, choices: NDArray[np.bool_]) -> Floats:
        """Return the damage where such units change sides."""
        tasks = len(self.codes)
        places = np.arange(tasks)
        drops = np.empty(len(choices))
        rows = _rows_in_cache(tasks)
        for start in range(0, len(choices), rows):
            moved = choices[start : start + rows, self.codes] * tasks
            first = places + moved
            second = places + tasks - moved
            drops[start : start + rows] = self.difference(first, second)
        return drops


class _QuantileDrop(msgspec.Struct, frozen=True, kw_only=True):
    """The damage of a quantile, of values that are sorted once."""

    # of the baseline's units, followed by the run's
    values: GroupedValues
    share: float  # the quantile
    units: int
    sign: float

    def whole(self) -> float:
        """Return the damage with no side swapped."""
        return float(self.of_times(np.ones((1, self.units)))[0])

    def without_each(self) -> Floats:
        """Return the damage of all units but one, shape (units,)."""
        return self.of_times(1.0 - np.eye(self.units))

    def of_times(self, times: Floats) -> Floats:
        """Return the damage of units that occur so often, shape (draws, units)."""
        none = np.zeros_like(times)
        before = self._quantiles(times, none)
        now = self._quantiles(none, times)
        return self.sign * (before - now)

    def _quantiles(self, of_baseline: Floats, of_run: Floats) -> Floats:
        times = np.concatenate((of_baseline, of_run), axis=1)
        return self.values.quantiles(times, self.share)

    def swapped(self, choices: NDArray[np.bool_]) -> Floats:
        """Return the damage where such units change sides."""
        moved = choices.astype(np.float64)
        before = self._quantiles(1 - moved, moved)
        now = self._quantiles(moved, 1 - moved)
        return self.sign * (before - now)


def _quantile_drop(damage: TaskDamage, codes: Ints, units: int) -> _QuantileDrop:
    pair = damage.pair
    assert pair.quantile is not None  # noqa: S101 - the caller has asked
    return _QuantileDrop(
        values=_grouped_values(pair, codes, units),
        share=pair.quantile,
        units=units,
        sign=damage.sign,
    )


def _grouped_values(pair: PairedMetric, codes: Ints, units: int) -> GroupedValues:
    """Sort what a quantile is of: the tasks' values, or else all rollouts."""
    of_baseline = codes.astype(np.int32)  # half of the memory for a million
    of_run = of_baseline + np.int32(units)
    if pair.baseline is not None and pair.current is not None:
        values = np.concatenate((pair.baseline, pair.current))
    else:
        before = pair.rewards_baseline
        now = pair.rewards_current
        values = np.concatenate((before.values, now.values))
        of_baseline = np.repeat(of_baseline, before.counts)
        of_run = np.repeat(of_run, now.counts)
    groups = np.concatenate((of_baseline, of_run))
    return GroupedValues.of(values, groups, count=2 * units)


# -- tasks that are drawn anew -----------------------------------------------------------


class RedrawnTasks(Protocol):
    """The damage of tasks, or clusters of them, that are drawn anew."""

    def drops(self, rng: np.random.Generator, count: int) -> Floats:
        """Return the damage of each draw, shape (count,)."""


def _redrawn_tasks(damage: TaskDamage) -> RedrawnTasks:
    tasks = len(damage.values)
    difference = _damage_of(damage)
    if damage.clusters is not None:
        return _RedrawnClusters(difference, damage.clusters)
    if tasks <= _MOST_COUNTED and _is_of_many_values(damage):
        one_by_one = np.arange(tasks)
        return _RedrawnQuantiles(_quantile_drop(damage, one_by_one, tasks), tasks)
    return _RedrawnOneByOne(difference, tasks)


class _RedrawnClusters(msgspec.Struct, frozen=True):
    difference: Callable[[Ints, Ints], Floats]
    clusters: Ints  # each task's, shape (tasks,)

    def drops(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw clusters."""
        tasks = len(self.clusters)

        def drop_of(chosen: Ints) -> float:
            return float(self.difference(chosen[None], chosen[None] + tasks)[0])

        return stats.reducer_draws(drop_of, tasks, self.clusters, count, rng)


class _RedrawnOneByOne(msgspec.Struct, frozen=True):
    difference: Callable[[Ints, Ints], Floats]
    tasks: int

    def drops(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw tasks, and compute the metric of them."""
        parts = []
        for size in _portions(count, width=self.tasks):
            places = _drawn(rng, size, self.tasks)
            parts.append(self.difference(places, places + self.tasks))
        return np.concatenate(parts)


class _RedrawnQuantiles(msgspec.Struct, frozen=True):
    drop_of: _QuantileDrop  # of single tasks
    tasks: int

    def drops(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw tasks, and count how often each is drawn."""
        parts = []
        for size in _portions(count, width=self.tasks):
            cells = (
                _drawn(rng, size, self.tasks) + self.tasks * np.arange(size)[:, None]
            )
            times = np.bincount(cells.ravel(), minlength=size * self.tasks)
            counted = times.reshape(size, self.tasks).astype(np.float64)
            parts.append(self.drop_of.of_times(counted))
        return np.concatenate(parts)


def _drawn(rng: np.random.Generator, count: int, tasks: int) -> Ints:
    """Draw as many tasks as there are, so many times, shape (count, tasks)."""
    return rng.integers(0, tasks, size=(count, tasks), dtype=np.int32).astype(np.intp)


class ValueSwaps(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks counted by their kind: the pair of their values on both sides."""

    drop_of: _DropOfKinds
    kind: Ints  # of each task, shape (tasks,)
    times: Ints  # how many tasks each kind has, shape (kinds,)
    drops: Floats  # the damage of one task of each kind, shape (kinds,)
    pseudo: Floats  # its pseudo-value, shape (kinds,)
    observed: SwappedDrop

    @property
    def of_tasks(self) -> Floats:
        """Each task's pseudo-value, shape (tasks,)."""
        return self.pseudo[self.kind]

    @property
    def clusters(self) -> None:
        """No tasks change sides together."""

    @property
    def is_complete(self) -> bool:
        """There are more ways than draws."""
        return False

    def draw(self, rng: np.random.Generator, count: int) -> SwapDraws:
        """Swap a binomial number of tasks of each kind."""
        sizes = _portions(count, width=2 * len(self.times))
        return _with_opposites([self._swapped(rng, size) for size in sizes])

    def _swapped(self, rng: np.random.Generator, count: int) -> SwapDraws:
        moved = rng.binomial(self.times, 0.5, size=(count, len(self.times)))
        kept = self.times - moved
        balance = kept - moved
        return SwapDraws(
            metric=self.drop_of.swapped(kept, moved),
            # no matrix products: their threads would spin for longer than they help
            linear=(balance * self.pseudo).sum(axis=1) / len(self.kind),
            total=(balance * self.drops).sum(axis=1),
        )

    def resample(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw tasks anew, and count those of each kind."""
        sizes = _portions(count, width=len(self.kind))
        return np.concatenate([self._resampled(rng, size) for size in sizes])

    def _resampled(self, rng: np.random.Generator, count: int) -> Floats:
        tasks = len(self.kind)
        kinds = len(self.times)
        drawn = rng.integers(0, tasks, size=(count, tasks), dtype=np.int32)
        cells = self.kind[drawn] + kinds * np.arange(count)[:, None]
        times = np.bincount(cells.ravel(), minlength=count * kinds)
        return self.drop_of.kept(times.reshape(count, kinds))


class _DropOfKinds(msgspec.Struct, frozen=True, kw_only=True):
    """The damage of a metric, by how many tasks of each kind keep their sides."""

    # see `PairedMetric.combine_weighted`
    combine: Callable[[Floats, Floats], Floats]
    # of the baseline's values of all kinds, followed by the run's: ascending values
    order: Ints
    values: Floats  # the distinct ones in this order, shape (values,)
    firsts: Ints  # the place of each in this order, shape (values,)
    sign: float

    @classmethod
    def of(
        cls,
        combine: Callable[[Floats, Floats], Floats],
        kinds: NDArray[np.complex128],
        sign: float,
    ) -> _DropOfKinds:
        """Sort the values of both sides."""
        of_kinds = np.concatenate((kinds.real, kinds.imag))
        order = np.argsort(of_kinds, kind="stable")
        values, firsts = np.unique(of_kinds[order], return_index=True)
        return cls(
            combine=combine, order=order, values=values, firsts=firsts, sign=sign
        )

    def swapped(self, kept: Ints, moved: Ints) -> Floats:
        """Return the damage where some tasks change sides; all shapes (draws, kinds)."""
        before = self._value_of(kept, moved)
        now = self._value_of(moved, kept)
        return self.sign * (before - now)

    def kept(self, times: Ints) -> Floats:
        """Return the damage of so many tasks of each kind, shape (draws, kinds)."""
        return self.swapped(times, np.zeros_like(times))

    def _value_of(self, of_baseline: Ints, of_run: Ints) -> Floats:
        """Return the metric of so many values of each kind from either side."""
        of_kinds = np.concatenate((of_baseline, of_run), axis=1)
        times = np.add.reduceat(of_kinds[:, self.order], self.firsts, axis=1)
        return self.combine(self.values, times.astype(np.float64))


def _value_swaps(damage: TaskDamage) -> ValueSwaps | None:
    """Count the kinds of tasks; None where these are few, or their kinds are many."""
    pair = damage.pair
    tasks = len(pair.tasks)
    if pair.baseline is None or pair.current is None or pair.combine_weighted is None:
        return None
    if tasks <= _ONE_BY_ONE:
        return None
    values = np.empty(tasks, dtype=np.complex128)
    values.real = pair.baseline
    values.imag = pair.current
    kinds, times = np.unique(values, return_counts=True)
    if len(kinds) > min(_DISTINCT, tasks // 2):
        return None
    drop_of = _DropOfKinds.of(pair.combine_weighted, kinds, damage.sign)
    whole = float(drop_of.kept(times[None])[0])
    pseudo = tasks * whole - (tasks - 1) * _without_one_of_each(drop_of, times)
    drops = damage.sign * (kinds.real - kinds.imag)
    return ValueSwaps(
        drop_of=drop_of,
        kind=np.searchsorted(kinds, values),
        times=times,
        drops=drops,
        pseudo=pseudo,
        observed=SwappedDrop(
            metric=whole,
            linear=float(pseudo @ times / tasks),
            total=float(drops @ times),
        ),
    )


def _without_one_of_each(drop_of: _DropOfKinds, times: Ints) -> Floats:
    """Return the damage of all tasks but one of a kind, shape (kinds,)."""
    kinds = len(times)
    one_of_each = np.eye(kinds, dtype=times.dtype)
    parts = []
    start = 0
    for size in _portions(kinds, width=2 * kinds):
        parts.append(drop_of.kept(times - one_of_each[start : start + size]))
        start += size
    return np.concatenate(parts)


def _portions(count: int, *, width: int) -> Iterator[int]:
    """Yield sizes that add up to `count`: arrays of so many rows fit into a cache."""
    rows = _rows_in_cache(width)
    for start in range(0, count, rows):
        yield min(rows, count - start)


def _rows_in_cache(width: int) -> int:
    return max(1, _CELLS // width)
