"""Several metrics judged at once: p values adjusted by the joint distribution of their drops.

Under H0 the damages of a task could all have the other sign. Flipping the signs of tasks at
random, the same for all metrics, shows how the metrics hang together: four names of one number
cost nothing, independent metrics as much as Holm's correction.
"""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.gates.comparison import Comparison

    Floats = NDArray[np.float64]

__all__ = ["adjust"]

_FLIPS = 8_192  # with their opposites 16,384
_UNITS = 1_024  # more are flipped in random blocks
_SURE = 40  # flips behind a p value that is read off; below it, Bonferroni's bound
_ALIKE = 1 - 1e-9  # the correlation of two names of one number


def adjust(found: Sequence[Comparison], groups: Sequence[str]) -> list[float]:
    """Adjust p values for each other, by step-down minimum p.

    Parameters
    ----------
    found
        The comparisons that are judged by their p value.
    groups
        Whose rollouts each is of: those of different agents are independent.

    Returns
    -------
    list of float
        In the order given; NaN where there is no p.

    Notes
    -----
    Westfall and Young 1993, Resampling-Based Multiple Testing, algorithm 2.8. A metric that has
    no damage by task (a swapped median, the worst task) counts as independent of the others.
    """
    p = np.array([f.p for f in found], dtype=np.float64)
    judged = np.flatnonzero(~np.isnan(p)).tolist()
    adjusted = p.copy()
    if len(judged) < 2:  # noqa: PLR2004 - nothing to adjust for
        return [float(v) for v in adjusted]
    classes = _classes([found[i] for i in judged], [groups[i] for i in judged])
    order = np.argsort(p[judged], kind="stable").tolist()
    last = 0.0
    for at, place in enumerate(order):
        i, left = judged[place], order[at:]
        last = max(last, _any_below(float(p[i]), [classes[j] for j in left]))
        adjusted[i] = last
    return [float(v) for v in adjusted]


class _Class:
    """Metrics that are one number: the p values of random flips, sorted by flip."""

    def __init__(self, group: object, ranks: Floats | None) -> None:
        self.group, self.ranks = group, ranks


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


def _classes(found: Sequence[Comparison], groups: Sequence[str]) -> list[_Class]:
    """Give each comparison its class; those of one number share one."""
    classes: list[_Class | None] = [None] * len(found)
    for group in dict.fromkeys(groups):
        places = [i for i, g in enumerate(groups) if g == group]
        linear = [i for i in places if found[i].influence is not None and not found[i].by_rollouts]
        for i in places:
            if i not in linear:
                classes[i] = _Class((group, i), None)  # a group of its own: independent
        scaled = _units([found[i] for i in linear])
        if scaled is None:
            for i in linear:
                classes[i] = _Class(group, None)
            continue
        firsts: list[int] = []  # the first of each class, by place in `linear`
        for at, i in enumerate(linear):
            alike = [f for f in firsts if float(scaled[f] @ scaled[at]) > _ALIKE]
            if alike and math.isclose(found[linear[alike[0]]].p, found[i].p, rel_tol=1e-6):
                classes[i] = classes[linear[alike[0]]]
            else:
                firsts.append(at)
                classes[i] = _Class(group, None)
        if len(firsts) > 1:
            for f, ranks in zip(firsts, _ranks(scaled[firsts], group), strict=True):
                classes[linear[f]].ranks = ranks  # type: ignore[union-attr]
    return [one for one in classes if one is not None]


def _units(found: Sequence[Comparison]) -> Floats | None:
    """Return the damage of each unit of length 1, shape (comparisons, units).

    A unit is a task, or a cluster; None where the clusters of two metrics don't match.
    """
    if not found:
        return np.zeros((0, 0))
    largest = max(found, key=lambda f: f.tasks)
    tasks, clusters = largest.pair.tasks, largest.clusters
    rows: list[Floats] = []
    for one in found:
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
    totals = (bits[:, :units].astype(np.float32) * 2 - 1) @ scaled.T.astype(np.float32)
    both = np.round(np.concatenate((totals, -totals)).T, 5)  # sums on a lattice tie
    ranks = np.empty((count, both.shape[1]))
    for row, each in enumerate(both):
        order = np.argsort(-each, kind="stable")
        ties = np.flatnonzero(np.diff(each[order], append=-np.inf))
        # tied sums share the middle of their ranks, as mid-p does
        middle = (np.concatenate(([0], ties[:-1] + 1)) + ties + 1) / 2
        ranks[row, order] = np.repeat(middle, np.diff(ties, prepend=-1)) / len(each)
    return ranks
