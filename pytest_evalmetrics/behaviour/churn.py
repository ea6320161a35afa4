"""Churn: how many answers changed in tasks whose scores did not.

Two rollouts of one side differ, too. That is the noise floor: answers before and now are
compared with each other, and so are the answers of each side among themselves. Dealing
the rollouts of each task to the two sides anew, those of equal reward among themselves,
shows how much more the sides differ by chance: a permutation test of the energy distance
(Székely and Rizzo 2013), exact where rollouts are independent.

Where the baseline has several runs, the floor is how much the answers of two of them
differ. The answers now have to differ by more than that, too: by a t test over tasks,
and from three runs on by a t test over runs, whose distances to each other scatter.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.behaviour.columns import ANSWER, RUN, texts_of
from pytest_evalmetrics.metrics.alignment import positions
from pytest_evalmetrics.model.behaviour import Churn
from pytest_evalmetrics.stats import mean_test, t_sf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.behaviour.distances import Distance
    from pytest_evalmetrics.model.comparison import Floats
    from pytest_evalmetrics.model.rollout_table import RolloutTable, TaskRewards

_ALPHA: Final = 0.01
_TASKS: Final = 200  # whose answers are compared; more are no surer, and slow
_ROLLOUTS: Final = 8  # of a task on each side
_DEALS: Final = 1_999
_EQUAL: Final = 1e-9
_FEWEST: Final = 2  # tasks of a t test
_FEWEST_RUNS: Final = 3  # of another one
_LEVEL: Final = 0.95
_SEED: Final = 20_130_101
_DIGITS: Final = 4


class _Answer(msgspec.Struct, frozen=True):
    """The answer of one rollout."""

    kept: str  # its sketch or its text
    reward: float
    run: float  # of the baseline; 0 for the run's own


class _Task(msgspec.Struct, frozen=True):
    """The answers of one task, those before first."""

    # between each two answers, shape (answers, answers)
    distances: Floats
    # whether they differ at all, of the same shape
    differs: Floats
    rewards: Floats  # shape (answers,)
    runs: Floats  # the run of each answer of the baseline, shape (before,)

    @property
    def before(self) -> int:
        """How many answers are of the baseline."""
        return len(self.runs)

    @property
    def has_runs(self) -> bool:
        """Whether the answers of the baseline are of several runs."""
        return len(np.unique(self.runs)) > 1


def churn_of(
    before: RolloutTable,
    now: RolloutTable,
    scores: tuple[TaskRewards, TaskRewards],
    *,
    distance: Distance,
    independent: bool | None,
) -> Churn | None:
    """Compare the answers of tasks with equal scores; None if there are none.

    Rollouts of a task that are not `independent`, as at temperature 0, are alike in a
    run, and may all differ in the next one: they show no floor that a test can use.
    """
    tasks = _tasks(before, now, scores, distance)
    if not tasks:
        return None
    cross = np.array([_cross(task.distances, task.before) for task in tasks])
    floors = np.array([_floor(task, task.distances) for task in tasks])
    changed = [_cross(task.differs, task.before) for task in tasks]
    churn = Churn(
        tasks=len(tasks),
        changed=_rounded(np.mean(changed)),
        floor=None,
        distance=_rounded(np.mean(cross)),
        distance_floor=None,
        p=None,
        is_significant=False,
        measure=distance.kind,
    )
    if np.isnan(floors).all():
        return churn
    changed_floors = [_floor(task, task.differs) for task in tasks]
    churn = structs.replace(
        churn,
        floor=_rounded(np.nanmean(changed_floors)),
        distance_floor=_rounded(np.nanmean(floors)),
    )
    if not independent and not any(task.has_runs for task in tasks):
        return churn
    p = _p(tasks, cross - floors)
    return structs.replace(churn, p=p, is_significant=p < _ALPHA)


def _p(tasks: Sequence[_Task], excess: Floats) -> float:
    """Test the answers now; `excess` is the distance of each task above its floor."""
    p = _p_of_deals(tasks)
    numbers = excess[~np.isnan(excess)]
    has_runs = any(task.has_runs for task in tasks)
    if has_runs and len(numbers) >= _FEWEST:
        p = max(p, mean_test(numbers, None, _LEVEL).p, _p_of_runs(tasks))
    return float(f"{p:.4g}")


def _p_of_runs(tasks: Sequence[_Task]) -> float:
    """Test how far the answers now are from the runs, which are so far from each other.

    Returns 0 with fewer than three runs, whose distances show no scatter.
    """
    distances: dict[float, list[float]] = {}
    now: list[float] = []
    for task in tasks:
        before = task.distances[: task.before, : task.before]
        now.append(_cross(task.distances, task.before))
        for run in np.unique(task.runs).tolist():
            is_run = task.runs == run
            others = before[np.ix_(is_run, ~is_run)]
            if others.size:
                distances.setdefault(run, []).append(float(others.mean()))
    means = np.array([np.mean(of_run) for of_run in distances.values()])
    if len(means) < _FEWEST_RUNS:
        return 0.0
    excess = float(np.mean(now) - means.mean())
    spread = float(means.std(ddof=1)) * math.sqrt(1 + 1 / len(means))
    if spread <= _EQUAL:
        return 0.0 if excess > 0 else 1.0
    return t_sf(excess / spread, len(means) - 1)


def _rounded(value: float | np.floating) -> float:
    return round(float(value), _DIGITS)


def _tasks(
    before: RolloutTable,
    now: RolloutTable,
    scores: tuple[TaskRewards, TaskRewards],
    distance: Distance,
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
        mean_now = np.mean([answer.reward for answer in ours])
        mean_then = np.mean([answer.reward for answer in theirs])
        if abs(mean_now - mean_then) <= _EQUAL:
            chosen = _of_each_run(theirs)
            tasks.append(_task(chosen, ours[:_ROLLOUTS], distance))
    return tasks


def _answers(
    table: RolloutTable, task: int, answers: Sequence[str], rewards: TaskRewards
) -> list[_Answer]:
    """Return the answers of a task with their rewards; none if a reward is missing."""
    start, stop = table.offsets[task : task + 2].tolist()
    first, last = rewards.offsets[task : task + 2].tolist()
    if stop - start != last - first:
        return []
    runs = table.scores.get(RUN)
    return [
        _Answer(
            kept=answers[row],
            reward=float(rewards.values[first + row - start]),
            run=0.0 if runs is None else float(runs[row]),
        )
        for row in range(start, stop)
        if answers[row]
    ]


def _of_each_run(answers: Sequence[_Answer]) -> list[_Answer]:
    """Keep so many answers as are compared, the same number of each run."""
    by_run: dict[float, list[_Answer]] = {}
    for answer in answers:
        by_run.setdefault(answer.run, []).append(answer)
    if not by_run:
        return []
    share = max(_ROLLOUTS // len(by_run), 1)
    return [answer for run in by_run.values() for answer in run[:share]]


def _task(
    theirs: Sequence[_Answer], ours: Sequence[_Answer], distance: Distance
) -> _Task:
    both = [*theirs, *ours]
    kept = [answer.kept for answer in both]
    _, texts = np.unique(kept, return_inverse=True)
    return _Task(
        distances=distance.between(kept),
        differs=(texts[:, None] != texts[None, :]).astype(float),
        rewards=np.array([answer.reward for answer in both]),
        runs=np.array([answer.run for answer in theirs]),
    )


def _cross(values: Floats, before: int) -> float:
    return float(values[:before, before:].mean())


def _floor(task: _Task, values: Floats) -> float:
    """Return the mean over pairs of one side; NaN without a pair.

    Of several runs, only answers of different ones are a pair.
    """
    if task.has_runs:
        before = values[: task.before, : task.before]
        is_other = task.runs[:, None] != task.runs[None, :]
        return float(before[is_other].mean())
    means: list[float] = []
    before = values[: task.before, : task.before]
    now = values[task.before :, task.before :]
    for side in (before, now):
        pairs = len(side) * (len(side) - 1)
        if pairs > 0:
            means.append(float(side.sum()) / pairs)
    if not means:
        return math.nan
    return float(np.mean(means))


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
