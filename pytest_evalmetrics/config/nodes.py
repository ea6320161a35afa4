"""A YAML file as plain values that know where they are written."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, TypeAlias

__all__ = ["Node", "NodePath", "lines_of", "overlay", "plain", "show_path"]

NodePath: TypeAlias = tuple[str | int, ...]
_PLAIN_KEY = re.compile(r"[^\s.\[\]'\"]+")
_LONG_KEY = 60


class Node(NamedTuple):
    """A value and its place."""

    value: Any  # none, a bool, number or text; or a list or dict of further nodes
    line: int  # its line, from 1: the line of the key where it belongs to one
    path: NodePath  # the keys and positions that lead to it from the top of the file
    broken: bool = False  # it could not be read and that is reported already: say no more about it


def plain(node: Node) -> Any:
    """Return the value alone, without any places."""
    value = node.value
    if isinstance(value, dict):
        return {key: plain(child) for key, child in value.items()}
    if isinstance(value, list):
        return [plain(child) for child in value]
    return value


def lines_of(node: Node) -> dict[NodePath, int]:
    """Return the line of everything in `node` by its path within it; ``()`` is itself."""
    lines: dict[NodePath, int] = {}
    _add_lines(node, (), lines)
    return lines


def _add_lines(node: Node, at: NodePath, lines: dict[NodePath, int]) -> None:
    lines[at] = node.line
    value = node.value
    if isinstance(value, dict):
        for key, child in value.items():
            _add_lines(child, (*at, key), lines)
    elif isinstance(value, list):
        for index, child in enumerate(value):
            _add_lines(child, (*at, index), lines)


def overlay(below: Node, own: Node) -> Node:
    """Lay `own` over `below`: mappings key by key, of everything else only what is own."""
    if not (isinstance(below.value, dict) and isinstance(own.value, dict)):
        return own
    value = dict(below.value)
    for key, child in own.value.items():
        value[key] = overlay(below.value[key], child) if key in below.value else child
    return own._replace(value=value)


def show_path(path: NodePath) -> str:
    """Write a path as messages show it: ``benchmarks[2].thresholds.pass@1.min``."""
    shown = ""
    for part in path:
        if isinstance(part, int):
            shown += f"[{part}]"
        elif len(part) <= _LONG_KEY and _PLAIN_KEY.fullmatch(part):
            shown += f".{part}" if shown else part
        else:
            short = part if len(part) <= _LONG_KEY else part[: _LONG_KEY - 1] + "…"
            shown += f"[{short!r}]"
    return shown
