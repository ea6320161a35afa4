"""Regression tests of metrics that are no mean over tasks.

A custom metric, a median: `swap_test`. Nothing changed means that a task's two results could
have changed sides, so the metric is computed again with the sides of random tasks swapped. That
holds its level from three tasks on, whatever the metric. Its linear part, the jackknife's
pseudo-values, is tested as a mean is; where both always agree, as they do for a mean, the p
value is that of the linear test, to the last digit.

The lowest or highest task: `extreme_test`. No resampling of tasks shows a lower one, so the
rollouts of each task are tested, corrected over the tasks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from pytest_evalmetrics import stats
from pytest_evalmetrics.data import TaskRewards

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.data import PairedMetric

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = [
    "ExtremeTest",
    "SwapTest",
    "WeightedCombine",
    "extreme_test",
    "relabel_whole",
    "swap_test",
]

WeightedCombine = Callable[["NDArray[np.float64]", "NDArray[np.float64]"], float]
# damage of each task, and what is independent -> the test of its mean
LinearTest = Callable[["NDArray[np.float64]", "NDArray[np.int64] | None"], Any]

_ONE_BY_ONE = 512  # tasks that are left out and swapped one by one; else in random groups
_GROUPS, _LARGE_GROUPS = 200, 64
_LARGE = 100_000
_EVALUATIONS, _LARGE_EVALUATIONS, _MORE = 500, 100, 2_000
_ENUMERATED = 10  # units of which all swaps are taken
_DISTINCT = 2_048  # pairs of values that are counted, not listed
_CLOSE = 3  # standard errors of p
_TIE = 1e-9  # relative: equal but for rounding


class SwapTest(msgspec.Struct, frozen=True):
    """The outcome of a swap test.

    Attributes
    ----------
    linear
        The test of the jackknife's pseudo-values.
    damage
        These, one for each task, shape (tasks,).
    clusters
        What was independent where that were no single tasks, shape (tasks,).
    p
        One-sided mid-p of no damage.
    se
        The standard error of the damage.
    draws
        Swaps behind `p`; 0 where it is that of `linear`.
    """

    linear: Any
    damage: Floats
    clusters: Ints | None
    p: float
    se: float
    draws: int


def swap_test(
    pair: PairedMetric,
    sign: float,
    linear_test: LinearTest,
    *,
    alpha: float,
    seed: int,
    clusters: Ints | None = None,
    combine_weighted: WeightedCombine | None = None,
) -> SwapTest:
    """Test the damage of a metric by swapping the sides of tasks, or clusters of tasks.

    Parameters
    ----------
    pair
        The metric on both sides; offers its difference.
    sign
        1 where a fall is damage, -1 where a rise is.
    linear_test
        Tests the mean of damages: with a `p`, `se` and `units`.
    alpha
        The level at which p will be judged: with more swaps where p is near it.
    seed
        Of PCG64.
    clusters
        Each task's cluster, from 0, shape (tasks,).
    combine_weighted
        Reduces the tasks' values that occur so many times each; None if not offered.

    Notes
    -----
    Swaps: the randomisation test of Fisher 1935, The Design of Experiments, chapter III, with
    mid-p. Pseudo-values: Tukey 1958; of clusters of unequal size Busing, Meijer and van der
    Leeden 1999. More than 512 tasks are left out and swapped in 200 random groups.
    """
    n = len(pair.tasks)
    rng = np.random.Generator(np.random.PCG64(seed))
    counted = _by_value(pair, sign, combine_weighted) if clusters is None else None
    if counted is not None:
        mixed, pseudo, damage = counted
    else:
        codes, units = np.arange(n), n
        if clusters is not None:
            codes, units = clusters, int(clusters.max()) + 1
        if units > _ONE_BY_ONE:
            groups = _GROUPS if n <= _LARGE else _LARGE_GROUPS
            codes, units = rng.permutation(units)[codes] % groups, groups
        clusters = codes if units < n else None
        mixed, pseudo = _by_unit(pair, sign, codes, units)
        damage = pseudo[codes]
    linear = linear_test(damage, clusters)
    seen, sums = mixed(None)
    tie = _TIE * max(abs(pair.value_baseline), abs(pair.value_current), abs(seen))
    most = _EVALUATIONS if n <= _LARGE else _LARGE_EVALUATIONS
    by_unit = counted is None
    every = by_unit and len(pseudo) <= _ENUMERATED
    found, predicted = _swapped(mixed, len(pseudo), rng, most, by_unit=by_unit)
    p, exact = _swap_p((found, predicted), (seen, sums), tie, linear.p, every=every)
    few = math.sqrt(max(p * (1 - p), 0.0) / len(found))
    if not exact and most < _MORE and not every and abs(p - alpha) < _CLOSE * few:
        found, predicted = _swapped(mixed, len(pseudo), rng, _MORE, by_unit=by_unit)
        p, exact = _swap_p((found, predicted), (seen, sums), tie, linear.p, every=every)
    # of no change, as swaps have it, without what the damage itself adds
    spread = float((found @ found) / len(found)) - seen**2 / max(linear.units, 1)
    se = linear.se if exact else float(f"{math.sqrt(max(spread, 0.0)):.6g}")
    return SwapTest(linear, damage, clusters, p, se, 0 if exact else len(found))


# a choice of units that change sides, or None -> the damage then, and what the pseudo-values say
_Mixed = Callable[["NDArray[np.bool_] | np.random.Generator | None"], tuple[float, float]]


def _by_unit(pair: PairedMetric, sign: float, codes: Ints, units: int) -> tuple[_Mixed, Floats]:
    """Swap and leave out units of tasks."""
    difference, n = pair.difference, len(codes)
    if difference is None:
        raise AssertionError("a metric that is no mean over tasks offers its difference")
    places = np.arange(n)
    sizes = np.bincount(codes, minlength=units)
    whole = sign * difference(places, places + n)
    pseudo = np.full(units, whole)
    order = np.argsort(codes, kind="stable")
    starts = np.concatenate(([0], np.cumsum(sizes)))
    for unit in range(units if units > 1 else 0):
        left = np.delete(places, order[starts[unit] : starts[unit + 1]])
        ratio = n / sizes[unit]
        pseudo[unit] = ratio * whole - (ratio - 1) * sign * difference(left, left + n)
    weights = pseudo * sizes / n

    def mixed(chosen: Any) -> tuple[float, float]:
        if chosen is None:
            return whole, float(weights.sum())
        moved = chosen[codes] * n
        change = sign * difference(places + moved, places + n - moved)
        return change, float(np.where(chosen, -weights, weights).sum())

    return mixed, pseudo


def _by_value(
    pair: PairedMetric, sign: float, combine: WeightedCombine | None
) -> tuple[_Mixed, Floats, Floats] | None:
    """Swap and leave out tasks that have the same two values, where these are few of many."""
    baseline, current, n = pair.baseline, pair.current, len(pair.tasks)
    if baseline is None or current is None or combine is None or n <= _ONE_BY_ONE:
        return None
    values = np.empty(n, dtype=np.complex128)
    values.real, values.imag = baseline, current
    distinct, kind, times = np.unique(values, return_inverse=True, return_counts=True)
    if len(distinct) > min(_DISTINCT, n // 2):
        return None
    ends = np.concatenate((distinct.real, distinct.imag))
    order = np.argsort(ends, kind="stable")  # a metric sorts what is sorted faster
    ends, none = ends[order], np.zeros(len(distinct))

    def damage(stay: Floats, moved: Floats) -> float:
        sides = np.concatenate((stay, moved)), np.concatenate((moved, stay))
        return sign * (combine(ends, sides[0][order]) - combine(ends, sides[1][order]))

    whole = damage(times.astype(float), none)
    pseudo = np.empty(len(distinct))
    for at in range(len(distinct)):
        left = times.astype(float)
        left[at] -= 1
        pseudo[at] = n * whole - (n - 1) * damage(left, none)

    def mixed(chosen: Any) -> tuple[float, float]:
        if chosen is None:
            return whole, float(pseudo @ times / n)
        moved = chosen.binomial(times, 0.5).astype(float)
        return damage(times - moved, moved), float(pseudo @ (times - 2 * moved) / n)

    return mixed, pseudo, pseudo[kind]


def _swapped(
    mixed: _Mixed, units: int, rng: np.random.Generator, most: int, *, by_unit: bool
) -> tuple[Floats, Floats]:
    """Return the damage with units swapped, and what the pseudo-values predict.

    A choice and its opposite have the same damage but for the sign: each counts twice.
    """
    if not by_unit:
        found = np.array([mixed(rng) for _ in range(most)])
    elif units <= _ENUMERATED:
        choices = np.arange(1 << (units - 1))[:, None] >> np.arange(units) & 1
        found = np.array([mixed(choice.astype(bool)) for choice in choices])
    else:
        chosen = rng.random((most, units)) < 0.5  # noqa: PLR2004 - a fair coin
        chosen[0] = False  # what was seen is one of them: a p of 0 would claim too much
        found = np.array([mixed(choice) for choice in chosen])
    both = np.concatenate((found, -found))
    return both[:, 0], both[:, 1]


def _swap_p(
    drawn: tuple[Floats, Floats],
    seen: tuple[float, float],
    tie: float,
    linear: float,
    *,
    every: bool,
) -> tuple[float, bool]:
    """Return the mid-p value, and whether it is the linear test's own.

    `drawn` and `seen` are the damage and what the pseudo-values say of it, of random swaps (of
    `every` one where there are few) and without any.
    """
    if not math.isnan(linear) and np.allclose(*drawn, rtol=1e-6, atol=tie):
        return linear, True
    reached, expected = (_reached(d, s, tie) for d, s in zip(drawn, seen, strict=True))
    p = float(reached.mean())
    unlike = float(np.abs(reached - expected).sum())
    if not every and unlike < reached.sum() and not math.isnan(linear):
        p = linear + float((reached - expected).mean())  # less noise by what is known exactly
    return min(max(p, 0.5 / len(reached)), 1.0), False


def _reached(found: Floats, seen: float, tie: float) -> Floats:
    reached: Floats = np.where(found > seen + tie, 1.0, np.where(found >= seen - tie, 0.5, 0.0))
    return reached


def relabel_whole(
    pair: PairedMetric, sign: float, *, seed: int, draws: int = _EVALUATIONS
) -> tuple[float, float]:
    """Return the p and the mid-p of relabelled rollouts, the metric computed anew each time.

    Parameters
    ----------
    pair
        The metric on both sides; offers to be reduced.
    sign
        1 where a fall is damage, -1 where a rise is.
    seed
        Of PCG64.
    draws
        How many relabellings.
    """
    reduce = pair.reduce
    if reduce is None:
        raise AssertionError("a metric that is no mean over tasks can be reduced")
    one, other = pair.rewards_baseline, pair.rewards_current
    places, counts = np.arange(len(one)), one.counts + other.counts
    task = np.concatenate((np.repeat(places, one.counts), np.repeat(places, other.counts)))
    order = np.argsort(task, kind="stable")
    task, values = task[order], np.concatenate((one.values, other.values))[order]
    within = np.arange(len(task)) - np.repeat(one.offsets[:-1] + other.offsets[:-1], counts)
    to_baseline = within < np.repeat(one.counts, counts)
    seen = sign * (pair.value_baseline - pair.value_current)
    tie = _TIE * max(abs(pair.value_baseline), abs(pair.value_current))
    rng = np.random.Generator(np.random.PCG64(seed))
    found = np.empty(draws)
    found[0] = seen
    for draw in range(1, draws):
        dealt = values[np.lexsort((rng.random(len(task)), task))]
        before = reduce(TaskRewards(dealt[to_baseline], one.offsets))
        after = reduce(TaskRewards(dealt[~to_baseline], other.offsets))
        found[draw] = sign * (before - after)
    reached = _reached(found, seen, tie)
    return float((reached > 0).mean()), float(reached.mean())


class ExtremeTest(msgspec.Struct, frozen=True):
    """The outcome of the test of single tasks.

    Attributes
    ----------
    p
        Of the most significant task that is beyond the baseline's value, corrected over all.
    least
        The least p that these numbers of rollouts could give.
    tasks
        The places of the tasks whose own p is at most 0.05 and that are beyond, worst first.
    """

    p: float
    least: float
    tasks: tuple[int, ...]


def extreme_test(pair: PairedMetric, sign: float) -> ExtremeTest:
    """Test the rollouts of single tasks, for a metric that is that of one task alone.

    Parameters
    ----------
    pair
        The metric on both sides.
    sign
        1 where a fall is damage, -1 where a rise is.

    Notes
    -----
    Each task's rollouts are relabelled (Fisher 1935). Corrected for the least p of all tasks
    by 1 - prod(1 - P(p_i <= p)), which leaves out tasks that can't reach p (Tarone 1990).
    """
    one, other = pair.rewards_baseline, pair.rewards_current
    n = len(pair.tasks)
    ends = [_ends(side.values, side.offsets) for side in (one, other)]
    current = ends[1][0 if pair.extreme == "lowest" else 1]
    if pair.current is not None:
        current = pair.current
    # which tasks explain that the metric is worse than the baseline's
    beyond = sign * (pair.value_baseline - current) > 0
    single = [_one_task(one, other, i, sign) if beyond[i] else 1.0 for i in range(n)]
    p = min(single, default=1.0)
    counts, place = np.unique(np.stack((one.counts, other.counts)), axis=1, return_inverse=True)
    reach = np.array([1 / math.comb(a + b, a) for a, b in counts.T.tolist()])[place.ravel()]
    constant = np.maximum(ends[0][1], ends[1][1]) == np.minimum(ends[0][0], ends[1][0])
    could = (reach <= p * (1 + _TIE)) & ~constant
    adjusted = -math.expm1(float(could.sum()) * math.log1p(-p)) if p < 1 else 1.0
    least = float(reach.min(initial=1.0))
    worst = sorted((q, i) for i, q in enumerate(single) if q <= 0.05)  # noqa: PLR2004 - worth a look
    return ExtremeTest(min(max(adjusted, p), 1.0), least, tuple(i for _, i in worst))


def _ends(values: Floats, offsets: Ints) -> tuple[Floats, Floats]:
    """Return each task's least and greatest reward."""
    return np.minimum.reduceat(values, offsets[:-1]), np.maximum.reduceat(values, offsets[:-1])


def _one_task(one: TaskRewards, other: TaskRewards, task: int, sign: float) -> float:
    sides = [
        (side.values[a:b], np.array([0, b - a]))
        for side in (one, other)
        for a, b in [side.offsets[task : task + 2].tolist()]
    ]
    return stats.relabel_test(sides[0], sides[1], sign=sign).p
