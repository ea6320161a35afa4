"""The keys of a built-in scorer, in words: from the same schema that editors read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.config.keys import schema_of_a_benchmark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["keys_of_scorer"]

_JSON_TYPES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "mapping",
    "array": "list",
    "null": "null",
}


def keys_of_scorer(kind: str) -> list[str] | None:
    """Say each key of a type of scorer; None for a type that is none of ours."""
    schema = schema_of_a_benchmark()
    defs = schema.get("$defs", {})
    for definition in defs.values():
        allowed = definition.get("properties", {}).get("type", {})
        if kind in (allowed.get("const"), *allowed.get("enum", ())):
            return list(_keys(definition, defs, 0))
    return None


def _keys(definition: Mapping[str, Any], defs: Mapping[str, Any], depth: int) -> Iterator[str]:
    required = definition.get("required", ())
    for name, found in definition.get("properties", {}).items():
        if name == "type" and depth == 0:
            continue
        default = "required" if name in required else f"default {_default(found)}"
        said = f": {found['description']}" if found.get("description") else ""
        yield f"{'  ' * depth}{name} ({_type(found, defs)}, {default}){said}"
        for below in _mappings(found, defs):
            yield from _keys(below, defs, depth + 1)


def _default(found: Mapping[str, Any]) -> str:
    value = found.get("default")
    if value is None or value == "":
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _options(found: Mapping[str, Any], defs: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "$ref" in found:
        yield from _options(defs[found["$ref"].rpartition("/")[2]], defs)
        return
    alternatives = [o for key in ("anyOf", "oneOf") for o in found.get(key, ())]
    if "properties" in found or not alternatives:
        yield found
        return
    for option in alternatives:
        yield from _options(option, defs)


def _type(found: Mapping[str, Any], defs: Mapping[str, Any]) -> str:
    names = []
    for option in _options(found, defs):
        if "const" in option:
            names.append(str(option["const"]))
        elif "enum" in option:
            names += [str(value) for value in option["enum"]]
        elif option.get("type") == "array" and isinstance(option.get("items"), dict):
            names.append(f"list of {_type(option['items'], defs)}")
        else:
            told = option.get("type", "anything")
            kinds = told if isinstance(told, list) else [told]
            names += [_JSON_TYPES.get(kind, str(kind)) for kind in kinds]
    return " or ".join(name for name in dict.fromkeys(names) if name != "null") or "null"


def _mappings(found: Mapping[str, Any], defs: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the mappings with keys of their own that a value may be, or a list of it may hold."""
    for option in _options(found, defs):
        if option.get("properties"):
            yield option
        elif option.get("type") == "array" and isinstance(option.get("items"), dict):
            yield from _mappings(option["items"], defs)
