"""Regression tests by random changes of sides, and p values adjusted by the joint distribution.

A metric that is no mean over tasks (a custom metric, a median): `swap_test`. Nothing changed means
that a task's two results could have changed sides, so the metric is computed again with the sides
of random tasks swapped. Its linear part, the jackknife's pseudo-values, is tested as a mean is;
where both always agree, the p value is that of the linear test.

The lowest or highest task: `extreme_test`. No resampling of tasks shows a lower one, so the
rollouts of each task are tested, corrected over the tasks.

Several metrics judged at once: `adjust`. Flipping the signs of tasks' damages at random, the same
for all metrics, shows how the metrics hang together: four names of one number cost nothing,
independent metrics as much as Holm's correction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from pytest_evalmetrics import stats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import PairedMetric, TaskRewards
    from pytest_evalmetrics.gates.comparison import Comparison

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

# damage of each task, and what is independent -> the test of its mean
LinearTest = Callable[["NDArray[np.float64]", "NDArray[np.int64] | None"], stats.StatResult]

_ONE_BY_ONE = 512  # tasks that are left out and swapped one by one; else in random groups
_GROUPS, _LARGE_GROUPS = 200, 64
_LARGE = 100_000
_EVALUATIONS, _LARGE_EVALUATIONS, _MORE = 500, 100, 2_000
_ENUMERATED = 10  # units of which all swaps are taken
_DISTINCT = 2_048  # pairs of values that are counted, not listed
_CLOSE = 3  # standard errors of p
_TIE = 1e-9  # relative: equal but for rounding
# products of so many numbers are left to one thread: others would spin for longer than they help
_ALONE = 200_000
_FLIPS = 8_192  # with their opposites 16,384
_UNITS = 1_024  # more are flipped in random blocks
_SURE = 40  # flips behind a p value that is read off; below it, Bonferroni's bound
_ALIKE = 1 - 1e-9  # the correlation of two names of one number


class SwapTest(msgspec.Struct, frozen=True):
    """Result of a swap test."""

    linear: stats.StatResult  # the test of the jackknife's pseudo-values
    damage: Floats  # these, one for each task
    p: float  # one-sided mid-p of no damage
    se: float  # of the damage
    draws: int  # swaps behind `p`; 0 where it is that of `linear`


def swap_test(
    pair: PairedMetric,
    sign: float,
    linear_test: LinearTest,
    *,
    alpha: float,
    seed: int,
    clusters: Ints | None = None,
) -> SwapTest:
    """Test the damage of a metric by swapping the sides of tasks, or clusters of tasks.

    `linear_test` tests the mean of damages, with a `p`, `se` and `units`. `alpha` is the level at
    which p will be judged: with more swaps where p is near it.

    Swaps: the randomisation test of Fisher 1935, The Design of Experiments, chapter III, with
    mid-p. Pseudo-values: Tukey 1958; of clusters of unequal size Busing, Meijer and van der
    Leeden 1999. More than 512 tasks are left out and swapped in 200 random groups.
    """
    n = len(pair.tasks)
    rng = np.random.Generator(np.random.PCG64(seed))
    counted = _by_value(pair, sign) if clusters is None else None
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
    observed = mixed(None)
    tie = _TIE * max(abs(pair.value_baseline), abs(pair.value_current), abs(observed[0]))
    most = _EVALUATIONS if n <= _LARGE else _LARGE_EVALUATIONS
    by_unit = counted is None
    every = by_unit and len(pseudo) <= _ENUMERATED
    swapped = _swapped(mixed, len(pseudo), rng, most, by_unit=by_unit)
    p, exact = _swap_p(swapped, observed, tie, linear.p, every=every)
    error = math.sqrt(max(p * (1 - p), 0.0) / len(swapped[0]))
    if not exact and most < _MORE and not every and abs(p - alpha) < _CLOSE * error:
        swapped = _swapped(mixed, len(pseudo), rng, _MORE, by_unit=by_unit)
        p, exact = _swap_p(swapped, observed, tie, linear.p, every=every)
    # of no change, as swaps have it, without what the damage itself adds
    damages = swapped[0]
    spread = float((damages @ damages) / len(damages)) - observed[0] ** 2 / max(linear.units, 1)
    se = linear.se if exact else float(f"{math.sqrt(max(spread, 0.0)):.6g}")
    return SwapTest(linear, damage, p, se, 0 if exact else len(damages))


# a choice of units that change sides, or None -> the damage then, and what the pseudo-values say
_Mixed = Callable[["NDArray[np.bool_] | np.random.Generator | None"], tuple[float, float]]


def _by_unit(pair: PairedMetric, sign: float, codes: Ints, units: int) -> tuple[_Mixed, Floats]:
    """Swap and leave out units of tasks."""
    difference, n = pair.difference, len(codes)
    assert difference is not None  # noqa: S101 - a metric that is no mean over tasks has one
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


def _by_value(pair: PairedMetric, sign: float) -> tuple[_Mixed, Floats, Floats] | None:
    """Swap and leave out tasks that have the same two values, where these are few of many."""
    baseline, current, n = pair.baseline, pair.current, len(pair.tasks)
    combine = pair.combine_weighted
    if baseline is None or current is None or combine is None or n <= _ONE_BY_ONE:
        return None
    values = np.empty(n, dtype=np.complex128)
    values.real, values.imag = baseline, current
    distinct, times = np.unique(values, return_counts=True)
    if len(distinct) > min(_DISTINCT, n // 2):
        return None
    kind = np.searchsorted(distinct, values)
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
    choices: Any
    if not by_unit:
        choices = [rng] * most
    elif units <= _ENUMERATED:
        choices = (np.arange(1 << (units - 1))[:, None] >> np.arange(units) & 1).astype(bool)
    else:
        choices = rng.random((most, units)) < 0.5  # noqa: PLR2004 - a fair coin
        choices[0] = False  # what was seen is one of them: a p of 0 would claim too much
    half = np.array([mixed(choice) for choice in choices])
    both = np.concatenate((half, -half))
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


def _reached(draws: Floats, seen: float, tie: float) -> Floats:
    return np.where(draws > seen + tie, 1.0, np.where(draws >= seen - tie, 0.5, 0.0))


def relabel_whole(pair: PairedMetric, sign: float, *, seed: int) -> tuple[float, float]:
    """Return the p and the mid-p of relabelled rollouts, the metric computed anew each time."""
    reduce = pair.reduce
    assert reduce is not None  # noqa: S101 - a metric that is no mean over tasks has one
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
    draws = np.empty(_EVALUATIONS)
    draws[0] = seen
    for draw in range(1, _EVALUATIONS):
        dealt = values[np.lexsort((rng.random(len(task)), task))]
        before = reduce(replace(one, values=dealt[to_baseline]))
        after = reduce(replace(other, values=dealt[~to_baseline]))
        draws[draw] = sign * (before - after)
    reached = _reached(draws, seen, tie)
    return float((reached > 0).mean()), float(reached.mean())


class ExtremeTest(msgspec.Struct, frozen=True):
    """Result of the test of single tasks."""

    p: float  # of the most significant task beyond the baseline's value, corrected over all
    least: float  # the least p that these numbers of rollouts could give
    tasks: tuple[int, ...]  # places of those beyond whose own p is at most 0.05, worst first


def extreme_test(pair: PairedMetric, sign: float) -> ExtremeTest:
    """Test the rollouts of single tasks, for a metric that is that of one task alone.

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
    single = np.ones(n)
    for i in np.flatnonzero(beyond).tolist():
        single[i] = _one_task(one, other, i, sign)
    p = float(single.min(initial=1.0))
    sizes = int(other.counts.max(initial=0)) + 1
    coded = one.counts * sizes + other.counts
    codes = np.unique(coded)  # its inverse would take four times the memory
    both = (divmod(code, sizes) for code in codes.tolist())
    reach = np.array([1 / math.comb(a + b, a) for a, b in both])[np.searchsorted(codes, coded)]
    constant = np.maximum(ends[0][1], ends[1][1]) == np.minimum(ends[0][0], ends[1][0])
    could = (reach <= p * (1 + _TIE)) & ~constant
    adjusted = -math.expm1(float(could.sum()) * math.log1p(-p)) if p < 1 else 1.0
    least = float(reach.min(initial=1.0))
    worst = np.flatnonzero(single <= 0.05)  # noqa: PLR2004 - worth a look
    worst = worst[np.argsort(single[worst], kind="stable")]
    return ExtremeTest(min(max(adjusted, p), 1.0), least, tuple(worst.tolist()))


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


