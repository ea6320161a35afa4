"""Each task tested by its own rollouts: what a mean over tasks hides.

A task whose ten rollouts passed and fail now is certain to be broken, although the mean
of a hundred tasks hardly moves. Each task's rewards are ranked, and the ranks dealt to
both sides anew in all ways: the exact test of Wilcoxon 1945, which for passes and
failures is Fisher's. The p of a task is corrected by how often any of the tasks would
be as significant by chance; a task counts with the largest p that its numbers of
rollouts and its ties can give at this level, or not at all (Tarone 1990; Westfall and
Wolfinger 1997).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_evalmetrics.comparison.independence import independence_of
from pytest_evalmetrics.model.comparison import Independence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.model.comparison import Floats, Ints, PairedMetric
    from pytest_evalmetrics.model.rollout_table import TaskId, TaskRewards

_TIE = 1e-9  # relative: equal but for rounding
_SUSPECT = 2.0  # standard errors from which on an exact p is computed
_EXACT = 400  # rollouts of a task up to which its p is exact
_MENDED = 0.05  # the p, corrected over tasks, of an improvement of a single task
_MOST_ROLLOUTS = 64  # of a task that are asked for


class TaskDrop(msgspec.Struct, frozen=True, kw_only=True):
    """A task that got worse by more than its rollouts explain."""

    task: TaskId
    before: float  # its mean reward
    now: float
    log_p: float  # of the task alone, one-sided
    log_p_adjusted: float  # for all tasks that could have been as significant


class TaskDrops(msgspec.Struct, frozen=True, kw_only=True):
    """What the rollouts of single tasks show."""

    broken: tuple[TaskDrop, ...]  # the surest first
    independence: Independence | None  # of the rollouts; None if no task is broken
    tasks: int  # compared
    rollouts: int  # of each task on the side with fewer, at most
    # of each task on both sides, from which on a task that breaks is certain to be seen
    needed: int


def broken_tasks(
    pairs: Sequence[PairedMetric],
    *,
    sign: float,
    alpha: float,
    least_drop: float = 0.0,
    independent: bool | None = None,
) -> list[TaskDrops]:
    """Find the tasks that got worse beyond what their own rollouts explain.

    Parameters
    ----------
    pairs
        The rewards of all agents, which share `alpha`.
    sign
        1 where a fall is damage, -1 where a rise is.
    alpha
        The chance to name any task where none changed.
    least_drop
        The drop of a task's mean reward that matters.
    independent
        What the benchmark file says of rollouts of one task.
    """
    tested = [_tests_of(pair, sign, alpha) for pair in pairs]
    total = sum(len(pair.tasks) for pair in pairs)
    needed = rollouts_needed(total, alpha)
    drops = []
    for pair, own in zip(pairs, tested, strict=True):
        broken = _broken(own, tested, alpha=alpha, least_drop=least_drop)
        independence = None
        if broken:
            independence = independence_of(pair, sign, declared=independent)
        if independence is Independence.SHOWN and _has_mended(pair, sign):
            independence = Independence.CHURNING
        drops.append(
            TaskDrops(
                broken=broken,
                independence=independence,
                tasks=len(pair.tasks),
                rollouts=_most_on_both_sides(pair),
                needed=needed,
            )
        )
    return drops


def could_prove(pair: PairedMetric, alpha: float) -> bool:
    """Check whether the rollouts of any task are enough to prove a break of it alone."""
    least = _log_least(pair.rewards_baseline.counts, pair.rewards_current.counts)
    return bool((least < math.log(alpha)).any())


def log_least_p(before: int, now: int) -> float:
    """Return log p of a task that lost all, of so many rollouts on both sides."""
    return -_log_choose(before + now, now)


def rollouts_needed(tasks: int, alpha: float) -> int:
    """Return the rollouts of each task, on both sides, that show any break of one task."""
    for rollouts in range(1, _MOST_ROLLOUTS):
        if math.log(max(tasks, 1)) - _log_choose(2 * rollouts, rollouts) < math.log(
            alpha
        ):
            return rollouts
    return _MOST_ROLLOUTS


# -- the test of each task ---------------------------------------------------------------


class _TaskTests(msgspec.Struct, frozen=True):
    """Each task's own test, shape (tasks,)."""

    tasks: tuple[TaskId, ...]
    before: Floats  # mean rewards
    now: Floats
    drops: Floats
    log_p: Floats  # 0 for a task that is no suspect
    # tasks of equal numbers of rollouts and the same two values: how many, and the log
    # of each p that they can have, in ascending order
    kinds: tuple[tuple[int, Floats], ...]
    # the log of the least p of each other task
    least: Floats

    @classmethod
    def of(cls, pair: PairedMetric, sign: float) -> _TaskTests:
        """Test each task of a pair."""
        before = pair.rewards_baseline
        now = pair.rewards_current
        n = before.counts
        m = now.counts
        ranked = _counted(pair, sign) or _ranked(pair, sign)
        mean_before = _sums(before) / n
        mean_now = _sums(now) / m
        is_binary = ranked.distinct == 2
        log_p = np.zeros(len(n))
        for task in np.flatnonzero(ranked.z > _SUSPECT).tolist():
            if not is_binary[task]:
                log_p[task] = ranked.exact_log_p(task)
                continue
            good = int(ranked.good[task])
            fewest = max(0, good - int(m[task]))
            tails = _hypergeometric(int(n[task]), int(m[task]), good)
            log_p[task] = tails[int(ranked.kept[task]) - fewest]
        is_other = ranked.distinct > 2
        return cls(
            tasks=pair.tasks,
            before=mean_before,
            now=mean_now,
            drops=sign * (mean_before - mean_now),
            log_p=log_p,
            kinds=_kinds(n[is_binary], m[is_binary], ranked.good[is_binary]),
            least=np.sort(_log_least(n[is_other], m[is_other])),
        )

    def chance_of(self, log_p: float) -> float:
        """Return how many tasks are expected to be as significant by chance."""
        level = log_p + _TIE
        expected = float(np.searchsorted(self.least, level, side="right")) * math.exp(
            log_p
        )
        for count, levels in self.kinds:
            reached = int(np.searchsorted(levels, level, side="right"))
            if reached:
                expected += count * math.exp(float(levels[reached - 1]))
        return expected


