"""p values of several metrics, adjusted for each other by their joint distribution.

Flipping the signs of tasks' damages at random, the same for all metrics, shows how the
metrics hang together: four names of one number cost nothing, independent metrics as
much as Holm's correction.
"""

from __future__ import annotations

import math
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING

import msgspec
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.model.comparison import Comparison, Floats
    from pytest_evalmetrics.model.rollout_table import TaskId

# products of so many numbers are left to one thread: others would spin for longer than
# they help
_ALONE = 200_000
_FLIPS = 8_192  # with their opposites 16,384
_UNITS = 1_024  # more are flipped in random blocks
_SURE = 40  # flips behind a p value that is read off; below it, Bonferroni's bound
_ALIKE = 1 - 1e-9  # the correlation of two names of one number


class _Number(msgspec.Struct, frozen=True):
    """What several metrics may be names of."""

    # the metrics of a group depend on each other; those of different groups don't
    group: str | tuple[str, int]
    first: int  # the place of the first metric with these values


class _Metric(msgspec.Struct, frozen=True):
    """A tested metric, its group, and its place among those that are tested."""

    comparison: Comparison
    group: str
    place: int


class JointAdjustment(msgspec.Struct, frozen=True):
    """The p values of metrics that are judged at once, and what that costs each."""

    p: tuple[float, ...]  # of each comparison, adjusted if its rule tests it
    # as many independent metrics would share the level: 1 for names of one number
    sharing: float = 1.0


def adjusted_p(comparisons: Sequence[Comparison], groups: Sequence[str]) -> list[float]:
    """Return the adjusted p of each comparison, see `adjust_jointly`."""
    return list(adjust_jointly(comparisons, groups).p)


def adjust_jointly(
    comparisons: Sequence[Comparison], groups: Sequence[str]
) -> JointAdjustment:
    """Adjust p values by step-down minimum p (Westfall and Young 1993, algorithm 2.8).

    Parameters
    ----------
    comparisons
        Of all metrics that are judged at once. A metric without damage by task (a
        swapped median, the worst task) counts as independent.
    groups
        Of each comparison, the benchmark and the agent: the metrics of different ones
        count as independent, too.

    """
    adjusted = [float(comparison.test.p) for comparison in comparisons]
    places = [place for place, one in enumerate(comparisons) if _is_tested(one)]
    if len(places) < 2:  # nothing to adjust for
        return JointAdjustment(tuple(adjusted))
    tested = [
        _Metric(comparison=comparisons[place], group=groups[place], place=at)
        for at, place in enumerate(places)
    ]
    numbers, p_of_flips = _distinct_numbers(tested)
    from_least = sorted(tested, key=lambda metric: metric.comparison.test.p)
    last = 0.0
    for step, metric in enumerate(from_least):
        left = [numbers[other.place] for other in from_least[step:]]
        p = float(metric.comparison.test.p)
        last = max(last, _any_below(p, left, p_of_flips))
        adjusted[places[metric.place]] = last
    level = _level_of(tested)
    any_of_all = _any_below(level, numbers, p_of_flips)
    return JointAdjustment(tuple(adjusted), sharing=any_of_all / level)


def _level_of(tested: Sequence[_Metric]) -> float:
    """Return the level at which the metrics of one benchmark are judged at most."""
    rules = [metric.comparison.rule for metric in tested]
    return min(rule.alpha for rule in rules) / max(rule.benchmarks for rule in rules)


def _is_tested(comparison: Comparison) -> bool:
    return comparison.rule.tests and not math.isnan(comparison.test.p)


def _any_below(
    p: float, numbers: Sequence[_Number], p_of_flips: Mapping[_Number, Floats]
) -> float:
    """Return the chance that any of the numbers has a p value of at most `p`."""
    by_group: dict[str | tuple[str, int], list[_Number]] = {}
    for number in dict.fromkeys(numbers):
        by_group.setdefault(number.group, []).append(number)
    chance_of_none = 1.0
    for dependent in by_group.values():
        chance_of_none *= 1 - _any_of_group(p, dependent, p_of_flips)
    return min(max(1 - chance_of_none, p), 1.0)


