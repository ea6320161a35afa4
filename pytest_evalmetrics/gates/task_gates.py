"""Gates of single tasks: the task list, ``max_broken``, ``must_pass`` and ``quarantine``."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.errors import did_you_mean
from pytest_evalmetrics.layout import listed, many, of_many
from pytest_evalmetrics.model.results import Check, Verdict
from pytest_evalmetrics.sums import reaches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

    from pytest_evalmetrics.model.rollout_table import Drift, PairedMetric, RolloutTable
    from pytest_evalmetrics.spec import Benchmark

_SLACK = 1e-9
_LISTED = 100  # tasks that a report lists


class Flips(msgspec.Struct, frozen=True):
    """The tasks whose rollouts all passed before and all fail now, or the reverse."""

    broken: tuple[
        object, ...
    ]  # passed all of their rollouts in the baseline, and pass none now
    mended: tuple[object, ...]  # the other way round
    tasks: int = 0  # that are compared

    def __str__(self) -> str:
        parts = []
        for tasks, way in ((self.broken, "all to none"), (self.mended, "none to all")):
            if tasks:
                went = f"{many(len(tasks), 'task')} went from {way} of the rollouts passing"
                parts.append(f"{went}: {listed(tasks)}")
        return "; ".join(parts)


def flips_of(pair: PairedMetric, threshold: float) -> Flips:
    """Find the tasks whose rollouts all changed sides; a reward passes from `threshold` on."""
    before, now = (  # the share of passes of each task; no task is empty
        np.add.reduceat(
            reaches(side.values, threshold), side.offsets[:-1], dtype=np.int64
        )
        / side.counts
        for side in (pair.rewards_baseline, pair.rewards_current)
    )
    broken, mended = (
        tuple(pair.tasks[i] for i in np.flatnonzero(flipped).tolist())
        for flipped in ((before == 1) & (now == 0), (before == 0) & (now == 1))
    )
    return Flips(broken, mended, len(pair.tasks))


def check_broken(
    benchmark: Benchmark, agent: str, flips: Flips | None, most: int
) -> Check:
    """Compare the tasks that broke with ``max_broken``; None is what can't be compared."""
    line, bound = benchmark.line_of("baseline", "max_broken"), f"<= {most}"
    check = partial(
        Check, "baseline", "max_broken", agent=agent, bound=bound, line=line
    )
    if flips is None:
        reason = (
            "max_broken can't be judged: the rewards of both sides are not comparable"
        )
        hint = "record a new baseline with --snapshot-update"
        return check(Verdict.INCONCLUSIVE, reason=reason, hint=hint)
    if most >= flips.tasks:
        reason = f"max_broken {most} can never fail: {many(flips.tasks, 'task')} are compared"
        return check(
            Verdict.INCONCLUSIVE, reason=reason, hint="choose a smaller max_broken"
        )
    broken, reason = len(flips.broken), ""
    if broken:
        reason = f"{many(broken, 'task')} went from all passing to none: {listed(flips.broken)}"
    if broken <= most:
        return check(Verdict.PASS, value=broken, reason=reason)
    hint = "fix them; or, if the change is intended, accept it with --snapshot-update"
    return check(Verdict.FAIL, value=broken, reason=reason, hint=hint)


