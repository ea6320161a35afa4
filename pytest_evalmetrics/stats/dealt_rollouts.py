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

from pytest_evalmetrics.stats.basics import StatResult, StatsError
from pytest_evalmetrics.stats.distributions import LEAST_P, p_of_log
from pytest_evalmetrics.stats.summed_damage import (
    Cumulants,
    DamageOfKinds,
    convolved,
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
_FEW = 12  # tasks up to which all is convolved
_KINDS = 40  # kinds of tasks up to which many tasks are
_CONVOLVED = 4_000  # many tasks
_DEALS = 2_000  # of one task's rollouts, where all of them are too many
_SKETCH = 64  # the same where many tasks are summed
_SKETCHED = 1_000  # tasks of these that are dealt
_HEAVY = 0.1  # of the variance of a task and all that vary less: it is dealt by itself
_MOST_HEAVY = 12
_ATOMS = 4_000  # sums of deals of these


class _Rewards(msgspec.Struct, frozen=True):
    """The rewards of one side."""

    values: Floats  # shape (rollouts,)
    offsets: Ints  # where each task's begin, and the last ends, shape (tasks + 1,)

    @property
    def counts(self) -> Ints:
        """The rollouts of each task, shape (tasks,)."""
        return np.diff(self.offsets)

    @property
    def lowest(self) -> Floats:
        """The lowest reward of each task, shape (tasks,)."""
        return np.asarray(np.minimum.reduceat(self.values, self.offsets[:-1]))

    @property
    def highest(self) -> Floats:
        """The highest reward of each task, shape (tasks,)."""
        return np.asarray(np.maximum.reduceat(self.values, self.offsets[:-1]))

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
        low = min(self.before.values.min(), self.now.values.min())
        high = max(self.before.values.max(), self.now.values.max())
        return float(low), float(high)

    @property
    def are_two_valued(self) -> bool:
        """Whether each reward has one of two values."""
        low, high = self.ends
        for side in self.both:
            is_at_an_end = (side.values == low) | (side.values == high)
            if not is_at_an_end.all():
                return False
        return True

    @property
    def varying(self) -> Ints:
        """Find the tasks whose rewards differ: the others stay as they are."""
        lowest = np.minimum(self.before.lowest, self.now.lowest)
        highest = np.maximum(self.before.highest, self.now.highest)
        return np.flatnonzero(highest > lowest)


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
        observed, kinds = _dealt(sides, tasks, _DEALS, rng)
        return _of_sum(_finite(observed), kinds)
    if statistic is None:
        return _test_means(sides, rng)
    return _test_sketched(sides, tasks, statistic, rng)


def _finite(observed: float) -> float:
    if not math.isfinite(observed):
        raise StatsError("a task's value is not a finite number")
    return observed


# -- rewards of two values ---------------------------------------------------------------


def _test_two_values(sides: _Sides) -> StatResult:
    kinds = _kinds_of(sides)
    damage = _hypergeometric_damage(sides, kinds)
    # the place of what each task's baseline has among what it may be dealt
    place = kinds.highs_before - damage.fewest[kinds.of_task]
    observed = _finite(float(damage.kinds.damage[kinds.of_task, place].sum()))
    tasks = len(kinds.of_task)
    is_many = tasks > _CONVOLVED or len(kinds.times) > _KINDS
    if tasks > _FEW and is_many:
        return _of_tail(damage.kinds.cumulants().log_tail(observed))
    return _of_sum(observed, damage.kinds)


class _Kinds(msgspec.Struct, frozen=True, kw_only=True):
    """Kinds of tasks: of as many rollouts on both sides, as many of them high."""

    n_before: Ints  # rollouts of the baseline, shape (kinds,)
    n_now: Ints  # of the run, shape (kinds,)
    highs: Ints  # of both, shape (kinds,)
    times: Ints  # tasks of the kind, shape (kinds,)
    of_task: Ints  # each task's kind, shape (tasks,)
    highs_before: Ints  # of each task's baseline, shape (tasks,)


def _kinds_of(sides: _Sides) -> _Kinds:
    high = sides.ends[1]
    n_before = sides.before.counts
    n_now = sides.now.counts
    highs_before = _count_of(sides.before, high)
    highs_now = _count_of(sides.now, high)
    base = int(n_before.max() + n_now.max()) + 1
    code = (n_before * base + n_now) * base + highs_before + highs_now
    codes, of_task, times = np.unique(code, return_inverse=True, return_counts=True)
    return _Kinds(
        n_before=codes // base**2,
        n_now=codes // base % base,
        highs=codes % base,
        times=times,
        of_task=of_task,
        highs_before=highs_before,
    )


class _DealtDamage(msgspec.Struct, frozen=True):
    """What deals give to kinds of tasks of two rewards."""

    kinds: DamageOfKinds  # each row begins with the fewest high rewards of the baseline
    fewest: Ints  # these, shape (kinds,)


def _hypergeometric_damage(sides: _Sides, kinds: _Kinds) -> _DealtDamage:
    """Deal high rewards by the hypergeometric distribution."""
    fewest = np.maximum(0, kinds.highs - kinds.n_now)
    most = np.minimum(kinds.n_before, kinds.highs)
    ways = int((most - fewest).max()) + 1
    # the high rewards that the baseline is dealt, shape (kinds, ways)
    dealt = fewest[:, None] + np.arange(ways)
    is_possible = dealt <= most[:, None]
    dealt = np.where(is_possible, dealt, fewest[:, None])
    rest = kinds.highs[:, None] - dealt
    n_before = kinds.n_before[:, None]
    n_now = kinds.n_now[:, None]
    log_factorials = _log_factorials(int((kinds.n_before + kinds.n_now).max()))
    log_chance = _log_ways(log_factorials, n_before, dealt)
    log_chance += _log_ways(log_factorials, n_now, rest)
    of_all = _log_ways(log_factorials, kinds.n_before + kinds.n_now, kinds.highs)
    log_chance -= of_all[:, None]
    chance = np.where(is_possible, np.exp(log_chance), 0.0)
    chance /= chance.sum(axis=1, keepdims=True)
    before = two_valued(n_before, dealt, sides.ends, sides.statistic)
    now = two_valued(n_now, rest, sides.ends, sides.statistic)
    damage = sides.sign * (before - now)
    times = kinds.times.astype(np.float64)
    return _DealtDamage(DamageOfKinds(damage, chance, times), fewest)


def _log_factorials(most: int) -> Floats:
    """Return log 0!, log 1! ... up to a number."""
    logs = np.log(np.arange(1, most + 1))
    return np.concatenate(([0.0], np.cumsum(logs)))


def _log_ways(log_factorials: Floats, n: Ints, chosen: Ints) -> Floats:
    """Return the logarithm of the number of ways to choose so many of n."""
    rest = log_factorials[chosen] + log_factorials[n - chosen]
    return np.asarray(log_factorials[n] - rest)


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
    sizes_of_tasks = np.broadcast_to(sizes, ups.shape).ravel()
    ups_of_tasks = ups.ravel()
    offsets = np.concatenate(([0], np.cumsum(sizes_of_tasks)))
    rank = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes_of_tasks)
    is_up = rank < np.repeat(ups_of_tasks, sizes_of_tasks)
    rewards = np.where(is_up, ends[1], ends[0])
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
        return _of_tail(of_tasks.summed(sides.sign).log_tail(observed))
    is_light = np.ones(len(of_tasks.damage), dtype=bool)
    is_light[heavy] = False
    rest = of_tasks.chosen(is_light).summed(sides.sign)
    sums = _sums_of_deals(sides, heavy, rng)
    log_tails = np.array([rest.log_tail(observed - dealt) for dealt in sums.tolist()])
    # the logarithm of the mean tail
    largest = float(log_tails.max())
    mean = float(np.exp(log_tails - largest).mean())
    return _of_tail(largest + math.log(mean))


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

    def summed(self, sign: float) -> Cumulants:
        """Sum them over tasks."""
        return Cumulants(
            mean=0.0,
            variance=float(self.variance.sum()),
            third=sign * float(self.third.sum()),
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
    # the third cumulant of the baseline's mean, times (n / n_now)^3 for the difference of
    # the two means
    third_of_damage = np.zeros(len(n))
    is_wide = n > 2  # two rollouts have no skew
    factor = (n - n_before) * (n - 2 * n_before) * (n / n_now) ** 3
    divisor = (n - 1.0) * (n - 2) * n_before.astype(float) ** 2
    third_of_damage[is_wide] = factor[is_wide] * third[is_wide] / divisor[is_wide]
    return _TaskCumulants(
        damage=sum_before / n_before - sum_now / n_now,
        variance=variance,
        third=third_of_damage,
    )


def _heavy_tasks(variance: Floats) -> Ints:
    """Find the tasks that vary more than a tenth of themselves and all that vary less."""
    order = np.argsort(-variance, kind="stable")
    ordered = variance[order]
    left = np.cumsum(ordered[::-1])[::-1]
    is_light = ordered <= _HEAVY * left
    count = len(order)
    if is_light.any():
        count = int(is_light.argmax())
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
    observed, kinds = _dealt(sides, dealt, _SKETCH, rng)
    if len(dealt) < len(tasks):
        times = kinds.times * (len(tasks) / _SKETCHED)
        kinds = structs.replace(kinds, times=times)
        before = statistic(sides.before.values, sides.before.offsets)
        now = statistic(sides.now.values, sides.now.offsets)
        observed = sides.sign * float(sum(before - now))
    return _of_tail(kinds.cumulants().log_tail(_finite(observed)))


def _dealt(
    sides: _Sides, tasks: Ints, deals: int, rng: np.random.Generator
) -> tuple[float, DamageOfKinds]:
    """Deal each task's rollouts in all ways, or in so many random ones.

    Returns the observed damage, summed, and what deals give; each task is a kind.
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
    return observed, DamageOfKinds(damage, chance, times=np.ones(len(tasks)))


def _deals_of(sides: _Sides, task: int, deals: int, rng: np.random.Generator) -> Floats:
    """Return a task's damage under each deal of its rollouts, the observed one first."""
    before = sides.before.of_task(task)
    pooled = np.concatenate((before, sides.now.of_task(task)))
    size = len(before)
    if math.comb(len(pooled), size) <= deals:
        order = _all_deals(len(pooled), size)
    else:
        order = np.argsort(rng.random((deals + 1, len(pooled))), axis=1)
        # the observed deal counts as one: a p of 0 would claim too much
        order[0] = np.arange(len(pooled))
    value_before = _values_of(pooled[order[:, :size]], sides.statistic)
    value_now = _values_of(pooled[order[:, size:]], sides.statistic)
    return np.asarray(sides.sign * (value_before - value_now))


def _all_deals(rollouts: int, size: int) -> Ints:
    """Return all ways to deal `size` of so many rollouts, those dealt in front.

    Shape (ways, rollouts); the first way is 0, 1, 2 ...
    """
    ways = []
    for chosen in combinations(range(rollouts), size):
        rest = [place for place in range(rollouts) if place not in chosen]
        ways.append([*chosen, *rest])
    return np.array(ways)


def _values_of(rewards: Floats, statistic: TaskStatistic | None) -> Floats:
    """Value tasks of as many rollouts each; `rewards` has shape (tasks, rollouts)."""
    if statistic is None:
        return np.asarray(rewards.mean(axis=1))
    offsets = np.arange(len(rewards) + 1) * rewards.shape[1]
    return statistic(rewards.ravel(), offsets)


# -- results -----------------------------------------------------------------------------


def _of_tail(log_tail: float) -> StatResult:
    p = max(float(f"{p_of_log(log_tail):.10g}"), LEAST_P)
    return StatResult(_NAME, p, p, log_tail=log_tail)


def _of_sum(observed: float, kinds: DamageOfKinds) -> StatResult:
    tail = convolved(observed, kinds)
    return StatResult(_NAME, tail.p, tail.mid_p)
