"""Single tasks: which went from all to none, ``must_pass``, ``max_broken`` and ``quarantine``."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_evalmetrics.errors import did_you_mean
from pytest_evalmetrics.gates.wording import listed
from pytest_evalmetrics.layout import many, of_many
from pytest_evalmetrics.results import Check, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import PairedMetric, RolloutTable, TaskRewards
    from pytest_evalmetrics.spec import Benchmark

__all__ = ["Flips", "SingleTasks", "check_broken", "flips_of"]


class Flips(msgspec.Struct, frozen=True):
    """Tasks all of whose rollouts changed sides.

    Attributes
    ----------
    broken
        Passed all of their rollouts in the baseline, and pass none now.
    mended
        The other way round.
    """

    broken: tuple[object, ...]
    mended: tuple[object, ...]

    def __str__(self) -> str:
        parts = [
            f"{many(len(tasks), 'task')} went from {way} of the rollouts passing: {listed(tasks)}"
            for tasks, way in ((self.broken, "all to none"), (self.mended, "none to all"))
            if tasks
        ]
        return "; ".join(parts)


def flips_of(pair: PairedMetric, threshold: float) -> Flips:
    """Find the tasks all of whose rollouts changed sides.

    Parameters
    ----------
    pair
        Both sides, each task with a reward on each.
    threshold
        A rollout passes where its reward is at least this.
    """
    none_before, all_before = _extremes(pair.rewards_baseline, threshold)
    none_now, all_now = _extremes(pair.rewards_current, threshold)
    broken, mended = ((all_before & none_now).nonzero()[0], (none_before & all_now).nonzero()[0])
    return Flips(*(tuple(pair.tasks[i] for i in found.tolist()) for found in (broken, mended)))


def _extremes(
    rewards: TaskRewards, threshold: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Say which tasks pass none, and which all, of their rollouts."""
    if not len(rewards):
        return np.zeros(0, dtype=bool), np.zeros(0, dtype=bool)
    passes, starts = rewards.values >= threshold, rewards.offsets[:-1]  # no task is empty
    return ~np.logical_or.reduceat(passes, starts), np.logical_and.reduceat(passes, starts)


def check_broken(benchmark: Benchmark, agent: str, flips: Flips | None, most: int) -> Check:
    """Hold the tasks that broke against ``max_broken``; None is what can't be compared."""
    line = benchmark.line_of("baseline", "max_broken")
    if flips is None:
        return Check(
            "baseline",
            "max_broken",
            Verdict.INCONCLUSIVE,
            agent=agent,
            bound=f"<= {most}",
            reason="max_broken can't be judged: the rewards of the baseline's tasks are not "
            "comparable with those of this run",
            hint="record a new baseline with --snapshot-update",
            line=line,
        )
    broken = flips.broken
    fails = len(broken) > most
    return Check(
        "baseline",
        "max_broken",
        Verdict.FAIL if fails else Verdict.PASS,
        agent=agent,
        value=len(broken),
        bound=f"<= {most}",
        reason=f"{many(len(broken), 'task')} passed all rollouts in the baseline and now "
        f"{'passes' if len(broken) == 1 else 'pass'} none: {listed(broken)}"
        if broken
        else "",
        hint="fix them; or, where the change is intended, accept it with --snapshot-update"
        if fails
        else "",
        line=line,
    )


class SingleTasks(msgspec.Struct, frozen=True):
    """What a benchmark says of single tasks, held against the tasks of a run.

    Attributes
    ----------
    unknown
        A check for each entry that names no task.
    quarantined
        Task -> reason and last day, of the entries that are in force.
    expired
        The same of those that are not.
    must_pass
        The tasks that have to pass.
    """

    unknown: tuple[Check, ...]
    quarantined: dict[object, tuple[str, str]]
    expired: dict[object, tuple[str, str, int]]
    must_pass: frozenset[object]

    @classmethod
    def of(cls, benchmark: Benchmark, tasks: Sequence[object], today: date) -> SingleTasks:
        """Find the tasks that a benchmark names.

        Parameters
        ----------
        benchmark
            The benchmark.
        tasks
            The ids of all tasks of the run.
        today
            The day on which quarantines are in force.
        """
        spec = benchmark.spec
        unknown: list[Check] = []
        by_text = {str(task): task for task in tasks}

        def named(pattern: str, *path: str | int) -> list[object]:
            if pattern in by_text:
                return [by_text[pattern]]
            found = [task for text, task in by_text.items() if fnmatchcase(text, pattern)]
            if not found:
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
            return found

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
        """Judge one agent's tasks.

        Parameters
        ----------
        benchmark
            The benchmark.
        agent
            The agent's name where a benchmark has several, else empty.
        table
            The agent's rollouts.
        """
        spec = benchmark.spec
        passing = table.scores[spec.reward] >= spec.pass_threshold
        counts = table.counts.tolist()
        passed = np.bincount(table.task, weights=passing, minlength=len(counts)).tolist()
        told = {
            task: f"{int(passed[i])} of {many(counts[i], 'rollout')} pass"
            for i, task in enumerate(table.tasks)
            if task in self.quarantined or task in self.expired or task in self.must_pass
        }
        for task, outcome in told.items():
            if task in self.quarantined:
                reason, until = self.quarantined[task]
                yield Check(
                    "task",
                    f"quarantine {task}",
                    Verdict.PASS,
                    agent=agent,
                    bound=f"until {until}",
                    reason=f"task {task} is measured and not gated until {until}: {reason}; "
                    f"{outcome}",
                    line=benchmark.line_of("quarantine"),
                )
            elif task in self.expired:
                reason, until, line = self.expired[task]
                yield Check(
                    "task",
                    f"quarantine {task}",
                    Verdict.FAIL,
                    agent=agent,
                    bound=f"until {until}",
                    reason=f"the quarantine of task {task} ended on {until}: {reason}; {outcome}",
                    hint="fix the task and delete its entry of quarantine:, or give it another day",
                    line=line,
                )
        if not self.must_pass:
            return
        # a rollout without a reward does not pass
        whole = {t for i, t in enumerate(table.tasks) if t in told and passed[i] == counts[i]}
        asked = [task for task in told if task in self.must_pass]
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
            + listed([f"{task} ({told[task]})" for task in failing])
            if failing
            else "",
            hint="fix what broke them" if failing else "",
            line=benchmark.line_of("must_pass"),
        )
