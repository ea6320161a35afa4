"""The types of values that JSON can hold, and narrowing to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

JsonScalar: TypeAlias = str | int | float | bool | None
JsonValue: TypeAlias = JsonScalar | list["JsonValue"] | dict[str, "JsonValue"]
JsonObject: TypeAlias = dict[str, JsonValue]
#: An object that is only read.
JsonMapping: TypeAlias = Mapping[str, JsonValue]


def object_of(value: JsonValue) -> JsonObject:
    """Return a value that is an object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def list_of(value: JsonValue) -> list[JsonValue]:
    """Return a value that is a list; an empty one for anything else."""
    return value if isinstance(value, list) else []


def objects_in(value: JsonValue) -> list[JsonObject]:
    """List the objects of a list; none for anything else."""
    return [item for item in list_of(value) if isinstance(item, dict)]


def text_of_value(value: JsonValue) -> str:
    """Return a value that is text; an empty one for anything else."""
    return value if isinstance(value, str) else ""
