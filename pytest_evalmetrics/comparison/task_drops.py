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
    as_seen: Sequence[PairedMetric],
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
        The rewards of all agents, which share `alpha`, against a baseline that is worse
        by what noise between runs may explain.
    as_seen
        The same against the baseline itself. Beside one that was made worse, tasks would
        improve that did not.
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
    for pair, own in zip(as_seen, tested, strict=True):
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
    log_tasks = math.log(max(tasks, 1))
    for rollouts in range(1, _MOST_ROLLOUTS):
        if log_tasks + log_least_p(rollouts, rollouts) < math.log(alpha):
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
        ranked = _counted(pair, sign) or _ranked(pair, sign)
        rollouts_before = before.counts
        rollouts_now = now.counts
        mean_before = _sums(before) / rollouts_before
        mean_now = _sums(now) / rollouts_now
        log_p = np.zeros(len(pair.tasks))
        for task in np.flatnonzero(ranked.z > _SUSPECT).tolist():
            if ranked.distinct[task] == 2:
                log_p[task] = _log_p_of_good(
                    before=int(rollouts_before[task]),
                    now=int(rollouts_now[task]),
                    good=int(ranked.good[task]),
                    kept=int(ranked.kept[task]),
                )
            else:
                log_p[task] = ranked.exact_log_p(task)
        binary = ranked.distinct == 2
        kinds = _kinds(
            rollouts_before[binary], rollouts_now[binary], ranked.good[binary]
        )
        other = ranked.distinct > 2
        return cls(
            tasks=pair.tasks,
            before=mean_before,
            now=mean_now,
            drops=sign * (mean_before - mean_now),
            log_p=log_p,
            kinds=kinds,
            least=np.sort(_log_least(rollouts_before[other], rollouts_now[other])),
        )

    def chance_of(self, log_p: float) -> float:
        """Return how many tasks are expected to be as significant by chance."""
        level = log_p + _TIE
        could = int(np.searchsorted(self.least, level, side="right"))
        expected = could * math.exp(log_p)
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
    surest_first = places[np.argsort(own.log_p[places], kind="stable")]
    drops = []
    for place in surest_first.tolist():
        log_p = float(own.log_p[place])
        chance = math.fsum(tests.chance_of(log_p) for tests in everyone)
        if not chance < alpha:
            break
        log_p_adjusted = log_p
        if chance > 0:  # else it underflows
            log_p_adjusted = max(math.log(chance), log_p)
        drop = TaskDrop(
            task=own.tasks[place],
            before=float(own.before[place]),
            now=float(own.now[place]),
            log_p=log_p,
            log_p_adjusted=log_p_adjusted,
        )
        drops.append(drop)
    return tuple(drops)


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
        of_task = slice(self.offsets[task], self.offsets[task + 1])
        ranks = self.ranks[of_task]
        if len(ranks) > _EXACT:
            return _log_normal_tail(float(self.z[task]))
        is_before = self.is_before[of_task]
        return _log_tail_of_sums(
            tuple(sorted(ranks.tolist())),
            chosen=int(is_before.sum()),
            seen=int(ranks[is_before].sum()),
        )


def _counted(pair: PairedMetric, sign: float) -> _Ranked | None:
    """Count the good rewards where all rewards have one of two values; else None."""
    before = pair.rewards_baseline
    now = pair.rewards_current
    worth_before = sign * before.numbers
    worth_now = sign * now.numbers
    low = min(float(worth_before.min()), float(worth_now.min()))
    high = max(float(worth_before.max()), float(worth_now.max()))
    for worth in (worth_before, worth_now):
        if not ((worth == low) | (worth == high)).all():
            return None
    total = before.counts + now.counts
    kept = before.count(worth_before == high)
    good = kept + now.count(worth_now == high)
    varies = (good > 0) & (good < total)
    share = good / total
    expected = before.counts * share
    pairs = before.counts * now.counts
    variance = pairs * share * (1 - share) / np.maximum(total - 1, 1)
    errors = np.sqrt(np.maximum(variance, 1e-9))
    z = np.where(varies, (kept - expected) / errors, 0.0)
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


def _ranked(pair: PairedMetric, sign: float) -> _Ranked:
    """Rank the rewards of both sides within each task."""
    before = pair.rewards_baseline
    now = pair.rewards_current
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
    errors = np.sqrt(np.maximum(variance, 1e-9))
    z = np.where(variance > 0, (seen - expected) / errors, 0.0)
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


def _kinds(before: Ints, now: Ints, good: Ints) -> tuple[tuple[int, Floats], ...]:
    """Count the tasks of each kind, with the p that they can have.

    A kind is its numbers of rollouts on both sides, and how many of all are good.
    """
    size = int(before.max(initial=0) + now.max(initial=0)) + 1
    coded = (before * size + now) * size + good
    codes, counts = np.unique(coded, return_counts=True)
    kinds = []
    for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
        rollouts, good_of_kind = divmod(code, size)
        rollouts_before, rollouts_now = divmod(rollouts, size)
        log_tails = _hypergeometric(rollouts_before, rollouts_now, good_of_kind)
        kinds.append((count, np.sort(log_tails)))
    return tuple(kinds)


def _log_least(before: Ints, now: Ints) -> Floats:
    """Return the log of the least p that each task's rollouts can give, shape (tasks,)."""
    size = int(now.max(initial=0)) + 1
    codes, inverse = np.unique(before * size + now, return_inverse=True)
    of_kinds = np.zeros(len(codes))
    for kind, code in enumerate(codes.tolist()):
        rollouts_before, rollouts_now = divmod(code, size)
        of_kinds[kind] = log_least_p(rollouts_before, rollouts_now)
    return of_kinds[inverse]


def _log_p_of_good(*, before: int, now: int, good: int, kept: int) -> float:
    """Return log P that the baseline has as many of the good rollouts, or more."""
    fewest = max(0, good - now)
    return float(_hypergeometric(before, now, good)[kept - fewest])


@lru_cache(maxsize=4096)
def _hypergeometric(n: int, m: int, good: int) -> Floats:
    """Return log P(X >= x) of the good rewards that the baseline gets, from the fewest on."""
    fewest = max(0, good - m)
    most = min(n, good)
    log_ways = [
        _log_choose(n, kept) + _log_choose(m, good - kept)
        for kept in range(fewest, most + 1)
    ]
    log_chances = np.array(log_ways) - _log_choose(n + m, good)
    log_tails = np.logaddexp.accumulate(log_chances[::-1])[::-1]
    tails = np.minimum(log_tails, 0.0)
    tails.setflags(write=False)
    return tails


@lru_cache(maxsize=4096)
def _log_tail_of_sums(ranks: tuple[int, ...], chosen: int, seen: int) -> float:
    """Return the log of the share of choices whose ranks sum to `seen` or more."""
    largest = sum(ranks[len(ranks) - chosen :])
    size = largest + 1
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
