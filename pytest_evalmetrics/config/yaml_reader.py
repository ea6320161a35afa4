"""Read a YAML file: plain values, the line of each, and everything that is wrong.

What other tools read differently is refused: duplicate keys, keys that are no text, tags,
several documents. Unquoted scalars follow YAML 1.2's core schema, not PyYAML's YAML 1.1.
"""

from __future__ import annotations

import math
import os
import re
import sys
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import yaml
from msgspec import structs
from yaml import MappingNode, ScalarNode, SequenceNode

from pytest_evalmetrics.errors import Problem
from pytest_evalmetrics.layout import shortened

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

NodePath: TypeAlias = tuple[str | int, ...]


# -- values that know their place --------------------------------------------------------


YamlValue: TypeAlias = (
    "bool | int | float | str | list[YamlNode] | dict[str, YamlNode] | None"
)


class YamlNode(msgspec.Struct, frozen=True):
    """A value and its place."""

    value: YamlValue
    line: int  # from 1: the line of its key, if it has one
    path: NodePath  # the keys and positions that lead to it from the top of the file
    broken: bool = False  # unreadable, and reported already
    column: int = 1  # from 1: that of its key, if it has one

    def get(self, key: str) -> YamlNode | None:
        """Return the value of `key`, or None if it is absent or this is no mapping."""
        if not isinstance(self.value, dict):
            return None
        return self.value.get(key)

    @property
    def children(self) -> list[tuple[str | int, YamlNode]]:
        """The keys or positions, and the values, of a mapping or list."""
        if isinstance(self.value, dict):
            return list(self.value.items())
        if isinstance(self.value, list):
            return list(enumerate(self.value))
        return []

    def plain(self) -> object:
        """Return the value without places."""
        if isinstance(self.value, list):
            return [child.plain() for child in self.value]
        if isinstance(self.value, dict):
            return self.plain_keys()
        return self.value

    def plain_keys(self) -> dict[str, object]:
        """Return the values of a mapping without places; nothing else has any."""
        if not isinstance(self.value, dict):
            return {}
        return {key: child.plain() for key, child in self.value.items()}

    def lines(self, at: NodePath = ()) -> dict[NodePath, int]:
        """Return the line of everything in it by its path within it; ``()`` is itself."""
        lines = {at: self.line}
        for key, child in self.children:
            lines |= child.lines((*at, key))
        return lines

    def follow(self, path: Iterable[str | int]) -> list[tuple[str | int, YamlNode]]:
        """Return the steps of a path within it, without those that are not written."""
        node = self
        steps = list[tuple[str | int, YamlNode]]()
        for part in path:
            children = dict(node.children)
            if part in children:
                node = children[part]
                steps.append((part, node))
        return steps

    def over(self, below: YamlNode) -> YamlNode:
        """Merge it over `below`: mappings key by key, everything else as a whole."""
        if not (isinstance(below.value, dict) and isinstance(self.value, dict)):
            return self
        value = dict(below.value)
        for key, child in self.value.items():
            value[key] = child
            if key in below.value:
                value[key] = child.over(below.value[key])
        return structs.replace(self, value=value)

    def problem(self, message: str) -> Problem:
        """Make a problem at this node."""
        return Problem(self.line, show_path(self.path), message)


class ParsedYaml(msgspec.Struct, frozen=True):
    """The content of a file."""

    root: YamlNode | None  # None if unreadable
    problems: tuple[Problem, ...]


LONG = 60  # characters of a text in a message
_PLAIN_KEY = re.compile(r"[^\s.\[\]'\"]+")


def show_path(path: NodePath) -> str:
    """Write a path as messages show it: ``benchmarks[2].thresholds.pass@1.min``."""
    shown = ""
    for part in path:
        if isinstance(part, int):
            shown += f"[{part}]"
        elif len(part) <= LONG and _PLAIN_KEY.fullmatch(part):
            if shown:
                shown += "."
            shown += part
        else:
            shown += f"[{shortened(part, LONG)!r}]"
    return shown


