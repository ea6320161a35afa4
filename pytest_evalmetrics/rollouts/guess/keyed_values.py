"""Objects whose keys may be the ids of tasks, by what their values hold."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeGuard

from pytest_evalmetrics.rollouts.guess.verdict_words import meaning

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_evalmetrics.json_types import JsonObject, JsonValue

_LONG: Final = 5  # least entries of an object of single values that is taken for tasks
_MOST: Final = 0.8  # of values are alike, where some are errors
_ERROR_KEYS: Final = {"error", "message", "type", "status"}


def kind_of_values(values: Sequence[JsonValue]) -> str:
    """Name the values of an object whose keys may be ids; empty if they may not be."""
    held = [value for value in values if not is_error(value)]
    if len(values) < 2 or not held or len(held) < _MOST * len(values):
        return ""
    objects = [value for value in held if isinstance(value, dict)]
    if len(objects) == len(held):
        return "objects" if _share_a_field(objects) else ""
    if len(values) < _LONG:
        return ""
    lists = [value for value in held if are_objects(value)]
    if len(lists) < len(held):
        return _kind_of_single_values(held)
    return "lists" if _share_a_field([rows[0] for rows in lists]) else ""


def _kind_of_single_values(values: Sequence[JsonValue]) -> str:
    if all(map(is_number, values)):
        return "numbers"
    if all(map(_are_numbers, values)):
        return "lists of numbers"
    if _are_verdicts(values):
        return "words"
    return "lists of words" if _are_lists_of_verdicts(values) else ""


def _share_a_field(values: Sequence[Mapping[str, JsonValue]]) -> bool:
    """Check whether most objects have one field, or all of few."""
    fields = Counter(chain.from_iterable(values))
    if not fields:
        return False
    count = max(fields.values())
    if len(values) < _LONG:
        return count == len(values)
    return count >= _MOST * len(values)


def _are_numbers(value: JsonValue) -> bool:
    return isinstance(value, list) and bool(value) and all(map(is_number, value))


def _are_verdicts(values: Sequence[JsonValue]) -> bool:
    words = [value for value in values if isinstance(value, str)]
    if len(words) < len(values):
        return False
    distinct = set(words)
    if len(distinct) < 2:
        return False
    are_known = all(meaning(word).is_known for word in distinct)
    return are_known or 2 * len(distinct) <= len(values)


def _are_lists_of_verdicts(values: Sequence[JsonValue]) -> bool:
    lists = [value for value in values if isinstance(value, list)]
    if len(lists) < len(values):
        return False
    return _are_verdicts(list(chain.from_iterable(lists)))


def is_error(value: JsonValue | Mapping[str, JsonValue]) -> bool:
    """Check for a value that is nothing but an error, or null."""
    if value is None:
        return True
    return isinstance(value, dict) and _ERROR_KEYS.issuperset(value)


def are_objects(value: JsonValue) -> TypeGuard[list[JsonObject]]:
    """Check for a list of objects, with one at least."""
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(item, dict) for item in value)


def is_number(value: JsonValue) -> bool:
    """Check for a number, a boolean, or null in place of one."""
    return value is None or isinstance(value, int | float)