def adjust(comparisons: Sequence[Comparison], groups: Sequence[str]) -> list[float]:
    """Adjust the p values of comparisons for each other, by step-down minimum p.

    `groups` says whose rollouts each is of: those of different agents are independent. NaN where
    there is no p.

    Westfall and Young 1993, Resampling-Based Multiple Testing, algorithm 2.8. A metric that has
    no damage by task (a swapped median, the worst task) counts as independent of the others.
    """
    p = [float(f.p) for f in comparisons]
    judged = [i for i, value in enumerate(p) if not math.isnan(value)]
    if len(judged) < 2:  # noqa: PLR2004 - nothing to adjust for
        return p
    classes = _classes([comparisons[i] for i in judged], [groups[i] for i in judged])
    order = sorted(range(len(judged)), key=lambda at: p[judged[at]])
    adjusted, last = p.copy(), 0.0
    for at, place in enumerate(order):
        i = judged[place]
        last = max(last, _any_below(p[i], [classes[j] for j in order[at:]]))
        adjusted[i] = last
    return adjusted


class _Class(msgspec.Struct, eq=False):
    """Metrics that are one number: the p values of random flips, sorted by flip."""

    group: object
    ranks: Floats | None


def _any_below(p: float, classes: Sequence[_Class]) -> float:
    """Return the chance that any of the classes has a p value of at most `p`."""
    none = 1.0
    by_group: dict[object, list[_Class]] = {}
    for one in dict.fromkeys(classes):
        by_group.setdefault(one.group, []).append(one)
    for several in by_group.values():
        count = len(several)
        bound = 1 - (1 - p) ** count
        ranks = [one.ranks for one in several if one.ranks is not None]
        if count > 1 and len(ranks) == count:
            level = max(p, _SURE / len(ranks[0]))
            least = np.minimum.reduce(ranks)
            ratio = float((least <= level).sum()) / (level * len(least))
            at_level = min(max(ratio, 1.0), count)
            # the rarer, the less they hang together: below what flips show the bound holds
            bound = min(bound, p * at_level) if p >= level else min(bound, level * at_level)
        none *= 1 - bound
    return min(max(1 - none, p), 1.0)


