"""Rows of JSON text to chunks: decoded many at a time, or parsed one by one where they differ."""

from __future__ import annotations

import codecs
import json
import math
import re
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts.json_columns import Columns
from pytest_evalmetrics.rollouts.row_schema import Decoder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_evalmetrics.rollouts.json_files import Block
    from pytest_evalmetrics.rollouts.loader import Chunk, Request
    from pytest_evalmetrics.rollouts.row_schema import Record
    from pytest_evalmetrics.rollouts.source import Source, SourceRow

_DIGITS = 640  # int() refuses longer ones; half of these are too many for a float64 already
_SHOWN = 40  # characters of the text around a mistake
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
AHEAD = 64  # rows that are learnt from together, so that making a decoder is rare


def parse(row: SourceRow, source: Source) -> dict[str, Any]:
    """Read a row as the standard library does: NaN, Infinity and half surrogates allowed."""
    text = str(row.text, "utf-8")
    try:
        value = json.loads(text, parse_int=_shortened_int)
    except json.JSONDecodeError as error:
        raise _broken(text, error, row, source) from error
    except RecursionError as error:
        raise source.error("this row is nested too deeply to be read", row) from error
    if not isinstance(value, dict):
        raise source.error(
            f"this row is no JSON object: found {short(text)}",
            row,
            hint='each row is an object such as {"_ng_task_index": 0, "reward": 1.0}',
        )
    return value


def decode_row(row: SourceRow, source: Source) -> dict[str, Any]:
    """Decode a whole row, the fast way where it is plain JSON."""
    try:
        value = msgspec.json.decode(row.text)
    except (msgspec.DecodeError, RecursionError):  # NaN, or `parse` says what is wrong
        value = None
    return value if isinstance(value, dict) else parse(row, source)


def check_utf8(buffer: bytearray, end: int, line: int, source: Source) -> None:
    """Refuse text that is not UTF-8; msgspec does not look at what it skips."""
    few = 2 * end < len(buffer)
    if (bytes(memoryview(buffer)[:end]) if few else buffer).isascii():
        return
    try:
        codecs.utf_8_decode(memoryview(buffer)[:end], "strict", True)
    except UnicodeDecodeError as error:
        raise source.error(
            f"this is not UTF-8 text: found the byte 0x{buffer[error.start]:02x}",
            line=line + buffer.count(b"\n", 0, error.start),
            hint="save the file as UTF-8",
        ) from error


def _shortened_int(digits: str) -> int:
    return int(digits[:_DIGITS])


