"""Where the rows of a file may be: its layouts, from the outermost to the innermost."""

from __future__ import annotations

from collections import Counter
from enum import Enum
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeGuard

import msgspec

from pytest_evalmetrics.layout import listed, many
from pytest_evalmetrics.rollouts.guess.field_names import (
    RewardName,
    TaskName,
    is_by_subset,
    is_numbered_attempt,
    lists_runs,
    lists_subsets,
    lists_tasks,
    reward_name,
    task_name,
)
from pytest_evalmetrics.rollouts.guess.verdict_words import meaning

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_evalmetrics.json_types import JsonObject, JsonValue

_DEPTH: Final = 4  # of the examined keys
_LONG: Final = 5  # least entries of an object of single values that is taken for tasks
_FEW: Final = 20  # different runs
_MOST: Final = 0.8  # of values are alike, where some are errors
_SHOWN: Final = 6  # names of runs
_EXAMINED: Final = 1000  # rows


class GroupKind(Enum):
    """What lists or objects of rows that stand side by side are."""

    NONE = "none"
    RUNS = "runs"  # of several agents, at the same tasks
    SUBSETS = "subsets"  # of the tasks
    TASKS = "tasks"  # with their attempts
    UNKNOWN = "unknown"  # tasks with their attempts, or subsets with the same few tasks


class ListKind(Enum):
    """What lists of tasks in other objects are, by the names of the lists."""

    NONE = "none"  # the lists hold no tasks
    SUBSETS = "subsets"
    RUNS = "runs"
    UNKNOWN = "unknown"


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
        return ListKind.RUNS if lists_runs(outer) else ListKind.UNKNOWN

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
    if rewards := _rewards_of_lists(document):
        reason = f"lists of ids: {', '.join(rewards)}, by their names"
        yield Layout(reason=reason, level=1, lists=rewards)
    yield from _of_object(document, "", 1)


def _of_object(
    value: Mapping[str, JsonValue], path: str, level: int
) -> Iterator[Layout]:
    """Find rows below an object that is no row itself."""
    values = list(value.values())
    group = _kind_of_groups(values)
    if group is not GroupKind.NONE:
        if is_by_subset(path):
            group = GroupKind.SUBSETS
        rows = f"{path}.*" if path else "*"
        keyed = "id" if isinstance(values[0], dict) else None
        yield _group(group, list(value), level, rows, keyed)
        return
    kind = _kind_of_values(values)
    if kind:
        held = {key: each for key, each in value.items() if isinstance(each, dict)}
        prefix = f"{path}.*." if path else "*."
        groups = list(_groups_inside(held, prefix, level + 1))
        if groups:  # the objects are runs, and what they hold themselves is a summary
            yield from groups
            return
        where = f"in {path!r}" if path else "at the top"
        if _are_numbered_rows(value):
            reason = f"rows: the {len(value)} objects {where}, whose keys count them"
            yield Layout(reason=reason, level=level, rows=f"{prefix[:-2] or '*'}")
            return
        reason = f"rows: the {len(value)} {kind} {where}, by their keys"
        field = _free_name(values)
        yield Layout(reason=reason, level=level, rows=path or None, keyed=field)
        outer = (path or None, field)
        yield from _inside(list(held.values()), prefix, level + 1, outer)
        return
    for key, inner in value.items():
        if "." not in key:
            yield from _of_value(
                value, key, inner, f"{path}.{key}" if path else key, level
            )


def _of_value(
    holder: Mapping[str, JsonValue], key: str, inner: JsonValue, path: str, level: int
) -> Iterator[Layout]:
    """Find rows in one value of an object."""
    if _are_objects(inner):
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
    what = "groups" if kind is GroupKind.UNKNOWN else kind.value
    reason = f"rows: those of the {what} {listed(names, _SHOWN)}"
    return Layout(reason=reason, level=level, rows=rows, keyed=keyed, kind=kind)


def _groups_inside(
    holders: Mapping[str, Mapping[str, JsonValue]], prefix: str, level: int
) -> Iterator[Layout]:
    """Find rows in one field of each of several objects, such as the results of each run."""
    for key in next(iter(holders.values()), {}):
        values = [holder.get(key) for holder in holders.values()]
        kind = _kind_of_groups(values)
        if kind is not GroupKind.NONE and "." not in key:
            keyed = "id" if isinstance(values[0], dict) else None
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
        if _are_objects(value):
            yield above + key
        elif isinstance(value, dict) and depth < 2:
            yield from _lists_in(value, f"{above}{key}.", depth + 1)


