"""YAML text -> PyYAML's nodes, by libyaml where PyYAML was built with it."""

from __future__ import annotations

from typing import Any

import yaml

__all__ = ["CORE", "DEEPEST", "LOADERS", "PLAIN", "QUOTED", "TooDeepError"]

PLAIN, QUOTED = "\0plain", "\0quoted"  # no tag can be written like this
CORE = "tag:yaml.org,2002:"
DEEPEST = 50


class TooDeepError(Exception):
    """The text is nested so deep that composing it might end the process."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


class _Composing:
    """Keeps apart only quoted and unquoted scalars, and stops before the stack is full.

    PyYAML calls these three methods for each node while it composes them, recursively.
    """

    _depth = 0

    def resolve(self, kind: type, _value: object, implicit: tuple[bool, bool] | bool) -> str:
        if kind is yaml.ScalarNode:
            return PLAIN if isinstance(implicit, tuple) and implicit[0] else QUOTED
        return CORE + ("map" if kind is yaml.MappingNode else "seq")

    def descend_resolver(self, parent: yaml.Node | None, _index: object) -> None:
        self._depth += 1
        if self._depth > DEEPEST and parent is not None:
            raise TooDeepError(parent.start_mark.line + 1)

    def ascend_resolver(self) -> None:
        self._depth -= 1


class _PythonLoader(_Composing, yaml.SafeLoader):
    pass


LOADERS: tuple[type[Any], ...] = (_PythonLoader,)
if yaml.__with_libyaml__:

    class _LibyamlLoader(_Composing, yaml.CSafeLoader):
        pass

    LOADERS = (_LibyamlLoader, _PythonLoader)