def _broken(text: str, error: json.JSONDecodeError, row: SourceRow, source: Source) -> DataError:
    what = "row" if source.unit == "row" else "line"
    cut = error.pos >= len(text.rstrip()) or not text.rstrip().endswith("}")
    if what == "line" and text.lstrip().startswith("{") and cut and _is_last(row, source):
        return source.error(
            "the file ends in the middle of a row: was the run interrupted?",
            row,
            hint="delete this line, or run again what is missing",
        )
    if what == "line" and text.strip() == "{":
        return source.error(
            "this line is no JSON object: it holds only its opening brace",
            row,
            hint="write each row on one line, or all rows as one JSON array",
        )
    start = max(0, error.pos - _SHOWN // 2)
    return source.error(
        f"this {what} is no JSON: {error.msg.removesuffix(' at')} at column {error.pos + 1}, "
        f"near {short(text[start:])}",
        row,
        hint="was it cut off, or written by two processes at once? mend or delete it",
    )


def _is_last(row: SourceRow, source: Source) -> bool:
    with source.open() as stream:
        for number, text in enumerate(stream, 1):
            if number > row.line and text.strip():
                return False
    return True


def short(text: str) -> str:
    """Quote a text for a message, cut short."""
    text = text.strip()
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


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


class RowReader:
    """Reads the rows of JSON files; what it learns from one file helps with the next."""

    def __init__(self, request: Request, ahead: int = AHEAD) -> None:
        self._ahead = ahead
        self._columns = Columns(request)
        self._wary = False  # the last rows were not all fit for the fast path

    @cached_property
    def _decoder(self) -> Decoder:
        return Decoder(self._columns.root)

    def lines(self, lines: Block, source: Source) -> Iterator[Chunk]:
        """Read a block of lines, all of them at once if they are like those before."""
        chunk = None
        if self._columns.root.kinds:
            chunk = self._at_once(lines, source)
        else:  # rows are mostly alike: one may tell all
            for most in (1, self._ahead):
                self._look_ahead(lines.rows(most), source)
                self._decoder = Decoder(self._columns.root)
                chunk = self._at_once(lines, source)
                if chunk is not None:
                    break
        if chunk is not None:
            yield chunk
        else:
            yield from self.rows(lines.rows(), source)

    def _at_once(self, lines: Block, source: Source) -> Chunk | None:
        """Read a block that holds nothing but rows like those before."""
        chunk = None if self._wary else self._decoded(lines, lines.text, source)
        if chunk is None:
            text = lines.with_stand_ins()
            chunk = None if text is None else self._decoded(lines, text, source)
            self._wary = self._wary or chunk is not None  # the next may be as this one
        return chunk

    def _decoded(self, lines: Block, text: memoryview | bytes, source: Source) -> Chunk | None:
        try:
            rows = self._decoder.lines(text)
        except (msgspec.DecodeError, RecursionError):
            return None
        places = lines.places(len(rows)) if rows else None
        if places is None:
            return None
        decoded = self._decoder.look_into(rows)
        if decoded.suspects():
            return None
        values = decoded.values()
        finite = text is lines.text
        if not finite:
            values = {n: v if n.whole else restored(v) for n, v in values.items()}
        return self._columns.chunk(
            values,
            places,
            {},
            lambda index: self._learn(lines.rows()[index], source),
            finite=finite,
        )

    def rows(self, rows: Sequence[SourceRow], source: Source) -> Iterator[Chunk]:
        """Read rows one by one, learning from those that the decoder refuses."""
        self._wary = False
        run = _Run(self._columns, self._decoder, rows, source)
        for index, row in enumerate(rows):
            try:
                run.rows.append(self._decoder.one(row.text))
            except (msgspec.DecodeError, RecursionError):
                new = run.look_back()
                if not run.learn() and not new:
                    self._wary = True
                    continue
                self._look_ahead(rows[index + 1 : index + self._ahead], source)
                yield run.chunk()
                self._decoder = Decoder(self._columns.root)
                run = _Run(self._columns, self._decoder, rows[index + 1 :], source)
        new = run.look_back()
        if run.rows:
            yield run.chunk()
        if new:
            self._decoder = Decoder(self._columns.root)

    def _look_ahead(self, rows: Sequence[SourceRow], source: Source) -> None:
        for row in rows:
            try:
                value = parse(row, source)
            except DataError:  # its turn comes
                return
            self._columns.learn(value, row, source)

    def _learn(self, row: SourceRow, source: Source) -> None:
        self._columns.learn(parse(row, source), row, source)


class _Run:
    """Consecutive rows that go through one decoder."""

    def __init__(
        self, columns: Columns, decoder: Decoder, texts: Sequence[SourceRow], source: Source
    ) -> None:
        self._columns = columns
        self._decoder = decoder
        self._texts = texts
        self._source = source
        self._odd: dict[int, Record] = {}
        self._seen = 0
        self.rows: list[Any] = []  # the decoded ones

    def look_back(self) -> bool:
        """Learn from the decoded rows that hold a number in a place that was not decoded."""
        new = False
        start, self._seen = self._seen, len(self.rows)
        if not self._decoder.watches:
            return False
        for index in self._decoder.look_into(self.rows[start:]).suspects():
            new = self._learn(start + index) or new
        return new

    def learn(self) -> bool:
        """Learn from the next row, which was not decoded."""
        self.rows.append(self._decoder.blank)
        self._seen = len(self.rows)
        return self._learn(self._seen - 1)

    def _learn(self, index: int) -> bool:
        row = self._texts[index]
        self._odd[index], new = self._columns.learn(parse(row, self._source), row, self._source)
        return new

    def chunk(self) -> Chunk:
        """Make columns of the rows."""
        count = len(self.rows)
        places = np.fromiter((row.place for row in self._texts[:count]), np.int64, count)
        values = self._decoder.look_into(self.rows).values()
        return self._columns.chunk(values, places, self._odd, self._learn, finite=not self._odd)
