"""Layout of JSON and of text for people."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

T = TypeVar("T")
# json.dumps makes one each time
_SPACED: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_DIGITS: Final = re.compile("([0-9]+)")
_ISOLATE = "\u2068"
_END_OF_ISOLATE = "\u2069"


def spaced(value: object) -> str:
    """Write builtins for reading: ``[1, 0]``."""
    return _SPACED.encode(value)


def untrusted(value: object) -> str:
    """Write data as JSON on one line, which no text in it can end, without invisible characters."""
    text = _SPACED.encode(value)
    if text.isprintable():
        return text
    letters = []
    for letter in text:
        if letter.isprintable():
            letters.append(letter)
        else:
            escape = json.dumps(letter)
            letters.append(escape[1:-1])
    return "".join(letters)


def compact(value: object) -> str:
    """Write builtins for machines: ``[1,0]``, ten times as fast."""
    return msgspec.json.encode(value).decode()


def shown(value: object, most: int = 160) -> str:
    """Write a value as JSON for a message, cut short."""
    return shortened(json.dumps(value, ensure_ascii=False, default=str), most)


def shortened(text: str, length: int = 40) -> str:
    """Cut a text short on a line."""
    if len(text) <= length:
        return text
    return f"{text[:length]}…"


def one_per_line(entries: Mapping[str, object], indent: int) -> str:
    """Write an object, closed after `indent` spaces, with each entry on one line of a diff."""
    if not entries:
        return "{}"
    margin = " " * indent
    lines = [
        f"{margin}  {spaced(key)}: {spaced(value)}" for key, value in entries.items()
    ]
    text = ",\n".join(lines)
    return f"{{\n{text}\n{margin}}}"


_OF_MANY = {"": "", "is": "are", "has": "have", "was": "were", "counts": "count"}


def many(count: int, what: str, verb: str = "") -> str:
    """Count things: ``1 task``, ``2 tasks``; with a verb ``1 task is``, ``2 tasks are``."""
    things = what
    if count != 1:
        things = f"{what}s"
    return f"{count} {things} {verb_of(count, verb)}".rstrip()


def of_many(part: int, whole: int, what: str, verb: str = "") -> str:
    """Count a part of things: ``1 of 3 tasks has``, ``2 of 3 tasks have``."""
    return f"{part} of {many(whole, what)} {verb_of(part, verb)}".rstrip()


def verb_of(count: int, verb: str) -> str:
    """Write a verb for a number of things: ``is`` for one, ``are`` for several."""
    if count == 1:
        return verb
    return _OF_MANY[verb]


def amount(value: float) -> str:
    """Write an amount in four digits, never with an exponent."""
    from decimal import Decimal  # rare

    return format(Decimal(f"{value:.4g}"), "f")


def capped(
    lines: Sequence[str], most: int, rest: str, count: int | None = None
) -> list[str]:
    """Keep the first lines, and write one for the rest of `count`."""
    if count is None:
        count = len(lines)
    kept = list(lines[:most])
    if count > most:
        kept.append(rest.format(count - most))
    return kept


def natural_key(name: object) -> tuple[tuple[int, str], ...]:
    """Return a key that sorts names as people count: ``task 2`` before ``task 10``."""
    parts = _DIGITS.split(str(name))
    key = []
    # words and digits take turns; digits are compared by length first, then letter by letter
    for at, part in enumerate(parts):
        if at % 2:
            digits = part.lstrip("0")
            key.append((len(digits), digits))
        else:
            key.append((0, part))
    return tuple(key)


def in_natural_order(names: Iterable[T]) -> list[T]:
    """Sort names as people count: ``task 2`` before ``task 10``."""
    return sorted(names, key=natural_key)


def listed(names: Sequence[object], most: int = 10, count: int | None = None) -> str:
    """Write the first names, and how many more there are of `count`: ``a, b and 3 more``."""
    if count is None:
        count = len(names)
    named = names[:most]
    text = ", ".join(map(str, named))
    if count > len(named):
        text += f" and {count - len(named)} more"
    return text


def visible(text: str) -> str:
    r"""Write line breaks and control characters as escapes: ``\n``.

    A task's id may hold anything. In a log a line break would begin a line, which CI systems take
    commands from (``::stop-commands::``), and an escape sequence would paint the terminal.
    Isolates of text from right to left are kept where each is ended.
    """
    if text.isprintable():
        return text
    kept: tuple[str, ...] = ()
    if _ends_isolates(text):
        kept = (_ISOLATE, _END_OF_ISOLATE)
    letters = []
    for letter in text:
        if letter.isprintable() or letter in kept:
            letters.append(letter)
        else:
            letters.append(letter.encode("unicode_escape").decode())
    return "".join(letters)


def _ends_isolates(text: str) -> bool:
    """Whether each isolate begins before it ends, and ends."""
    depth = 0
    for letter in text:
        if letter == _ISOLATE:
            depth += 1
        elif letter == _END_OF_ISOLATE:
            depth -= 1
        if depth < 0:
            return False
    return depth == 0


def visible_lines(text: str) -> str:
    """Write a text of several lines, each as `visible` does."""
    return "\n".join(map(visible, text.split("\n")))