def _classes(comparisons: Sequence[Comparison], groups: Sequence[str]) -> list[_Class]:
    """Give each comparison its class; those of one number share one."""
    classes: list[_Class | None] = [None] * len(comparisons)
    p = [comparison.p for comparison in comparisons]
    for group in dict.fromkeys(groups):
        places = [i for i, g in enumerate(groups) if g == group]
        linear = [i for i in places if comparisons[i].is_linear]
        for i in places:
            if i not in linear:
                classes[i] = _Class((group, i), None)  # a group of its own: independent
        scaled = _units([comparisons[i] for i in linear])
        if scaled is None:
            for i in linear:
                classes[i] = _Class(group, None)
            continue
        firsts: list[int] = []  # the first of each class, by place in `linear`
        for at, i in enumerate(linear):
            alike = [f for f in firsts if float(scaled[f] @ scaled[at]) > _ALIKE]
            first = linear[alike[0]] if alike else None
            if first is not None and math.isclose(p[first], p[i], rel_tol=1e-6):
                classes[i] = classes[first]
            else:
                firsts.append(at)
                classes[i] = _Class(group, None)
        if len(firsts) > 1:
            for f, ranks in zip(firsts, _ranks(scaled[firsts], group), strict=True):
                classes[linear[f]].ranks = ranks  # type: ignore[union-attr]
    return [one for one in classes if one is not None]


