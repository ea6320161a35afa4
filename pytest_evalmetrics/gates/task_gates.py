"""Gates of single tasks: the task list, ``max_broken``, ``must_pass`` and ``quarantine``."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_evalmetrics.errors import did_you_mean
from pytest_evalmetrics.layout import many, of_many
from pytest_evalmetrics.results import Check, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import Drift, PairedMetric, RolloutTable, TaskRewards
    from pytest_evalmetrics.spec import Benchmark

_SHOWN = 10  # tasks that a message names
_SLACK = 1e-9
_LISTED = 100  # tasks that a report lists


def listed(tasks: Sequence[object]) -> str:
    """Join the first few, and say how many more there are."""
    more = f" and {len(tasks) - _SHOWN} more" if len(tasks) > _SHOWN else ""
    return ", ".join(map(str, tasks[:_SHOWN])) + more


class Flips(msgspec.Struct, frozen=True):
    """Tasks all of whose rollouts changed sides."""

    broken: tuple[object, ...]  # passed all of their rollouts in the baseline, and pass none now
    mended: tuple[object, ...]  # the other way round

    def __str__(self) -> str:
        parts = [
            f"{many(len(tasks), 'task')} went from {way} of the rollouts passing: {listed(tasks)}"
            for tasks, way in ((self.broken, "all to none"), (self.mended, "none to all"))
            if tasks
        ]
        return "; ".join(parts)


def flips_of(pair: PairedMetric, threshold: float) -> Flips:
    """Find the tasks all of whose rollouts changed sides; a reward passes from `threshold` on."""
    none_before, all_before = _extremes(pair.rewards_baseline, threshold)
    none_now, all_now = _extremes(pair.rewards_current, threshold)
    broken, mended = (
        tuple(pair.tasks[i] for i in np.flatnonzero(flipped).tolist())
        for flipped in (all_before & none_now, none_before & all_now)
    )
    return Flips(broken, mended)


def _extremes(
    rewards: TaskRewards, threshold: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Say which tasks pass none, and which all, of their rollouts."""
    if not len(rewards):
        return np.zeros(0, dtype=bool), np.zeros(0, dtype=bool)
    passes, starts = rewards.values >= threshold, rewards.offsets[:-1]  # no task is empty
    return ~np.logical_or.reduceat(passes, starts), np.logical_and.reduceat(passes, starts)


def check_broken(benchmark: Benchmark, agent: str, flips: Flips | None, most: int) -> Check:
    """Compare the tasks that broke with ``max_broken``; None is what can't be compared."""
    verdict = Verdict.INCONCLUSIVE
    reason = (
        "max_broken can't be judged: the rewards of the baseline's tasks are not "
        "comparable with those of this run"
    )
    hint = "record a new baseline with --snapshot-update"
    if flips is not None:
        broken, reason, hint = flips.broken, "", ""
        verdict = Verdict.FAIL if len(broken) > most else Verdict.PASS
        if broken:
            reason = (
                f"{many(len(broken), 'task')} passed all rollouts in the baseline and now "
                f"{'passes' if len(broken) == 1 else 'pass'} none: {listed(broken)}"
            )
        if verdict is Verdict.FAIL:
            hint = "fix them; or, if the change is intended, accept it with --snapshot-update"
    return Check(
        "baseline",
        "max_broken",
        verdict,
        agent=agent,
        value=None if flips is None else len(flips.broken),
        bound=f"<= {most}",
        reason=reason,
        hint=hint,
        line=benchmark.line_of("baseline", "max_broken"),
    )


class SingleTasks(msgspec.Struct, frozen=True):
    """The tasks of a run that a benchmark names."""

    unknown: tuple[Check, ...]  # one for each entry that names no task
    # task -> reason and last day (and line) of the entries that are in force, and of those not
    quarantined: dict[object, tuple[str, str]]
    expired: dict[object, tuple[str, str, int]]
    must_pass: frozenset[object]

    @classmethod
    def of(cls, benchmark: Benchmark, tasks: Sequence[object], today: date) -> SingleTasks:
        """Find the tasks that a benchmark names; `today` tells which quarantines are in force."""
        spec = benchmark.spec
        unknown: list[Check] = []
        by_text = {str(task): task for task in tasks}

        def named(pattern: str, *path: str | int) -> list[object]:
            if pattern in by_text:
                return [by_text[pattern]]
            matches = [task for text, task in by_text.items() if fnmatchcase(text, pattern)]
            if not matches:
                unknown.append(
                    Check(
                        "task",
                        f"{path[0]} {pattern}",
                        Verdict.INCONCLUSIVE,
                        reason=f"{path[0]}: this run has no task {pattern!r}; "
                        + did_you_mean(pattern, by_text, what="its tasks"),
                        hint="name a task of the benchmark, or complete the run",
                        line=benchmark.line_of(*path),
                    )
                )
            return matches

        quarantined: dict[object, tuple[str, str]] = {}
        expired: dict[object, tuple[str, str, int]] = {}
        for at, entry in enumerate(spec.quarantine):
            line = benchmark.line_of("quarantine", at)
            for task in named(entry.task, "quarantine", at):
                if entry.until < today.isoformat():
                    expired[task] = entry.reason, entry.until, line
                else:
                    quarantined[task] = entry.reason, entry.until
        must = {t for at, p in enumerate(spec.must_pass) for t in named(p, "must_pass", at)}
        return cls(tuple(unknown), quarantined, expired, frozenset(must))

    def checks(self, benchmark: Benchmark, agent: str, table: RolloutTable) -> Iterator[Check]:
        """Judge one agent's tasks."""
        spec = benchmark.spec
        passing = table.scores[spec.reward] >= spec.pass_threshold
        counts = table.counts.tolist()
        passed = np.bincount(table.task, weights=passing, minlength=len(counts)).tolist()
        outcomes = {
            task: f"{int(passed[i])} of {many(counts[i], 'rollout')} pass"
            for i, task in enumerate(table.tasks)
            if task in self.quarantined or task in self.expired or task in self.must_pass
        }
        for task, outcome in outcomes.items():
            if task in self.quarantined:
                verdict, hint, line = Verdict.PASS, "", benchmark.line_of("quarantine")
                reason, until = self.quarantined[task]
                what = f"task {task} is measured and not gated until {until}"
            elif task in self.expired:
                reason, until, line = self.expired[task]
                verdict = Verdict.FAIL
                what = f"the quarantine of task {task} ended on {until}"
                hint = "fix the task and delete its entry of quarantine:, or give it another day"
            else:
                continue
            yield Check(
                "task",
                f"quarantine {task}",
                verdict,
                agent=agent,
                bound=f"until {until}",
                reason=f"{what}: {reason}; {outcome}",
                hint=hint,
                line=line,
            )
        if not self.must_pass:
            return
        # a rollout without a reward does not pass
        whole = {t for i, t in enumerate(table.tasks) if t in outcomes and passed[i] == counts[i]}
        asked = [task for task in outcomes if task in self.must_pass]
        failing = [task for task in asked if task not in whole]
        yield Check(
            "task",
            "must_pass",
            Verdict.FAIL if failing else Verdict.PASS,
            agent=agent,
            value=len(asked) - len(failing),
            bound=f"== {len(asked)}",
            reason=f"{of_many(len(failing), len(asked), 'task')} that must pass "
            f"{'does' if len(failing) == 1 else 'do'} not: "
            + listed([f"{task} ({outcomes[task]})" for task in failing])
            if failing
            else "",
            hint="fix what broke them" if failing else "",
            line=benchmark.line_of("must_pass"),
        )


