"""OpenTelemetry's attributes as plain objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_ROOTS: Final = {"resourceSpans", "resourceLogs"}


def is_otlp(document: Mapping[str, Any]) -> bool:
    """Check for a document of OpenTelemetry's protocol."""
    return not _ROOTS.isdisjoint(document)


def plain_attributes(value: Any) -> Any:
    """Make objects of OTLP's attributes, which are lists of {key:, value: {intValue: "1"}}."""
    if isinstance(value, list):
        pairs = [
            isinstance(each, dict) and each.keys() == {"key", "value"} for each in value
        ]
        if value and all(pairs):
            return {each["key"]: _plain_value(each["value"]) for each in value}
        return [plain_attributes(each) for each in value]
    if isinstance(value, dict):
        return {name: plain_attributes(inner) for name, inner in value.items()}
    return value


def _plain_value(value: Any) -> Any:
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
