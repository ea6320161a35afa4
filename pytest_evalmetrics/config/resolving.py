"""PyYAML's nodes -> ours: scalars, aliases and merge keys, and what must not be there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from yaml import MappingNode, ScalarNode, SequenceNode

from pytest_evalmetrics.config.composing import CORE, DEEPEST, PLAIN, QUOTED
from pytest_evalmetrics.config.nodes import Node, show_path
from pytest_evalmetrics.config.scalars import read_scalar
from pytest_evalmetrics.errors import Problem

if TYPE_CHECKING:
    from pytest_evalmetrics.config.nodes import NodePath

__all__ = ["Reader"]

_KINDS: dict[str, tuple[type, ...]] = {
    CORE + "int": (int,),
    CORE + "float": (float, int),
    CORE + "bool": (bool,),
    CORE + "null": (type(None),),
}
_MOST_REPEATED = 100_000  # values that aliases may stand for; a long text counts several times
_SURROGATE = re.compile("[\ud800-\udfff]")


class Reader:
    """Resolves scalars, aliases and merge keys, and collects what is wrong."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._seen: dict[int, NodePath] = {}
        self._open: set[int] = set()
        self._repeated = 0
        self._too_deep = False

    def read(self, node: Any, line: int, path: NodePath) -> Node:
        """Turn `node` and all it holds into ours.

        What an alias repeats keeps the path at which it is written, so that what is wrong
        with it is said once.
        """
        key = id(node)
        again = key in self._seen
        if again:
            size = len(node.value) // 100 if isinstance(node, ScalarNode) else 0
            self._repeated += 1 + size
            if self._repeated > _MOST_REPEATED:
                if self._repeated - size - 1 <= _MOST_REPEATED:
                    self._add(line, path, "aliases repeat far too much of this file")
                return Node(None, line, path, broken=True)
            if key in self._open:
                return self._broken(line, path, "this alias stands for what it is a part of")
        written_at = self._seen.setdefault(key, path)
        if isinstance(node, ScalarNode):
            return self._scalar(node, line, path, again=again)
        if len(self._open) > DEEPEST:
            said, self._too_deep = self._too_deep, True  # each alias of an alias would say it
            message = f"aliases nest more than {DEEPEST} levels deep"
            return self._broken(line, path, message, again=said)
        if node.tag != CORE + ("map" if isinstance(node, MappingNode) else "seq"):
            return self._broken(line, path, _bad_tag(node.tag), again=again)
        self._open.add(key)
        value: Any
        if isinstance(node, MappingNode):
            value, broken = self._mapping(node, written_at, again=again)
        else:
            broken = False
            value = [
                self.read(item, item.start_mark.line + 1, (*written_at, index))
                for index, item in enumerate(node.value)
            ]
        self._open.discard(key)
        return Node(value, line, path, broken)

    def _scalar(self, node: Any, line: int, path: NodePath, *, again: bool) -> Node:
        text, tag = node.value, node.tag
        if tag == PLAIN or tag in _KINDS:
            try:
                value = read_scalar(text)
            except ValueError as error:
                return self._broken(line, path, str(error), again=again)
            if tag != PLAIN and not isinstance(value, _KINDS[tag]):
                name = tag.removeprefix(CORE)
                return self._broken(line, path, f"{_short(text)} is no !!{name}", again=again)
            return Node(value, line, path)
        if tag not in (QUOTED, CORE + "str"):
            return self._broken(line, path, _bad_tag(tag), again=again)
        if not text.isascii() and _SURROGATE.search(text):  # libyaml refuses it itself
            return self._broken(line, path, "half a character: a \\u escape of a surrogate")
        return Node(text, line, path)

    def _mapping(self, node: Any, path: NodePath, *, again: bool) -> tuple[dict[str, Node], bool]:
        own: dict[str, Node] = {}
        below: list[dict[str, Node]] = []
        broken = False
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag == PLAIN and key_node.value == "<<":
                below += self._merged(value_node, line, path)
                continue
            key = self._key(key_node, line, path, again=again)
            if key is None:
                broken |= not isinstance(key_node, ScalarNode)
            elif key in own:
                if not again:
                    first = own[key].line
                    where = f"lines {first} and {line}" if first != line else f"on line {line}"
                    self._add(line, path, f"the key {_short(key)} is written twice: {where}")
            else:
                own[key] = self.read(value_node, line, (*path, key))
        for mapping in below:
            own = {**mapping, **own}
        return own, broken

    def _merged(self, node: Any, line: int, path: NodePath) -> list[dict[str, Node]]:
        """Read what stands behind ``<<``: one mapping, or a list with the first on top."""
        listed = node.value if isinstance(node, SequenceNode) else [node]
        found = []
        for item in listed:
            if not isinstance(item, MappingNode):
                self._add(line, path, "'<<' merges a mapping, or a list of them: write <<: *name")
                continue
            merged = self.read(item, line, path)
            found.append(merged.value or {})
        return found

    def _key(self, node: Any, line: int, path: NodePath, *, again: bool) -> str | None:
        if not isinstance(node, ScalarNode):
            what = "a mapping" if isinstance(node, MappingNode) else "a list"
            message = f"a key has to be text, found {what}; text that holds {{{{ }}}} needs quotes"
        else:
            read = self._scalar(node, line, path, again=again)
            if read.broken:
                return None
            if isinstance(read.value, str):
                return read.value
            shown = _short(node.value, quote="")
            message = f'the key {shown} is no text: write "{shown}"'
            if not node.value:
                message = "there is no key before this ':'"
        if not again:
            self._add(line, path, message)
        return None

    def _broken(self, line: int, path: NodePath, message: str, *, again: bool = False) -> Node:
        if not again:  # what an alias repeats is reported where it is written
            self._add(line, path, message)
        return Node(None, line, path, broken=True)

    def _add(self, line: int, path: NodePath, message: str) -> None:
        self.problems.append(Problem(line, show_path(path), message))


def _bad_tag(tag: str) -> str:
    name = "!!" + tag.removeprefix(CORE) if tag.startswith(CORE) else tag
    return f"the tag {_short(name, quote='')} means nothing here: write a plain value"


def _short(text: str, quote: str = "'") -> str:
    return f"{quote}{text if len(text) <= 60 else text[:59] + '…'}{quote}"  # noqa: PLR2004 - a line
