"""Where the rows of a file may be: its layouts, from the outermost to the innermost."""

from __future__ import annotations

from collections import Counter
from enum import Enum, auto
from itertools import chain
from typing import TYPE_CHECKING, Final

import msgspec

from pytest_evalmetrics.layout import listed, many
from pytest_evalmetrics.rollouts.described_objects import without_descriptions
from pytest_evalmetrics.rollouts.guess.field_names import (
    TaskName,
    is_by_subset,
    lists_runs,
    lists_subsets,
    lists_tasks,
    task_name,
)
from pytest_evalmetrics.rollouts.guess.groups import GroupKind, kind_of_groups
from pytest_evalmetrics.rollouts.guess.keyed_values import are_objects, kind_of_values
from pytest_evalmetrics.rollouts.guess.verdict_words import meaning

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_evalmetrics.json_types import JsonObject, JsonValue

_DEPTH: Final = 4  # of the examined keys
_MOST: Final = 0.8  # of values are alike, where some are errors
_SHOWN: Final = 6  # names of runs
_EXAMINED: Final = 1000  # rows


class ListKind(Enum):
    """What lists of tasks in other objects are, by the names of the lists."""

    NONE = auto()  # the lists hold no tasks
    SUBSETS = auto()
    RUNS = auto()
    UNKNOWN = auto()


class Layout(msgspec.Struct, frozen=True):
    """One way to find the rows of a file."""

    reason: str  # empty for the file's own rows
    level: int  # how deep the rows are
    rows: str | None = None
    keyed: str | None = None
    lists: dict[str, float | None] | None = None
    kind: GroupKind = GroupKind.NONE
    inner_list: str = ""  # the list inside of other rows that holds these
    outer: tuple[str | None, str | None] = (None, None)  # `rows` and `keyed` of those

    @property
    def needs_task(self) -> bool:
        """Whether a field of the rows is the task, or a part of its id."""
        is_key = self.kind in (GroupKind.NONE, GroupKind.RUNS)
        return self.keyed is None or not is_key

    @property
    def of_lists(self) -> ListKind:
        """What the objects around these rows are, if these rows are tasks by their list."""
        if not lists_tasks(self.inner_list):
            return ListKind.NONE
        outer = self.outer[0] or ""
        if lists_subsets(outer):
            return ListKind.SUBSETS
        if lists_runs(outer):
            return ListKind.RUNS
        return ListKind.UNKNOWN

    @property
    def is_list(self) -> bool:
        """Whether these rows are a list in an object that is no row."""
        is_plain = self.keyed is None and self.kind is GroupKind.NONE
        return self.rows is not None and is_plain and not self.is_inner

    @property
    def is_inner(self) -> bool:
        """Whether these rows are inside of rows of another layout."""
        return bool(self.inner_list)


def layouts(document: JsonValue, *, is_row: bool) -> Iterator[Layout]:
    """Yield the layouts that a file may have by its first rows, or by its only document."""
    yield Layout(reason="", level=0)
    if isinstance(document, list):
        prefix = "" if is_row else "*."
        yield from _inside(document, prefix, 1, (None, None))
        return
    if not isinstance(document, dict):
        return
    rewards = _rewards_of_lists(document)
    if rewards:
        reason = f"lists of ids: {', '.join(rewards)}, by their names"
        yield Layout(reason=reason, level=1, lists=rewards)
    yield from _of_object(document, "", 1)


def _of_object(value: JsonObject, path: str, level: int) -> Iterator[Layout]:
    """Find rows below an object that is no row itself."""
    value = without_descriptions(value)
    values = list(value.values())
    kind = kind_of_groups(values)
    if kind is not GroupKind.NONE:
        if is_by_subset(path):
            kind = GroupKind.SUBSETS
        rows = _below(path, "*")
        yield _group(kind, list(value), level, rows, _keyed(values[0]))
    elif kind_of_values(values):
        yield from _of_keys(value, path, level)
    else:
        for key, inner in value.items():
            if "." not in key:
                yield from _of_value(value, key, inner, _below(path, key), level)


def _below(path: str, key: str) -> str:
    """Return the path of a key within an object, which may be the outermost."""
    if not path:
        return key
    return f"{path}.{key}"


def _keyed(group: JsonValue) -> str | None:
    """Return the field for the keys of the rows in a group; None if it is a list."""
    if isinstance(group, dict):
        return "id"
    return None


def _of_keys(value: JsonObject, path: str, level: int) -> Iterator[Layout]:
    """Find rows in an object whose keys may be their ids."""
    objects = {key: held for key, held in value.items() if isinstance(held, dict)}
    prefix = _below(path, "*.")
    groups = list(_groups_inside(objects, prefix, level + 1))
    if groups:  # the objects are runs, and what they hold themselves is a summary
        yield from groups
        return
    where = f"in {path!r}" if path else "at the top"
    if _are_numbered_rows(value):
        reason = f"rows: the {len(value)} objects {where}, whose keys count them"
        yield Layout(reason=reason, level=level, rows=prefix.removesuffix("."))
        return
    values = list(value.values())
    reason = f"rows: the {len(value)} {kind_of_values(values)} {where}, by their keys"
    field = _free_name(values)
    yield Layout(reason=reason, level=level, rows=path or None, keyed=field)
    outer = (path or None, field)
    yield from _inside(list(objects.values()), prefix, level + 1, outer)


