"""Settings as a patch to the benchmark file that lacks them."""

from __future__ import annotations

import re
from contextlib import suppress
from difflib import unified_diff
from functools import reduce
from typing import TYPE_CHECKING

import msgspec
import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_evalmetrics.spec import Benchmark


class _Edit(msgspec.Struct, frozen=True):
    """A key of a benchmark that gets a value, as YAML."""

    line: int
    benchmark: Benchmark
    key: tuple[str, ...]
    value: str


def patch(
    benchmarks: Sequence[tuple[Benchmark, Mapping[tuple[str, ...], str]]], shown: str
) -> Iterator[str]:
    """Write settings of the benchmarks of one file as a patch to it, by lines."""
    file = benchmarks[0][0].file
    old = file.read_text(encoding="utf-8")
    text = old
    edits = [
        _Edit(benchmark.line_of(*key), benchmark, key, value)
        for benchmark, values in benchmarks
        for key, value in values.items()
    ]
    # from the last line to the first, so that lines of keys stay where they are
    for edit in sorted(edits, key=lambda edit: -edit.line):
        edited = _with_value(text.split("\n"), edit)
        if edited is not None and _holds(edited, edit):
            text = edited
    yield from unified_diff(
        old.splitlines(), text.splitlines(), f"a/{shown}", f"b/{shown}", lineterm=""
    )


def _holds(text: str, edit: _Edit) -> bool:
    """Check that a file has the value where it belongs."""
    path = (*edit.benchmark.path, *edit.key)
    with suppress(yaml.YAMLError, LookupError, TypeError):
        value = reduce(lambda at, key: at[key], path, yaml.safe_load(text))
        return bool(value == yaml.safe_load(edit.value))
    return False


def _depth_in_file(edit: _Edit) -> int:
    """Count the parts of a key, from the first on, that the file has a line for."""
    for depth in range(len(edit.key), 0, -1):
        if edit.key[:depth] in edit.benchmark.lines:
            return depth
    return 0


def _with_value(lines: list[str], edit: _Edit) -> str | None:
    """Write a value into a benchmark file, in the style of its surroundings.

    None where the line of the key does not spell it as usual.
    """
    key = edit.key
    depth = _depth_in_file(edit)
    written = key[:depth]
    if depth == 0:
        written = ("name",)
    at = edit.benchmark.line_of(*written) - 1
    new = f"{key[-1]}: {edit.value}"
    if depth == 0:
        return _beside_name(lines, at, key, new)
    line = lines[at]
    match = re.search(rf"(?<!\w){re.escape(key[depth - 1])}[\"']?\s*:\s*", line)
    if match is None:
        return None
    head = line[: match.end()]
    rest = line[match.end() :]
    if depth == len(key):
        replaced = re.sub(r"^(\"[^\"]*\"|'[^']*'|[^,}#\s]+)", edit.value, rest)
        lines[at] = head + replaced
    elif rest.startswith("{"):
        lines[at] = f"{head}{_first_in_braces(rest, new)}"
    elif rest and not rest.startswith("#"):
        lines[at] = f"{head}{{{new}}}"
    else:
        following = lines[at + 1]
        indent = following[: len(following) - len(following.lstrip())]
        lines.insert(at + 1, f"{indent}{new}")
    return "\n".join(lines)


def _beside_name(lines: list[str], at: int, key: tuple[str, ...], new: str) -> str:
    """Write a setting below the line of the benchmark's name."""
    if len(key) > 1:
        new = f"{key[0]}: {{{new}}}"
    indent = " " * lines[at].index("name")
    lines.insert(at + 1, f"{indent}{new}")
    return "\n".join(lines)


def _first_in_braces(braces: str, new: str) -> str:
    """Write a setting as the first one in braces."""
    others = braces[1:]
    comma = ", "
    if others.lstrip().startswith("}"):
        comma = ""
    return f"{{{new}{comma}{others}"
