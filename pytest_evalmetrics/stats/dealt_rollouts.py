"""The relabelling of rollouts: each of a task's could have come from either side.

Under the null hypothesis a task's rollouts of both sides are pooled, and as many as the
baseline has are dealt to it at random. The test stays valid where the sides have
different numbers of rollouts, where the differences of rare passes are too skewed for
the t test.

==============================  ======================================================
the rewards                     the distribution of the summed damage is
==============================  ======================================================
two values, few tasks           exact, by convolving hypergeometric draws (FFT)
two values, many tasks          a Pearson type III of the exact mean, variance and skew
any, few tasks                  convolved from all, or 2,000 random, deals of a task
any, many tasks, a mean         Pearson type III, cumulants in closed form; tasks that
                                vary more than a tenth of all are dealt one by one
any, many tasks, no mean        Pearson type III, cumulants from random deals of a task
==============================  ======================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.stats.basics import StatResult, StatsError, lattice_step
from pytest_evalmetrics.stats.distributions import (
    LEAST_P,
    normal_log_sf,
    p_of_log,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.stats.basics import Floats, Ints

    # rewards, and where each task's begin and the last ends
    Side: TypeAlias = tuple[Floats, Ints]

# rewards, and where each task's begin -> each task's value, shape (tasks,)
TaskStatistic = Callable[
    ["NDArray[np.float64]", "NDArray[np.int64]"], "NDArray[np.float64]"
]

_NAME = "relabelled rollouts"
_GRID = 1 << 12  # points of the convolution, where the damages are on no lattice
_LATTICE = 1 << 17  # the most points of one on a lattice
_FEW = 12  # tasks up to which all is convolved
_KINDS = 40  # kinds of tasks up to which many tasks are
_CONVOLVED = 4_000  # many tasks
_DEALS = 2_000  # of one task's rollouts, where all of them are too many
_SKETCH = 64  # the same where many tasks are summed
_SKETCHED = 1_000  # tasks of these that are dealt
_HEAVY = 0.1  # of the variance of a task and all that vary less: it is dealt by itself
_MOST_HEAVY = 12
_ATOMS = 4_000  # sums of deals of these
_SAME = 1e-9  # relative: equal but for rounding
_SKEWED = 1e-6  # the skew below which a distribution is normal
_DIGITS = 11  # of a p value; more are rounding of the transform
_LEAST = 1e-11


class _Rewards(msgspec.Struct, frozen=True):
    """The rewards of one side."""

    values: Floats  # shape (rollouts,)
    offsets: Ints  # where each task's begin, and the last ends, shape (tasks + 1,)

    @property
    def counts(self) -> Ints:
        """The rollouts of each task, shape (tasks,)."""
        return np.diff(self.offsets)

    def summed(self, of_rollouts: Floats) -> Floats:
        """Sum a number of each rollout by task, shape (tasks,)."""
        return np.asarray(np.add.reduceat(of_rollouts, self.offsets[:-1]))

    def of_task(self, task: int) -> Floats:
        """Return the rewards of one task."""
        return self.values[self.offsets[task] : self.offsets[task + 1]]


class _Sides(msgspec.Struct, frozen=True, kw_only=True):
    """Both sides of a comparison, and how the damage of a task is measured."""

    before: _Rewards
    now: _Rewards
    sign: float  # positive if a fall is damage
    statistic: TaskStatistic | None  # None for the mean of a task's rewards

    @property
    def both(self) -> tuple[_Rewards, _Rewards]:
        """The baseline, and the run."""
        return self.before, self.now

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest reward."""
        low = min(float(side.values.min()) for side in self.both)
        high = max(float(side.values.max()) for side in self.both)
        return low, high

    @property
    def are_two_valued(self) -> bool:
        """Whether each reward has one of two values."""
        low, high = self.ends
        return all(
            ((side.values == low) | (side.values == high)).all() for side in self.both
        )

    @property
    def varying(self) -> Ints:
        """Find the tasks whose rewards differ: the others stay as they are."""
        lowest = [
            np.minimum.reduceat(side.values, side.offsets[:-1]) for side in self.both
        ]
        highest = [
            np.maximum.reduceat(side.values, side.offsets[:-1]) for side in self.both
        ]
        return np.flatnonzero(np.maximum(*highest) > np.minimum(*lowest))


