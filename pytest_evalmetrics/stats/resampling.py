"""Resampling: the bootstrap of tasks, and the relabelling of their rollouts.

Under the null hypothesis of relabelling a task's rollouts could have come from either side: those
of both sides are pooled, and as many as the baseline has are dealt to it at random. The test stays
valid where the sides have different numbers of rollouts, where the differences of rare passes are
too skewed for the t test.

==============================  ======================================================
the rewards                     the distribution of the summed damage is
==============================  ======================================================
two values, few tasks           exact, by convolving hypergeometric draws (FFT)
two values, many tasks          a Pearson type III of the exact mean, variance and skew
any, few tasks                  convolved from all, or 2,000 random, deals of a task
any, many tasks, a mean         Pearson type III, cumulants in closed form
any, many tasks, no mean        Pearson type III, cumulants from random deals of a task
==============================  ======================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable
from hashlib import blake2b
from itertools import combinations
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.stats.basics import StatResult, StatsError, lattice_step
from pytest_evalmetrics.stats.distributions import LEAST_P, normal_log_sf, normal_sf

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.stats.basics import Floats, Ints

    Side = tuple[Floats, Ints]  # rewards, and where each task's begin and the last ends
    Sides = tuple[Side, Side]  # of the baseline and of the run

# rewards, and where each task's begin -> each task's value, shape (tasks,)
TaskStatistic = Callable[
    ["NDArray[np.float64]", "NDArray[np.int64]"], "NDArray[np.float64]"
]

MOST_TASKS = 2_048  # for draws as index vectors
_NAME = "relabelled rollouts"
_GRID = 1 << 12  # points of the convolution, where the damages are on no lattice
_LATTICE = 1 << 17  # the most points of one on a lattice
_FEW = 12  # tasks up to which all is convolved
_KINDS = 40  # kinds of tasks up to which many tasks are
_CONVOLVED = 4_000  # many tasks
_DEALS = 2_000  # of one task's rollouts, where all of them are too many
_SKETCH = 64  # the same where many tasks are summed
_SKETCHED = 1_000  # tasks of these that are dealt
_SAME = 1e-9  # relative: equal but for rounding
_DIGITS = 11  # of a p value; more are rounding of the transform
_LEAST = 1e-11


def seed_of(name: str, key: str) -> int:
    """Return a seed from a name and a key, which later versions must not change."""
    sizes = np.array(
        [len(name), len(key)], dtype="<i8"
    )  # so that the two don't run together
    text = (name + key).encode("utf-8", "surrogatepass")
    return int.from_bytes(
        blake2b(sizes.tobytes() + text, digest_size=16).digest(), "little"
    )


def reducer_draws(
    reducer: Callable[[NDArray[np.intp]], float],
    n: int,
    clusters: Ints | None,
    draws: int,
    rng: np.random.Generator,
    *,
    weighted: Callable[[Floats], float] | None = None,
) -> Floats:
    """Return `draws` bootstrap values of an estimate over `n` tasks, or over clusters of them."""
    groups = np.arange(n) if clusters is None else clusters
    names, codes = np.unique(groups, return_inverse=True)
    units = len(names)
    if n > MOST_TASKS and weighted is not None:
        out = np.empty(draws)
        for draw in range(draws):
            times = np.bincount(rng.integers(0, units, size=units), minlength=units)
            out[draw] = weighted(times[codes].astype(np.float64))
        return out
    picked = rng.integers(0, units, size=(draws, units), dtype=np.int32).astype(np.intp)
    if clusters is None:
        return np.array([reducer(tasks) for tasks in picked])
    members = [np.flatnonzero(codes == unit) for unit in range(units)]
    return np.array(
        [reducer(np.concatenate([members[u] for u in drawn])) for drawn in picked]
    )


def relabel_test(
    baseline: Side,
    current: Side,
    *,
    sign: float = 1.0,
    statistic: TaskStatistic | None = None,
    seed: int = 0,
) -> StatResult:
    """Test a metric that is a mean over tasks by relabelling the rollouts within each task.

    Each side is its rewards, and where each task's begin and the last ends; no task may be empty. A
    positive `sign` means that a fall is damage. `statistic` values tasks, by default by the mean of
    their rewards; `seed` is of random deals. One-sided, of the damage summed over tasks: `p` is the
    mid-p too where the distribution is approximated, 1 where no relabelling changes anything.

    Fisher 1935, The Design of Experiments, chapter III; Lancaster 1961 for mid-p. Cumulants of a
    mean drawn without replacement: Cochran 1977, Sampling Techniques, chapter 2, and Sukhatme 1944.
    The tail of the type III distribution: Wilson and Hilferty 1931.
    """
    sides = baseline, current
    low = min(float(rewards.min()) for rewards, _ in sides)
    high = max(float(rewards.max()) for rewards, _ in sides)
    if all(((v == low) | (v == high)).all() for v, _ in sides):
        states, observed = _two_valued(sides, (low, high), sign, statistic)
        n = len(baseline[1]) - 1
        several = n > _FEW and (n > _CONVOLVED or len(states.times) > _KINDS)
    else:
        lowest = np.minimum(*(np.minimum.reduceat(v, o[:-1]) for v, o in sides))
        highest = np.maximum(*(np.maximum.reduceat(v, o[:-1]) for v, o in sides))
        tasks = np.flatnonzero(highest > lowest)  # the others stay
        several = len(tasks) > _FEW
        if several and statistic is None:
            return _type_iii(*_mean_cumulants(sides, sign))
        rng = np.random.Generator(np.random.PCG64(seed))
        dealt, deals = tasks, _SKETCH if several else _DEALS
        if len(tasks) > _SKETCHED:  # the cumulants of a sample represent all tasks
            dealt = np.sort(rng.permutation(tasks)[:_SKETCHED])
        states, observed = _dealt(sides, sign, statistic, rng, deals, dealt)
        if statistic is not None and len(dealt) < len(tasks):
            states = structs.replace(
                states, times=states.times * (len(tasks) / _SKETCHED)
            )
            observed = sign * float(sum(statistic(*baseline) - statistic(*current)))
    if not math.isfinite(observed):
        raise StatsError("a task's value is not a finite number")
    if several:
        return _type_iii(observed, *_cumulants(states))
    return _convolved(observed, states)


class _States(msgspec.Struct, frozen=True):
    """The damages that are possible for a task: one row per kind of task, padded with chance 0."""

    damage: Floats
    chance: Floats
    times: Floats  # how many tasks are of the kind


def _two_valued(
    sides: Sides,
    ends: tuple[float, float],
    sign: float,
    statistic: TaskStatistic | None,
) -> tuple[_States, float]:
    """Deal passes by the hypergeometric distribution, tasks of equal counts at once."""
    sizes = [np.diff(offsets) for _, offsets in sides]
    highs = [np.add.reduceat(v == ends[1], o[:-1], dtype=np.int64) for v, o in sides]
    most = int(sizes[0].max() + sizes[1].max()) + 1
    code = (sizes[0] * most + sizes[1]) * most + highs[0] + highs[1]
    kinds, kind, times = np.unique(code, return_inverse=True, return_counts=True)
    nb, nc, x = kinds // most**2, kinds // most % most, kinds % most
    first = np.maximum(0, x - nc)
    j = first[:, None] + np.arange(int((np.minimum(nb, x) - first).max()) + 1)
    valid = j <= np.minimum(nb, x)[:, None]
    j = np.where(valid, j, first[:, None])
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, 2 * most)))))

    def ways(n: Ints, k: Ints) -> Floats:
        return np.asarray(logs[n] - logs[k] - logs[n - k])

    log = (
        ways(nb[:, None], j)
        + ways(nc[:, None], x[:, None] - j)
        - ways(nb + nc, x)[:, None]
    )
    chance = np.where(valid, np.exp(log), 0.0)
    chance /= chance.sum(axis=1, keepdims=True)
    before = two_valued(nb[:, None], j, ends, statistic)
    damage = sign * (before - two_valued(nc[:, None], x[:, None] - j, ends, statistic))
    observed = float(damage[kind, highs[0] - first[kind]].sum())
    return _States(damage, chance, times.astype(np.float64)), observed


def two_valued(
    sizes: Ints,
    ups: Ints,
    ends: tuple[float, float],
    statistic: TaskStatistic | None = None,
) -> Floats:
    """Compute tasks' values if `ups` of their `sizes` rollouts have the second reward of `ends`."""
    if statistic is None:
        return np.asarray(ends[0] + (ends[1] - ends[0]) * ups / sizes)
    size, up = (each.ravel() for each in np.broadcast_arrays(sizes, ups))
    offsets = np.concatenate(([0], np.cumsum(size)))
    rank = np.arange(offsets[-1]) - np.repeat(offsets[:-1], size)
    rewards = np.where(rank < np.repeat(up, size), ends[1], ends[0])
    return statistic(rewards, offsets).reshape(ups.shape)


