"""Syntax errors of YAML, for the messages of libyaml and of PyYAML's scanner."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from pytest_evalmetrics.errors import Problem
from pytest_evalmetrics.layout import shortened

if TYPE_CHECKING:
    from yaml.error import Mark, MarkedYAMLError

_open_line = re.compile(
    r"\s*(?:- )?(?P<key>'(?:[^']|'')*'|\"[^\"]*\"|[^#:]+):\s+\?\s*(?:#\s*(?P<choices>.*))?"
).fullmatch
_BREAK = re.compile(
    r"\r\n|[\n\r\x85\u2028\u2029]"
)  # the line breaks of YAML 1.1 scanners
_KEY = r"block mapping; (?:did not find expected key|expected <block end>).*\n"
_CONTENT = "expected (?:the )?node content"
# Patterns of three lines: the scanner's message, and the line before and after its position.
_MEANINGS = {
    "maximum nesting depth": "this is nested more than 50 levels deep",  # of libyaml 0.2.6
    "but found another document": "a second document starts here: a benchmark file holds one; "
    "write several benchmarks as a list under benchmarks:",
    "cannot start any token": "a value can't start with {char!r}: put quotes around it",
    "while scanning an (?:alias|anchor)": "put quotes around a value that starts with * or &: "
    "{started}",
    "while scanning a block scalar; .*(?:comment or line break|indicators)": "put quotes around a "
    "value that starts with > or |: {started}",
    r"mapping values are not allowed.*\n.*:[^\S\n]": "there is a second ': ' on this line: "
    "put quotes around a value that holds one",
    "mapping values are not allowed": "this key does not fit the line above: check its "
    "indentation, and the ':' after the key of that line",
    "sequence entries are not allowed": "a list starts on the line after its key",
    "could not find expected ':'": "there is no ': ' after this key",
    r"expected ',' or ['\"]?[\]}]": "the '{bracket}' of line {start} is not closed by '{close}', "
    "or a ',' is missing before this",
    _KEY
    + r"(?!\s*-?[^\S\n]*\n).": "there is text after the end of a value: put quotes around "
    "the whole of it",
    _KEY + r".*\n:": "there is no key before this ':'",
    _KEY
    + r"[^\S\n]*(?:-|\n-[^\S\n])": "this list item fits neither a list above nor the keys "
    "that start on line {start}: check its indentation",
    _KEY: "the indentation of this line fits none of the lines above",
    "block (?:collection|sequence); (?:did not find expected '-'|expected <block end>)": "expected "
    "'- ', because a list starts on line {start}",
    "scalar; found unexpected (?:end of stream|document)": "the quote that is opened on line "
    "{start} is never closed",
    _CONTENT
    + r".*\n.*\n\s*\Z": "the file ends where a value was expected: is a '[' or '{{' left "
    "open?",
    _CONTENT: "a value can't start with {char!r}: put quotes around it",
    "unknown escape character": r"in double quotes a backslash starts an escape: write \\ or use "
    "single quotes",
    "undefined alias": "there is no anchor above for the alias {alias}; put quotes around a text "
    "that starts with *",
    "second occurrence": "this anchor is given to something else on line {start} already",
    "<document start>": "there is text after the end of the document",
    "directive": "a line that starts with % says something about YAML, not here",
    "tag": "a word that starts with ! is a tag, which means nothing here: quote a text",
    "Unicode character escape": r"this \u escape is not a character: write the character itself",
}


def of_syntax(error: MarkedYAMLError, text: str) -> tuple[Problem, ...]:
    """Describe text that is no YAML: the lines that are left open, or the syntax error."""
    open_lines = _open_lines(text)
    if open_lines:
        return tuple(open_lines)
    line, message = explain(error, text)
    return (Problem(line, "", message),)


def _open_lines(text: str) -> list[Problem]:
    """List the lines that a proposed file leaves open: ``reward: ?  # correct or score?``."""
    problems = []
    for number, line in enumerate(_BREAK.split(text), 1):
        match = _open_line(line)
        if match is not None:
            key = match["key"].strip("'\"")
            choices = match["choices"]
            message = "this is left open: write a value in place of the question mark"
            if choices:
                message = f"{message}: {choices}"
            problems.append(Problem(number, key, message))
    return problems


_CLOSING = {"[": "]", "{": "}"}


class _Place(msgspec.Struct, frozen=True):
    """The text around a syntax error.

    Attributes
    ----------
    line, start
        From 1: the line of the error, and that of the bracket, quote, list or mapping in
        which it lies.
    text
        The line of the error.
    before, after
        Its text on both sides of the error; after it, the next line where nothing else
        follows.
    opened
        The text from where the bracket, quote, list or mapping starts.
    is_end
        Whether the file ends here.
    """

    line: int
    start: int
    text: str
    before: str
    after: str
    opened: str
    is_end: bool


def explain(error: MarkedYAMLError, text: str) -> tuple[int, str]:
    """Return the line and the description of a syntax error."""
    parts = (error.context, error.problem)
    unlisted = ": ".join(part for part in parts if part)
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return 1, f"this is not YAML: {unlisted}"
    start = error.context_mark or mark
    lines = [*_BREAK.split(text), ""]
    place = _place_in(lines, mark, start)
    if re.match(r" *\t", place.text):
        tab = f"line {place.line} is indented with a tab; YAML wants spaces"
        return place.line, tab
    meaning = _meaning(error, place)
    if meaning is None:
        return place.line, f"this is not YAML: {unlisted}"
    line = place.line
    if place.is_end:
        line = place.start
    return min(line, len(lines) - 1), meaning


def _place_in(lines: list[str], mark: Mark, start: Mark) -> _Place:
    here = ""
    if mark.line < len(lines):
        here = lines[mark.line]
    below = lines[mark.line + 1 :]
    after = here[mark.column :]
    is_end = not any(line.strip() for line in (after, *below))
    if not is_end and not after.strip():
        after = below[0]
    opened = ""
    if start.line < len(lines):
        opened = lines[start.line][start.column :].strip()
    return _Place(
        line=mark.line + 1,
        start=start.line + 1,
        text=here,
        before=here[: mark.column],
        after=after,
        opened=opened,
        is_end=is_end,
    )


def _meaning(error: MarkedYAMLError, place: _Place) -> str | None:
    """Say what the scanner's message means for who wrote the file; None if not known."""
    described = (
        f"{error.context or ''}; {error.problem or ''}\n{place.before}\n{place.after}"
    )
    bracket = place.opened[:1]
    name = re.match(r"\*[\w-]+", place.after)
    alias = "*"
    if name is not None:
        alias = name[0]
    for pattern, meaning in _MEANINGS.items():
        if re.search(pattern, described):
            return meaning.format(
                char=place.after[:1],
                start=place.start,
                started=shortened(place.opened),
                bracket=bracket,
                close=_CLOSING.get(bracket, "its bracket"),
                alias=alias,
            )
    return None