# -- objects whose keys are ids ------------------------------------------------------------


def is_table_by_columns(document: JsonValue) -> bool:
    """Check for pandas' columns: each an object with the numbers of the rows as keys."""
    if not isinstance(document, dict) or len(document) < 2:
        return False
    columns = [value for value in document.values() if isinstance(value, dict)]
    if len(columns) < len(document) or not columns[0]:
        return False
    keys = set(columns[0])
    if keys != {str(number) for number in range(len(keys))}:
        return False
    cells = list(chain.from_iterable(column.values() for column in columns))
    if all(isinstance(cell, dict) for cell in cells):
        return False  # numbered objects by some name, rather than columns of cells
    return all(set(column) == keys for column in columns)


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


def _kind_of_values(values: Sequence[JsonValue]) -> str:
    """Name the values of an object whose keys may be ids; empty if they may not be."""
    held = [value for value in values if not is_error(value)]
    if len(values) < 2 or not held or len(held) < _MOST * len(values):
        return ""
    objects = [value for value in held if isinstance(value, dict)]
    if len(objects) == len(held):
        return "objects" if _share_a_field(objects) else ""
    lists = [value for value in held if _are_objects(value)]
    if len(values) < _LONG:
        return ""
    if len(lists) == len(held):
        return "lists" if _share_a_field([rows[0] for rows in lists]) else ""
    kinds = (
        ("numbers", all(_is_number(value) for value in held)),
        ("lists of numbers", all(_are_numbers(value) for value in held)),
        ("words", _are_verdicts(held)),
        ("lists of words", _are_lists_of_verdicts(held)),
    )
    return next((kind for kind, fits in kinds if fits), "")


def _share_a_field(values: Sequence[Mapping[str, JsonValue]]) -> bool:
    """Check whether most objects have one field, or all of few."""
    fields = Counter(chain.from_iterable(values))
    if not fields:
        return False
    _, count = fields.most_common(1)[0]
    return count >= (len(values) if len(values) < _LONG else _MOST * len(values))


def _are_numbers(value: JsonValue) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_number, value))


def _are_verdicts(values: Sequence[JsonValue]) -> bool:
    words = [value for value in values if isinstance(value, str)]
    if len(words) < len(values):
        return False
    distinct = set(words)
    are_known = all(meaning(word).is_known for word in distinct)
    return len(distinct) > 1 and (are_known or 2 * len(distinct) <= len(values))


def _are_lists_of_verdicts(values: Sequence[JsonValue]) -> bool:
    lists = [value for value in values if isinstance(value, list)]
    if len(lists) < len(values):
        return False
    return _are_verdicts(list(chain.from_iterable(lists)))


def is_error(value: JsonValue | Mapping[str, JsonValue]) -> bool:
    """Check for a value that is nothing but an error, or null."""
    if value is None:
        return True
    return isinstance(value, dict) and set(value) <= {
        "error",
        "message",
        "type",
        "status",
    }


def _free_name(values: Sequence[JsonValue]) -> str:
    """Return a name for the keys that no row has itself."""
    lists = [value for value in values if isinstance(value, list)]
    rows = [*values, *chain.from_iterable(lists)]
    used = set(chain.from_iterable(row for row in rows if isinstance(row, dict)))
    return next(name for name in ("id", "task", "key", "_key") if name not in used)


def _kind_of_groups(values: Sequence[JsonValue]) -> GroupKind:
    """Check whether values are lists or objects of rows: runs at the same tasks, or subsets."""
    if _hold_named_attempts(values):
        return GroupKind.TASKS
    if not 1 < len(values) <= _FEW or not _are_alike(values):
        return GroupKind.NONE
    ids = [_ids_in(value) for value in values]
    if not all(len(some) > 1 for some in ids):
        return GroupKind.RUNS if _share_ids(values) else GroupKind.NONE
    shared = len(set.intersection(*ids))
    most = max(map(len, ids))
    are_objects = all(isinstance(value, dict) for value in values)
    if are_objects and shared == most < len(values):
        return GroupKind.UNKNOWN
    # numbers that count the rows are the same in all subsets, unless they name the task
    are_counts = all(id_.isdecimal() for id_ in chain.from_iterable(ids))
    are_counts = are_counts and not any(_names_the_task(value) for value in values)
    if 2 * shared >= most >= len(values) and not are_counts:
        return GroupKind.RUNS
    return GroupKind.SUBSETS


