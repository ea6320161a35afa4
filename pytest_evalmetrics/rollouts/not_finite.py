"""Bare NaN and Infinity, which JSON has not: something else stands in for them while decoding.

Python writes them, and the fast decoder refuses them. A number that no row holds takes their
place in the text, and they take its place among the values.
"""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["restored", "with_stand_ins"]

_WORDS: Final = (b"NaN", b"Infinity")
# seventeen digits near the smallest floats: nobody's score
_STAND_INS: Final[dict[bytes, bytes]] = {
    b"NaN": b"-3.1738582604951726e-291",
    b"Infinity": b"-4.2649371850362817e-292",
    b"-Infinity": b"-5.3928461730295138e-293",
}
_VALUES: Final = {
    float(b"-3.1738582604951726e-291"): math.nan,
    float(b"-4.2649371850362817e-292"): math.inf,
    float(b"-5.3928461730295138e-293"): -math.inf,
}
_EXPONENTS: Final = (b"e-29", b"E-29")  # of the three: rows that hold such are read the slow way
_NEAR: Final = 16  # bytes before a word in which its neighbours are looked for
_begins = re.compile(rb"[:,\[][ \t\r]*\Z").search
_ends = re.compile(rb"[ \t\r\n]*[,}\]]").match
# this quote is no escaped one, and none that opens a text: it ends a key
_key_before = re.compile(rb'[A-Za-z0-9_]"[ \t\r]*:[ \t\r]*\Z').search


def with_stand_ins(buffer: bytearray, end: int) -> bytes | None:
    """Write rows without bare NaN and Infinity."""
    bare = list(_bare(buffer, end))
    if not bare or any(buffer.find(exponent, 0, end) >= 0 for exponent in _EXPONENTS):
        return None
    view = memoryview(buffer)
    pieces: list[bytes | memoryview] = []
    for (_, before), (start, stop) in pairwise([(0, 0), *bare]):
        pieces += [view[before:start], _STAND_INS[bytes(view[start:stop])]]
    return b"".join([*pieces, view[bare[-1][1] : end]])


def restored(values: Sequence[Any]) -> Sequence[Any]:
    """Give what stood in the file."""
    if not any(value in values for value in _VALUES):
        return values
    return [_VALUES.get(value, value) if type(value) is float else value for value in values]


def _bare(buffer: bytearray, end: int) -> Iterator[tuple[int, int]]:
    """Find where such words start and stop that stand as values outside of texts."""
    outside = 0  # the last place that is known to be
    for start, stop in sorted(_candidates(buffer, end)):
        if not _key_before(buffer, max(0, start - _NEAR), start):
            line = buffer.rfind(b"\n", outside, start) + 1  # no text goes on over a line's end
            if _quotes(buffer[max(outside, line) : start]) % 2:
                continue
        outside = start
        yield start, stop


def _candidates(buffer: bytearray, end: int) -> Iterator[tuple[int, int]]:
    for word in _WORDS:
        at = buffer.find(word, 0, end)
        while at >= 0:
            stop = at + len(word)
            start = at - 1 if word == b"Infinity" and buffer[at - 1 : at] == b"-" else at
            if _begins(buffer, max(0, start - _NEAR), start) and _ends(buffer, stop, end):
                yield start, stop
            at = buffer.find(word, stop, end)


def _quotes(text: bytearray) -> int:
    """Count the quotes that start or end a text."""
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    return text.count(b'"')