class SingleTasks(msgspec.Struct, frozen=True):
    """The tasks of a run that a benchmark names."""

    unknown: list[Check]  # one for each entry that names no task
    entries: dict[object, Check]  # of tasks in quarantine, in force or not
    quarantined: set[object]  # the entries in force
    must_pass: set[object]

    @classmethod
    def of(
        cls, benchmark: Benchmark, tasks: Sequence[object], today: date
    ) -> SingleTasks:
        """Find the tasks that a benchmark names; `today` decides which quarantines apply."""
        single = cls([], {}, set(), set())
        by_text = {str(task): task for task in tasks}

        def named(pattern: str, *path: str | int) -> list[object]:
            if pattern in by_text:
                return [by_text[pattern]]
            matches = [
                task for text, task in by_text.items() if fnmatchcase(text, pattern)
            ]
            if not matches:
                name, line = f"{path[0]} {pattern}", benchmark.line_of(*path)
                guess = did_you_mean(pattern, by_text, what="its tasks")
                reason = f"{path[0]}: this run has no task {pattern!r}; {guess}"
                hint = "name a task of the benchmark, or complete the run"
                check = partial(Check, "task", name, Verdict.INCONCLUSIVE, line=line)
                single.unknown.append(check(reason=reason, hint=hint))
            return matches

        for at, entry in enumerate(benchmark.spec.quarantine):
            verdict, hint, line = Verdict.PASS, "", benchmark.line_of("quarantine")
            what = "task {} is measured and not gated until {}"
            if entry.until < today.isoformat():
                verdict, line = Verdict.FAIL, benchmark.line_of("quarantine", at)
                what = "the quarantine of task {} ended on {}"
                hint = "fix the task and delete its entry of quarantine:, or give it another day"
            check = partial(
                Check, "task", verdict=verdict, bound=f"until {entry.until}", line=line
            )
            for task in named(entry.task, "quarantine", at):
                if verdict is Verdict.PASS:
                    single.quarantined.add(task)
                elif task in single.quarantined:
                    continue
                reason = f"{what.format(task, entry.until)}: {entry.reason}"
                single.entries[task] = check(
                    f"quarantine {task}", reason=reason, hint=hint
                )
        for at, pattern in enumerate(benchmark.spec.must_pass):
            single.must_pass.update(named(pattern, "must_pass", at))
        return single

    def checks(
        self, benchmark: Benchmark, agent: str, table: RolloutTable
    ) -> Iterator[Check]:
        """Judge one agent's tasks."""
        rewards = table.scores[benchmark.spec.reward]
        passing = reaches(rewards, benchmark.spec.pass_threshold)
        counts = table.counts.tolist()
        passed = np.bincount(
            table.task, weights=passing, minlength=len(counts)
        ).tolist()
        asked, failing = 0, []
        for i, task in enumerate(table.tasks):
            if task not in self.entries and task not in self.must_pass:
                continue
            outcome = f"{int(passed[i])} of {many(counts[i], 'rollout')} pass"
            if (entry := self.entries.get(task)) is not None:
                yield structs.replace(
                    entry, agent=agent, reason=f"{entry.reason}; {outcome}"
                )
            if task in self.must_pass:
                asked += 1
                if passed[i] < counts[i]:  # a rollout without a reward does not pass
                    failing.append(f"{task} ({outcome})")
        if not self.must_pass:
            return
        line, bound = benchmark.line_of("must_pass"), f"== {asked}"
        check = partial(Check, "task", "must_pass", agent=agent, bound=bound, line=line)
        if not failing:
            yield check(Verdict.PASS, value=asked)
            return
        reason = f"{of_many(len(failing), asked, 'task')} of must_pass failed: {listed(failing)}"
        hint = "fix what broke them"
        yield check(Verdict.FAIL, value=asked - len(failing), reason=reason, hint=hint)


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
    """Return a check for missing or edited tasks of a baseline; None if there are none."""
    parts = list(_parts(drift, table, reward))
    if not parts:
        return None
    kept = drift.expected - len(drift.lost) - len(drift.edited)
    verdict, hint = Verdict.PASS, ""
    if kept < min_coverage * drift.expected - _SLACK:
        verdict = Verdict.FAIL if drift.lost else Verdict.INCONCLUSIVE
        hint = f"run all tasks of the baseline; or, if the change is intended, {accept}"
    moves = [f"{old} -> {new}" for old, new in drift.moved]
    lists = {
        "lost": drift.lost,
        "edited": drift.edited,
        "moved": moves,
        "new": drift.new,
    }
    evidence: dict[str, Any] = {"task_list": True, "expected": drift.expected}
    for key, tasks in lists.items():
        evidence[key] = {
            "count": len(tasks),
            "tasks": [str(task) for task in tasks[:_LISTED]],
        }
    return Check(
        "baseline",
        "tasks",
        verdict,
        agent,
        value=kept,
        bound=f">= {100 * min_coverage:.4g} % of {many(drift.expected, 'task')}",
        reason="; ".join(parts),
        hint=hint,
        line=line,
        evidence=evidence,
    )


def _parts(drift: Drift, table: RolloutTable, reward: str) -> Iterator[str]:
    of = f"of the baseline's {many(drift.expected, 'task')}"
    lost, edited, moved, new = map(
        len, (drift.lost, drift.edited, drift.moved, drift.new)
    )
    if lost:
        are = "is" if lost == 1 else "are"
        yield f"{lost} {of} {are} not in this run: {listed(drift.lost)}"
    if edited:
        yield (
            f"{edited} {of} {'has' if edited == 1 else 'have'} other content under the same id, "
            f"which counts as a different task: {listed(drift.edited)}"
        )
    if moved:
        are = "is" if moved == 1 else "are"
        moves = listed([f"{old} -> {new}" for old, new in drift.moved])
        yield f"{many(moved, 'task')} moved to another id and {are} paired by content: {moves}"
    if new:
        values = listed(_with_values(drift.new, table, reward))
        yield f"{many(new, 'new task')} not in the baseline: {values}"


def _with_values(tasks: Sequence[str], table: RolloutTable, reward: str) -> list[str]:
    """Name tasks with the mean of their rewards."""
    if reward not in table.scores or len(tasks) > _LISTED:
        return list(tasks)
    place = {str(task): at for at, task in enumerate(table.tasks)}
    rewards, shown = table.rewards(reward), []
    for task in tasks:
        values = rewards.values[slice(*rewards.offsets[place[task] : place[task] + 2])]
        shown.append(f"{task} ({reward} {values.mean():.4g})" if len(values) else task)
    return shown


def task_list_notes(
    drift: Drift, where: str, renew: str, *, in_python: bool
) -> Iterator[str]:
    """Note that tasks are paired by id alone; `where` lacks their content, and `renew` adds it."""
    if drift.unknown:
        yield f"tasks are paired by id alone: {where} holds no content of its tasks yet; {renew}"
    elif drift.blind and not in_python:
        yield (
            "tasks are paired by position alone: their ids are numbers of rows, which change "
            "where a row is added; say what identifies a task with `fields: {content: KEY}`, such "
            "as the key of its question"
        )
