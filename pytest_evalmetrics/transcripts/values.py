"""Values of decoded JSON that the dialects write in several ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from pytest_evalmetrics.transcripts.turns import (
    CONTENT_FILTER,
    LENGTH,
    STOP,
    TOOL_CALLS,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_NESTED: Final = 8  # levels of lists and objects that hold text
_STOP_REASONS: Final = {
    **dict.fromkeys(
        ("stop", "end_turn", "stop_sequence", "completed", "complete", "eos"), STOP
    ),
    **dict.fromkeys(
        (
            *("length", "max_tokens", "max_output_tokens", "model_length"),
            *("max_steps", "max_turns", "max_turns_reached", "context_length"),
        ),
        LENGTH,
    ),
    **dict.fromkeys(
        ("tool_calls", "tool_use", "function_call", "tool_call"), TOOL_CALLS
    ),
    **dict.fromkeys(("content_filter", "refusal", "safety"), CONTENT_FILTER),
}
_encode = msgspec.json.Encoder(order="sorted", enc_hook=str).encode
_decode = msgspec.json.Decoder().decode


def text(value: object) -> str:
    """Take a value as text; anything else as an empty one."""
    return value if isinstance(value, str) else ""


def first_text(record: Mapping[str, object], *keys: str) -> str:
    """Find the first text at some keys that is not empty; empty without one."""
    for key in keys:
        value = record.get(key)
        if isinstance(value, str) and value:
            return value
    return ""


def json_text(value: object) -> str:
    """Write a value as JSON with sorted keys and no spaces."""
    try:
        return _encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return str(value)


def decoded(written: str) -> object:
    """Parse JSON text; return the text itself if it is not JSON."""
    try:
        return _decode(written)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return written


def normalised(arguments: object) -> str:
    """Write the arguments of a call in one way, however they were recorded."""
    if isinstance(arguments, str):
        if not arguments.strip():
            return "{}"
        value = decoded(arguments)
        return arguments if value is arguments else json_text(value)
    return "{}" if arguments is None else json_text(arguments)


def plain_text(value: object, *, level: int = 0) -> str:
    """Write what a tool returned, or any content, as text."""
    if isinstance(value, str):
        return value
    if value is None or level > _NESTED:
        return ""
    if isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        texts = [plain_text(inner, level=level + 1) for inner in value]
        return "\n".join(part for part in texts if part)
    if isinstance(value, dict):
        return _text_of_object(value, level)
    return json_text(value)


def _text_of_object(value: Mapping[str, object], level: int) -> str:
    """Write a part of a message as its text, and any other object as JSON."""
    kind = text(value.get("type"))
    if kind.endswith(("image", "image_url")):
        return ""
    for key in ("text", "output_text", "content", "value"):
        inner = value.get(key)
        if isinstance(inner, str | list) and (kind or len(value) == 1):
            return plain_text(inner, level=level + 1)
    return json_text(value["json"] if value.keys() == {"json"} else value)


def stop_reason(value: object) -> str:
    """Translate a tool's stop reason to the few words that all share."""
    if isinstance(value, list) and value:
        value = value[-1]
    if not isinstance(value, str):
        return ""
    word = value.strip().lower().rpartition(".")[2]
    return _STOP_REASONS.get(word, word)