def check_task_list(
    drift: Drift,
    table: RolloutTable,
    reward: str,
    *,
    agent: str,
    line: int | None,
    min_coverage: float,
    accept: str,
) -> Check | None:
    """Check that the tasks of a baseline are there, unchanged.

    `reward` is the score that tells what new tasks are worth. `min_coverage` is the share of the
    baseline's tasks that must be compared. FAIL where too many tasks are lost, INCONCLUSIVE where
    too many are edited; None where the task list is as recorded.
    """
    parts = list(_parts(drift, table, reward))
    if not parts:
        return None
    gone = len(drift.lost) + len(drift.edited)
    kept = drift.expected - gone
    verdict, hint = Verdict.PASS, ""
    if kept < min_coverage * drift.expected - _SLACK:
        verdict = Verdict.FAIL if drift.lost else Verdict.INCONCLUSIVE
        hint = f"run all tasks of the baseline; or, if the change is intended, {accept}"
    return Check(
        "baseline",
        "tasks",
        verdict,
        agent=agent,
        value=kept,
        bound=f">= {100 * min_coverage:.4g} % of {many(drift.expected, 'task')}",
        reason="; ".join(parts),
        hint=hint,
        line=line,
        evidence={
            "task_list": True,
            "expected": drift.expected,
            **{
                key: {"count": len(tasks), "tasks": [str(task) for task in tasks[:_LISTED]]}
                for key, tasks in (
                    ("lost", drift.lost),
                    ("edited", drift.edited),
                    ("moved", [f"{old} -> {new}" for old, new in drift.moved]),
                    ("new", drift.new),
                )
            },
        },
    )


def _parts(drift: Drift, table: RolloutTable, reward: str) -> Iterator[str]:
    of = f"of the baseline's {many(drift.expected, 'task')}"
    if drift.lost:
        yield f"{len(drift.lost)} {of} {_are(drift.lost)} not in this run: {listed(drift.lost)}"
    if drift.edited:
        has = "has" if len(drift.edited) == 1 else "have"
        yield (
            f"{len(drift.edited)} {of} {has} other content under the same id, which makes "
            f"other tasks of them: {listed(drift.edited)}"
        )
    if drift.moved:
        moves = [f"{old} -> {new}" for old, new in drift.moved]
        yield (
            f"{many(len(moves), 'task')} moved to another id and {_are(moves)} paired by content: "
            + listed(moves)
        )
    if drift.new:
        yield (
            f"{many(len(drift.new), 'new task')} not in the baseline: "
            + listed(_with_values(drift.new, table, reward))
        )


def _with_values(tasks: Sequence[str], table: RolloutTable, reward: str) -> list[str]:
    """Name tasks with the mean of their rewards."""
    column = table.scores.get(reward)
    if column is None or len(tasks) > _LISTED:
        return list(tasks)
    place = {str(task): at for at, task in enumerate(table.tasks)}
    bounds = table.offsets
    shown = []
    for task in tasks:
        values = column[bounds[place[task]] : bounds[place[task] + 1]]
        values = values[~np.isnan(values)]
        shown.append(f"{task} ({reward} {values.mean():.4g})" if len(values) else task)
    return shown


def _are(tasks: Sequence[object]) -> str:
    return "is" if len(tasks) == 1 else "are"


def task_list_notes(drift: Drift, *, in_python: bool = False) -> Iterator[str]:
    """Say where tasks are paired by id alone."""
    if drift.unknown:
        yield (
            "tasks are paired by id alone: the baseline holds no content of its tasks yet; "
            "record it with --snapshot-update"
        )
    elif drift.blind and not in_python:
        yield (
            "tasks are paired by position alone: their ids are numbers of rows, which change "
            "where a row is added; say what identifies a task with `fields: {content: KEY}`, such "
            "as the key of its question"
        )
