"""Syntax errors of YAML, for the messages of libyaml and of PyYAML's scanner."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_evalmetrics.errors import Problem

if TYPE_CHECKING:
    from yaml.error import MarkedYAMLError

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


def explain(error: MarkedYAMLError, text: str) -> tuple[int, str]:
    """Return the line and the description of a syntax error."""
    mark = error.problem_mark or error.context_mark
    start = error.context_mark or mark  # of the unclosed bracket or quote
    unlisted = ": ".join(part for part in (error.context, error.problem) if part)
    if mark is None or start is None:
        return 1, f"this is not YAML: {unlisted}"
    lines = [*_BREAK.split(text), ""]
    here, *below = lines[mark.line :] or [""]
    before = here[: mark.column]
    after = here[mark.column :]
    if re.match(r" *\t", here):
        return (
            mark.line + 1,
            f"line {mark.line + 1} is indented with a tab; YAML wants spaces",
        )
    at_end = not any(line.strip() for line in (after, *below))
    if not at_end and not after.strip():
        after = below[0]
    opened = ""
    if start.line < len(lines):
        opened = lines[start.line][start.column :].strip()
    alias = re.match(r"\*[\w-]+", after)
    described = f"{error.context or ''}; {error.problem or ''}\n{before}\n{after}"
    for pattern, meaning in _MEANINGS.items():
        if re.search(pattern, described):
            line = mark.line
            if at_end:
                line = start.line
            bracket = opened[:1]
            message = meaning.format(
                char=after[:1],
                start=start.line + 1,
                started=_shorten(opened, 40),
                bracket=bracket,
                close=_CLOSING.get(bracket, "its bracket"),
                alias="*" if alias is None else alias[0],
            )
            return min(line, len(lines) - 2) + 1, message
    return mark.line + 1, f"this is not YAML: {unlisted}"


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
