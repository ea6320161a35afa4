"""Values of decoded JSON: taken as a kind, or found by a dotted path."""

from __future__ import annotations

import json
import math
from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING

from pytest_evalmetrics.layout import shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_evalmetrics.json_types import JsonObject, JsonValue


def mapping(value: JsonValue) -> JsonObject:
    """Take a value as an object; anything else as an empty one."""
    if isinstance(value, dict):
        return value
    return {}


def text(value: JsonValue) -> str | None:
    """Take a value as text that is not empty; anything else as None."""
    if isinstance(value, str) and value:
        return value
    return None


def is_json_text(value: JsonValue) -> bool:
    """Check for text that is a JSON object or list."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(value)
    except ValueError:
        return False
    return True


def objects(value: JsonValue) -> list[JsonObject]:
    """Take the objects of a list; anything else has none."""
    if not isinstance(value, list):
        return []
    return [entry for entry in value if isinstance(entry, dict)]


def number(value: JsonValue) -> float | None:
    """Take a value as a number; anything else as None. Whole numbers stay whole."""
    if isinstance(value, bool):
        return int(value)
    if not isinstance(value, (int, float)):  # a tuple is checked faster than a union
        return None
    try:
        float(value)
    except OverflowError:
        return math.inf
    return value


def total(values: Iterable[JsonValue]) -> float | None:
    """Add up the numbers among values; None without any."""
    summed: float | None = None
    # sum() rounds otherwise from Python 3.12 on
    for value in values:
        amount = number(value)
        if amount is None:
            continue
        if summed is None:
            summed = amount
        else:
            summed += amount
    return summed


def seconds(time: JsonValue) -> float | None:
    """Parse a number, or a time such as ``2026-08-25T03:42:29.858Z``, to seconds, or None."""
    if not isinstance(time, str):
        return number(time)
    try:
        return datetime.fromisoformat(time).timestamp()
    except (ValueError, OverflowError):
        return None


def lookup(record: object, path: str) -> JsonValue:
    """Follow a dotted path; a key that holds dots comes first. None if it leads nowhere."""
    if isinstance(record, dict):
        return _lookup_key(record, path)
    if isinstance(record, list):
        return _lookup_index(record, path)
    return None


def _lookup_key(record: dict[str, JsonValue], path: str) -> JsonValue:
    """Follow a path in an object, the longest key first."""
    if path in record:
        return record[path]
    if "." not in path:  # most paths are one key
        return None
    key, dot, _ = path.rpartition(".")
    while dot:
        if key in record:
            value = lookup(record[key], path[len(key) + 1 :])
            if value is not None:
                return value
        key, dot, _ = key.rpartition(".")
    return None


def _lookup_index(record: list[JsonValue], path: str) -> JsonValue:
    """Follow a path in a list, which begins with an index."""
    index, _, rest = path.partition(".")
    if not index.isdecimal() or int(index) >= len(record):
        return None
    value = record[int(index)]
    return lookup(value, rest) if rest else value


def duration(
    record: JsonValue | Mapping[str, JsonValue], start: str, end: str
) -> float | None:
    """Subtract the times at two paths; None if one is unknown."""
    begun = seconds(lookup(record, start))
    ended = seconds(lookup(record, end))
    if begun is None or ended is None:
        return None
    return ended - begun


def first(record: JsonValue | Mapping[str, JsonValue], *paths: str) -> JsonValue:
    """Find the first value at any of some paths that is neither null nor empty text."""
    for path in paths:
        value = lookup(record, path)
        if value is not None and value != "":
            return value
    return None


def brief(content: JsonValue) -> str:
    """Write a task's content on a short line."""
    if isinstance(content, str):
        return shortened(" ".join(content.split()))
    return shortened(
        json.dumps(content, ensure_ascii=False, sort_keys=True, default=str)
    )


def distinct(names: Sequence[str], contents: Sequence[JsonValue]) -> list[str]:
    """Add to the names of tasks what they hold where several have one name."""
    texts = [json.dumps(content, sort_keys=True, default=str) for content in contents]
    counts = Counter(name for name, _ in set(zip(names, texts, strict=True)))
    return [
        name if counts[name] == 1 else f"{name} [{brief(content)}]"
        for name, content in zip(names, contents, strict=True)
    ]
