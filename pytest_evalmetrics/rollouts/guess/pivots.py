"""Rows that are one score each, with its name: put together to one row a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import structs

from pytest_evalmetrics.rollouts.guess.field_names import is_metric
from pytest_evalmetrics.rollouts.guess.layouts import ListKind
from pytest_evalmetrics.rollouts.guess.seen_columns import SeenColumn, seen_columns
from pytest_evalmetrics.rollouts.guess.tasks import TaskChoice, choose_task
from pytest_evalmetrics.rollouts.name_words import last_part
from pytest_evalmetrics.spec.sources import PivotSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_evalmetrics.json_types import JsonObject

_NAMES: Final = 20  # different names of scores
# the fields of a line that may hold the score behind its name
_VALUES: Final = ("value", "score", "result", "rating", "grade")


class PivotedRows(msgspec.Struct, frozen=True):
    """Rows that are put together of lines with one score each."""

    columns: Mapping[str, SeenColumn]  # a column for each name of a score
    count: int
    task: TaskChoice


def pivot_of(columns: Mapping[str, SeenColumn]) -> PivotSpec | None:
    """Propose to pivot rows that are each one score of a task, with its name."""
    name = next(_names(columns), None)
    value = next(_values(columns), None)
    if name is None or value is None:
        return None
    if not 1 < name.distinct <= _NAMES or name.is_unique:
        return None
    for path, column in columns.items():
        is_other = path not in (name.path, value.path)
        if is_other and _holds_each_name_once(column, name):
            return PivotSpec(by=(path,), name=name.path, value=value.path)
    return None


def _names(columns: Mapping[str, SeenColumn]) -> Iterator[SeenColumn]:
    for path, column in columns.items():
        if is_metric(path) and column.are_texts and column.is_full:
            yield column


def _values(columns: Mapping[str, SeenColumn]) -> Iterator[SeenColumn]:
    for path, column in columns.items():
        if last_part(path) in _VALUES and column.numbers is not None:
            yield column


def _holds_each_name_once(column: SeenColumn, name: SeenColumn) -> bool:
    """Check whether a field is an id of several lines, each with a name of its own."""
    if not column.are_ids or not 1 < column.distinct < len(column.values):
        return False
    pairs = set(zip(column.texts, name.texts, strict=True))
    return len(pairs) == len(name.texts)


def pivoted(columns: Mapping[str, SeenColumn], pivot: PivotSpec) -> PivotedRows:
    """Put the lines of each task together."""
    (by_path,) = pivot.by
    by = columns[by_path]
    rows: dict[str, JsonObject] = {}
    first_lines: dict[str, int] = {}
    names = columns[pivot.name].values
    values = columns[pivot.value].values
    for index, key in enumerate(by.texts):
        first_lines.setdefault(key, index)
        rows.setdefault(key, {})[str(names[index])] = values[index]
    line_columns: dict[str, SeenColumn] = {}
    for path, column in columns.items():
        if path not in (pivot.name, pivot.value) and _depends(column, by):
            firsts = [column.values[line] for line in first_lines.values()]
            line_columns[path] = SeenColumn(path=path, values=firsts)
    task = choose_task(line_columns, (), is_nested=False, lists=ListKind.UNKNOWN)
    paths = tuple(_path_of_line(path, by_path) for path in task.paths)
    sample = task.sample and _path_of_line(task.sample, by_path)
    agent = task.agent and _path_of_line(task.agent, by_path)
    content = task.content and _path_of_line(task.content, by_path)
    return PivotedRows(
        columns=seen_columns(list(rows.values())),
        count=len(rows),
        task=structs.replace(
            task, paths=paths, sample=sample, agent=agent, content=content
        ),
    )


def _path_of_line(path: str, by: str) -> str:
    """Return where a pivoted row keeps a field of its first line."""
    if path == by:
        return path
    return f"_line.{path}"


def _depends(column: SeenColumn, on: SeenColumn) -> bool:
    """Check whether a field has one value for each value of another."""
    pairs = list(zip(on.texts, column.texts, strict=True))
    values = dict(pairs)
    return all(values[key] == text for key, text in pairs)
