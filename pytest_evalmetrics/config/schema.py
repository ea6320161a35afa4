"""The JSON Schema of a benchmark file, from the types that validate it.

``python -m pytest_evalmetrics.config.schema [PATH]`` writes it, without a path to where the
package ships it. A benchmark file asks an editor to use it by its first line::

    # yaml-language-server: $schema=<path or address of benchmark.schema.json>
"""

from __future__ import annotations

import json
import sys
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from pytest_evalmetrics.spec import BenchmarkSpec

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaMode
    from pydantic_core import CoreSchema

__all__ = ["SHIPPED", "benchmark_schema", "schema", "write"]

SHIPPED = Path(__file__).parent.parent / "schemas" / "benchmark.schema.json"
_REF = "#/$defs/"
_WHOLE = BenchmarkSpec.__name__


class _Generator(GenerateJsonSchema):
    """Leaves out the titles that pydantic makes of the keys: they say nothing new."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        return False

    def generate(self, schema: CoreSchema, mode: JsonSchemaMode = "validation") -> dict[str, Any]:
        """Leave out the names and docstrings of our classes: each key has its own words."""
        made = super().generate(schema, mode)
        for node in [made, *made.get("$defs", {}).values()]:
            node.pop("title", None)
            node.pop("description", None)
        return made


def benchmark_schema() -> dict[str, Any]:
    """Return the schema of one benchmark, everything it refers to under ``$defs``."""
    return TypeAdapter(BenchmarkSpec).json_schema(schema_generator=_Generator)


def schema() -> dict[str, Any]:
    """Return the schema of a benchmark file (JSON Schema, draft 2020-12).

    What a benchmark must say may also come from the file's ``defaults``, so nothing but its
    name is required of a benchmark in a file that has them.
    """
    whole = benchmark_schema()
    defs: dict[str, Any] = whole.pop("$defs", {})
    defs[_WHOLE] = whole
    relaxed = _Relaxed(defs)
    partial, named = relaxed.add(_WHOLE), "Named" + _WHOLE
    defs.update(relaxed.made)
    defs[named] = deepcopy(defs[partial]) | {"required": ["name"]}
    del defs[partial]["properties"]["name"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Benchmark file of pytest-evalmetrics",
        "description": "One benchmark, or a list of them; each becomes a pytest item.",
        "type": "object",
        "properties": {
            "benchmark": {"description": "the benchmark of this file", "$ref": _REF + named},
            "benchmarks": {
                "description": "the benchmarks of this file",
                "type": "array",
                "minItems": 1,
                "items": {"$ref": _REF + named},
            },
            "defaults": {
                "description": "what every benchmark of this file says if it says nothing else; "
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


class _Relaxed:
    """Copies of definitions in which nothing is required, because the rest is merged in.

    What stands in a list is replaced as a whole, never merged, and so stays as it is.
    """

    def __init__(self, defs: dict[str, Any]) -> None:
        self._defs = defs
        self.made: dict[str, Any] = {}

    def add(self, name: str) -> str:
        """Make the copy of a definition; return its name, or the same where nothing changes."""
        new = "Partial" + name
        if new not in self.made:
            self.made[new] = {}  # stops at definitions that contain themselves
            self.made[new] = self._copy(self._defs[name])
        if self.made[new] == self._defs[name]:
            del self.made[new]
            return name
        return new

    def _copy(self, node: Any) -> Any:
        if not isinstance(node, dict):
            return deepcopy(node)
        copy = {key: deepcopy(value) for key, value in node.items() if key != "required"}
        if "$ref" in node:
            copy["$ref"] = _REF + self.add(node["$ref"].removeprefix(_REF))
        if "properties" in node:
            copy["properties"] = {k: self._copy(v) for k, v in node["properties"].items()}
        if "additionalProperties" in node:
            copy["additionalProperties"] = self._copy(node["additionalProperties"])
        for key in ("anyOf", "oneOf", "allOf"):
            if key in node:
                options = [self._copy(option) for option in node[key]]
                copy[key] = [option for option in options if option]
                if not copy[key]:  # it was about required keys only
                    del copy[key]
        return copy


def write(path: Path = SHIPPED) -> None:
    """Write the schema to `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(schema(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if sys.argv[1:] else SHIPPED)
