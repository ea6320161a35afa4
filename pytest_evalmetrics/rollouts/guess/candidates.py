"""The layouts of a file as candidates: what their rows hold, and which explains most."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from pytest_evalmetrics.rollouts.guess.failed_rows import FailedRows, without_errors
from pytest_evalmetrics.rollouts.guess.field_names import (
    RewardName,
    TaskName,
    lists_attempts,
    lists_parts,
    task_name,
)
from pytest_evalmetrics.rollouts.guess.groups import GroupKind
from pytest_evalmetrics.rollouts.guess.pivots import pivot_of, pivoted
from pytest_evalmetrics.rollouts.guess.rewards import RewardChoice, choose_reward
from pytest_evalmetrics.rollouts.guess.seen_columns import SeenColumn, seen_columns
from pytest_evalmetrics.rollouts.guess.tasks import (
    GROUP,
    TaskChoice,
    choose_task,
    open_task,
    question_of_keys,
    task_of_groups,
)
from pytest_evalmetrics.rollouts.json_values import is_json_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_evalmetrics.json_types import JsonValue
    from pytest_evalmetrics.rollouts.guess.layouts import Layout
    from pytest_evalmetrics.rollouts.guess.read_files import ReadFiles
    from pytest_evalmetrics.spec.sources import FieldMap, PivotSpec, RolloutsSpec


class Candidate(msgspec.Struct, frozen=True):
    """A layout, its rows, and what their fields may be."""

    layout: Layout
    columns: Mapping[str, SeenColumn]
    count: int  # rows
    reward: RewardChoice
    task: TaskChoice
    pivot: PivotSpec | None = None
    parse_json: tuple[str, ...] = ()  # the fields whose text is JSON

    @property
    def has_task(self) -> bool:
        """Whether its rows have a task, or may have one."""
        task = self.task
        is_known = bool(task.paths or task.is_open)
        return is_known or not self.layout.needs_task or self.pivot is not None


def candidate_of(
    layout: Layout, rows: Sequence[Mapping[str, JsonValue]], named: FieldMap
) -> Candidate:
    """Judge the rows of a layout; the fields that a person named win."""
    kept = without_errors(rows)
    columns = seen_columns(kept)
    pivot = pivot_of(columns)
    if pivot is not None:
        together = pivoted(columns, pivot)
        return Candidate(
            layout=layout,
            columns=together.columns,
            count=together.count,
            reward=choose_reward(together.columns, ()),
            task=_with_named(together.task, named),
            pivot=pivot,
        )
    own = _own_columns(layout, columns)
    task = _task(layout, columns, own)
    taken = {*task.paths, task.sample, task.agent, layout.keyed, GROUP}
    failed = FailedRows(kept)
    rewards = {
        path: failed.without_zeros(column)
        for path, column in own.items()
        if not path.startswith("_parent")
    }
    return Candidate(
        layout=layout,
        columns=columns,
        count=len(rows),
        reward=choose_reward(rewards, {path for path in taken if path}),
        task=_with_named(task, named),
    )


def _has_runs(layout: Layout, columns: Mapping[str, SeenColumn]) -> bool:
    """Check whether the rows are of several runs, which are told apart by their keys."""
    return layout.kind is GroupKind.RUNS and GROUP in columns


def _own_columns(
    layout: Layout, columns: Mapping[str, SeenColumn]
) -> dict[str, SeenColumn]:
    """Leave out what is the same for all rows, and the names of runs."""
    has_runs = _has_runs(layout, columns)
    own: dict[str, SeenColumn] = {}
    for path, column in columns.items():
        is_of_all = path.startswith("_parent") and column.distinct == 1
        if not is_of_all and not (has_runs and path == GROUP):
            own[path] = column
    return own


def _task(
    layout: Layout,
    columns: Mapping[str, SeenColumn],
    own: Mapping[str, SeenColumn],
) -> TaskChoice:
    """Choose the task: by the keys around the rows, or among their `own` fields."""
    if layout.keyed and layout.kind in (GroupKind.TASKS, GroupKind.UNKNOWN):
        return task_of_groups(layout.kind, layout.keyed, columns)
    question = question_of_keys(layout, columns)
    if question and layout.kind is GroupKind.SUBSETS:
        return open_task(question)
    has_runs = _has_runs(layout, columns)
    task = choose_task(
        own,
        _verdicts(own),
        is_nested=layout.is_inner,
        lists=layout.of_lists,
        are_runs=has_runs,
    )
    if layout.kind is GroupKind.SUBSETS and task.paths == (GROUP,) and not task.sample:
        for column in own.values():
            if _are_ids_of_rows(column):
                ids = column.path
                return open_task(
                    f"{ids} if the next run has the same, {GROUP} if each is one task?"
                )
    if not layout.needs_task:
        task = structs.replace(task, question=question, is_open=bool(question))
    if has_runs:
        return structs.replace(task, agent=GROUP)
    return task


def _are_ids_of_rows(column: SeenColumn) -> bool:
    """Check for random ids, each of one row, under a name that may be a task's."""
    is_plain = task_name(column.path) is TaskName.PLAIN_ID
    return is_plain and column.is_unique and column.is_random