def _units(comparisons: Sequence[Comparison]) -> Floats | None:
    """Return the damage of each unit of length 1, shape (comparisons, units).

    A unit is a task, or a cluster; None where the clusters of two metrics don't match.
    """
    if not comparisons:
        return np.zeros((0, 0))
    largest = max(comparisons, key=lambda f: f.tasks)
    tasks, clusters = largest.pair.tasks, largest.clusters
    rows: list[Floats] = []
    for one in comparisons:
        values = one.influence
        if values is None:
            return None
        if one.pair.tasks is tasks or one.pair.tasks == tasks:
            spread = values
        else:
            place = {task: i for i, task in enumerate(tasks)}
            at = [place.get(task, -1) for task in one.pair.tasks]
            if min(at, default=0) < 0:
                more = [task for task, i in zip(one.pair.tasks, at, strict=True) if i < 0]
                if clusters is not None or one.clusters is not None:
                    return None
                tasks = (*tasks, *more)
                rows = [np.concatenate((row, np.zeros(len(more)))) for row in rows]
                place = {task: i for i, task in enumerate(tasks)}
                at = [place[task] for task in one.pair.tasks]
            spread = np.zeros(len(tasks))
            spread[at] = values
        rows.append(spread)
    if clusters is not None:
        rows = [np.bincount(clusters, weights=row).astype(np.float64) for row in rows]
    matrix = np.array(rows)
    length = np.sqrt((matrix**2).sum(axis=1, keepdims=True))
    scaled: Floats = matrix / np.where(length > 0, length, 1.0)
    return scaled


def _ranks(scaled: Floats, group: str) -> Floats:
    """Return the p value of each random flip, shape (classes, flips)."""
    seed = int.from_bytes(blake2b(group.encode(), digest_size=8).digest(), "little")
    rng = np.random.Generator(np.random.PCG64(seed))
    count, units = scaled.shape
    if units > _UNITS:  # a block's signs are drawn together, its tasks' signs beforehand
        signs = rng.integers(0, 2, units) * 2.0 - 1
        starts = np.linspace(0, units, _UNITS, endpoint=False).astype(np.intp)
        scaled = np.add.reduceat((scaled * signs)[:, rng.permutation(units)], starts, axis=1)
        units = _UNITS
    bits = np.unpackbits(
        rng.integers(0, 256, (_FLIPS, math.ceil(units / 8)), dtype=np.uint8), axis=1
    )
    scaled = scaled.T.astype(np.float32)
    rows = max(1, _ALONE // scaled.size)
    parts = [bits[at : at + rows, :units].astype(np.float32) for at in range(0, _FLIPS, rows)]
    totals = np.concatenate([(part * 2 - 1) @ scaled for part in parts])
    flips = len(totals)
    places = np.empty((count, 2 * flips))
    for row, each in enumerate(np.round(totals.T, 5)):  # sums on a lattice tie
        sizes = np.abs(each)
        order = np.argsort(sizes)[::-1]
        last = np.flatnonzero(np.diff(sizes[order], append=-1))
        first = np.concatenate(([0], last[:-1] + 1))
        # tied sums share the middle of their ranks, as mid-p does; each flip counts reversed too
        middle = np.where(sizes[order][last] > 0, (first + last + 1) / 2, flips)
        places[row, order] = np.repeat(middle, last - first + 1)
        places[row, np.flatnonzero(each < 0)] *= -1  # counted from the other end
    places[:, :flips] %= 2 * flips
    places[:, flips:] = 2 * flips - places[:, :flips]
    places /= 2 * flips
    return places