def _are_alike(groups: Sequence[JsonValue]) -> bool:
    """Check for groups of one kind, whose first rows share more than an id."""
    lists = [group for group in groups if _are_objects(group)]
    if lists:
        fields = [set(rows[0]) for rows in lists]
        are_same = all(names == fields[0] for names in fields)
        shared = set.intersection(*fields)
        return len(lists) == len(groups) and (are_same or len(shared) > 1)
    objects = [group for group in groups if isinstance(group, dict)]
    if len(objects) < len(groups):
        return False
    firsts = [next(iter(group.values()), None) for group in objects]
    rows = [set(first) for first in firsts if isinstance(first, dict)]
    return not rows or bool(set.intersection(*rows))


def _hold_named_attempts(values: Sequence[JsonValue]) -> bool:
    """Check for objects of attempts by their names: ``attempt_0``, ``run 2``, ``seed42``."""
    groups = [value for value in values if isinstance(value, dict) and value]
    if len(groups) < 2 or len(groups) < len(values):
        return False
    names = set(chain.from_iterable(groups))
    inner = list(chain.from_iterable(group.values() for group in groups))
    are_rows = all(isinstance(value, dict) for value in inner) or all(
        _is_number(value) for value in inner
    )
    return len(names) > 1 and are_rows and all(map(is_numbered_attempt, names))


def _share_ids(values: Sequence[JsonValue]) -> bool:
    """Check for lists whose rows hold the same ids under a key of any name."""
    lists = [value for value in values if _are_objects(value)]
    if len(lists) < len(values):
        return False
    for key in lists[0][0]:
        columns = [[row.get(key) for row in rows] for rows in lists]
        sets = [set(map(str, column)) for column in columns]
        are_texts = all(isinstance(id_, str) for id_ in chain.from_iterable(columns))
        are_unique = all(
            len(ids) == len(rows) for ids, rows in zip(sets, lists, strict=True)
        )
        if (
            are_texts
            and are_unique
            and len(sets[0]) > len(lists)
            and sets[0] == sets[-1]
        ):
            return all(ids == sets[0] for ids in sets)
    return False


def _names_the_task(rows: JsonValue) -> bool:
    return _are_objects(rows) and any(task_name(key) is TaskName.OWN for key in rows[0])


def _ids_in(value: JsonValue) -> set[str]:
    """Return the ids of the tasks in a list or an object; empty if they are unknown."""
    if isinstance(value, dict):
        has_reward = any(reward_name(key) <= RewardName.VERDICT for key in value)
        is_keyed = _kind_of_values(list(value.values())) and not has_reward
        return set(value) if is_keyed else set()
    if not _are_objects(value):
        return set()
    keys = [key for key in value[0] if task_name(key) <= TaskName.PLAIN_ID]
    keys.sort(key=task_name)
    return {str(row.get(keys[0])) for row in value} if keys else set()


def _are_objects(value: JsonValue) -> TypeGuard[list[JsonObject]]:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(each, dict) for each in value)
    )


def _is_number(value: JsonValue) -> bool:
    return value is None or isinstance(value, int | float)


# -- lists of ids --------------------------------------------------------------------------


def _rewards_of_lists(value: Mapping[str, JsonValue]) -> dict[str, float | None]:
    """Return the rewards that lists of ids such as ``resolved_ids`` stand for."""
    rewards: dict[str, float | None] = {}
    for name, ids in value.items():
        if not isinstance(ids, list) or not all(type(id_) in (int, str) for id_ in ids):
            continue
        word = name.removesuffix("_ids").replace("_", " ").lower()
        worth = meaning(word)
        if worth.is_known:
            rewards[name] = worth.points
        elif word.startswith("empty"):
            rewards[name] = 0.0
    return rewards if {0, 1} <= set(rewards.values()) else {}
