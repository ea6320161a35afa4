"""OpenTelemetry's attributes as plain objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.json_types import JsonValue

_ROOTS: Final = {"resourceSpans", "resourceLogs"}


def is_otlp(document: Mapping[str, JsonValue]) -> bool:
    """Check for a document of OpenTelemetry's protocol."""
    return not _ROOTS.isdisjoint(document)


def plain_attributes(value: object) -> JsonValue:
    """Make objects of OTLP's attributes, which are lists of {key:, value: {intValue: "1"}}."""
    if isinstance(value, list):
        pairs = [
            each
            for each in value
            if isinstance(each, dict) and each.keys() == {"key", "value"}
        ]
        if value and len(pairs) == len(value):
            return {str(pair["key"]): _plain_value(pair["value"]) for pair in pairs}
        return [plain_attributes(each) for each in value]
    if isinstance(value, dict):
        return {name: plain_attributes(inner) for name, inner in value.items()}
    return value if isinstance(value, str | int | float) else None


def _plain_value(value: JsonValue) -> JsonValue:
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    if kind == "intValue" and isinstance(inner, str) and inner.lstrip("-").isdecimal():
        return int(inner)
    if kind in ("arrayValue", "kvlistValue") and isinstance(inner, dict):
        inner = plain_attributes(inner.get("values", []))
        return (
            [_plain_value(each) for each in inner] if isinstance(inner, list) else inner
        )
    return inner