def _tests_of(pair: PairedMetric, sign: float, alpha: float) -> _TaskTests:
    """Test each task, or none where the rollouts of none can prove anything."""
    if could_prove(pair, alpha):
        return _TaskTests.of(pair, sign)
    none = np.zeros(len(pair.tasks))
    return _TaskTests(
        tasks=pair.tasks,
        before=none,
        now=none,
        drops=none,
        log_p=none,
        kinds=(),
        least=np.zeros(0),
    )


def _sums(rewards: TaskRewards) -> Floats:
    return np.asarray(np.add.reduceat(rewards.numbers, rewards.offsets[:-1]))


def _broken(
    own: _TaskTests, everyone: Sequence[_TaskTests], *, alpha: float, least_drop: float
) -> tuple[TaskDrop, ...]:
    """Name the tasks of one agent that are surely worse."""
    is_worse = (own.log_p < math.log(alpha)) & (own.drops >= least_drop - _TIE)
    places = np.flatnonzero(is_worse)
    found = []
    for place in places[np.argsort(own.log_p[places], kind="stable")].tolist():
        log_p = float(own.log_p[place])
        chance = math.fsum(tests.chance_of(log_p) for tests in everyone)
        if not chance < alpha:
            break
        found.append(
            TaskDrop(
                task=own.tasks[place],
                before=float(own.before[place]),
                now=float(own.now[place]),
                log_p=log_p,
                log_p_adjusted=max(math.log(chance), log_p) if chance > 0 else log_p,
            )
        )
    return tuple(found)


