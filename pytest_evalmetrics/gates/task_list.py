"""The task list of a baseline, held against that of a run: lost, edited, moved and new tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.gates.wording import listed
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.results import Check, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_evalmetrics.data import Drift, RolloutTable

__all__ = ["check_task_list", "task_list_notes"]

_SLACK = 1e-9
_LISTED = 100  # tasks that a report lists


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

    Parameters
    ----------
    drift
        How the tasks of the two sides differ.
    table, reward
        The run's rollouts, and the score that tells what new tasks are worth.
    agent
        The agent's name where a benchmark has several, else empty.
    line
        The line of the benchmark file that asks for the comparison.
    min_coverage
        The share of the baseline's tasks that must be compared.
    accept
        How an intended change is accepted.

    Returns
    -------
    Check or None
        FAIL where too many tasks are lost, INCONCLUSIVE where too many are edited; None where
        the task list is as recorded.
    """
    parts = list(_parts(drift, table, reward))
    if not parts:
        return None
    gone = len(drift.lost) + len(drift.edited)
    kept = drift.expected - gone
    verdict, hint = Verdict.PASS, ""
    if kept < min_coverage * drift.expected - _SLACK:
        verdict = Verdict.FAIL if drift.lost else Verdict.INCONCLUSIVE
        hint = f"run all tasks of the baseline; or, where the change is intended, {accept}"
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