def _of_value(
    holder: Mapping[str, JsonValue], key: str, inner: JsonValue, path: str, level: int
) -> Iterator[Layout]:
    """Find rows in one value of an object."""
    if are_objects(inner):
        reason = f"rows: the {many(len(inner), 'object')} of the list {path!r}"
        yield Layout(reason=reason, level=level, rows=path)
        yield from _inside(inner, f"{path}.*.", level + 1, (path, None))
    elif isinstance(inner, list) and inner and isinstance(holder.get("columns"), list):
        if key != "columns":
            reason = f"rows: the {many(len(inner), 'line')} of the table {path!r}"
            yield Layout(reason=reason, level=level, rows=path)
    elif isinstance(inner, dict) and level < _DEPTH:
        yield from _of_object(inner, path, level + 1)


def _group(
    kind: GroupKind, names: Sequence[str], level: int, rows: str, keyed: str | None
) -> Layout:
    reason = f"rows: those of the {kind.value} {listed(names, _SHOWN)}"
    return Layout(reason=reason, level=level, rows=rows, keyed=keyed, kind=kind)


def _groups_inside(
    holders: Mapping[str, Mapping[str, JsonValue]], prefix: str, level: int
) -> Iterator[Layout]:
    """Find rows in one field of each of several objects, such as the results of each run."""
    for key in next(iter(holders.values()), {}):
        values = [holder.get(key) for holder in holders.values()]
        kind = kind_of_groups(values)
        if kind is not GroupKind.NONE and "." not in key:
            keyed = _keyed(values[0])
            yield _group(kind, list(holders), level, prefix + key, keyed)


def _inside(
    rows: Sequence[JsonValue],
    prefix: str,
    level: int,
    outer: tuple[str | None, str | None],
) -> Iterator[Layout]:
    """Find lists of objects inside of rows, such as the attempts at each task."""
    counts: Counter[str] = Counter()
    examined = [row for row in rows[:_EXAMINED] if isinstance(row, dict)]
    for row in examined:
        counts.update(_lists_in(row, "", 1))
    for path, count in counts.items():
        if count >= _MOST * len(examined):
            yield Layout(
                reason=f"rows: the objects of the lists at {prefix + path!r}",
                level=level,
                rows=prefix + path,
                inner_list=path,
                outer=outer,
            )


def _lists_in(row: Mapping[str, JsonValue], above: str, depth: int) -> Iterator[str]:
    for key, value in row.items():
        if "." in key:
            continue
        if are_objects(value):
            yield above + key
        elif isinstance(value, dict) and depth < 2:
            yield from _lists_in(value, f"{above}{key}.", depth + 1)


# -- objects whose keys are ids ------------------------------------------------------------


def is_table_by_columns(document: JsonValue) -> bool:
    """Check for pandas' columns: each an object with the numbers of the rows as keys."""
    if not isinstance(document, dict) or len(document) < 2:
        return False
    columns = [value for value in document.values() if isinstance(value, dict)]
    if len(columns) < len(document):
        return False
    keys = set(columns[0])
    count_rows = keys == {str(number) for number in range(len(keys))}
    if not count_rows or any(set(column) != keys for column in columns):
        return False
    # numbered objects by some name are rows, rather than columns of cells
    cells = chain.from_iterable(column.values() for column in columns)
    return not all(isinstance(cell, dict) for cell in cells)


def _are_numbered_rows(value: Mapping[str, JsonValue]) -> bool:
    """Check for objects with ids of their own, behind keys that only count them."""
    if set(value) != {str(number) for number in range(len(value))}:
        return False
    rows = [row for row in value.values() if isinstance(row, dict)]
    if len(rows) < len(value):
        return False
    names = set(chain.from_iterable(rows))
    ids = [name for name in names if task_name(name) <= TaskName.PLAIN_ID]
    return any(all(name in row for row in rows) for name in ids)


def _free_name(values: Sequence[JsonValue]) -> str:
    """Return a name for the keys that no row has itself."""
    lists = [value for value in values if isinstance(value, list)]
    rows = [*values, *chain.from_iterable(lists)]
    used = set(chain.from_iterable(row for row in rows if isinstance(row, dict)))
    return next(name for name in ("id", "task", "key", "_key") if name not in used)


# -- lists of ids --------------------------------------------------------------------------


def _rewards_of_lists(value: Mapping[str, JsonValue]) -> dict[str, float | None]:
    """Return the rewards that lists of ids such as ``resolved_ids`` stand for."""
    rewards: dict[str, float | None] = {}
    for name, ids in value.items():
        if not isinstance(ids, list) or not all(type(id_) in (int, str) for id_ in ids):
            continue
        word = name.removesuffix("_ids")
        worth = meaning(word)
        if worth.is_known:
            rewards[name] = worth.points
        elif word.lower().startswith("empty"):
            rewards[name] = 0.0
    return rewards if {0, 1} <= set(rewards.values()) else {}
