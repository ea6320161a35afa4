"""The text of a proposed benchmark file, with comments, and with the lines that are left open."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

import yaml

from pytest_evalmetrics.rollouts.guess.rewards import OPEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_evalmetrics.json_types import JsonObject, JsonValue

_MARK: Final = "\0open"  # in the YAML's text, until it is replaced
_quoted = re.compile(r"""'([^']|'')*'|"([^"\\]|\\.)*\"""").match


class _OpenValue(str):
    """A value that a person fills in; a mapping that holds one is written line by line."""

    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    """Writes open values in a style that no plain scalar has, which keeps mappings in blocks."""


def _open_node(dumper: yaml.SafeDumper, _: _OpenValue) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", _MARK, style='"')


_Dumper.add_representer(_OpenValue, _open_node)


def draft_lines(
    content: JsonObject,
    comments: Mapping[str, str],
    questions: Mapping[str, str],
    top: Iterable[str] = (),
) -> list[str]:
    """Write a benchmark file.

    Parameters
    ----------
    content
        The file; `OPEN` stands for a value that a person fills in.
    comments
        Key -> what stands behind it, on its line.
    questions
        The last part of an open value's path -> what stands behind it.
    top
        Comments above everything.
    """
    text = yaml.dump(
        _with_open_values(content),
        Dumper=_Dumper,
        default_flow_style=None,
        sort_keys=False,
        allow_unicode=True,
        width=math.inf,
    )
    open_text = yaml.dump(
        _OpenValue(OPEN), Dumper=_Dumper, default_flow_style=None, width=math.inf
    ).strip()
    lines = [f"# {line}" for line in top]
    for line in text.splitlines():
        key = _key(line)
        if line.endswith(f": {open_text}"):
            start = line.removesuffix(open_text)
            choices = questions.get(key, "a value")
            lines.append(f"{start}{OPEN}  # {choices}")
            continue
        comment = comments.get(key)
        lines.append(line if comment is None else f"{line}  # {comment}")
    return lines


def _key(line: str) -> str:
    """Return the key of a line, without its quotes."""
    text = line.strip(" -")
    quoted = _quoted(text)
    if quoted is None:
        return text.partition(":")[0]
    return str(yaml.safe_load(quoted[0]))


def _with_open_values(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _with_open_values(inner) for key, inner in value.items()}
    return _OpenValue(OPEN) if value == OPEN else value