def _has_mended(pair: PairedMetric, sign: float) -> bool:
    """Check whether a task improved as surely as others broke: then tasks churn."""
    gains = _TaskTests.of(pair, -sign)
    log_p = float(gains.log_p.min(initial=0.0))
    return log_p < 0 and gains.chance_of(log_p) < _MENDED


def _most_on_both_sides(pair: PairedMetric) -> int:
    fewest = np.minimum(pair.rewards_baseline.counts, pair.rewards_current.counts)
    return int(fewest.max(initial=0))


# -- ranks -------------------------------------------------------------------------------


class _Ranked(msgspec.Struct, frozen=True):
    """The rewards of both sides, ranked within each task; the better the higher."""

    # twice the middle rank of each reward, those of a task together, shape (rollouts,)
    ranks: Ints
    is_before: NDArray[np.bool_]  # whether a reward is the baseline's
    offsets: Ints  # where each task begins, and the last ends
    distinct: Ints  # different values of each task, shape (tasks,)
    good: Ints  # rewards of a task at its best value
    kept: Ints  # those of them in the baseline
    z: Floats  # how far the baseline's ranks are above their expectation

    def exact_log_p(self, task: int) -> float:
        """Return log p of the baseline's sum of ranks among all deals of them."""
        start, stop = self.offsets[task : task + 2].tolist()
        ranks = self.ranks[start:stop]
        is_before = self.is_before[start:stop]
        chosen = int(is_before.sum())
        if len(ranks) > _EXACT:
            return _log_normal_tail(float(self.z[task]))
        return _log_tail_of_sums(
            tuple(sorted(ranks.tolist())), chosen, int(ranks[is_before].sum())
        )


def _counted(pair: PairedMetric, sign: float) -> _Ranked | None:
    """Count the good rewards where all rewards have one of two values; else None."""
    sides = (pair.rewards_baseline, pair.rewards_current)
    numbers = [sign * side.numbers for side in sides]
    low = min(float(values.min()) for values in numbers)
    high = max(float(values.max()) for values in numbers)
    if not all(((v == low) | (v == high)).all() for v in numbers):
        return None
    n = sides[0].counts
    m = sides[1].counts
    total = n + m
    kept = _count(numbers[0] == high, sides[0])
    good = kept + _count(numbers[1] == high, sides[1])
    varies = (good > 0) & (good < total)
    share = good / total
    variance = n * m * share * (1 - share) / np.maximum(total - 1, 1)
    z = np.where(varies, (kept - n * share) / np.sqrt(np.maximum(variance, 1e-9)), 0.0)
    none = np.zeros(0, dtype=np.int64)
    return _Ranked(
        ranks=none,
        is_before=none.astype(bool),
        offsets=none,
        distinct=np.where(varies, 2, 1),
        good=good,
        kept=kept,
        z=z,
    )


def _count(chosen: NDArray[np.bool_], rewards: TaskRewards) -> Ints:
    """Count the chosen rewards of each task, shape (tasks,)."""
    return np.asarray(np.add.reduceat(chosen, rewards.offsets[:-1], dtype=np.int64))