def columns_of(file: Path) -> dict[tuple[int, str], int]:
    """Return the column of each key and item, from 1, by its line and its shown path."""
    columns: dict[tuple[int, str], int] = {}
    root = read_yaml(file).root
    if root is None:
        return columns
    nodes = [root]
    for node in nodes:
        columns.setdefault((node.line, show_path(node.path)), node.column)
        leftmost = columns.get((node.line, ""), node.column)
        columns[node.line, ""] = min(node.column, leftmost)
        nodes += [child for _, child in node.children]
    return columns


# -- text -> PyYAML's nodes ----------------------------------------------------------------

# no tag can be written like this
_PLAIN = "\0plain"
_QUOTED = "\0quoted"
_CORE = "tag:yaml.org,2002:"
_CORE_TAGS: dict[type, str] = {MappingNode: f"{_CORE}map", SequenceNode: f"{_CORE}seq"}
_MAX_DEPTH = 50
_NOT_PRINTABLE = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"  # YAML 1.2, 5.1
)


class _RefusedError(Exception):
    """The text can't be read any further; the arguments are the line, and why."""


class _Composer:
    """Tags scalars as quoted or plain, and limits the depth: PyYAML calls these for each node."""

    _depth = 0

    def resolve(
        self, kind: type, _value: object, implicit: tuple[bool, bool] | bool
    ) -> str:
        if kind is ScalarNode:
            if isinstance(implicit, tuple) and implicit[0]:
                return _PLAIN
            return _QUOTED
        return _CORE_TAGS[kind]

    def descend_resolver(self, parent: yaml.Node | None, _index: object) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH and parent is not None:
            message = f"this is nested more than {_MAX_DEPTH} levels deep"
            raise _RefusedError(parent.start_mark.line + 1, message)

    def ascend_resolver(self) -> None:
        self._depth -= 1


_SCANNERS = (
    (yaml.CSafeLoader, yaml.SafeLoader) if yaml.__with_libyaml__ else (yaml.SafeLoader,)
)
# the first one is used
LOADERS = tuple(
    type(scanner.__name__, (_Composer, scanner), {}) for scanner in _SCANNERS
)