class _States(msgspec.Struct, frozen=True):
    """The damages that deals give to tasks: one row per kind of task, padded by chance 0."""

    damage: Floats  # shape (kinds, damages)
    chance: Floats  # of each, shape (kinds, damages)
    times: Floats  # how many tasks are of the kind, shape (kinds,)


class _Cumulants(msgspec.Struct, frozen=True):
    """The mean, the variance and the third cumulant of a summed damage."""

    mean: float
    variance: float
    third: float


def relabel_test(
    baseline: Side,
    current: Side,
    *,
    sign: float = 1.0,
    statistic: TaskStatistic | None = None,
    seed: int = 0,
) -> StatResult:
    """Test a metric that is a mean over tasks by relabelling the rollouts of each task.

    Each side is its rewards, and where each task's begin and the last ends; no task may
    be empty. A positive `sign` means that a fall is damage. `statistic` values tasks,
    by default by the mean of their rewards; `seed` is of random deals. One-sided, of
    the damage summed over tasks: `p` is the mid-p too where the distribution is
    approximated, 1 where no relabelling changes anything.

    Fisher 1935, The Design of Experiments, chapter III; Lancaster 1961 for mid-p.
    Cumulants of a mean drawn without replacement: Cochran 1977, Sampling Techniques,
    chapter 2, and Sukhatme 1944. The tail of the type III distribution: Wilson and
    Hilferty 1931.
    """
    sides = _Sides(
        before=_Rewards(*baseline),
        now=_Rewards(*current),
        sign=sign,
        statistic=statistic,
    )
    if sides.are_two_valued:
        return _test_two_values(sides)
    rng = np.random.Generator(np.random.PCG64(seed))
    tasks = sides.varying
    if len(tasks) <= _FEW:
        observed, states = _dealt(sides, tasks, _DEALS, rng)
        return _convolved(_finite(observed), states)
    if statistic is None:
        return _test_means(sides, rng)
    return _test_sketched(sides, tasks, statistic, rng)


def _finite(observed: float) -> float:
    if not math.isfinite(observed):
        raise StatsError("a task's value is not a finite number")
    return observed


# -- rewards of two values ---------------------------------------------------------------


def _test_two_values(sides: _Sides) -> StatResult:
    observed, states = _two_valued_states(sides)
    tasks = len(sides.before.offsets) - 1
    kinds = len(states.times)
    is_many = tasks > _CONVOLVED or kinds > _KINDS
    if tasks > _FEW and is_many:
        return _of_tail(_type_iii(_finite(observed), _cumulants(states)))
    return _convolved(_finite(observed), states)


def _two_valued_states(sides: _Sides) -> tuple[float, _States]:
    """Deal passes by the hypergeometric distribution, tasks of equal counts at once.

    Returns the observed damage, summed, and what deals give.
    """
    ends = sides.ends
    n_before = sides.before.counts
    n_now = sides.now.counts
    highs_before = _count_of(sides.before, ends[1])
    highs_now = _count_of(sides.now, ends[1])
    # tasks of as many rollouts on both sides, as many of them high, are of one kind
    base = int(n_before.max() + n_now.max()) + 1
    code = (n_before * base + n_now) * base + highs_before + highs_now
    kinds, kind_of_task, times = np.unique(
        code, return_inverse=True, return_counts=True
    )
    n = kinds // base**2
    m = kinds // base % base
    highs = kinds % base
    fewest = np.maximum(0, highs - m)
    most = np.minimum(n, highs)
    # the high rewards that the baseline is dealt, shape (kinds, ways)
    dealt = fewest[:, None] + np.arange(int((most - fewest).max()) + 1)
    is_possible = dealt <= most[:, None]
    dealt = np.where(is_possible, dealt, fewest[:, None])
    log_factorials = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, 2 * base)))))

    def log_ways(of: Ints, chosen: Ints) -> Floats:
        rest = log_factorials[chosen] + log_factorials[of - chosen]
        return np.asarray(log_factorials[of] - rest)

    rest = highs[:, None] - dealt
    log_chance = log_ways(n[:, None], dealt) + log_ways(m[:, None], rest)
    log_chance -= log_ways(n + m, highs)[:, None]
    chance = np.where(is_possible, np.exp(log_chance), 0.0)
    chance /= chance.sum(axis=1, keepdims=True)
    before = two_valued(n[:, None], dealt, ends, sides.statistic)
    now = two_valued(m[:, None], rest, ends, sides.statistic)
    damage = sides.sign * (before - now)
    place = highs_before - fewest[kind_of_task]
    observed = float(damage[kind_of_task, place].sum())
    return observed, _States(damage, chance, times.astype(np.float64))


