"""Sphinx extension: generate the reference of benchmark files from the types that validate them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sphinx.application import Sphinx

PAGE = Path(__file__).parent / "reference" / "benchmark-file.md"
SCHEMA = (
    Path(__file__).parents[1]
    / "pytest_evalmetrics"
    / "schemas"
    / "benchmark.schema.json"
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Generate the page before Sphinx reads the sources."""
    app.connect("builder-inited", lambda _: write())
    return {"parallel_read_safe": True}


def write() -> None:
    """Write the page if it has changed."""
    page = "\n".join(lines(json.loads(SCHEMA.read_bytes()))) + "\n"
    PAGE.parent.mkdir(exist_ok=True)
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page:
        PAGE.write_text(page, encoding="utf-8")


def lines(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield a table per type, the benchmark first."""
    yield "# Benchmark files, key by key"
    yield ""
    yield "Generated from the types that validate the files. `evalmetrics schema` prints"
    yield "the same as JSON Schema."
    types = schema["$defs"]
    names = [
        name
        for name in types
        if name not in ("NamedBenchmarkSpec", "PartialBenchmarkSpec")
    ]
    for name in sorted(names, key=lambda n: (n != "BenchmarkSpec", n)):
        yield from table(name, types[name])


def table(name: str, spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield a table of one type's keys."""
    keys = spec.get("properties", {})
    if not keys:
        return
    title = spec.get("title", name).removesuffix("Spec")
    kind = keys.get("type", {}).get("const")
    yield from (
        "",
        f"({name.lower()})=",
        f"## {f'`type: {kind}`' if kind else title}",
        "",
    )
    if spec.get("description"):
        yield from (spec["description"].replace("\n", " "), "")
    yield "| key | value | default | |"
    yield "|---|---|---|---|"
    for key, value in keys.items():
        needed = key in spec.get("required", ())
        default = value.get("default")
        shown = (
            "required"
            if needed
            else ""
            if default is None
            else f"`{json.dumps(default)}`"
        )
        description = cell(value.get("description", ""))
        yield f"| `{key}` | {kind_of(value)} | {cell(shown)} | {description} |"


_WORDS = {
    "string": "text",
    "integer": "whole number",
    "boolean": "true, false",
    "object": "mapping",
}


def kind_of(value: Mapping[str, Any]) -> str:
    """Describe the kind of a key's value in a few words."""
    several = value.get("anyOf") or value.get("oneOf")
    if isinstance(value.get("type"), list):
        several = [{**value, "type": one} for one in value["type"]]
    values = value.get("enum") or ([value["const"]] if "const" in value else [])
    if several:
        kinds = (kind_of(v) for v in several if v.get("type") != "null")
        return " or ".join(dict.fromkeys(kinds))
    if values:
        return ", ".join(f"`{item}`" for item in values)
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name.removesuffix('Spec')}](#{name.lower()})"
    kind = value.get("type", "anything")
    if kind == "array":
        return f"list of {kind_of(value.get('items', {}))}"
    if kind == "object" and isinstance(value.get("additionalProperties"), dict):
        return f"mapping to {kind_of(value['additionalProperties'])}"
    return _WORDS.get(kind, str(kind))


def cell(text: str) -> str:
    """Escape the text of a table cell."""
    return " ".join(text.split()).replace("|", "\\|")
