"""Evidence that the rollouts of a task are independent of each other.

Tests that deal the rollouts of a task to both sides anew rest on it. Answers at
temperature 0, of one seed or from a cache repeat each other: eight of them say as much
as one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.model.comparison import Independence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.model.comparison import Floats, PairedMetric
    from pytest_evalmetrics.model.rollout_table import TaskRewards

# tasks whose rollouts differ that show it
_ENOUGH = 10
# of the squares of improvements, in standard errors, where only rollouts vary: the mean
# and the variance of one task's, measured over bimodal pass rates (half of the tasks
# get worse and count 0)
_EXPECTED = 0.46
_VARIANCE = 0.87
_CRITICAL = 2.33  # standard errors, one-sided 1 %


def independence_of(
    pair: PairedMetric, sign: float, *, declared: bool | None
) -> Independence:
    """Judge whether the rollouts of a task are independent.

    Rollouts of a task that differ from each other are the evidence, unless more tasks
    improved than the spread within tasks explains. Improvements are counted alone: a
    break of single tasks, which is to be found, shows on the other side.

    Parameters
    ----------
    pair
        The rewards of both sides.
    sign
        1 where a fall is damage, -1 where a rise is.
    declared
        What the benchmark file says; None for nothing.
    """
    if declared is True:
        return Independence.DECLARED
    if declared is False:
        return Independence.DENIED
    varied = _varied(pair.rewards_baseline) | _varied(pair.rewards_current)
    if int(varied.sum()) < _ENOUGH:
        return Independence.UNSHOWN
    if _is_churning(pair, sign):
        return Independence.CHURNING
    return Independence.SHOWN


def may_be_copies(pair: PairedMetric) -> bool:
    """Check whether no task has rollouts on one side that differ from each other."""
    varied = _varied(pair.rewards_baseline)
    varied_now = _varied(pair.rewards_current)
    return not varied.any() and not varied_now.any()


def _varied(rewards: TaskRewards) -> NDArray[np.bool_]:
    """Find the tasks whose rollouts on one side differ, shape (tasks,)."""
    numbers = rewards.numbers
    starts = rewards.offsets[:-1]
    highest = np.maximum.reduceat(numbers, starts)
    lowest = np.minimum.reduceat(numbers, starts)
    differ: NDArray[np.bool_] = highest > lowest
    return differ


def _is_churning(pair: PairedMetric, sign: float) -> bool:
    """Check whether more tasks improved, or further, than their rollouts explain."""
    gains = -sign * _standardised_drops(pair)
    gains = gains[~np.isnan(gains)]
    if not len(gains):
        return False
    # an improvement that all tasks share is none of single ones
    shared = max(float(np.median(gains)), 0.0)
    counted = (gains - shared).clip(min=0) ** 2
    excess = float(counted.sum()) - _EXPECTED * len(gains)
    return excess > _CRITICAL * math.sqrt(_VARIANCE * len(gains))


def _standardised_drops(pair: PairedMetric) -> Floats:
    """Return each task's drop by its standard error under relabelling, shape (tasks,).

    NaN for a task whose rollouts are all the same.
    """
    before = pair.rewards_baseline
    now = pair.rewards_current
    rollouts_before = before.counts
    rollouts_now = now.counts
    rollouts = rollouts_before + rollouts_now
    sum_before = _sums(before.numbers, before)
    sum_now = _sums(now.numbers, now)
    mean = (sum_before + sum_now) / rollouts
    squares = _sums(before.numbers**2, before) + _sums(now.numbers**2, now)
    mean_square = squares / rollouts
    variance = mean_square - mean**2
    unbiased = variance * rollouts / np.maximum(rollouts - 1, 1)
    squared_error = unbiased * (1 / rollouts_before + 1 / rollouts_now)
    drops = sum_before / rollouts_before - sum_now / rollouts_now
    is_flat = variance <= 1e-12 * np.maximum(mean_square, 1e-300)
    errors = np.sqrt(np.where(is_flat, 1.0, squared_error))
    return np.where(is_flat, np.nan, drops / errors)


def _sums(values: Floats, side: TaskRewards) -> Floats:
    return np.asarray(np.add.reduceat(values, side.offsets[:-1]))
