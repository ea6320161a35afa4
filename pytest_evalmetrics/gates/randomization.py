"""Regression tests of metrics that are no mean over tasks, by random changes of sides.

A metric that is not a mean over tasks (custom ones, a median): `swap_test`. Nothing changed means
that a task's two results could have changed sides, so the metric is computed again with the sides
of random tasks swapped. Its linear part, the jackknife's pseudo-values, is tested as a mean is;
where both always agree, the p value is that of the linear test.

The lowest or highest task: `extreme_test`. No resampling of tasks shows a lower one, so the
rollouts of each task are tested, corrected over the tasks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs

from pytest_evalmetrics import stats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.gates.decisions import Rule
    from pytest_evalmetrics.model.rollout_table import PairedMetric
    from pytest_evalmetrics.stats.basics import Floats, Ints

_ONE_BY_ONE = (
    512  # tasks that are left out and swapped one by one; else in random groups
)
_GROUPS, _LARGE_GROUPS = 200, 64
_LARGE = 100_000
_EVALUATIONS, _LARGE_EVALUATIONS, _MORE = 500, 100, 2_000
_ENUMERATED = 10  # most units whose swaps are all enumerated
_DISTINCT = 2_048  # most pairs of values that are counted instead of listed
_CLOSE = 3  # standard errors of p
_TIE = 1e-9  # relative: equal but for rounding


def swap_test(
    pair: PairedMetric,
    rule: Rule,
    drops: Floats,
    *,
    level: float,
    seed: int,
    clusters: Ints | None,
) -> tuple[stats.StatResult, Floats, int]:
    """Test the damage of a metric by swapping the sides of tasks, or clusters of tasks.

    p will be judged at the level of `rule`: with more swaps where it is near. Swaps of the same
    damage are ranked by the mean of the tasks' `drops`: where all tasks go from 1 to 0, half of the
    swaps have medians as far apart.

    Swaps: the randomisation test of Fisher 1935, The Design of Experiments, chapter III, with
    mid-p. Pseudo-values: Tukey 1958; of clusters of unequal size Busing, Meijer and van der
    Leeden 1999. More than 512 tasks are left out and swapped in 200 random groups.

    Returns the one-sided test, the pseudo-value of each task, and how many swaps are behind p: 0
    where it is that of the pseudo-values' mean, with an interval at `level`.
    """
    n, sign = len(pair.tasks), rule.sign
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
        mixed, pseudo = _by_unit(pair, sign, drops, codes, units)
        damage = pseudo[codes]
    linear = stats.mean_test(damage, clusters, level)
    observed = mixed(None)
    tie = _TIE * max(
        abs(pair.value_baseline), abs(pair.value_current), abs(observed[0])
    )
    every = counted is None and len(pseudo) <= _ENUMERATED
    for most in (_EVALUATIONS if n <= _LARGE else _LARGE_EVALUATIONS, _MORE):
        drawn = _swapped(mixed, len(pseudo), rng, most, by_unit=counted is None)
        if not math.isnan(linear.p) and np.allclose(
            drawn[0], drawn[1], rtol=1e-6, atol=tie
        ):
            return linear, damage, 0
        ranked = _reached(drawn[2], observed[2], _TIE * float(np.abs(drops).sum()))
        reached = _reached(drawn[0], observed[0], tie, ranked)
        expected = _reached(drawn[1], observed[1], tie)
        p, unlike = float(reached.mean()), float(np.abs(reached - expected).sum())
        if not every and unlike < reached.sum() and not math.isnan(linear.p):
            p = linear.p + float((reached - expected).mean())  # less noise
        p, damages = min(max(p, 0.5 / len(reached)), 1.0), drawn[0]
        error = math.sqrt(max(p * (1 - p), 0.0) / len(damages))
        if every or abs(p - rule.alpha) >= _CLOSE * error:
            break
    # the spread under no change: that of the swaps, less the part that the damage itself adds
    spread = float((damages @ damages) / len(damages)) - observed[0] ** 2 / max(
        linear.units, 1
    )
    se = float(f"{math.sqrt(spread) if spread > 0 else linear.se:.6g}")
    return stats.StatResult("swapped sides", p, se=se), damage, len(damages)


# the units that change sides, or None -> the damage, its linear approximation, the sum of drops
_Mixed = Callable[
    ["NDArray[np.bool_] | np.random.Generator | None"], tuple[float, float, float]
]


def _by_unit(
    pair: PairedMetric, sign: float, drops: Floats, codes: Ints, units: int
) -> tuple[_Mixed, Floats]:
    """Swap and leave out units of tasks."""
    difference, n = pair.difference, len(codes)
    assert difference is not None  # noqa: S101 - a metric that is not a mean over tasks has one
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
    weights, sums = pseudo * sizes / n, np.bincount(codes, drops, units)

    def mixed(chosen: Any) -> tuple[float, float, float]:
        if chosen is None:
            return whole, float(weights.sum()), float(sums.sum())
        moved = chosen[codes] * n
        change = sign * difference(places + moved, places + n - moved)
        linear, summed = (float(np.where(chosen, -x, x).sum()) for x in (weights, sums))
        return change, linear, summed

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
    order = np.argsort(ends, kind="stable")  # metrics sort sorted values faster
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

    drop = sign * (distinct.real - distinct.imag)

    def mixed(chosen: Any) -> tuple[float, float, float]:
        if chosen is None:
            return whole, float(pseudo @ times / n), float(drop @ times)
        moved = chosen.binomial(times, 0.5).astype(float)
        stay = times - 2 * moved
        return (
            damage(times - moved, moved),
            float(pseudo @ stay / n),
            float(drop @ stay),
        )

    return mixed, pseudo, pseudo[kind]


def _swapped(
    mixed: _Mixed, units: int, rng: np.random.Generator, most: int, *, by_unit: bool
) -> Floats:
    """Return the numbers of `_Mixed` with units swapped, shape (3, swaps)."""
    # A choice and its opposite have the same damage but for the sign: each counts twice.
    choices: Any
    if not by_unit:
        choices = [rng] * most
    elif units <= _ENUMERATED:
        choices = (np.arange(1 << (units - 1))[:, None] >> np.arange(units) & 1).astype(
            bool
        )
    else:
        choices = rng.random((most, units)) < 0.5  # a fair coin
        choices[0] = (
            False  # the observed choice counts as one: a p of 0 would claim too much
        )
    half = np.array([mixed(choice) for choice in choices])
    return np.concatenate((half, -half)).T


def _reached(
    draws: Floats, seen: float, tie: float, tied: Floats | float = 0.5
) -> Floats:
    """Count each draw that is beyond what was seen; a tie counts half, which makes a mid-p."""
    return np.where(draws > seen + tie, 1.0, np.where(draws >= seen - tie, tied, 0.0))


def relabel_whole(pair: PairedMetric, sign: float, *, seed: int) -> tuple[float, float]:
    """Return the p and the mid-p of relabelled rollouts, the metric computed anew each time."""
    # Drops that tie are ranked by the mean drop of the tasks, as in `swap_test`.
    reduce = pair.reduce
    assert reduce is not None  # noqa: S101 - a metric that is not a mean over tasks has one
    one, other = pair.rewards_baseline, pair.rewards_current
    task = np.concatenate((one.task, other.task))
    order = np.argsort(task, kind="stable")
    task, values = task[order], np.concatenate((one.values, other.values))[order]
    within = np.arange(len(task)) - (one.offsets + other.offsets)[task]
    to_baseline = within < one.counts[task]
    weights = (
        np.where(to_baseline, 1 / one.counts[task], -1 / other.counts[task]) * sign
    )
    seen = sign * (pair.value_baseline - pair.value_current), float(weights @ values)
    ties = (
        _TIE * max(abs(pair.value_baseline), abs(pair.value_current)),
        _TIE * len(pair.tasks),
    )
    rng = np.random.Generator(np.random.PCG64(seed))
    draws = np.array([seen] * _EVALUATIONS)
    for draw in range(1, _EVALUATIONS):
        dealt = values[np.lexsort((rng.random(len(task)), task))]
        before = reduce(structs.replace(one, values=dealt[to_baseline]))
        after = reduce(structs.replace(other, values=dealt[~to_baseline]))
        draws[draw] = sign * (before - after), weights @ dealt
    ranked = _reached(draws[:, 1], seen[1], ties[1])
    reached = _reached(draws[:, 0], seen[0], ties[0], ranked)
    return float((reached > 0).mean()), float(reached.mean())


def extreme_test(pair: PairedMetric, sign: float) -> tuple[float, float, list[int]]:
    """Test the rollouts of single tasks, for a metric that is that of one task alone.

    Each task's rollouts are relabelled (Fisher 1935). Corrected for the least p of all tasks
    by 1 - prod(1 - P(p_i <= p)), which leaves out tasks that can't reach p (Tarone 1990). Several
    tasks at the least p are rarer than one: p is the chance of that many, or of a lower p.

    Returns the p of the most significant task beyond the baseline's value, corrected over all; the
    least p that these numbers of rollouts could give; and the places of the tasks beyond whose own
    p is at most 0.05, worst first.
    """
    sides = one, other = pair.rewards_baseline, pair.rewards_current
    lows, highs = (
        [end.reduceat(side.values, side.offsets[:-1]) for side in sides]
        for end in (np.minimum, np.maximum)
    )
    current = pair.current
    if current is None:
        current = (lows if pair.extreme == "lowest" else highs)[1]
    # the tasks that explain why the metric is worse than the baseline's
    beyond = sign * (pair.value_baseline - current) > 0
    single = np.ones(len(pair.tasks))
    for i in np.flatnonzero(beyond).tolist():
        rollouts = (side.values[slice(*side.offsets[i : i + 2])] for side in sides)
        dealt = [(values, np.array([0, len(values)])) for values in rollouts]
        single[i] = stats.relabel_test(*dealt, sign=sign).p
    p = float(single.min(initial=1.0))
    sizes = int(other.counts.max(initial=0)) + 1
    coded = one.counts * sizes + other.counts
    codes = np.unique(coded)  # its inverse would take four times the memory
    both = (divmod(code, sizes) for code in codes.tolist())
    reach = np.array([1 / math.comb(a + b, a) for a, b in both])[
        np.searchsorted(codes, coded)
    ]
    constant = np.maximum(*highs) == np.minimum(*lows)
    could = (reach <= p * (1 + _TIE)) & ~constant
    adjusted = 1.0
    if p < 1:
        lower = could & (reach < p * (1 - _TIE))
        any_could, any_lower = (
            -math.expm1(float(c.sum()) * math.log1p(-p)) for c in (could, lower)
        )
        at_least = int((single <= p * (1 + _TIE)).sum())
        so_many = stats.binom_sf(at_least, int(could.sum()), p)
        adjusted = min(any_could, any_lower + so_many)
    least = float(reach.min(initial=1.0))
    worst = np.flatnonzero(single <= 0.05)  # worth a look
    worst = worst[np.argsort(single[worst], kind="stable")]
    return min(adjusted, 1.0), least, worst.tolist()