def _dealt(  # noqa: PLR0917 - one per array
    sides: Sides,
    sign: float,
    statistic: TaskStatistic | None,
    rng: np.random.Generator,
    deals: int,
    tasks: Ints,
) -> tuple[_States, float]:
    """Deal each task's rollouts in all ways, or in so many random ones."""
    damage, chance = (
        np.zeros((len(tasks), deals + 1)),
        np.zeros((len(tasks), deals + 1)),
    )
    observed = 0.0
    for row, task in enumerate(tasks.tolist()):
        rollouts = [v[o[task] : o[task + 1]] for v, o in sides]
        pooled, nb = np.concatenate(rollouts), len(rollouts[0])
        places = range(len(pooled))
        if math.comb(len(pooled), nb) <= deals:
            ways = combinations(places, nb)
            order = np.array(
                [[*way, *(i for i in places if i not in way)] for way in ways]
            )
        else:  # the observed deal counts as one: a p of 0 would claim too much
            order = np.argsort(rng.random((deals + 1, len(pooled))), axis=1)
            order[0] = places
        before, after = (
            block.mean(axis=1)
            if statistic is None
            else statistic(block.ravel(), np.arange(len(block) + 1) * block.shape[1])
            for block in (pooled[order[:, :nb]], pooled[order[:, nb:]])
        )
        dealt = sign * (before - after)
        damage[row, : len(dealt)], damage[row, len(dealt) :] = dealt, dealt[0]
        chance[row, : len(dealt)] = 1 / len(dealt)
        observed += dealt[0]
    return _States(damage, chance, np.ones(len(tasks))), observed