def _count_of(side: _Rewards, value: float) -> Ints:
    """Count the rewards of each task that have a value, shape (tasks,)."""
    return np.asarray(
        np.add.reduceat(side.values == value, side.offsets[:-1], dtype=np.int64)
    )


def two_valued(
    sizes: Ints,
    ups: Ints,
    ends: tuple[float, float],
    statistic: TaskStatistic | None = None,
) -> Floats:
    """Compute tasks' values if `ups` of their `sizes` rollouts have the second of `ends`."""
    if statistic is None:
        return np.asarray(ends[0] + (ends[1] - ends[0]) * ups / sizes)
    size, up = (array.ravel() for array in np.broadcast_arrays(sizes, ups))
    offsets = np.concatenate(([0], np.cumsum(size)))
    rank = np.arange(offsets[-1]) - np.repeat(offsets[:-1], size)
    rewards = np.where(rank < np.repeat(up, size), ends[1], ends[0])
    return statistic(rewards, offsets).reshape(ups.shape)


# -- any rewards -------------------------------------------------------------------------


def _test_means(sides: _Sides, rng: np.random.Generator) -> StatResult:
    """Test the mean of many tasks by its cumulants.

    A task that varies more than the others together, such as by one hang, is dealt in
    all ways, or in many: three cumulants don't know a distribution of two humps.
    """
    of_tasks = _mean_cumulants(sides)
    observed = sides.sign * float(of_tasks.damage.sum())
    heavy = _heavy_tasks(of_tasks.variance)
    if not len(heavy):
        return _of_tail(_type_iii(observed, of_tasks.summed(sides.sign)))
    is_light = np.ones(len(of_tasks.damage), dtype=bool)
    is_light[heavy] = False
    rest = of_tasks.chosen(is_light).summed(sides.sign)
    sums = _sums_of_deals(sides, heavy, rng)
    log_tails = np.array([_type_iii(observed - dealt, rest) for dealt in sums.tolist()])
    largest = float(log_tails.max())
    return _of_tail(largest + math.log(float(np.exp(log_tails - largest).mean())))


class _TaskCumulants(msgspec.Struct, frozen=True):
    """Of each task's damage under relabelling, for a fall that is damage; shape (tasks,)."""

    damage: Floats  # as observed
    variance: Floats
    third: Floats

    def chosen(self, tasks: NDArray[np.bool_]) -> _TaskCumulants:
        """Choose tasks."""
        return _TaskCumulants(
            self.damage[tasks], self.variance[tasks], self.third[tasks]
        )

    def summed(self, sign: float) -> _Cumulants:
        """Sum them over tasks."""
        return _Cumulants(
            0.0, float(self.variance.sum()), sign * float(self.third.sum())
        )


def _mean_cumulants(sides: _Sides) -> _TaskCumulants:
    """Return the cumulants of the difference of two means, drawn without replacement."""
    n_before = sides.before.counts
    n_now = sides.now.counts
    n = n_before + n_now
    sum_before = sides.before.summed(sides.before.values)
    sum_now = sides.now.summed(sides.now.values)
    centre = (sum_before + sum_now) / n
    second = np.zeros(len(n))
    third = np.zeros(len(n))
    for side in sides.both:
        rest = side.values - np.repeat(centre, side.counts)
        squares = rest * rest
        second += side.summed(squares)
        third += side.summed(squares * rest)
    second = second / n
    third = third / n
    variance = second / n_before * (n / n_now) * (n / (n - 1))
    # of the baseline's mean, times (n / n_now)^3 for the difference of the two means
    skew = np.zeros(len(n))
    wide = n > 2  # two rollouts have no skew
    factor = (n - n_before) * (n - 2 * n_before) * (n / n_now) ** 3
    skew[wide] = factor[wide] * third[wide]
    skew[wide] /= ((n - 1.0) * (n - 2) * n_before.astype(float) ** 2)[wide]
    return _TaskCumulants(sum_before / n_before - sum_now / n_now, variance, skew)