def _any_of_group(
    p: float, dependent: Sequence[_Number], p_of_flips: Mapping[_Number, Floats]
) -> float:
    """Return the same for numbers that depend on each other, by p under each flip."""
    count = len(dependent)
    of_independent = 1 - (1 - p) ** count
    if count == 1:
        return of_independent
    least = np.minimum.reduce([p_of_flips[number] for number in dependent])
    flips = len(least)
    level = max(p, _SURE / flips)
    seen = int(np.count_nonzero(least <= level))
    expected = level * flips  # of one number
    # as many independent numbers would be seen so often
    independent = min(max(seen / expected, 1.0), count)
    # rare events are nearly independent: the bound holds where flips can't show them
    return min(of_independent, level * independent)


# -- which metrics are names of one number -----------------------------------------------


def _distinct_numbers(
    metrics: Sequence[_Metric],
) -> tuple[list[_Number], dict[_Number, Floats]]:
    """Find the number of each metric, and p of dependent numbers under random flips."""
    numbers = [_lone_number(metric) for metric in metrics]
    p_of_flips: dict[_Number, Floats] = {}
    for group in dict.fromkeys(metric.group for metric in metrics):
        linear = [metric for metric in metrics if _is_linear(metric, group)]
        scaled = _unit_damages([metric.comparison for metric in linear])
        if scaled is None:
            continue
        damage_of: dict[_Number, Floats] = {}
        firsts = _first_alike(linear, scaled)
        for metric, first in zip(linear, firsts, strict=True):
            number = _Number(group=group, first=linear[first].place)
            numbers[metric.place] = number
            damage_of[number] = scaled[first]
        if len(damage_of) > 1:
            flipped = _p_of_flips([*damage_of.values()], group)
            p_of_flips.update(zip(damage_of, flipped, strict=True))
    return numbers, p_of_flips


def _lone_number(metric: _Metric) -> _Number:
    """Return the number of a metric that depends on no other."""
    return _Number(group=(metric.group, metric.place), first=metric.place)


def _is_linear(metric: _Metric, group: str) -> bool:
    """Check whether a metric's p is of the influence of independent units."""
    comparison = metric.comparison
    is_sum = comparison.influence is not None and not comparison.by_rollouts
    return metric.group == group and is_sum


def _first_alike(metrics: Sequence[_Metric], scaled: Sequence[Floats]) -> list[int]:
    """Find for each metric the first one with the same damage and the same p."""
    distinct: list[int] = []
    firsts: list[int] = []
    for place, metric in enumerate(metrics):
        first = _first_with_damage(scaled, place, distinct)
        p_of_first = metrics[first].comparison.test.p
        if not math.isclose(p_of_first, metric.comparison.test.p, rel_tol=1e-6):
            first = place
        if first == place:
            distinct.append(place)
        firsts.append(first)
    return firsts


def _first_with_damage(
    scaled: Sequence[Floats], place: int, earlier: Sequence[int]
) -> int:
    """Find the first of earlier metrics with the same damage; else the metric itself."""
    for other in earlier:
        if float(scaled[other] @ scaled[place]) > _ALIKE:
            return other
    return place


def _unit_damages(comparisons: Sequence[Comparison]) -> list[Floats] | None:
    """Return the damage of the units of each comparison, scaled to length 1.

    None where there is nothing, or where metrics of other tasks have other clusters.
    """
    if not comparisons:
        return None
    rows = _damage_of_all_tasks(comparisons)
    if rows is None:
        return None
    clusters = _of_most_tasks(comparisons).clusters
    scaled = []
    for row in rows:
        of_units = row
        if clusters is not None:
            of_units = np.bincount(clusters, weights=row).astype(np.float64)
        length = math.sqrt(float((of_units**2).sum()))
        if length > 0:
            of_units = of_units / length
        scaled.append(of_units)
    return scaled


def _of_most_tasks(comparisons: Sequence[Comparison]) -> Comparison:
    return max(comparisons, key=lambda one: len(one.pair.tasks))


def _damage_of_all_tasks(comparisons: Sequence[Comparison]) -> list[Floats] | None:
    """Return damage over the tasks of all comparisons, 0 for one that some lack."""
    rows = [one.influence for one in comparisons if one.influence is not None]
    tasks = _of_most_tasks(comparisons).pair.tasks
    tasks_of_rows = [one.pair.tasks for one in comparisons]
    if all(own == tasks for own in tasks_of_rows):
        return rows
    all_tasks = dict.fromkeys(chain(tasks, *tasks_of_rows))
    is_clustered = any(one.clusters is not None for one in comparisons)
    if len(all_tasks) > len(tasks) and is_clustered:
        return None
    place_of = {task: place for place, task in enumerate(all_tasks)}
    return [
        _spread_over(place_of, row, own)
        for row, own in zip(rows, tasks_of_rows, strict=True)
    ]


