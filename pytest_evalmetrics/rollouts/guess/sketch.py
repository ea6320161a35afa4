"""The first levels of a document, for messages: ``{meta: {model}, by_question: {...}}``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.layout import many

if TYPE_CHECKING:
    from pytest_evalmetrics.json_types import JsonObject, JsonValue

_KEYS: Final = 6  # shown of an object
_LEVELS: Final = 3
_LONG: Final = 24  # characters of a key


def sketch(value: JsonValue, levels: int = _LEVELS) -> str:
    """Write the keys of the first levels of a document; nothing of a plain value."""
    if isinstance(value, dict):
        return _object(value, levels)
    if isinstance(value, list):
        return _array(value, levels)
    return ""


def _object(value: JsonObject, levels: int) -> str:
    if not value:
        return "{}"
    if levels == 0:
        return "{...}"
    shown = list(value.items())[:_KEYS]
    parts = [_entry(key, inner, levels) for key, inner in shown]
    if len(value) > _KEYS:
        parts.append(f"and {many(len(value) - _KEYS, 'more key')}")
    return f"{{{', '.join(parts)}}}"


def _array(value: list[JsonValue], levels: int) -> str:
    if not value:
        return "[]"
    count = many(len(value), "value")
    first = sketch(value[0], levels)
    if not first:
        return f"[{count}]"
    return f"[{first}, of {count}]"


def _entry(key: str, value: JsonValue, levels: int) -> str:
    name = key
    if len(key) > _LONG:
        name = f"{key[:_LONG]}…"
    inner = sketch(value, levels - 1)
    if not inner:
        return name
    return f"{name}: {inner}"