def _heavy_tasks(variance: Floats) -> Ints:
    """Find the tasks that vary more than a tenth of themselves and all that vary less."""
    order = np.argsort(-variance, kind="stable")
    ordered = variance[order]
    left = np.cumsum(ordered[::-1])[::-1]
    is_light = ordered <= _HEAVY * left
    count = int(is_light.argmax()) if is_light.any() else len(order)
    return order[: min(count, _MOST_HEAVY)]


def _sums_of_deals(sides: _Sides, tasks: Ints, rng: np.random.Generator) -> Floats:
    """Return what deals of a few tasks sum to, each as likely: all ways, or many of them."""
    sums: Floats = np.zeros(1)
    for task in tasks.tolist():
        damages = _deals_of(sides, task, _DEALS, rng)
        values = (sums[:, None] + damages).ravel()
        if len(values) > _ATOMS:
            values = rng.choice(values, _ATOMS, replace=False)
        sums = values
    return sums


def _test_sketched(
    sides: _Sides, tasks: Ints, statistic: TaskStatistic, rng: np.random.Generator
) -> StatResult:
    """Test the mean of a statistic of many tasks by random deals of some of them."""
    dealt = tasks
    if len(tasks) > _SKETCHED:  # the cumulants of a sample represent all tasks
        dealt = np.sort(rng.permutation(tasks)[:_SKETCHED])
    observed, states = _dealt(sides, dealt, _SKETCH, rng)
    if len(dealt) < len(tasks):
        times = states.times * (len(tasks) / _SKETCHED)
        states = structs.replace(states, times=times)
        before = statistic(sides.before.values, sides.before.offsets)
        now = statistic(sides.now.values, sides.now.offsets)
        observed = sides.sign * float(sum(before - now))
    return _of_tail(_type_iii(_finite(observed), _cumulants(states)))


def _dealt(
    sides: _Sides, tasks: Ints, deals: int, rng: np.random.Generator
) -> tuple[float, _States]:
    """Deal each task's rollouts in all ways, or in so many random ones.

    Returns the observed damage, summed, and what deals give.
    """
    damage = np.zeros((len(tasks), deals + 1))
    chance = np.zeros((len(tasks), deals + 1))
    observed = 0.0
    for row, task in enumerate(tasks.tolist()):
        of_deals = _deals_of(sides, task, deals, rng)
        count = len(of_deals)
        damage[row, :count] = of_deals
        damage[row, count:] = of_deals[0]
        chance[row, :count] = 1 / count
        observed += float(of_deals[0])
    return observed, _States(damage, chance, np.ones(len(tasks)))


def _deals_of(sides: _Sides, task: int, deals: int, rng: np.random.Generator) -> Floats:
    """Return a task's damage under each deal of its rollouts, the observed one first."""
    before = sides.before.of_task(task)
    pooled = np.concatenate((before, sides.now.of_task(task)))
    size = len(before)
    places = range(len(pooled))
    if math.comb(len(pooled), size) <= deals:
        order = np.array(
            [
                [*chosen, *(place for place in places if place not in chosen)]
                for chosen in combinations(places, size)
            ]
        )
    else:  # the observed deal counts as one: a p of 0 would claim too much
        order = np.argsort(rng.random((deals + 1, len(pooled))), axis=1)
        order[0] = places
    value_before = _values_of(pooled[order[:, :size]], sides.statistic)
    value_now = _values_of(pooled[order[:, size:]], sides.statistic)
    return np.asarray(sides.sign * (value_before - value_now))


def _values_of(rewards: Floats, statistic: TaskStatistic | None) -> Floats:
    """Value tasks of as many rollouts each; `rewards` has shape (tasks, rollouts)."""
    if statistic is None:
        return np.asarray(rewards.mean(axis=1))
    offsets = np.arange(len(rewards) + 1) * rewards.shape[1]
    return statistic(rewards.ravel(), offsets)


