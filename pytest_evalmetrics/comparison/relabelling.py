"""The test of a drop by relabelling rollouts: each could have come from either side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics import stats
from pytest_evalmetrics.comparison.inputs import means_of
from pytest_evalmetrics.comparison.swapped_sides import reached
from pytest_evalmetrics.model.rollout_table import TaskRows

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_evalmetrics.comparison.inputs import TaskDamage
    from pytest_evalmetrics.model.comparison import Floats, Ints, PairedMetric
    from pytest_evalmetrics.model.rollout_table import TaskRewards

_DEALS = 500  # of all rollouts, where the metric is computed anew each time
_TIE = 1e-9  # relative: equal but for rounding


class RelabelTest(msgspec.Struct, frozen=True):
    """One-sided, of no change in any task."""

    p: float
    mid_p: float
    log_tail: float = math.nan  # log p, where p is too small for a number


def relabel_test(
    damage: TaskDamage, influence: Floats | None, *, seed: int
) -> RelabelTest:
    """Test a drop by dealing each task's rollouts to both sides anew."""
    pair = damage.pair
    if pair.difference is not None and not _is_mean_reward(damage, influence):
        return _relabel_whole(damage, seed=seed)
    statistic = None
    if pair.difference is not None or not values_are_means(pair):
        statistic = task_statistic(pair, like=pair.rewards_baseline)
    return _relabel_tasks(damage, statistic, seed=seed)


def _relabel_tasks(
    damage: TaskDamage,
    statistic: Callable[[Floats, Ints], Floats] | None,
    *,
    seed: int,
) -> RelabelTest:
    """Test the mean of the tasks' values, by default that of their mean rewards."""
    pair = damage.pair
    result = stats.relabel_test(
        (pair.rewards_baseline.values, pair.rewards_baseline.offsets),
        (pair.rewards_current.values, pair.rewards_current.offsets),
        sign=damage.sign,
        statistic=statistic,
        seed=seed,
    )
    return RelabelTest(p=result.p, mid_p=result.mid_p, log_tail=result.log_tail)


def task_statistic(
    pair: PairedMetric, like: TaskRewards
) -> Callable[[Floats, Ints], Floats] | None:
    """Return what values tasks of other rewards; None for the mean of these.

    It takes rewards, and where each task's begin and the last ends.
    """
    value = pair.task_values
    if value is None:
        return None
    return lambda values, offsets: value(
        structs.replace(like, values=values, offsets=offsets)
    )


def _is_mean_reward(damage: TaskDamage, influence: Floats | None) -> bool:
    """Check whether the metric's drop is that of the mean reward, of these at least."""
    if influence is None:
        return False
    before = means_of(damage.pair.rewards_baseline)
    now = means_of(damage.pair.rewards_current)
    return np.allclose(influence, damage.sign * (before - now))


def values_are_means(pair: PairedMetric) -> bool:
    """Check whether each task's value is its mean reward, of these at least."""
    if isinstance(pair.rewards_baseline, TaskRows):
        return False
    before = _is_mean(pair.baseline, pair.rewards_baseline)
    return before and _is_mean(pair.current, pair.rewards_current)


def _is_mean(values: Floats | None, rewards: TaskRewards) -> bool:
    if values is None:
        return False
    return np.allclose(values, means_of(rewards), rtol=1e-9, atol=0)


def _relabel_whole(damage: TaskDamage, *, seed: int) -> RelabelTest:
    """Compute the metric anew for each deal, where it is no mean over tasks."""
    # drops that tie are ranked by the mean drop of the tasks, as swapped sides are
    pair = damage.pair
    reduce = pair.reduce
    assert reduce is not None  # noqa: S101 - a metric that is no mean has one
    one = pair.rewards_baseline
    other = pair.rewards_current
    task = np.concatenate((one.task, other.task))
    order = np.argsort(task, kind="stable")
    task = task[order]
    values = np.concatenate((one.values, other.values))[order]
    within = np.arange(len(task)) - (one.offsets + other.offsets)[task]
    to_baseline = within < one.counts[task]
    shares = np.where(to_baseline, 1 / one.counts[task], -1 / other.counts[task])
    weights = shares * damage.sign
    seen = damage.sign * (pair.value_baseline - pair.value_current)
    seen_mean = float(weights @ values)
    rng = np.random.Generator(np.random.PCG64(seed))
    drops = np.full(_DEALS, seen)
    mean_drops = np.full(_DEALS, seen_mean)
    for deal in range(1, _DEALS):
        dealt = values[np.lexsort((rng.random(len(task)), task))]
        before = reduce(structs.replace(one, values=dealt[to_baseline]))
        after = reduce(structs.replace(other, values=dealt[~to_baseline]))
        drops[deal] = damage.sign * (before - after)
        mean_drops[deal] = weights @ dealt
    largest = max(abs(pair.value_baseline), abs(pair.value_current))
    ranked = reached(mean_drops, seen_mean, _TIE * len(pair.tasks))
    beyond = reached(drops, seen, _TIE * largest, ranked)
    test = RelabelTest(p=float((beyond > 0).mean()), mid_p=float(beyond.mean()))
    if float(beyond[1:].sum()) > 0 or isinstance(one, TaskRows):
        return test
    # no deal reached the drop: below what draws can show, the mean reward decides
    of_means = _relabel_tasks(damage, None, seed=seed)
    return min(test, of_means, key=lambda either: either.p)