def _spread_over(
    place_of: Mapping[TaskId, int], row: Floats, tasks: Sequence[TaskId]
) -> Floats:
    """Put the damage of some tasks at their places among all, 0 at the others."""
    damage = np.zeros(len(place_of))
    places = [place_of[task] for task in tasks]
    damage[places] = row
    return damage


# -- p under random flips ----------------------------------------------------------------


def _p_of_flips(scaled: Sequence[Floats], group: str) -> Floats:
    """Return p of each number under each random flip, shape (numbers, flips)."""
    digest = blake2b(group.encode(), digest_size=8).digest()
    seed = int.from_bytes(digest, "little")
    rng = np.random.Generator(np.random.PCG64(seed))
    totals = _flipped_sums(_in_blocks(scaled, rng), rng)
    flips = 2 * len(totals)  # with their opposites
    # sums on a lattice tie
    rounded = np.round(totals.T, 5)
    p_of_numbers = []
    for sums in rounded:
        # those of negative sums count from the other end
        ranks = _mid_ranks(sums) % flips
        with_opposites = np.concatenate((ranks, flips - ranks))
        p_of_numbers.append(with_opposites / flips)
    return np.array(p_of_numbers)


def _in_blocks(scaled: Sequence[Floats], rng: np.random.Generator) -> Floats:
    """Sum many units in random blocks, each of which is flipped as a whole.

    Shape (numbers, blocks).
    """
    units = len(scaled[0])
    if units <= _UNITS:
        return np.array(scaled)
    # a block's signs are drawn together, its tasks' signs beforehand
    coins = rng.integers(0, 2, units).astype(np.int8)
    order = rng.permutation(units)
    signs = 2 * coins[order] - 1
    starts = np.linspace(0, units, _UNITS, endpoint=False).astype(np.intp)
    blocks = np.empty((len(scaled), _UNITS))
    # one number after the other: a million tasks are eight megabytes
    for number, damage in enumerate(scaled):
        shuffled = damage[order]
        shuffled *= signs
        blocks[number] = np.add.reduceat(shuffled, starts)
    return blocks


def _flipped_sums(scaled: Floats, rng: np.random.Generator) -> NDArray[np.float32]:
    """Sum the damage with the signs of units flipped, shape (flips, numbers)."""
    units = scaled.shape[1]
    coins = rng.integers(0, 256, (_FLIPS, math.ceil(units / 8)), dtype=np.uint8)
    signs_of_byte = _signs_of_bytes()
    weights = scaled.T.astype(np.float32)
    numbers = len(scaled)
    sums = np.empty((_FLIPS, numbers), dtype=np.float32)
    rows = max(1, _ALONE // weights.size)
    for start in range(0, _FLIPS, rows):
        end = min(start + rows, _FLIPS)
        # a table with a mode is copied from without checks
        signs = signs_of_byte.take(coins[start:end], axis=0, mode="clip")
        flipped = signs.reshape(end - start, -1)[:, :units]
        np.matmul(flipped, weights, out=sums[start:end])
    return sums


def _signs_of_bytes() -> NDArray[np.float32]:
    """Return a sign for each bit of each byte, -1 or 1, shape (256, 8)."""
    every_byte = np.arange(256, dtype=np.uint8)[:, None]
    bits = np.unpackbits(every_byte, axis=1).astype(np.float32)
    return bits * 2 - 1


def _mid_ranks(sums: NDArray[np.float32]) -> Floats:
    """Rank each sum by its size, among all sums and their opposites, shape (sums,).

    The rank of a negative sum is negative: it counts from the other end. Tied sums
    share the middle of their ranks, as mid-p does.
    """
    flips = len(sums)
    sizes = np.abs(sums)
    order = np.argsort(sizes)[::-1]
    last = np.flatnonzero(np.diff(sizes[order], append=-1))
    first = np.concatenate(([0], last[:-1] + 1))
    middle = np.where(sizes[order][last] > 0, (first + last + 1) / 2, flips)
    ranks = np.empty(flips)
    ranks[order] = np.repeat(middle, last - first + 1)
    ranks[np.flatnonzero(sums < 0)] *= -1
    return ranks