# -- the distribution of the sum ---------------------------------------------------------


def _cumulants(states: _States) -> _Cumulants:
    mean = (states.chance * states.damage).sum(axis=1)
    rest = states.damage - mean[:, None]
    second = (states.chance * rest**2).sum(axis=1)
    third = (states.chance * rest**3).sum(axis=1)
    return _Cumulants(
        float(states.times @ mean),
        float(states.times @ second),
        float(states.times @ third),
    )


def _type_iii(observed: float, of: _Cumulants) -> float:
    """Return the log of the upper tail of a Pearson type III distribution; 0 for none."""
    if of.variance <= 0:
        return 0.0
    z = (observed - of.mean) / math.sqrt(of.variance)
    skew = of.third / of.variance**1.5
    if abs(skew) > _SKEWED:
        shape = 4 / skew**2
        scaled = 1 + math.copysign(z / math.sqrt(shape), z * skew)
        root = math.cbrt(scaled) if scaled > 0 else 0.0
        z = math.copysign(3 * math.sqrt(shape), skew) * (root - 1 + 1 / (9 * shape))
    return normal_log_sf(z)


def _of_tail(log_tail: float) -> StatResult:
    p = max(float(f"{p_of_log(log_tail):.10g}"), LEAST_P)
    return StatResult(_NAME, p, p, log_tail=log_tail)


def _convolved(observed: float, states: _States) -> StatResult:
    """Convolve the tasks' distributions, and read the upper tail off."""
    is_present = states.chance > 0
    lowest = np.where(is_present, states.damage, math.inf).min(axis=1)
    highest = np.where(is_present, states.damage, -math.inf).max(axis=1)
    above = np.where(is_present, states.damage - lowest[:, None], 0.0)
    span = float(states.times @ (highest - lowest))
    if span <= 0:
        return StatResult(_NAME, 1.0, 1.0)
    lattice = lattice_step(np.unique(np.round(above, 12)))
    is_exact = lattice is not None and span / lattice < _LATTICE
    step = span / _GRID
    if lattice is not None and is_exact:
        step = lattice
    points = round(span / step) + 2
    # off a lattice each task takes a cell more
    spread = 0 if is_exact else int(states.times.sum())
    size = 1 << (points + spread).bit_length()
    density = _density(states, above / step, size=size, is_exact=is_exact)
    place = round((observed - float(states.times @ lowest)) / step, 6)
    slack = 0.25 if is_exact else _SAME * points
    cells = np.arange(size)
    equal = float(density[np.abs(cells - place) <= slack].sum())
    beyond = float(density[cells > place + slack].sum())
    # the farthest point is exact: its chance is a product
    is_farthest = above >= (highest - lowest)[:, None] - _SAME * span
    reached = np.where(is_farthest, states.chance, 0.0).sum(axis=1)
    log_farthest = float(states.times @ np.log(reached))
    farthest = float(f"{math.exp(max(log_farthest, -700.0)):.10g}")
    p = farthest
    mid_p = farthest / 2
    if place + slack < points - 2:  # otherwise the farthest point itself was observed
        p = max(round(beyond + equal, _DIGITS), farthest, _LEAST)
        mid_p = max(round(beyond + equal / 2, _DIGITS), farthest, _LEAST)
    return StatResult(_NAME, min(p, 1.0), min(mid_p, 1.0))


def _density(states: _States, above: Floats, *, size: int, is_exact: bool) -> Floats:
    """Convolve damages, in cells above the lowest, by multiplying their transforms."""
    log_wave = np.zeros(size // 2 + 1, dtype=np.complex128)
    for damages, chance, times in zip(
        np.round(above, 6), states.chance, states.times.tolist(), strict=True
    ):
        cell = np.rint(damages) if is_exact else damages
        below = np.floor(cell).astype(np.int64)
        beyond = cell - below
        cells = np.zeros(size)
        np.add.at(cells, below, chance * (1 - beyond))
        np.add.at(cells, below + 1, chance * beyond)
        wave = np.fft.rfft(cells)
        log_wave += times * np.log(np.where(wave == 0, 1e-30, wave))
    return np.fft.irfft(np.exp(log_wave), size)
