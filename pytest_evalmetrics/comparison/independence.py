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
    if declared is not None:
        return Independence.DECLARED if declared else Independence.DENIED
    varied = _varied(pair.rewards_baseline) | _varied(pair.rewards_current)
    count = int(varied.sum())
    if count < _ENOUGH:
        return Independence.UNSHOWN
    return Independence.CHURNING if _is_churning(pair, sign) else Independence.SHOWN


def may_be_copies(pair: PairedMetric) -> bool:
    """Check whether no task has rollouts on one side that differ from each other."""
    sides = (pair.rewards_baseline, pair.rewards_current)
    return not any(bool(_varied(side).any()) for side in sides)


def _varied(rewards: TaskRewards) -> NDArray[np.bool_]:
    """Find the tasks whose rollouts on one side differ, shape (tasks,)."""
    numbers = rewards.numbers
    starts = rewards.offsets[:-1]
    differ: NDArray[np.bool_] = np.maximum.reduceat(
        numbers, starts
    ) > np.minimum.reduceat(numbers, starts)
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
    n = before.counts
    m = now.counts
    sums = [_sums(side.numbers, side) for side in (before, now)]
    squares = [_sums(side.numbers**2, side) for side in (before, now)]
    total = n + m
    variance = (squares[0] + squares[1]) / total - ((sums[0] + sums[1]) / total) ** 2
    spread = variance * total / np.maximum(total - 1, 1) * (1 / n + 1 / m)
    drops = sums[0] / n - sums[1] / m
    is_flat = variance <= 1e-12 * np.maximum((squares[0] + squares[1]) / total, 1e-300)
    return np.where(is_flat, np.nan, drops / np.sqrt(np.where(is_flat, 1.0, spread)))


def _sums(values: Floats, side: TaskRewards) -> Floats:
    return np.asarray(np.add.reduceat(values, side.offsets[:-1]))
