"""The loss of everything that there was to lose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_evalmetrics.comparison.inputs import means_of, measure_damage

if TYPE_CHECKING:
    from pytest_evalmetrics.comparison.inputs import ComparisonInput, TaskDamage
    from pytest_evalmetrics.model.comparison import Floats

# the share of what there was to lose from which on everything is lost
_ALL = 0.9
_NO_ROOM = 1e-12  # of the largest change: from the worst value but for rounding
_FELL_TO_THE_END = 3  # tasks that show where the range of a metric ends


class Losable(msgspec.Struct, frozen=True):
    """What the tasks of a baseline have to lose."""

    amounts: Floats  # of each task, shape (tasks,)
    # of a task, at most; None where the range of the metric is unknown
    range: float | None


def is_all_lost(damage: TaskDamage) -> bool:
    """Check whether a tenth or less is left of what there was to lose."""
    if not damage.drop > 0:
        return False
    losable = losable_of(damage)
    if losable.range is not None:
        return bool(damage.values.sum() >= _ALL * losable.amounts.sum())
    return _is_nothing_left(damage) or _fell_to_one_value(damage)


def loses_all(given: ComparisonInput) -> bool:
    """Check the same of a metric on both sides, without the cost of a comparison."""
    return is_all_lost(measure_damage(given))


def had_most_to_lose(damage: TaskDamage) -> bool:
    """Check whether each task of the baseline had half or more of the range to lose.

    Tasks that lose everything from there are as rare by chance as coins that all come up,
    and then all down.
    """
    losable = losable_of(damage)
    amounts = losable.amounts
    if not amounts.size:
        return False
    largest = losable.range
    if largest is None:
        largest = float(amounts.max())
    return bool(largest > 0 and amounts.min() >= largest / 2)


def tasks_with_room(damage: TaskDamage) -> int:
    """Count the tasks that had anything to lose, or lost it."""
    amounts = losable_of(damage).amounts
    if not amounts.size:
        return 0
    has_room = amounts > _NO_ROOM * damage.span
    return int(np.count_nonzero(has_room | (damage.values != 0)))


def losable_of(damage: TaskDamage) -> Losable:
    """Return what each task could lose of its value, or of its mean reward if it has none."""
    if damage.room is not None:
        return Losable(damage.room, range=1.0 if damage.pair.bounded else None)
    rewards = _rewards(damage)
    if not rewards.size:
        return Losable(np.zeros(0), range=None)
    low = float(rewards.min())
    high = float(rewards.max())
    is_rate = low >= 0 and high <= 1
    if is_rate:
        low = 0.0
        high = 1.0
    before = means_of(damage.pair.rewards_baseline)
    amounts = before - low if damage.sign > 0 else high - before
    return Losable(np.asarray(amounts), range=1.0 if is_rate else None)


def _rewards(damage: TaskDamage) -> Floats:
    """Return the rewards of both sides, shape (rollouts,)."""
    pair = damage.pair
    return np.concatenate((pair.rewards_baseline.numbers, pair.rewards_current.numbers))


def _is_nothing_left(damage: TaskDamage) -> bool:
    """Check whether all rewards fell to 0, from above it."""
    before = damage.pair.rewards_baseline.numbers
    now = damage.pair.rewards_current.numbers
    had_something = damage.sign > 0 and bool(before.size) and float(before.min()) > 0
    return had_something and not now.any()


def _fell_to_one_value(damage: TaskDamage) -> bool:
    """Check whether the run has one value alone, which shows where the range ends.

    Three tasks that fell to it show that, or several rollouts if the baseline has but
    one value, too.
    """
    pair = damage.pair
    now = pair.current
    if now is None:
        now = means_of(pair.rewards_current)
    if not now.size or float(np.ptp(now)) > 0:
        return False
    if int(np.count_nonzero(damage.values > 0)) >= _FELL_TO_THE_END:
        return True
    sides = (pair.rewards_baseline.numbers, pair.rewards_current.numbers)
    return all(side.size > 1 and float(np.ptp(side)) == 0 for side in sides)
