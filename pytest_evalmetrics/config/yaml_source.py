"""Reading a YAML file: plain values, the line of each, and everything that is wrong.

The text is scanned once, by libyaml where PyYAML was built with it. What YAML allows and a
benchmark file should not hold, because it is read in two ways or not at all by the next
tool, is refused: duplicate keys, keys that are no text, tags, several documents.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import msgspec
import yaml

from pytest_evalmetrics.config.composing import DEEPEST, LOADERS, TooDeepError
from pytest_evalmetrics.config.resolving import Reader
from pytest_evalmetrics.config.syntax import explain
from pytest_evalmetrics.errors import Problem

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_evalmetrics.config.nodes import Node

__all__ = ["Source", "parse_yaml", "read_yaml"]

_NOT_PRINTABLE = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"  # YAML 1.2, 5.1
)


class Source(msgspec.Struct, frozen=True):
    """What a file holds."""

    root: Node | None  # its top level; None if it can't be read at all
    problems: tuple[Problem, ...]  # what is wrong with it as YAML


def read_yaml(path: Path) -> Source:
    """Read a YAML file; what is wrong with it is in the result, nothing is raised."""
    try:
        data = path.read_bytes()
    except OSError as error:  # Windows says of a directory that permission is denied
        folder = os.path.isdir(path)  # noqa: PTH112 - Path.is_dir may raise the same again
        why = "it is a directory" if folder else error.strerror or type(error).__name__
        return _nothing(1, f"the file can't be read: {why}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return _nothing(
            line, f"the byte 0x{data[error.start]:02x} is not UTF-8: save the file as UTF-8"
        )
    return parse_yaml(text)


def parse_yaml(text: str, loader: type[Any] | None = None) -> Source:
    """Read YAML text."""
    bad = _NOT_PRINTABLE.search(text)
    if bad is not None:
        line = text.count("\n", 0, bad.start()) + 1
        code = f"U+{ord(bad[0]):04X}"
        return _nothing(line, f"the control character {code} can't stand in a YAML file")
    composer = (loader or LOADERS[0])(text)
    try:
        top = composer.get_single_node()
    except TooDeepError as error:
        return _nothing(error.line, f"this is nested more than {DEEPEST} levels deep")
    except yaml.MarkedYAMLError as error:
        return _nothing(*explain(error, text))
    except yaml.YAMLError as error:
        return _nothing(1, f"this is no YAML: {error}")
    finally:
        composer.dispose()
    if top is None:
        what = "holds nothing but comments" if text.strip() else "is empty"
        return _nothing(1, f"the file {what}: expected benchmark: or benchmarks:")
    reader = Reader()
    root = reader.read(top, top.start_mark.line + 1, ())
    return Source(root, tuple(reader.problems))


def _nothing(line: int, message: str) -> Source:
    return Source(None, (Problem(line, "", message),))
