"""Syntax errors of YAML in plain words, for the messages of libyaml and of PyYAML's scanner."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from yaml import MarkedYAMLError

_BREAK = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")  # what YAML 1.1 scanners count as lines
_LONG = 40


class _Error(NamedTuple):
    """Where the scanner stopped, and where the construct starts (lines and columns from 0)."""

    lines: list[str]
    line: int
    column: int
    start_line: int
    start_column: int

    @property
    def text(self) -> str:
        return self.lines[self.line] if self.line < len(self.lines) else ""

    @property
    def char(self) -> str:
        return self.text[self.column : self.column + 1]

    @property
    def started(self) -> str:
        """The rest of the line on which the construct starts."""
        if self.start_line >= len(self.lines):
            return ""
        rest = self.lines[self.start_line][self.start_column :].strip()
        return rest if len(rest) <= _LONG else rest[: _LONG - 1] + "…"

    @property
    def at_the_end(self) -> bool:
        rest = [self.text[self.column :], *self.lines[self.line + 1 :]]
        return all(not line.strip() for line in rest)


def explain(error: MarkedYAMLError, text: str) -> tuple[int, str]:
    """Return the line of a syntax error, and what is wrong there."""
    mark = error.problem_mark or error.context_mark
    start = error.context_mark or mark
    unlisted = ": ".join(part for part in (error.context, error.problem) if part)
    if mark is None or start is None:
        return 1, f"this is no YAML: {unlisted}"
    lines = _BREAK.split(text)
    at = _Error(lines, mark.line, mark.column, start.line, start.column)
    if re.match(r" *\t", at.text):
        return at.line + 1, f"line {at.line + 1} is indented with a tab; YAML wants spaces"
    for pattern, meaning in _MEANINGS:
        if re.search(pattern, f"{error.context or ''}; {error.problem or ''}"):
            line = at.start_line if at.at_the_end else at.line
            return min(line, len(lines) - 1) + 1, meaning(at)
    return at.line + 1, f"this is no YAML: {unlisted}"


def _second_colon(at: _Error) -> str:
    if re.search(r":\s", at.text[: at.column]):
        return "there is a second ': ' on this line: put quotes around a value that holds one"
    return (
        "this key does not fit the line above: check its indentation, and the ':' after "
        "the key of that line"
    )


def _not_a_key(at: _Error) -> str:
    before = at.text[: at.column].strip()
    if before and before != "-":
        return "there is text after the end of a value: put quotes around the whole of it"
    if at.char == ":":
        return "there is no key before this ':'"
    if at.text.lstrip().startswith("- "):
        return (
            "this list item fits neither a list above nor the keys that start on line "
            f"{at.start_line + 1}: check its indentation"
        )
    return "the indentation of this line fits none of the lines above"


def _no_content(at: _Error) -> str:
    if at.at_the_end:
        return "the file ends where a value was expected: is a '[' or '{' left open?"
    return f"a value can't start with {at.char!r}: put quotes around it"


def _open_bracket(at: _Error) -> str:
    bracket = at.lines[at.start_line][at.start_column : at.start_column + 1]
    close = {"[": "]", "{": "}"}.get(bracket, "its bracket")
    return (
        f"the {bracket!r} of line {at.start_line + 1} is not closed by {close!r}, "
        "or a ',' is missing before this"
    )


def _alias(at: _Error) -> str:
    match = re.match(r"\*[\w-]+", at.text[at.column :])
    return match[0] if match else "*"


_MEANINGS: tuple[tuple[str, Callable[[_Error], str]], ...] = (
    (
        "but found another document",
        lambda _: (
            "a second document starts here: a benchmark file holds one; "
            "write several benchmarks as a list under benchmarks:"
        ),
    ),
    (
        "cannot start any token",
        lambda at: f"a value can't start with {at.char!r}: put quotes around it",
    ),
    (
        "while scanning an (alias|anchor)",
        lambda at: f"put quotes around a value that starts with * or &: {at.started}",
    ),
    (
        "while scanning a block scalar; .*(comment or line break|indicators)",
        lambda at: f"put quotes around a value that starts with > or |: {at.started}",
    ),
    ("mapping values are not allowed", _second_colon),
    ("sequence entries are not allowed", lambda _: "a list starts on the line after its key"),
    ("could not find expected ':'", lambda _: "there is no ': ' after this key"),
    ("expected ',' or ['\"]?[\\]}]", _open_bracket),
    ("block mapping; (did not find expected key|expected <block end>)", _not_a_key),
    (
        "block (collection|sequence); (did not find expected '-'|expected <block end>)",
        lambda at: f"expected '- ', because a list starts on line {at.start_line + 1}",
    ),
    (
        "scalar; found unexpected (end of stream|document)",
        lambda at: f"the quote that is opened on line {at.start_line + 1} is never closed",
    ),
    ("expected (the )?node content", _no_content),
    (
        "unknown escape character",
        lambda _: r"in double quotes a backslash starts an escape: write \\ or use single quotes",
    ),
    (
        "undefined alias",
        lambda at: (
            f"there is no anchor above for the alias {_alias(at)}; "
            "put quotes around a text that starts with *"
        ),
    ),
    (
        "second occurrence",
        lambda at: f"this anchor is given to something else on line {at.start_line + 1} already",
    ),
    ("<document start>", lambda _: "there is text after the end of the document"),
    ("directive", lambda _: "a line that starts with % says something about YAML, not here"),
    ("tag", lambda _: "a word that starts with ! is a tag, which means nothing here: quote a text"),
    (
        "Unicode character escape",
        lambda _: r"this \u escape is no character: write the character itself",
    ),
)
