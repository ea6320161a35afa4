"""Read the old names of renamed keys, with a warning that shows the line to write."""

from __future__ import annotations

import json
import warnings
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import structs

from pytest_evalmetrics.config.yaml_reader import LONG, YamlNode, show_path
from pytest_evalmetrics.errors import Problem, RenamedKeyWarning
from pytest_evalmetrics.layout import shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_evalmetrics.config.yaml_reader import NodePath
    from pytest_evalmetrics.spec.renamed_keys import RenamedKey

_ANY: Final = "*"


class OldKeyUse(msgspec.Struct, frozen=True):
    """An old name that a file has."""

    key: RenamedKey
    node: YamlNode  # what stands under the old name
    new_path: NodePath  # from the top of the file
    is_doubled: bool  # whether the new name is there too

    @property
    def line_to_write(self) -> str:
        """The key with its new name, on one line."""
        words = json.dumps(self.node.plain(), ensure_ascii=False)
        if isinstance(self.node.value, str):
            words = self.node.value
        *above, name = self.key.new
        line = f"{name}: {shortened(words, LONG)}"
        if tuple(above) == self.key.old[:-1]:
            return line
        for part in reversed(above):
            line = f"{part}: {{{line}}}"
        return line


def without_old_names(
    node: YamlNode, renamed: Iterable[RenamedKey]
) -> tuple[YamlNode, list[OldKeyUse]]:
    """Move what stands under old names of a benchmark's keys to the new ones."""
    uses: list[OldKeyUse] = []
    for key in renamed:
        for old in list(_places(node, key.old)):
            written = node.follow(old)[-1][1]
            new = _new_place(key, old)
            path = (*node.path, *new)
            is_doubled = _at(node, new) is not None
            uses.append(OldKeyUse(key, written, path, is_doubled))
            node = _without(node, old)
            if not is_doubled:
                node = _with(node, new, _under(written, path))
    return node, uses


def report_old_names(uses: Iterable[OldKeyUse], file: Path) -> list[Problem]:
    """Warn of old names; return those that are problems.

    These are names that are there beside the new ones, that this version reads no more, and
    all of them where a filter makes errors of the warnings.
    """
    return [problem for use in uses for problem in _report(use, file)]


def _report(use: OldKeyUse, file: Path) -> list[Problem]:
    old = use.node.path[-1]
    new = use.key.new[-1]
    renamed = f"{old!r} was renamed to {new!r} in version {_shown(use.key.since)}"
    write = f"write: {use.line_to_write}"
    if use.is_doubled:
        both = f"{show_path(use.new_path)} is here too: remove one of them"
        return [use.node.problem(f"{renamed}, and {both}")]
    if _installed() >= use.key.until:
        return [use.node.problem(f"{renamed}, and is read no more; {write}")]
    message = f"{renamed}, and is read until {_shown(use.key.until)}; {write}"
    try:
        warnings.warn_explicit(
            RenamedKeyWarning(f"{show_path(use.node.path)}: {message}"),
            category=None,
            filename=str(file),
            lineno=use.node.line,
        )
    except RenamedKeyWarning:
        return [use.node.problem(message)]
    return []


def _installed() -> tuple[int, int]:
    major, minor, *_ = version("pytest-evalmetrics").split(".")
    return int(major), int(minor)


def _shown(minor_version: tuple[int, int]) -> str:
    major, minor = minor_version
    return f"{major}.{minor}"


# -- moving values -------------------------------------------------------------------------


def _places(node: YamlNode, pattern: Sequence[str]) -> Iterator[NodePath]:
    """Yield the paths below a node that fit a pattern and are written."""
    if not pattern:
        yield ()
        return
    first, *rest = pattern
    for name, child in node.children:
        if first in (_ANY, name):
            for place in _places(child, rest):
                yield (name, *place)


def _new_place(key: RenamedKey, old: NodePath) -> NodePath:
    """Return the new path of a value; ``*`` stands for what it stands for in the old one."""
    new: list[str | int] = list(key.new)
    for at, part in enumerate(key.new):
        if part == _ANY:
            new[at] = old[at]
    return tuple(new)


def _at(node: YamlNode, path: NodePath) -> YamlNode | None:
    """Return the node at a path; None if it is not written."""
    steps = node.follow(path)
    if len(steps) < len(path):
        return None
    return steps[-1][1]


def _without(node: YamlNode, path: NodePath) -> YamlNode:
    """Leave out a key, and a mapping above it that then is empty."""
    first, *rest = path
    children = dict(node.children)
    child = children.pop(first)
    if rest:
        remaining = _without(child, tuple(rest))
        is_item = isinstance(first, int)
        if remaining.value or is_item:
            children[first] = remaining
    return _with_children(node, children)


def _with(node: YamlNode, path: NodePath, written: YamlNode) -> YamlNode:
    """Add a value at a path, in mappings that are made where they are not written."""
    first, *rest = path
    children = dict(node.children)
    if rest:
        made = YamlNode({}, written.line, (*node.path, first))
        written = _with(children.get(first, made), tuple(rest), written)
    children[first] = written
    return _with_children(node, children)


def _with_children(node: YamlNode, children: Mapping[str | int, YamlNode]) -> YamlNode:
    """Give a mapping or a list other children."""
    if isinstance(node.value, list):
        return structs.replace(node, value=list(children.values()))
    return structs.replace(node, value=dict(children))


def _under(node: YamlNode, path: NodePath) -> YamlNode:
    """Give a node, and everything in it, another path."""
    children = {name: _under(child, (*path, name)) for name, child in node.children}
    moved = structs.replace(node, path=path)
    return _with_children(moved, children) if children else moved