def _mean_cumulants(sides: Sides, sign: float) -> tuple[float, float, float, float]:
    """Return the summed damage of means, and its mean, variance and third cumulant."""
    sums = [np.add.reduceat(v, o[:-1]) for v, o in sides]
    nb, nc = (np.diff(offsets) for _, offsets in sides)
    n = nb + nc
    centre = (sums[0] + sums[1]) / n
    second, third = np.zeros(len(n)), np.zeros(len(n))
    for values, offsets in sides:
        rest = values - np.repeat(centre, np.diff(offsets))
        square = rest * rest
        second += np.add.reduceat(square, offsets[:-1])
        third += np.add.reduceat(square * rest, offsets[:-1])
    second, third = second / n, third / n
    spread = second / nb * (n / nc) * (n / (n - 1))
    # of the baseline's mean, times (n / nc)^3 for the difference of the two means
    skew = np.zeros(len(n))
    wide = n > 2  # two rollouts have no skew
    skew[wide] = ((n - nb) * (n - 2 * nb) * (n / nc) ** 3)[wide] * third[wide]
    skew[wide] /= ((n - 1.0) * (n - 2) * nb.astype(float) ** 2)[wide]
    observed = float((sums[0] / nb - sums[1] / nc).sum())
    return sign * observed, 0.0, float(spread.sum()), sign * float(skew.sum())


