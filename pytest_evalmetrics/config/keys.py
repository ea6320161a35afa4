"""Which keys a mapping of a benchmark may have, for the messages about wrong ones."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_evalmetrics.config.nodes import Node

__all__ = ["known_keys", "schema_of_a_benchmark"]


def known_keys(
    schema: Mapping[str, Any], trail: Sequence[Node], at: Sequence[str | int]
) -> set[str]:
    """Return the keys that the mapping at `at` may have."""
    defs = schema.get("$defs", {})
    here = list(_options(schema, defs))
    for node, part in zip(trail[1:], at, strict=True):
        below = [o for option in here for o in _step(option, part, defs)]
        here = [o for o in below if _fits(o, node)] or below
    return {key for option in here for key in option.get("properties", {})}


@cache
def schema_of_a_benchmark() -> Mapping[str, Any]:
    """Return the JSON Schema of a benchmark, made once."""
    from pytest_evalmetrics.config.schema import benchmark_schema  # noqa: PLC0415 - errors only

    return benchmark_schema()


def _options(schema: Any, defs: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every form that `schema` allows, references and alternatives followed."""
    if not isinstance(schema, dict):
        return
    if "$ref" in schema:
        yield from _options(defs[schema["$ref"].rpartition("/")[2]], defs)
    alternatives = [o for key in ("anyOf", "oneOf", "allOf") for o in schema.get(key, ())]
    for option in alternatives:
        yield from _options(option, defs)
    if "properties" in schema or not (alternatives or "$ref" in schema):
        yield schema


def _step(
    option: dict[str, Any], part: str | int, defs: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    if isinstance(part, int):
        below = option.get("items")
    else:
        below = option.get("properties", {}).get(part, option.get("additionalProperties"))
    yield from _options(below, defs)


def _fits(option: dict[str, Any], node: Node) -> bool:
    """Tell alternatives apart by the keys of which they allow certain values only: ``type``."""
    if not isinstance(node.value, dict):
        return True
    for key, schema in option.get("properties", {}).items():
        allowed = [schema["const"]] if "const" in schema else schema.get("enum")
        if allowed and key in node.value and node.value[key].value not in allowed:
            return False
    return True
