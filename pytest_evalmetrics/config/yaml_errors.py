"""Syntax errors of YAML in plain words, for the messages of libyaml and of PyYAML's scanner."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from yaml import MarkedYAMLError

_BREAK = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")  # what YAML 1.1 scanners count as lines
_LONG = 40
_KEY = r"block mapping; (?:did not find expected key|expected <block end>).*\n"
_CONTENT = "expected (?:the )?node content"
# Patterns of three lines: what the scanner says, and its line before and after where it stopped.
_MEANINGS = {
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
    _KEY + r"(?!\s*-?[^\S\n]*\n).": "there is text after the end of a value: put quotes around "
    "the whole of it",
    _KEY + r".*\n:": "there is no key before this ':'",
    _KEY + r"[^\S\n]*(?:-|\n-[^\S\n])": "this list item fits neither a list above nor the keys "
    "that start on line {start}: check its indentation",
    _KEY: "the indentation of this line fits none of the lines above",
    "block (?:collection|sequence); (?:did not find expected '-'|expected <block end>)": "expected "
    "'- ', because a list starts on line {start}",
    "scalar; found unexpected (?:end of stream|document)": "the quote that is opened on line "
    "{start} is never closed",
    _CONTENT + r".*\n.*\n\s*\Z": "the file ends where a value was expected: is a '[' or '{{' left "
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
    "Unicode character escape": r"this \u escape is no character: write the character itself",
}


def explain(error: MarkedYAMLError, text: str) -> tuple[int, str]:
    """Return the line of a syntax error, and what is wrong there."""
    mark = error.problem_mark or error.context_mark
    start = error.context_mark or mark  # of what is open
    unlisted = ": ".join(part for part in (error.context, error.problem) if part)
    if mark is None or start is None:
        return 1, f"this is no YAML: {unlisted}"
    lines = [*_BREAK.split(text), ""]
    here, *below = lines[mark.line :] or [""]
    before, after = here[: mark.column], here[mark.column :]
    if re.match(r" *\t", here):
        return mark.line + 1, f"line {mark.line + 1} is indented with a tab; YAML wants spaces"
    at_end = not any(line.strip() for line in (after, *below))
    if not at_end and not after.strip():
        after = below[0]
    opened = lines[start.line][start.column :].strip() if start.line < len(lines) else ""
    alias = re.match(r"\*[\w-]+", after)
    for pattern, meaning in _MEANINGS.items():
        if re.search(pattern, f"{error.context or ''}; {error.problem or ''}\n{before}\n{after}"):
            line = min(start.line if at_end else mark.line, len(lines) - 2)
            return line + 1, meaning.format(
                char=after[:1],
                start=start.line + 1,
                started=opened if len(opened) <= _LONG else opened[: _LONG - 1] + "…",
                bracket=opened[:1],
                close={"[": "]", "{": "}"}.get(opened[:1], "its bracket"),
                alias=alias[0] if alias else "*",
            )
    return mark.line + 1, f"this is no YAML: {unlisted}"