def read_yaml(path: Path) -> ParsedYaml:
    """Read a YAML file; raises nothing."""
    try:
        data = path.read_bytes()
    except OSError as error:
        why = error.strerror or type(error).__name__
        # Windows says of a directory that permission is denied
        if os.path.isdir(path):  # noqa: PTH112 - Path.is_dir may raise the same again
            why = "it is a directory"
        return _unreadable(1, f"the file can't be read: {why}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = f"0x{data[error.start]:02x}"
        why = f"the byte {byte} is not UTF-8: save the file as UTF-8"
        return _unreadable(line, why)
    return parse_yaml(text)


def parse_yaml(text: str, loader: type[yaml.SafeLoader] | None = None) -> ParsedYaml:
    """Read YAML text."""
    bad = _NOT_PRINTABLE.search(text)
    if bad is not None:
        line = text.count("\n", 0, bad.start()) + 1
        code = f"U+{ord(bad[0]):04X}"
        why = f"the control character {code} is not allowed in a YAML file"
        return _unreadable(line, why)
    composer = (loader or LOADERS[0])(text)
    try:
        top = composer.get_single_node()
        if top is None:
            what = "is empty"
            if text.strip():
                what = "holds nothing but comments"
            why = f"the file {what}: expected benchmark: or benchmarks:"
            return _unreadable(1, why)
        reader = _Reader()
        root = reader.read(top, _place(top, ()))
        return ParsedYaml(root, tuple(reader.problems))
    except _RefusedError as error:
        return _unreadable(*error.args)
    except yaml.MarkedYAMLError as error:
        from pytest_evalmetrics.config.syntax_errors import of_syntax  # errors only

        return ParsedYaml(None, of_syntax(error, text))
    except yaml.YAMLError as error:
        return _unreadable(1, f"this is not YAML: {error}")
    finally:
        composer.dispose()


def _unreadable(line: int, message: str) -> ParsedYaml:
    return ParsedYaml(None, (Problem(line, "", message),))


# -- PyYAML's nodes -> ours ----------------------------------------------------------------

_KINDS: dict[str, tuple[type, ...]] = {
    _CORE + "int": (int,),
    _CORE + "float": (float, int),
    _CORE + "bool": (bool,),
    _CORE + "null": (type(None),),
}
_MAX_REPEATED = 100_000  # most values behind aliases; a long text counts several times
_SURROGATE = re.compile("[\ud800-\udfff]")


def _place(node: yaml.Node, path: NodePath) -> YamlNode:
    """Create a node without a value at the position of a node of PyYAML."""
    return YamlNode(
        None, node.start_mark.line + 1, path, column=node.start_mark.column + 1
    )


class _Reader:
    """Resolves scalars, aliases and merge keys, and collects problems."""

    def __init__(self) -> None:
        self.problems: dict[Problem, None] = {}
        self._first: dict[int, YamlNode] = {}  # where each node is written
        self._open: list[int] = []  # the nodes that are being read
        self._repeated = 0

    def read(self, node: yaml.Node, place: YamlNode) -> YamlNode:
        """Convert `node`; what an alias repeats keeps its first path: one problem, one message."""
        if id(node) in self._open:
            return self._broken(place, "this alias refers to a node that contains it")
        self._refuse_expansion(node, place)
        first = self._first.setdefault(id(node), place)
        self._open.append(id(node))
        content = self._content(node, first)
        self._open.pop()
        return structs.replace(place, value=content.value, broken=content.broken)

    def _refuse_expansion(self, node: yaml.Node, place: YamlNode) -> None:
        """Stop at aliases that make a small file a large one."""
        if id(node) in self._first:
            self._repeated += 1
            if isinstance(node, ScalarNode):
                self._repeated += len(node.value) // 100
        if self._repeated > _MAX_REPEATED:
            raise _RefusedError(place.line, "aliases repeat far too much of this file")
        if len(self._open) > _MAX_DEPTH:
            message = f"aliases nest more than {_MAX_DEPTH} levels deep"
            raise _RefusedError(place.line, message)

    def _content(self, node: yaml.Node, place: YamlNode) -> YamlNode:
        if isinstance(node, ScalarNode):
            return self._scalar(node, place)
        if node.tag != _CORE_TAGS[type(node)]:
            return self._broken(place, _bad_tag(node.tag))
        if isinstance(node, MappingNode):
            return self._mapping(node, place)
        items = []
        for at, item in enumerate(node.value):
            items.append(self.read(item, _place(item, (*place.path, at))))
        return structs.replace(place, value=items)

    def _scalar(self, node: yaml.Node, place: YamlNode) -> YamlNode:
        text = node.value
        tag = node.tag
        if tag == _PLAIN or tag in _KINDS:
            try:
                value = read_scalar(text)
            except ValueError as error:
                return self._broken(place, str(error))
            if tag != _PLAIN and not isinstance(value, _KINDS[tag]):
                message = f"'{shortened(text, LONG)}' is no !!{tag.removeprefix(_CORE)}"
                return self._broken(place, message)
            return structs.replace(place, value=value)
        if tag not in (_QUOTED, _CORE + "str"):
            return self._broken(place, _bad_tag(tag))
        if not text.isascii() and _SURROGATE.search(text):  # libyaml refuses it itself
            return self._broken(place, "half a character: a \\u escape of a surrogate")
        return structs.replace(place, value=text)

    def _mapping(self, node: yaml.Node, place: YamlNode) -> YamlNode:
        own: dict[str, YamlNode] = {}
        merged: list[YamlNode] = []
        merge_line: int | None = None
        is_broken = False
        for key_node, value_node in node.value:
            at = _place(key_node, place.path)
            if key_node.tag == _PLAIN and key_node.value == "<<":
                if merge_line is not None:
                    self._broken(at, _written_twice("<<", merge_line, at.line))
                merge_line = at.line
                merged = self._merged(value_node, at)
                continue
            key = self._key(key_node, at)
            if key is None:
                is_broken |= not isinstance(key_node, ScalarNode)
            elif key in own:
                self._broken(at, _written_twice(key, own[key].line, at.line))
            else:
                below = structs.replace(at, path=(*place.path, key))
                own[key] = self.read(value_node, below)
        # own keys win, then those of the first mapping
        whole: dict[str, YamlNode] = {}
        for mapping in reversed(merged):
            if isinstance(mapping.value, dict):
                whole.update(mapping.value)
        whole.update(own)
        return structs.replace(place, value=whole, broken=is_broken)

    def _merged(self, node: yaml.Node, at: YamlNode) -> list[YamlNode]:
        """Read the mappings that a merge key names."""
        items = [node]
        if isinstance(node, SequenceNode):
            items = node.value
        merged = []
        for item in items:
            if isinstance(item, MappingNode):
                merged.append(self.read(item, at))
            else:
                wanted = "a mapping, or a list of them: write <<: *name"
                self._broken(at, f"'<<' merges {wanted}")
        return merged

    def _key(self, node: yaml.Node, place: YamlNode) -> str | None:
        if not isinstance(node, ScalarNode):
            what = "a list"
            if isinstance(node, MappingNode):
                what = "a mapping"
            message = f"a key has to be text, found {what}; text that holds {{{{ }}}} needs quotes"
        else:
            key = self._scalar(node, place)
            if key.broken:
                return None
            if isinstance(key.value, str):
                return key.value
            shown = shortened(node.value, LONG)
            message = f'the key {shown} is not text: write "{shown}"'
            if not node.value:
                message = "there is no key before this ':'"
        self._broken(place, message)
        return None

    def _broken(self, place: YamlNode, message: str) -> YamlNode:
        self.problems[place.problem(message)] = None
        return structs.replace(place, broken=True)


def _written_twice(key: str, first: int, second: int) -> str:
    where = f"lines {first} and {second}"
    if first == second:
        where = f"on line {first}"
    return f"the key '{shortened(key, LONG)}' is written twice: {where}"


def _bad_tag(tag: str) -> str:
    name = tag
    if tag.startswith(_CORE):
        name = "!!" + tag.removeprefix(_CORE)
    return f"the tag {shortened(name, LONG)} means nothing here: write a plain value"


# -- unquoted scalars: YAML 1.2, section 10.3.2 ----------------------------------------------

_CONSTANTS: dict[str, bool | float | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **{sign + inf: math.inf for inf in (".inf", ".Inf", ".INF") for sign in ("", "+")},
    **{"-" + inf: -math.inf for inf in (".inf", ".Inf", ".INF")},
}
_NUMBER = re.compile(
    r"(?P<int>[-+]?[0-9]+)|0o(?P<oct>[0-7]+)|0x(?P<hex>[0-9a-fA-F]+)"
    r"|(?P<float>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
)
_BASES = {"int": 10, "oct": 8, "hex": 16}
_MAX_DIGITS = 300  # a longer number is no float


def read_scalar(text: str) -> str | float | bool | None:
    """Read an unquoted scalar: ``1e3`` is a number; ``no``, ``1:30`` and dates are texts."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    match = _NUMBER.fullmatch(text)
    if match is None:
        return text
    if len(text) > _MAX_DIGITS:
        raise ValueError(f"a number of {len(text)} digits is out of range")
    kind = match.lastgroup or "int"
    if kind in _BASES:
        number: float = int(match[kind], _BASES[kind])
    else:
        number = float(text)
    if not -sys.float_info.max <= number <= sys.float_info.max:
        raise ValueError(f"the number {text[:60]} is out of range")
    return number
