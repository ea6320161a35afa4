"""The outermost keys of a benchmark file: benchmark, benchmarks and defaults."""

from __future__ import annotations

from dataclasses import fields

import msgspec

from pytest_evalmetrics.config.messages import DEFAULTS, unknown_key
from pytest_evalmetrics.config.nodes import Node, overlay, show_path
from pytest_evalmetrics.config.wording import mismatch
from pytest_evalmetrics.errors import Problem
from pytest_evalmetrics.spec import BenchmarkSpec

__all__ = ["Layout", "lay_out"]

_ONE, _MANY = "benchmark", "benchmarks"
_KEYS = (_ONE, _MANY, DEFAULTS)
_OF_A_BENCHMARK = frozenset(field.name for field in fields(BenchmarkSpec))


class Layout(msgspec.Struct, frozen=True):
    """What a file holds."""

    benchmarks: tuple[Node, ...]  # each with the defaults merged below it
    defaults: Node | None  # what the file says for all of them
    # what is wrong with the outermost keys, and names that are taken twice
    problems: tuple[Problem, ...]


def lay_out(root: Node) -> Layout:
    """Find the benchmarks of a file."""
    problems: list[Problem] = []
    if root.broken:
        return Layout((), None, ())
    if not isinstance(root.value, dict):
        found = mismatch("a mapping with benchmark: or benchmarks:", root.value)
        return Layout((), None, (Problem(root.line, "", found),))
    _outer_keys(root, problems)
    defaults = _defaults(root, problems)
    benchmarks = _benchmarks(root, problems)
    _same_names(benchmarks, problems)
    if defaults is not None:
        benchmarks = [overlay(defaults, benchmark) for benchmark in benchmarks]
    return Layout(tuple(benchmarks), defaults, tuple(problems))


def _outer_keys(root: Node, problems: list[Problem]) -> None:
    misplaced = False
    for key, node in root.value.items():
        if key in _OF_A_BENCHMARK:
            misplaced = True
            problems.append(
                Problem(node.line, "", f"{key!r} belongs under benchmark: and is indented there")
            )
        elif key not in _KEYS:
            message = unknown_key(key, _KEYS)
            misplaced |= f"did you mean '{_ONE}" in message
            problems.append(Problem(node.line, "", message))
    if _ONE in root.value and _MANY in root.value:
        lines = sorted((root.value[_ONE].line, root.value[_MANY].line))
        problems.append(
            Problem(
                lines[1],
                "",
                f"a file holds benchmark: or benchmarks:, not both (lines {lines[0]} and "
                f"{lines[1]})",
            )
        )
    elif not misplaced and _ONE not in root.value and _MANY not in root.value:
        problems.append(Problem(root.line, "", "expected benchmark: or benchmarks:"))


def _defaults(root: Node, problems: list[Problem]) -> Node | None:
    node: Node | None = root.value.get(DEFAULTS)
    if node is None or node.broken:
        return None
    if not isinstance(node.value, dict):
        problems.append(Problem(node.line, DEFAULTS, mismatch("a mapping", node.value)))
        return None
    if "name" in node.value:
        problems.append(
            Problem(
                node.value["name"].line,
                show_path((DEFAULTS, "name")),
                "a name belongs to one benchmark, not to all of them",
            )
        )
    rest = {key: child for key, child in node.value.items() if key != "name"}
    return node._replace(value=rest)


def _benchmarks(root: Node, problems: list[Problem]) -> list[Node]:
    found: list[Node] = []
    if _ONE in root.value:
        found.append(root.value[_ONE])
    many: Node | None = root.value.get(_MANY)
    if many is not None and not many.broken:
        if isinstance(many.value, list) and many.value:
            found += many.value
        else:
            wanted = "a list of benchmarks, each starting with '- name:'"
            problems.append(Problem(many.line, _MANY, mismatch(wanted, many.value)))
    mappings = []
    for node in found:
        if isinstance(node.value, dict):
            mappings.append(node)
        elif not node.broken:
            problems.append(
                Problem(node.line, show_path(node.path), mismatch("a mapping", node.value))
            )
    return mappings


def _same_names(benchmarks: list[Node], problems: list[Problem]) -> None:
    first: dict[str, Node] = {}
    for benchmark in benchmarks:
        name = benchmark.value.get("name")
        if name is None or not isinstance(name.value, str):
            continue
        other = first.setdefault(name.value, name)
        if other is not name:
            problems.append(
                Problem(
                    name.line,
                    show_path((*benchmark.path, "name")),
                    f"two benchmarks are named {name.value[:60]!r}: on lines {other.line} and "
                    f"{name.line}",
                )
            )
