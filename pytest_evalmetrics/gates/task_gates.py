"""Gates of single tasks: the task list, ``max_broken``, ``must_pass``, ``quarantine``."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from pytest_evalmetrics.errors import did_you_mean
from pytest_evalmetrics.layout import in_natural_order, natural_key
from pytest_evalmetrics.model.bounds import (
    AllBound,
    CoverageBound,
    MostBound,
    UntilBound,
)
from pytest_evalmetrics.model.gate_notes import PairedById, PairedByPosition
from pytest_evalmetrics.model.reasons import (
    BrokenTasks,
    MaxBrokenTooLarge,
    MustPassFailed,
    NewTask,
    PassCount,
    Quarantined,
    Reason,
    TaskListChanged,
    TaskMove,
    UncomparableTasks,
    UnknownTask,
)
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.verdicts import Acceptance, Gate, Verdict
from pytest_evalmetrics.sums import reaches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

    from pytest_evalmetrics.gates.completeness import LineOf
    from pytest_evalmetrics.model.comparison import PairedMetric
    from pytest_evalmetrics.model.rollout_table import Drift, RolloutTable, TaskId
    from pytest_evalmetrics.spec import BenchmarkSpec
    from pytest_evalmetrics.spec.gate_keys import QuarantineSpec

_SLACK = 1e-9
_NAMED = 10  # tasks that a reason names
_LISTED = 100  # tasks that a report lists


# -- tasks that flipped ----------------------------------------------------------------------


class Flips(msgspec.Struct, frozen=True):
    """The tasks whose rollouts all passed before and all fail now, or the reverse."""

    broken: tuple[TaskId, ...]
    mended: tuple[TaskId, ...]
    tasks: int  # that are compared


def flips_of(pair: PairedMetric, threshold: float) -> Flips:
    """Find the tasks whose rollouts all changed sides; a reward passes from `threshold`."""
    shares = []  # of passes of each task, before and now; no task is empty
    for side in (pair.rewards_baseline, pair.rewards_current):
        passes = side.count(reaches(side.values, threshold))
        shares.append(passes / side.counts)
    before, now = shares
    broken = np.flatnonzero((before == 1) & (now == 0)).tolist()
    mended = np.flatnonzero((before == 0) & (now == 1)).tolist()
    return Flips(
        broken=tuple(pair.tasks[at] for at in broken),
        mended=tuple(pair.tasks[at] for at in mended),
        tasks=len(pair.tasks),
    )


def check_broken(
    flips: Flips | None,
    most: int,
    *,
    agent: str,
    line: int,
    acceptance: Acceptance,
) -> Check:
    """Compare the tasks that broke with ``max_broken``; None is what can't be compared."""
    verdict = Verdict.INCONCLUSIVE
    value = None
    reasons: tuple[Reason, ...]
    if flips is None:
        reasons = (UncomparableTasks(),)
    elif most >= flips.tasks:
        reasons = (MaxBrokenTooLarge(most=most, tasks=flips.tasks),)
    else:
        value = len(flips.broken)
        verdict = Verdict.PASS if value <= most else Verdict.FAIL
        if value:
            broken = in_natural_order(flips.broken)[:_NAMED]
            reasons = (BrokenTasks(tasks=tuple(map(str, broken)), count=value),)
        else:
            reasons = ()
    return Check(
        gate=Gate.BASELINE,
        name="max_broken",
        verdict=verdict,
        agent=agent,
        value=value,
        bound=MostBound(most),
        reasons=reasons,
        line=line,
        acceptance=acceptance,
    )


# -- tasks that the file names ---------------------------------------------------------------


class QuarantineEntry(msgspec.Struct, frozen=True):
    """An entry of ``quarantine:`` that applies to a task."""

    spec: QuarantineSpec
    is_over: bool
    line: int


class SingleTasks(msgspec.Struct, frozen=True):
    """The tasks of a run that a benchmark names."""

    unknown: tuple[Check, ...]  # one for each entry that names no task
    entries: dict[TaskId, QuarantineEntry]  # of tasks in quarantine, in force or not
    must_pass: frozenset[TaskId]

    @property
    def quarantined(self) -> frozenset[str]:
        """The ids of the tasks that are not gated."""
        return frozenset(
            str(task) for task, entry in self.entries.items() if not entry.is_over
        )


def single_tasks(
    spec: BenchmarkSpec, tasks: Sequence[TaskId], today: date, line_of: LineOf
) -> SingleTasks:
    """Find the tasks that a benchmark names; `today` decides which quarantines apply."""
    by_text = {str(task): task for task in tasks}
    unknown: list[Check] = []
    entries: dict[TaskId, QuarantineEntry] = {}
    for at, quarantine in enumerate(spec.quarantine):
        matches = _matching(quarantine.task, by_text)
        if not matches:
            line = line_of("quarantine", at)
            unknown.append(_unknown("quarantine", quarantine.task, by_text, line))
        entry = _entry(quarantine, at, today, line_of)
        for task in matches:
            held = entries.get(task)
            is_held = held is not None and not held.is_over
            if not (entry.is_over and is_held):
                entries[task] = entry
    must_pass: set[TaskId] = set()
    for at, pattern in enumerate(spec.must_pass):
        matches = _matching(pattern, by_text)
        if not matches:
            line = line_of("must_pass", at)
            unknown.append(_unknown("must_pass", pattern, by_text, line))
        must_pass.update(matches)
    return SingleTasks(tuple(unknown), entries, frozenset(must_pass))


