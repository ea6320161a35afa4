"""Churn: how many answers changed in tasks whose scores did not.

Two rollouts of one side differ, too. That is the noise floor: answers before and now are
compared with each other, and so are the answers of each side among themselves. Dealing
the rollouts of each task to the two sides anew, those of equal reward among themselves,
shows how much more the sides differ by chance: a permutation test of the energy distance
(Székely and Rizzo 2013), exact where rollouts are independent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from pytest_evalmetrics.behaviour.columns import ANSWER, texts_of
from pytest_evalmetrics.behaviour.sketches import Sketch, distance
from pytest_evalmetrics.metrics.alignment import positions
from pytest_evalmetrics.model.behaviour import Churn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.model.comparison import Floats
    from pytest_evalmetrics.model.rollout_table import RolloutTable, TaskRewards

_ALPHA: Final = 0.01
_TASKS: Final = 400  # whose answers are compared; more are no surer, and slow
_ROLLOUTS: Final = 8  # of a task on each side
_DEALS: Final = 1_999
_EQUAL: Final = 1e-9
_SEED: Final = 20_130_101
_DIGITS: Final = 4


class _Task(msgspec.Struct, frozen=True):
    """The answers of one task, those before first."""

    # between each two answers, shape (answers, answers)
    distances: Floats
    # whether they differ at all, of the same shape
    differs: Floats
    rewards: Floats  # shape (answers,)
    before: int  # how many are of the baseline


def churn_of(
    before: RolloutTable,
    now: RolloutTable,
    scores: tuple[TaskRewards, TaskRewards],
) -> Churn | None:
    """Compare the answers of tasks with equal scores; None if there are none."""
    tasks = _tasks(before, now, scores)
    if not tasks:
        return None
    cross = [_cross(task.differs, task.before) for task in tasks]
    distances = [_cross(task.distances, task.before) for task in tasks]
    within = [_within(task.differs, task.before) for task in tasks]
    within_distances = [_within(task.distances, task.before) for task in tasks]
    has_floor = not np.isnan(within).all()
    p = _p_of_deals(tasks) if has_floor else None
    return Churn(
        tasks=len(tasks),
        changed=_rounded(np.mean(cross)),
        floor=_rounded(np.nanmean(within)) if has_floor else None,
        distance=_rounded(np.mean(distances)),
        distance_floor=_rounded(np.nanmean(within_distances)) if has_floor else None,
        p=p,
        is_significant=p is not None and p < _ALPHA,
    )


def _rounded(value: float | np.floating) -> float:
    return round(float(value), _DIGITS)


def _tasks(
    before: RolloutTable,
    now: RolloutTable,
    scores: tuple[TaskRewards, TaskRewards],
) -> list[_Task]:
    then_answers = texts_of(before, ANSWER)
    now_answers = texts_of(now, ANSWER)
    rewards_then, rewards_now = scores
    tasks: list[_Task] = []
    for place, at in enumerate(positions(now.tasks, before.tasks).tolist()):
        if at < 0 or len(tasks) == _TASKS:
            continue
        ours = _answers(now, place, now_answers, rewards_now)
        theirs = _answers(before, at, then_answers, rewards_then)
        if not ours or not theirs:
            continue
        mean_now = np.mean([reward for _, reward in ours])
        mean_then = np.mean([reward for _, reward in theirs])
        if abs(mean_now - mean_then) <= _EQUAL:
            tasks.append(_task(theirs, ours))
    return tasks


def _answers(
    table: RolloutTable, task: int, answers: Sequence[str], rewards: TaskRewards
) -> list[tuple[Sketch, float]]:
    """Return the answers of a task with their rewards; none if a reward is missing."""
    start, stop = table.offsets[task : task + 2].tolist()
    first, last = rewards.offsets[task : task + 2].tolist()
    if stop - start != last - first:
        return []
    stop = min(stop, start + _ROLLOUTS)
    return [
        (Sketch(answers[row]), float(rewards.values[first + row - start]))
        for row in range(start, stop)
        if answers[row]
    ]


def _task(
    theirs: Sequence[tuple[Sketch, float]], ours: Sequence[tuple[Sketch, float]]
) -> _Task:
    both = [*theirs, *ours]
    count = len(both)
    distances = np.zeros((count, count))
    differs = np.zeros((count, count))
    for row in range(count):
        for column in range(row):
            first = both[row][0]
            second = both[column][0]
            distances[row, column] = distances[column, row] = distance(first, second)
            is_other = float(first.text != second.text)
            differs[row, column] = differs[column, row] = is_other
    rewards = np.array([reward for _, reward in both])
    return _Task(distances, differs, rewards, len(theirs))


def _cross(values: Floats, before: int) -> float:
    return float(values[:before, before:].mean())


def _within(values: Floats, before: int) -> float:
    """Return the mean over pairs of one side, both sides alike; NaN without a pair."""
    sides = [values[:before, :before], values[before:, before:]]
    means = [
        side.sum() / (len(side) * (len(side) - 1)) for side in sides if len(side) > 1
    ]
    return float(np.mean(means)) if means else float("nan")


# -- the test --------------------------------------------------------------------------------


def _p_of_deals(tasks: Sequence[_Task]) -> float:
    """Return the share of deals in which the sides differ as much as they do."""
    generator = np.random.Generator(np.random.PCG64(_SEED))
    observed = 0.0
    dealt = np.zeros(_DEALS)
    for task in tasks:
        is_now = np.arange(len(task.rewards)) >= task.before
        observed += float(_energy(task, is_now[None, :].astype(float))[0])
        dealt += _energy(task, _deals(task, is_now, generator))
    as_extreme = int(np.count_nonzero(dealt >= observed - _EQUAL))
    return float(f"{(1 + as_extreme) / (1 + _DEALS):.4g}")


def _deals(task: _Task, is_now: np.ndarray, generator: np.random.Generator) -> Floats:
    """Deal the rollouts of a task anew, shape (deals, answers): 1 for the run's side."""
    _, stratum = np.unique(task.rewards, return_inverse=True)
    # within a stratum the order is random, and the sides keep their numbers there
    keys = stratum + generator.random((_DEALS, len(is_now)))
    order = np.argsort(keys, axis=1)
    sides = is_now[np.argsort(stratum, kind="stable")].astype(float)
    dealt = np.empty((_DEALS, len(is_now)))
    np.put_along_axis(dealt, order, np.broadcast_to(sides, dealt.shape), axis=1)
    return dealt


def _energy(task: _Task, is_now: Floats) -> Floats:
    """Return how much more the sides differ than their own answers, shape (deals,)."""
    is_before = 1.0 - is_now
    to_now = is_now @ task.distances
    now = float(is_now[0].sum())
    before = float(is_before[0].sum())
    cross = (to_now * is_before).sum(axis=1) / (now * before)
    within = np.zeros(len(is_now))
    sides = 0
    if now > 1:
        within += (to_now * is_now).sum(axis=1) / (now * (now - 1))
        sides += 1
    if before > 1:
        to_before = is_before @ task.distances
        within += (to_before * is_before).sum(axis=1) / (before * (before - 1))
        sides += 1
    energy: Floats = cross - within / max(sides, 1)
    return energy
