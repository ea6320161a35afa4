"""The test of a metric that is one task's alone: the lowest, or the highest, value.

No resampling of tasks shows a lower one, so the rollouts of each task are tested, and
corrected over the tasks.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics import stats
from pytest_evalmetrics.comparison.inputs import means_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.model.comparison import Floats, Ints, PairedMetric
    from pytest_evalmetrics.model.rollout_table import TaskId, TaskRewards

_TIE = 1e-9  # relative: equal but for rounding
_SUSPECT = 0.05  # the p of a task from which on it is worth a look


class SingleTaskTest(msgspec.Struct, frozen=True):
    """What the rollouts of single tasks show."""

    # of the most significant task beyond the baseline's value, corrected over all; never
    # below 1e-300
    p: float
    log_p: float
    least: float  # the least p that these numbers of rollouts could give
    # the tasks beyond whose own p is small, worst first
    worst: tuple[TaskId, ...]


def single_task_test(pair: PairedMetric, sign: float) -> SingleTaskTest:
    """Test the rollouts of single tasks, for a metric that is that of one task alone.

    Each task's rollouts are relabelled (Fisher 1935). The least p of all tasks is
    corrected by 1 - prod(1 - P(p_i <= p)), which leaves out tasks that can't reach p
    (Tarone 1990). Several tasks at the least p are rarer than one: p is the chance of
    that many, or of a lower p.
    """
    p_of_tasks = _p_of_tasks(pair, sign)
    least_of_tasks = _least_p_of_tasks(pair.rewards_baseline, pair.rewards_current)
    log_p = _corrected(p_of_tasks, least_of_tasks, is_constant=_constant(pair))
    return SingleTaskTest(
        p=stats.p_of_log(log_p),
        log_p=log_p,
        least=float(least_of_tasks.min(initial=1.0)),
        worst=_suspects(pair.tasks, p_of_tasks),
    )


def counted_once(pair: PairedMetric) -> PairedMetric:
    """Replace the rollouts of each task by one, their mean: all that copies show."""
    return structs.replace(
        pair,
        rewards_baseline=_one_each(pair.rewards_baseline),
        rewards_current=_one_each(pair.rewards_current),
    )


def _one_each(rewards: TaskRewards) -> TaskRewards:
    if rewards.is_one_each:
        return rewards
    values = means_of(rewards)
    return structs.replace(rewards, values=values, offsets=np.arange(len(values) + 1))


def _p_of_tasks(pair: PairedMetric, sign: float) -> Floats:
    """Return each task's own p, 1 for one that does not explain the metric's drop."""
    current = pair.current
    if current is None:
        reduce = np.minimum if pair.extreme == "lowest" else np.maximum
        current = _reduced(reduce, pair.rewards_current)
    is_beyond = sign * (pair.value_baseline - current) > 0
    p_of_tasks = np.ones(len(pair.tasks))
    for task in np.flatnonzero(is_beyond).tolist():
        before = _rollouts_of(pair.rewards_baseline, task)
        now = _rollouts_of(pair.rewards_current, task)
        p_of_tasks[task] = stats.relabel_test(before, now, sign=sign).p
    return p_of_tasks


def _rollouts_of(rewards: TaskRewards, task: int) -> tuple[Floats, Ints]:
    """Return the rewards of one task, and where they begin and end."""
    values = rewards.values[rewards.offsets[task] : rewards.offsets[task + 1]]
    return values, np.array([0, len(values)])


def _least_p_of_tasks(one: TaskRewards, other: TaskRewards) -> Floats:
    """Return 1 / C(n + m, n) for each task's numbers of rollouts, n and m."""
    sizes = int(other.counts.max(initial=0)) + 1
    coded = one.counts * sizes + other.counts
    codes = np.unique(coded)  # its inverse would take four times the memory
    least = []
    for code in codes.tolist():
        before, now = divmod(code, sizes)
        least.append(1 / math.comb(before + now, before))
    return np.array(least)[np.searchsorted(codes, coded)]


def _constant(pair: PairedMetric) -> NDArray[np.bool_]:
    """Find the tasks whose rollouts are all the same, shape (tasks,)."""
    before = pair.rewards_baseline
    now = pair.rewards_current
    low = np.minimum(_reduced(np.minimum, before), _reduced(np.minimum, now))
    high = np.maximum(_reduced(np.maximum, before), _reduced(np.maximum, now))
    constant: NDArray[np.bool_] = high == low
    return constant


def _reduced(reduce: np.ufunc, rewards: TaskRewards) -> Floats:
    return np.asarray(reduce.reduceat(rewards.values, rewards.offsets[:-1]))


def _corrected(
    p_of_tasks: Floats, least_of_tasks: Floats, *, is_constant: NDArray[np.bool_]
) -> float:
    """Correct the least p for the tasks that could have been as significant.

    Returns its logarithm: hundreds of tasks that all break have a p below any number.
    """
    p = float(p_of_tasks.min(initial=1.0))
    if not p < 1:
        return 0.0
    could_be_as_low = (least_of_tasks <= p * (1 + _TIE)) & ~is_constant
    could_be_lower = could_be_as_low & (least_of_tasks < p * (1 - _TIE))
    are_as_low = int((p_of_tasks <= p * (1 + _TIE)).sum())
    log_of_any = math.log(_any_of(could_be_as_low, p))
    log_of_so_many = stats.log_binom_sf(are_as_low, int(could_be_as_low.sum()), p)
    any_lower = _any_of(could_be_lower, p)
    if any_lower > 0:
        log_of_so_many = math.log(any_lower + math.exp(log_of_so_many))
    return min(log_of_any, log_of_so_many, 0.0)


def _any_of(tasks: NDArray[np.bool_], p: float) -> float:
    """Return the chance that any of so many tasks reaches p."""
    return -math.expm1(float(tasks.sum()) * math.log1p(-p))


def _suspects(tasks: tuple[TaskId, ...], p_of_tasks: Floats) -> tuple[TaskId, ...]:
    worst = np.flatnonzero(p_of_tasks <= _SUSPECT)
    worst = worst[np.argsort(p_of_tasks[worst], kind="stable")]
    return tuple(tasks[place] for place in worst.tolist())
