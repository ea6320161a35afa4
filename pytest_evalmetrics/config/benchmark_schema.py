"""The JSON Schema of a benchmark file, from the types that validate it.

``python -m pytest_evalmetrics.write_schema [PATH]`` writes it, by default to where the
package ships it.
"""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic.json_schema import GenerateJsonSchema

from pytest_evalmetrics.spec import BenchmarkSpec
from pytest_evalmetrics.spec.field_types import adapter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic.json_schema import JsonSchemaMode
    from pydantic_core import CoreSchema

# A JSON Schema, whose values are of all kinds
Schema: TypeAlias = dict[str, Any]

SHIPPED = Path(__file__).parent.parent / "schemas" / "benchmark.schema.json"
_REF = "#/$defs/"
_WHOLE = BenchmarkSpec.__name__


class _Generator(GenerateJsonSchema):
    """Omits titles, and the names and docstrings of classes: keys have their own words."""

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002 - pydantic's signature
        return False

    def generate(
        self, schema: CoreSchema, mode: JsonSchemaMode = "validation"
    ) -> Schema:
        """Generate a schema, and drop titles and descriptions of its definitions."""
        generated = super().generate(schema, mode)
        for node in [generated, *generated["$defs"].values()]:
            node.pop("title", None)
            node.pop("description", None)
        return generated


@cache
def schema_of_benchmark() -> Schema:
    """Return the schema of one benchmark, with everything it refers to under ``$defs``."""
    return adapter(BenchmarkSpec).json_schema(schema_generator=_Generator)


def schema_of_file() -> Schema:
    """Return the schema of a benchmark file (JSON Schema, draft 2020-12)."""
    schema = deepcopy(schema_of_benchmark())
    defs: Schema = schema.pop("$defs")
    defs[_WHOLE] = schema
    partials: Schema = {}
    partial = _add_partial(_WHOLE, defs, partials)
    named = "Named" + _WHOLE
    defs.update(partials)
    defs[named] = deepcopy(defs[partial]) | {"required": ["name"]}
    del defs[partial]["properties"]["name"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Benchmark file of pytest-evalmetrics",
        "description": "One benchmark, or a list of them; each becomes a pytest item.",
        "type": "object",
        "properties": {
            "benchmark": {
                "description": "the benchmark of this file",
                "$ref": _REF + named,
            },
            "benchmarks": {
                "description": "the benchmarks of this file",
                "type": "array",
                "minItems": 1,
                "items": {"$ref": _REF + named},
            },
            "defaults": {
                "description": "keys for all benchmarks of this file, which may override them; "
                "mappings are merged key by key",
                "$ref": _REF + partial,
            },
        },
        "additionalProperties": False,
        "oneOf": [{"required": ["benchmark"]}, {"required": ["benchmarks"]}],
        "if": {"not": {"required": ["defaults"]}},
        "then": {
            "properties": {
                "benchmark": {"$ref": _REF + _WHOLE},
                "benchmarks": {"items": {"$ref": _REF + _WHOLE}},
            }
        },
        "$defs": {name: defs[name] for name in sorted(defs)},
    }


def _add_partial(name: str, defs: Schema, partials: Schema) -> str:
    """Copy a definition without its required keys; return its name, or the same if unchanged."""

    def optional(node: object) -> object:
        if not isinstance(node, dict):
            return node
        # a list's items are replaced, never merged: they stay
        copy = {
            k: v if k == "items" else optional(v)
            for k, v in node.items()
            if k != "required"
        }
        if "$ref" in node:
            copy["$ref"] = _REF + _add_partial(
                node["$ref"].removeprefix(_REF), defs, partials
            )
        for key in ("anyOf", "oneOf", "allOf"):
            forms = [part for form in node.get(key, ()) if (part := optional(form))]
            if forms:
                copy[key] = forms
            else:  # the alternatives differed in required keys only
                copy.pop(key, None)
        return copy

    new = "Partial" + name
    if new not in partials:
        partials[new] = {}  # stops at definitions that contain themselves
        partials[new] = optional(defs[name])
    if partials[new] == defs[name]:
        del partials[new]
        return name
    return new


# -- the keys of a scorer, in words --------------------------------------------------------

_JSON_TYPES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "mapping",
}


def alternatives(schema: object, defs: Schema) -> Iterator[Schema]:
    """Yield every form that `schema` allows, following references."""
    if not isinstance(schema, dict):
        return
    if "$ref" in schema:
        yield from alternatives(defs[schema["$ref"].removeprefix(_REF)], defs)
        return
    forms = [
        form for key in ("anyOf", "oneOf", "allOf") for form in schema.get(key, ())
    ]
    if "properties" in schema or not forms:
        yield schema
    else:
        for form in forms:
            yield from alternatives(form, defs)


def allowed_values(schema: Schema) -> list[object]:
    """List the only values that `schema` allows; empty if it is not so limited."""
    if "const" in schema:
        return [schema["const"]]
    values: list[object] = schema.get("enum", [])
    return values


def keys_of_scorer(kind: str) -> list[str] | None:
    """Describe each key of a type of scorer, a line each; None if it is not built in."""
    schema = schema_of_benchmark()
    defs = schema["$defs"]
    for definition in alternatives(schema["properties"]["scorers"]["items"], defs):
        if kind in allowed_values(definition.get("properties", {}).get("type", {})):
            return list(_keys(definition, defs, 0))
    return None


def keys_of_metric_type(kind: str) -> list[str]:
    """Describe each key of a type of metric that a file defines, a line each."""
    from pytest_evalmetrics.spec.metric_keys import METRIC_TYPES  # few files define any

    defs = schema_of_benchmark()["$defs"]
    return list(_keys(defs[METRIC_TYPES[kind].__name__], defs, 0))


def _keys(definition: Schema, defs: Schema, depth: int) -> Iterator[str]:
    required = definition.get("required", ())
    for name, schema in definition.get("properties", {}).items():
        if name == "type" and depth == 0:
            continue
        default = schema.get("default")
        if name in required:
            note = "required"
        elif default is None or default == "":
            note = "default none"
        else:
            written = str(default)
            if isinstance(default, bool):
                written = written.lower()
            note = f"default {written}"
        words = ""
        if schema.get("description"):
            words = f": {schema['description']}"
        types, mappings = _types(schema, defs)
        yield f"{'  ' * depth}{name} ({types}, {note}){words}"
        for below in mappings:
            yield from _keys(below, defs, depth + 1)


def _types(schema: object, defs: Schema) -> tuple[str, list[Schema]]:
    """Name the types of a value, and list the mappings with keys of their own in it."""
    names: list[str] = []
    mappings: list[Schema] = []
    for option in alternatives(schema, defs):
        if option.get("properties"):
            mappings.append(option)
        if values := allowed_values(option):
            names += map(str, values)
        elif option.get("type") == "array" and isinstance(option.get("items"), dict):
            types, inner = _types(option["items"], defs)
            names.append(f"list of {types}")
            mappings += inner
        else:
            kinds = option.get("type", "anything")
            if not isinstance(kinds, list):
                kinds = [kinds]
            names += [_JSON_TYPES.get(kind, str(kind)) for kind in kinds]
    but_null = [name for name in dict.fromkeys(names) if name != "null"]
    return " or ".join(but_null) or "null", mappings