def _ranked(pair: PairedMetric, sign: float) -> _Ranked:
    before, now = pair.rewards_baseline, pair.rewards_current
    values = sign * np.concatenate((before.numbers, now.numbers))
    task = np.concatenate((before.task, now.task))
    is_before = np.arange(len(values)) < len(before.numbers)
    order = np.lexsort((values, task))
    values = values[order]
    task = task[order]
    is_before = is_before[order]
    total = before.counts + now.counts
    offsets = np.concatenate(([0], np.cumsum(total)))
    starts = offsets[:-1]
    # runs of equal values within a task
    is_new = np.ones(len(values), dtype=bool)
    is_new[1:] = (np.diff(values) != 0) | (np.diff(task) != 0)
    run = np.cumsum(is_new) - 1
    first = np.flatnonzero(is_new)
    sizes = np.diff(np.append(first, len(values)))
    twice = (2 * first + sizes - 1)[run] - 2 * starts[task] + 2
    distinct = np.add.reduceat(is_new, starts, dtype=np.int64)
    is_best = run == run[offsets[1:] - 1][task]
    good = np.add.reduceat(is_best, starts, dtype=np.int64)
    kept = np.add.reduceat(is_best & is_before, starts, dtype=np.int64)
    seen = np.add.reduceat(np.where(is_before, twice, 0), starts)
    expected = before.counts * (total + 1)
    spread = np.add.reduceat((twice - total[task] - 1.0) ** 2, starts) / total
    variance = spread * before.counts * now.counts / np.maximum(total - 1, 1)
    z = np.where(
        variance > 0, (seen - expected) / np.sqrt(np.maximum(variance, 1e-9)), 0.0
    )
    return _Ranked(
        ranks=twice,
        is_before=is_before,
        offsets=offsets,
        distinct=distinct,
        good=good,
        kept=kept,
        z=z,
    )


# -- distributions -----------------------------------------------------------------------


def _kinds(n: Ints, m: Ints, good: Ints) -> tuple[tuple[int, Floats], ...]:
    """Count the tasks of each kind, with the p that they can have."""
    size = int(max(n.max(initial=0) + m.max(initial=0), 0)) + 1
    codes, counts = np.unique((n * size + m) * size + good, return_counts=True)
    kinds = []
    for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
        before = code // size**2
        now = code // size % size
        levels = np.sort(_hypergeometric(before, now, code % size))
        kinds.append((count, levels))
    return tuple(kinds)


def _log_least(n: Ints, m: Ints) -> Floats:
    """Return log 1 / C(n + m, n) for each task's numbers of rollouts, shape (tasks,)."""
    size = int(m.max(initial=0)) + 1
    codes, inverse = np.unique(n * size + m, return_inverse=True)
    of_kinds = [
        -_log_choose(code // size + code % size, code % size) for code in codes.tolist()
    ]
    return np.array(of_kinds, dtype=np.float64)[inverse]


@lru_cache(maxsize=4096)
def _hypergeometric(n: int, m: int, good: int) -> Floats:
    """Return log P(X >= x) of the good rewards that the baseline gets, from the fewest on."""
    fewest = max(0, good - m)
    most = min(n, good)
    logs = np.array(
        [
            _log_choose(n, kept) + _log_choose(m, good - kept)
            for kept in range(fewest, most + 1)
        ]
    )
    logs -= _log_choose(n + m, good)
    tails = np.logaddexp.accumulate(logs[::-1])[::-1]
    tails = np.minimum(tails, 0.0)
    tails.setflags(write=False)
    return tails


@lru_cache(maxsize=4096)
def _log_tail_of_sums(ranks: tuple[int, ...], chosen: int, seen: int) -> float:
    """Return the log of the share of choices whose ranks sum to `seen` or more."""
    size = sum(ranks[-chosen:]) + 1 if chosen else 1
    # ways to choose so many, by their sum: as logs they would cost more than they save
    ways = np.zeros((chosen + 1, size))
    ways[0, 0] = 1.0
    for rank in ranks:
        if rank < size:
            ways[1:, rank:] += ways[:-1, : size - rank]
    tail = float(ways[chosen, seen:].sum())
    return math.log(tail) - _log_choose(len(ranks), chosen)


def _log_normal_tail(z: float) -> float:
    """Return log P(Z > z), also where P underflows."""
    tail = math.erfc(z / math.sqrt(2)) / 2
    if tail > 0:
        return math.log(tail)
    return -z * z / 2 - math.log(z * math.sqrt(2 * math.pi))


@lru_cache(maxsize=65_536)
def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
