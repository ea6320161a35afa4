"""Lists or objects of rows that stand side by side: runs, subsets, or tasks with attempts."""

from __future__ import annotations

from enum import Enum
from itertools import chain
from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.rollouts.described_objects import without_descriptions
from pytest_evalmetrics.rollouts.guess.field_names import (
    RewardName,
    TaskName,
    is_numbered_attempt,
    reward_name,
    task_name,
)
from pytest_evalmetrics.rollouts.guess.keyed_values import (
    are_objects,
    is_number,
    kind_of_values,
)
from pytest_evalmetrics.rollouts.guess.seen_columns import SeenColumn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.json_types import JsonObject, JsonValue

_FEW: Final = 20  # different runs
_LONG: Final = 5  # least ids that show to be tasks


class GroupKind(Enum):
    """What lists or objects of rows that stand side by side are, as messages name them."""

    NONE = ""
    RUNS = "runs"  # of several agents, at the same tasks
    SUBSETS = "subsets"  # of the tasks
    TASKS = "tasks"  # with their attempts
    UNKNOWN = "groups"  # tasks with their attempts, or subsets with the same few tasks


def kind_of_groups(values: Sequence[JsonValue]) -> GroupKind:
    """Check whether values are lists or objects of rows, and of what."""
    values = [
        without_descriptions(value) if isinstance(value, dict) else value
        for value in values
    ]
    if _hold_named_attempts(values):
        return GroupKind.TASKS
    if not 1 < len(values) <= _FEW or not _are_alike(values):
        return GroupKind.NONE
    if _are_scored_subsets(values):
        return GroupKind.SUBSETS
    return _kind_by_ids(values)


def _kind_by_ids(values: Sequence[JsonValue]) -> GroupKind:
    """Tell groups apart by the ids that they share."""
    ids = [_ids_in(value) for value in values]
    if any(len(ids_of_group) < 2 for ids_of_group in ids):
        return GroupKind.RUNS if _share_ids(values) else GroupKind.NONE
    shared = len(set.intersection(*ids))
    most = max(map(len, ids))
    are_keyed = all(isinstance(value, dict) for value in values)
    if are_keyed and shared == most < len(values):
        return GroupKind.UNKNOWN
    if 2 * shared >= most >= len(values) and not _count_rows(values, ids):
        return GroupKind.RUNS
    return GroupKind.SUBSETS


def _count_rows(values: Sequence[JsonValue], ids: Sequence[set[str]]) -> bool:
    """Check for ids that count the rows of each group, unless they are said to be a task's."""
    are_counts = all(map(str.isdecimal, chain.from_iterable(ids)))
    return are_counts and not any(map(_names_the_task, values))


def _are_alike(groups: Sequence[JsonValue]) -> bool:
    """Check for groups of one kind, whose first rows share more than an id."""
    lists = [group for group in groups if are_objects(group)]
    if len(lists) == len(groups):
        fields = [set(rows[0]) for rows in lists]
        are_same = all(names == fields[0] for names in fields)
        return are_same or len(set.intersection(*fields)) > 1
    objects = [group for group in groups if isinstance(group, dict)]
    if len(objects) < len(groups):
        return False
    first_values = [next(iter(group.values()), None) for group in objects]
    first_rows = [set(value) for value in first_values if isinstance(value, dict)]
    return not first_rows or bool(set.intersection(*first_rows))


def _hold_named_attempts(values: Sequence[JsonValue]) -> bool:
    """Check for objects of attempts by their names: ``attempt_0``, ``run 2``, ``seed42``."""
    groups = [value for value in values if isinstance(value, dict) and value]
    if len(groups) < 2 or len(groups) < len(values):
        return False
    names = set(chain.from_iterable(groups))
    if len(names) < 2 or not all(map(is_numbered_attempt, names)):
        return False
    attempts = list(chain.from_iterable(group.values() for group in groups))
    are_rows = all(isinstance(attempt, dict) for attempt in attempts)
    return are_rows or all(map(is_number, attempts))


def _are_scored_subsets(values: Sequence[JsonValue]) -> bool:
    """Check for numbers of passes by ids that were drawn at random, others in each object.

    Such ids are tasks even where they are few; names such as ``p95`` would be metrics.
    """
    groups = [value for value in values if isinstance(value, dict)]
    if len(groups) < len(values):
        return False
    ids = list(chain.from_iterable(groups))
    if len(ids) < _LONG or len(set(ids)) < len(ids):
        return False
    numbers = chain.from_iterable(group.values() for group in groups)
    return SeenColumn(path="", values=ids).is_random and all(map(is_number, numbers))


def _share_ids(values: Sequence[JsonValue]) -> bool:
    """Check for lists whose rows hold the same ids under a key of any name."""
    lists = [value for value in values if are_objects(value)]
    if len(lists) < len(values):
        return False
    return any(_have_the_same_ids(lists, key) for key in lists[0][0])


def _have_the_same_ids(lists: Sequence[list[JsonObject]], key: str) -> bool:
    """Check whether each list has one row of each text under a key, and the same texts."""
    first_ids: set[JsonValue] | None = None
    for rows in lists:
        ids = {row.get(key) for row in rows if isinstance(row.get(key), str)}
        if len(ids) < len(rows) or first_ids not in (None, ids):
            return False
        first_ids = ids
    return first_ids is not None and len(first_ids) > len(lists)


def _names_the_task(rows: JsonValue) -> bool:
    return are_objects(rows) and any(task_name(key) is TaskName.OWN for key in rows[0])


def _ids_in(value: JsonValue) -> set[str]:
    """Return the ids of the tasks in a list or an object; empty if they are unknown."""
    if isinstance(value, dict):
        has_reward = any(reward_name(key) <= RewardName.VERDICT for key in value)
        if has_reward or not kind_of_values(list(value.values())):
            return set()
        return set(value)
    if not are_objects(value):
        return set()
    keys = [key for key in value[0] if task_name(key) <= TaskName.PLAIN_ID]
    if not keys:
        return set()
    likeliest = min(keys, key=task_name)
    return {str(row.get(likeliest)) for row in value}
