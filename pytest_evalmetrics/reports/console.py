"""Text that fits the columns of a terminal, and links that it opens."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CUT = "..."
_INDENT = 6  # of a line that goes on
_RIGHT_TO_LEFT = frozenset(("R", "AL", "AN", "RLE", "RLO", "RLI"))
_ISOLATE = "\u2068"
_END_OF_ISOLATE = "\u2069"

# -- columns ---------------------------------------------------------------------------------


def columns_of(text: str) -> int:
    """Count the columns that a text takes: wide letters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def _columns(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    if unicodedata.category(letter) in ("Mn", "Cf"):
        return 0
    if unicodedata.east_asian_width(letter) in ("W", "F"):
        return 2
    return 1


def padded(text: str, width: int) -> str:
    """Fill a text with spaces up to a number of columns."""
    return text + " " * (width - columns_of(text))


def beginning(text: str, width: int) -> str:
    """Keep what fits of a text, up to the end of a word where there is one."""
    if columns_of(text) <= width:
        return text
    room = width - columns_of(CUT)
    letters = text[: _letters_within(text, room)]
    words = letters.rpartition(" ")[0]
    kept = letters
    if words.strip():
        kept = words
    return f"{kept.rstrip(' ,;:')}{CUT}"


def both_ends(text: str, width: int) -> str:
    """Keep the first and the last letters that fit of a text: agents conclude at the end."""
    if columns_of(text) <= width:
        return text
    half = (width - columns_of(CUT)) // 2
    first = _letters_within(text, half)
    last = _letters_within(text[::-1], half)
    end = text[len(text) - last :]
    return f"{text[:first]}{CUT}{end}"


def _letters_within(text: str, width: int) -> int:
    """Count the first letters that fit."""
    letters = 0
    columns = 0
    for letter in text:
        columns += _columns(letter)
        if columns > width:
            break
        letters += 1
    return letters


# -- lines -----------------------------------------------------------------------------------


def broken(text: str, width: int | None, indent: int = _INDENT) -> list[str]:
    """Break a text between words; what goes on is indented."""
    if width is None or columns_of(text) <= width:
        return [text]
    words = text.lstrip(" ")
    begins = " " * (len(text) - len(words))
    # two spaces side by side stay
    return filled(words.split(" "), width, indent=indent, begins=begins)


def filled(
    parts: Sequence[str],
    width: int,
    *,
    indent: int = _INDENT,
    begins: str = "",
) -> list[str]:
    """Fill lines with parts, none of which is broken unless it is longer than a line."""
    first, *others = parts
    lines: list[str] = []
    line = f"{begins}{first}"
    for part in others:
        longer = f"{line} {part}"
        if columns_of(longer.rstrip()) <= width:
            line = longer
        else:
            lines.append(line.rstrip())
            line = " " * indent + part
    lines.append(line)
    return lines


def limited(lines: Sequence[str], most: int, width: int | None) -> list[str]:
    """Keep the first lines; the last of them is cut where there are more."""
    if width is None or len(lines) <= most:
        return list(lines)
    last, *others = lines[most - 1 :]
    rest = " ".join([last, *(line.strip() for line in others)])
    return [*lines[: most - 1], beginning(rest, width)]


# -- what is written from right to left ------------------------------------------------------


def isolated(text: str) -> str:
    """Keep a text that is written from right to left from moving what stands beside it."""
    if text.isascii():
        return text
    directions = set(map(unicodedata.bidirectional, text))
    if directions.isdisjoint(_RIGHT_TO_LEFT):
        return text
    return f"{_ISOLATE}{text}{_END_OF_ISOLATE}"


# -- links -----------------------------------------------------------------------------------

_NO_LINKS = ("", "dumb", "linux", "emacs")


def opens_links(environ: Mapping[str, str], *, is_terminal: bool) -> bool:
    """Whether a terminal is one that shows links (OSC 8); others ignore them."""
    forced = environ.get("FORCE_HYPERLINK")
    if forced is not None:
        return forced not in ("", "0")
    return is_terminal and environ.get("TERM", "") not in _NO_LINKS


def linked(text: str, address: str) -> str:
    """Write a text that opens an address."""
    return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"
