"""A baseline that is worsened by what noise between runs may shift a run by.

Tests of single tasks and of slices rest on rollouts, or on few tasks, and know nothing
of a shift that all tasks of a run share. They therefore test whether a task got worse by
more than such a shift.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

if TYPE_CHECKING:
    from pytest_evalmetrics.model.comparison import Floats, PairedMetric
    from pytest_evalmetrics.model.rollout_table import TaskRewards

# a shift of logits moves a task of chance 1/2 by more than their mean
_UNEVEN = 1.5
_SD_OF_MEDIAN = 1.4826  # a normal distribution's, by the median of its sizes
_ROUNDING = 1e-9  # three of ten rollouts are not 3.0000000000000004


def shift_of_clusters(pair: PairedMetric) -> float:
    """Return the standard deviation of what the tasks of a cluster share; 0 without any.

    Of the clusters' mean differences, by the median of their sizes, so that one broken
    task doesn't hide itself. Their rollouts' noise is in it, too.
    """
    if pair.clusters is None or pair.baseline is None or pair.current is None:
        return 0.0
    _, codes = np.unique(pair.clusters, return_inverse=True)
    sums = np.bincount(codes, pair.baseline - pair.current)
    means = sums / np.bincount(codes)
    if len(means) < 2:
        return 0.0
    return float(np.median(np.abs(means))) * _SD_OF_MEDIAN


def with_shift(pair: PairedMetric, sign: float, shift: float) -> PairedMetric:
    """Worsen the baseline of a mean over tasks by a shift in the metric's unit."""
    if not shift > 0 or pair.baseline is None or pair.current is None:
        return pair
    of_tasks = _of_tasks(pair.baseline, shift, is_rate=pair.bounded)
    baseline = pair.baseline - sign * of_tasks
    if pair.bounded:
        baseline = np.clip(baseline, 0.0, 1.0)
    return structs.replace(
        pair,
        baseline=baseline,
        value_baseline=float(baseline.mean()),
        rewards_baseline=_worsened(pair, sign, of_tasks),
    )


def _of_tasks(values: Floats, shift: float, *, is_rate: bool) -> Floats:
    """Return the shift of each task, shape (tasks,): amounts shift in proportion."""
    uneven = _UNEVEN * shift
    mean = float(values.mean())
    if is_rate or not float(values.min()) > 0:
        return np.full(len(values), uneven)
    return np.asarray(uneven * values / mean)


def _worsened(pair: PairedMetric, sign: float, shifts: Floats) -> TaskRewards:
    """Worsen rewards: of passes some of each task fail, others change by the shift."""
    rewards = pair.rewards_baseline
    are_passes = bool(((rewards.values == 0) | (rewards.values == 1)).all())
    if pair.bounded and are_passes:
        return _with_fewer_good(rewards, shifts, good=1.0 if sign > 0 else 0.0)
    worse = rewards.values - sign * shifts[rewards.task]
    if pair.bounded:
        worse = np.clip(worse, 0.0, 1.0)
    return structs.replace(rewards, values=worse)


def _with_fewer_good(
    rewards: TaskRewards, shifts: Floats, *, good: float
) -> TaskRewards:
    """Turn the first good rollouts of each task into bad ones, as many as the shift."""
    is_good = rewards.values == good
    lost = np.ceil(shifts * rewards.counts - _ROUNDING)
    # each task's good rollouts are numbered from 0
    good_before = np.concatenate(([0], np.cumsum(is_good)))
    before_task = good_before[rewards.offsets[:-1]]
    number = good_before[:-1] - before_task[rewards.task]
    is_lost = is_good & (number < lost[rewards.task])
    values = np.where(is_lost, 1.0 - good, rewards.values)
    return structs.replace(rewards, values=values)