def _entry(
    quarantine: QuarantineSpec, at: int, today: date, line_of: LineOf
) -> QuarantineEntry:
    """Make an entry; one that is over is told by its own line."""
    is_over = quarantine.until < today.isoformat()
    line = line_of("quarantine", at) if is_over else line_of("quarantine")
    return QuarantineEntry(quarantine, is_over, line)


def _matching(pattern: str, by_text: dict[str, TaskId]) -> list[TaskId]:
    """Return the task with this id, or else the tasks that a glob matches."""
    if pattern in by_text:
        return [by_text[pattern]]
    return [task for text, task in by_text.items() if fnmatchcase(text, pattern)]


def _unknown(
    key: Literal["must_pass", "quarantine"],
    pattern: str,
    by_text: dict[str, TaskId],
    line: int,
) -> Check:
    guess = did_you_mean(pattern, by_text, what="its tasks")
    return Check(
        gate=Gate.TASK,
        name=f"{key} {pattern}",
        verdict=Verdict.INCONCLUSIVE,
        reasons=(UnknownTask(key=key, pattern=pattern, guess=guess),),
        line=line,
    )


def check_single_tasks(
    single: SingleTasks,
    spec: BenchmarkSpec,
    table: RolloutTable,
    *,
    agent: str,
    line_of: LineOf,
) -> Iterator[Check]:
    """Judge one agent's tasks that the benchmark names."""
    passing = reaches(table.scores[spec.reward], spec.pass_threshold)
    counts = table.counts.tolist()
    passed = np.bincount(table.task, weights=passing, minlength=len(counts)).tolist()
    asked = 0
    failing = []
    for at, task in enumerate(table.tasks):
        outcome = PassCount(str(task), passed=int(passed[at]), rollouts=counts[at])
        entry = single.entries.get(task)
        if entry is not None:
            yield _check_quarantine(entry, outcome, agent)
        if task in single.must_pass:
            asked += 1
            # a rollout without a reward does not pass
            if outcome.passed < outcome.rollouts:
                failing.append(outcome)
    if not single.must_pass:
        return
    reason = MustPassFailed(tasks=tuple(failing[:_NAMED]), count=len(failing), of=asked)
    yield Check(
        gate=Gate.TASK,
        name="must_pass",
        verdict=Verdict.FAIL if failing else Verdict.PASS,
        agent=agent,
        value=asked - len(failing),
        bound=AllBound(asked),
        reasons=(reason,) if failing else (),
        line=line_of("must_pass"),
    )


def _check_quarantine(entry: QuarantineEntry, outcome: PassCount, agent: str) -> Check:
    reason = Quarantined(
        outcome=outcome,
        until=entry.spec.until,
        why=entry.spec.reason,
        is_over=entry.is_over,
    )
    return Check(
        gate=Gate.TASK,
        name=f"quarantine {outcome.task}",
        verdict=Verdict.FAIL if entry.is_over else Verdict.PASS,
        agent=agent,
        bound=UntilBound(entry.spec.until),
        reasons=(reason,),
        line=entry.line,
    )


# -- the task list ---------------------------------------------------------------------------


def check_task_list(
    drift: Drift,
    table: RolloutTable,
    reward: str,
    *,
    agent: str,
    line: int | None,
    min_coverage: float,
    acceptance: Acceptance,
) -> Check | None:
    """Return a check for missing or edited tasks of a baseline; None if there are none."""
    if not (drift.lost or drift.edited or drift.moved or drift.new):
        return None
    kept = drift.expected - len(drift.lost) - len(drift.edited)
    is_covered = kept >= min_coverage * drift.expected - _SLACK
    verdict = Verdict.PASS
    if not is_covered:
        verdict = Verdict.FAIL if drift.lost else Verdict.INCONCLUSIVE
    moved = sorted(drift.moved, key=lambda names: natural_key(names[0]))
    reason = TaskListChanged(
        expected=drift.expected,
        lost=tuple(in_natural_order(drift.lost)[:_LISTED]),
        lost_count=len(drift.lost),
        edited=tuple(in_natural_order(drift.edited)[:_LISTED]),
        edited_count=len(drift.edited),
        moved=tuple(TaskMove(old, new) for old, new in moved[:_LISTED]),
        moved_count=len(drift.moved),
        new=_new_tasks(in_natural_order(drift.new), table, reward),
        new_count=len(drift.new),
        reward=reward,
        is_covered=is_covered,
    )
    return Check(
        gate=Gate.BASELINE,
        name="tasks",
        verdict=verdict,
        agent=agent,
        value=kept,
        bound=CoverageBound(least=min_coverage, of=drift.expected),
        reasons=(reason,),
        line=line,
        acceptance=acceptance,
    )


def _new_tasks(
    tasks: Sequence[str], table: RolloutTable, reward: str
) -> tuple[NewTask, ...]:
    """Name new tasks with the mean of their rewards, unless there are very many."""
    if reward not in table.scores or len(tasks) > _LISTED:
        return tuple(NewTask(task, None) for task in tasks[:_LISTED])
    wanted = set(tasks)
    place = {
        str(task): at for at, task in enumerate(table.tasks) if str(task) in wanted
    }
    rewards = table.rewards(reward)
    new = []
    for task in tasks:
        start, stop = rewards.offsets[place[task] : place[task] + 2].tolist()
        values = rewards.values[start:stop]
        new.append(NewTask(task, float(values.mean()) if len(values) else None))
    return tuple(new)


def task_list_note(
    drift: Drift, acceptance: Acceptance, *, in_python: bool
) -> PairedById | PairedByPosition | None:
    """Note that tasks are paired by id or position alone; None if content pairs them."""
    if drift.unknown:
        return PairedById(acceptance)
    if drift.blind and not in_python:
        return PairedByPosition()
    return None