def _cumulants(states: _States) -> tuple[float, float, float]:
    mean = (states.chance * states.damage).sum(axis=1)
    rest = states.damage - mean[:, None]
    second, third = ((states.chance * rest**power).sum(axis=1) for power in (2, 3))
    times = states.times
    return float(times @ mean), float(times @ second), float(times @ third)


def _type_iii(
    observed: float, mean: float, variance: float, third: float
) -> StatResult:
    """Return the upper tail of a Pearson type III distribution."""
    if variance <= 0:
        return StatResult(_NAME, 1.0, 1.0)
    z, skew = (observed - mean) / math.sqrt(variance), third / variance**1.5
    if abs(skew) > 1e-6:  # else it is the normal distribution
        shape = 4 / skew**2
        scaled = 1 + math.copysign(z / math.sqrt(shape), z * skew)
        root = math.copysign(abs(scaled) ** (1 / 3), scaled) if scaled > 0 else 0.0
        z = math.copysign(3 * math.sqrt(shape), skew) * (root - 1 + 1 / (9 * shape))
    p = max(float(f"{normal_sf(z):.10g}"), LEAST_P)
    return StatResult(_NAME, p, p, log_tail=normal_log_sf(z))


def _convolved(observed: float, states: _States) -> StatResult:
    """Convolve the tasks' distributions, and read the upper tail off."""
    present = states.chance > 0
    lowest = np.where(present, states.damage, math.inf).min(axis=1)
    highest = np.where(present, states.damage, -math.inf).max(axis=1)
    above = np.where(present, states.damage - lowest[:, None], 0.0)
    span = float(states.times @ (highest - lowest))
    if span <= 0:
        return StatResult(_NAME, 1.0, 1.0)
    lattice = lattice_step(np.unique(np.round(above, 12)))
    exact = lattice is not None and span / lattice < _LATTICE
    step = lattice if lattice is not None and exact else span / _GRID
    points = round(span / step) + 2
    spread = 0 if exact else int(states.times.sum())  # a cell more for each task
    size = 1 << (points + spread).bit_length()
    total = np.zeros(size // 2 + 1, dtype=np.complex128)
    for row, chance, times in zip(
        np.round(above / step, 6), states.chance, states.times.tolist(), strict=True
    ):
        cells, cell = np.zeros(size), np.rint(row) if exact else row
        at = np.floor(cell).astype(np.int64)
        np.add.at(cells, at, chance * (1 - (cell - at)))
        np.add.at(cells, at + 1, chance * (cell - at))
        wave = np.fft.rfft(cells)
        total += times * np.log(np.where(wave == 0, 1e-30, wave))
    density = np.fft.irfft(np.exp(total), size)
    place = round((observed - float(states.times @ lowest)) / step, 6)
    slack = 0.25 if exact else _SAME * points
    at = np.arange(size)
    equal = float(density[np.abs(at - place) <= slack].sum())
    beyond = float(density[at > place + slack].sum())
    # the farthest point is exact: its chance is a product
    reach = np.where(
        above >= (highest - lowest)[:, None] - _SAME * span, states.chance, 0.0
    )
    log_farthest = float(states.times @ np.log(reach.sum(axis=1)))
    farthest = float(f"{math.exp(max(log_farthest, -700.0)):.10g}")
    p, mid = farthest, farthest / 2
    if place + slack < points - 2:  # otherwise the farthest point itself was observed
        p = max(round(beyond + equal, _DIGITS), farthest, _LEAST)
        mid = max(round(beyond + equal / 2, _DIGITS), farthest, _LEAST)
    return StatResult(_NAME, min(p, 1.0), min(mid, 1.0))