def _verdicts(columns: Mapping[str, SeenColumn]) -> set[str]:
    choice = choose_reward(columns, ())
    candidates = [*choice.candidates]
    if choice.chosen is not None:
        candidates.append(choice.chosen)
    return {c.path for c in candidates if c.name < RewardName.NEVER or c.points}


def _with_named(task: TaskChoice, named: FieldMap) -> TaskChoice:
    """Let the fields that a person named win."""
    sample = named.sample or task.sample
    agent = named.agent or task.agent
    if named.task is None:
        return structs.replace(task, sample=sample, agent=agent)
    paths = (named.task,) if isinstance(named.task, str) else named.task
    content = task.content
    if content in paths:
        content = None
    return structs.replace(
        task,
        paths=paths,
        reason="",
        question="",
        sample=sample,
        agent=agent,
        content=content,
    )


# -- texts that are JSON -------------------------------------------------------------------


def with_parsed_texts(
    candidate: Candidate,
    rows: Sequence[Mapping[str, JsonValue]],
    spec: RolloutsSpec,
    read: ReadFiles,
    named: FieldMap,
) -> Candidate:
    """Parse texts that are JSON, where the rows hold no reward otherwise."""
    has_reward = candidate.reward.best is not RewardName.NEVER
    if has_reward or named.reward is not None:
        return candidate
    paths = _json_texts(rows)
    if not paths:
        return candidate
    parsed = read.rows(replace(spec, parse_json=paths))
    of_parsed = candidate_of(candidate.layout, parsed, named)
    if of_parsed.reward.best is RewardName.NEVER:
        return candidate
    return structs.replace(of_parsed, parse_json=paths)


def _json_texts(rows: Sequence[Mapping[str, JsonValue]]) -> tuple[str, ...]:
    """Find the fields in which each row has an object or a list as text."""
    if not rows:
        return ()
    return tuple(
        name for name in rows[0] if all(is_json_text(row.get(name)) for row in rows)
    )


# -- which layout --------------------------------------------------------------------------


def best_of(candidates: Sequence[Candidate]) -> Candidate | None:
    """Choose the layout whose rows explain most: a task and a reward, the outermost first."""
    rivals = [
        candidate
        for candidate in candidates
        if not _is_part_of_a_row(candidate, candidates)
    ]

    def lacks(candidate: Candidate) -> tuple[bool, bool, bool, int]:
        best = candidate.reward.best
        is_named = best <= RewardName.VERDICT
        return (
            candidate.count < 2,
            not (is_named and candidate.has_task),
            not (best < RewardName.NEVER and candidate.has_task),
            candidate.layout.level,
        )

    return min(rivals, key=lacks, default=None)


def _is_part_of_a_row(candidate: Candidate, candidates: Sequence[Candidate]) -> bool:
    """Check whether its rows lie in rows that hold a task and a reward themselves."""
    layout = candidate.layout
    if not layout.is_inner:
        return False
    if lists_parts(layout.inner_list):
        return True
    for other in candidates:
        is_outer = (other.layout.rows, other.layout.keyed) == layout.outer
        if not is_outer or other.count < 2:
            continue
        best = other.reward.best
        if best <= RewardName.VERDICT:
            return True
        may_be_attempts = lists_attempts(layout.inner_list)
        if other.has_task and best < RewardName.NEVER and not may_be_attempts:
            return True
    return False
