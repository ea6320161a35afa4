"""OpenTelemetry's attributes as plain objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.json_types import JsonObject, JsonValue

_ROOTS: Final = {"resourceSpans", "resourceLogs"}


def is_otlp(document: Mapping[str, JsonValue]) -> bool:
    """Check for a document of OpenTelemetry's protocol."""
    return not _ROOTS.isdisjoint(document)


def plain_attributes(value: object) -> JsonValue:
    """Make objects of OTLP's attributes, which are lists of {key:, value: {intValue: "1"}}."""
    if isinstance(value, list):
        return _plain_list(value)
    if isinstance(value, dict):
        return {name: plain_attributes(inner) for name, inner in value.items()}
    if isinstance(value, str | int | float):
        return value
    return None


def _plain_list(entries: list[object]) -> JsonValue:
    """Make an object of attributes; of other entries a list."""
    attributes: JsonObject = {}
    for entry in entries:
        if not isinstance(entry, dict) or entry.keys() != {"key", "value"}:
            return [plain_attributes(other) for other in entries]
        attributes[str(entry["key"])] = _plain_value(entry["value"])
    return attributes if entries else []


def _plain_value(value: JsonValue) -> JsonValue:
    """Take the value out of the object that states its kind."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    kind, inner = next(iter(value.items()))
    if kind == "intValue" and isinstance(inner, str) and inner.lstrip("-").isdecimal():
        return int(inner)
    if kind in ("arrayValue", "kvlistValue") and isinstance(inner, dict):
        values = plain_attributes(inner.get("values", []))
        if isinstance(values, list):
            return [_plain_value(entry) for entry in values]
        return values
    return inner
