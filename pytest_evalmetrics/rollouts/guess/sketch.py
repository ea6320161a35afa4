"""The first levels of a document, for messages: ``{meta: {model}, by_question: {...}}``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.layout import many

if TYPE_CHECKING:
    from pytest_evalmetrics.json_types import JsonValue

_KEYS: Final = 6  # shown of an object
_LEVELS: Final = 3
_LONG: Final = 24  # characters of a key


def sketch(value: JsonValue, levels: int = _LEVELS) -> str:
    """Write the keys of the first levels of a document."""
    if isinstance(value, dict):
        if levels == 0 or not value:
            return "{...}" if value else "{}"
        parts = [
            _entry(key, inner, levels) for key, inner in list(value.items())[:_KEYS]
        ]
        more = len(value) - len(parts)
        if more > 0:
            parts.append(f"and {many(more, 'more key')}")
        return f"{{{', '.join(parts)}}}"
    if isinstance(value, list):
        if not value:
            return "[]"
        count = many(len(value), "value")
        first = sketch(value[0], levels)
        return f"[{first}, of {count}]" if first else f"[{count}]"
    return ""


def _entry(key: str, value: JsonValue, levels: int) -> str:
    name = key if len(key) <= _LONG else f"{key[:_LONG]}…"
    inner = sketch(value, levels - 1)
    return f"{name}: {inner}" if inner else name
