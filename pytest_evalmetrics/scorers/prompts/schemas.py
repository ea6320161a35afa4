"""JSON Schemas of answers, in the strict form: closed objects, all of whose keys are required."""

from __future__ import annotations

from typing import Any

__all__ = ["BOOLEAN", "TEXT", "array", "choice", "closed"]

TEXT: dict[str, Any] = {"type": "string"}
BOOLEAN: dict[str, Any] = {"type": "boolean"}


def choice(*values: int | str) -> dict[str, Any]:
    """Give the schema of one of some values, all of one type."""
    kind = "integer" if isinstance(values[0], int) else "string"
    return {"type": kind, "enum": list(values)}


def array(of: dict[str, Any]) -> dict[str, Any]:
    """Give the schema of a list."""
    return {"type": "array", "items": of}


def closed(**properties: dict[str, Any]) -> dict[str, Any]:
    """Give the schema of an object; a model writes its keys in this order."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
