"""Rows of JSON text to chunks: decoded many at a time, or parsed one by one where they differ."""

from __future__ import annotations

import codecs
import json
import math
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from pytest_evalmetrics.rollouts.json_columns import Columns
from pytest_evalmetrics.rollouts.row_schema import Decoder
from pytest_evalmetrics.rollouts.source import ENOUGH, short

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_evalmetrics.errors import DataError
    from pytest_evalmetrics.rollouts.json_files import Block
    from pytest_evalmetrics.rollouts.loader import Chunk, Request
    from pytest_evalmetrics.rollouts.row_schema import Record
    from pytest_evalmetrics.rollouts.source import Source, SourceRow

_DIGITS = 640  # int() refuses longer ones; half of these are too many for a float64 already
_SHOWN = 40  # characters of the text around a mistake
# Bare NaN and Infinity, which msgspec refuses, are decoded as numbers that are nobody's score.
# Where this changes a text, that is undone as well.
_NAN: Final = b"3.1738582604951726e-291"
_INFINITY: Final = b"4.2649371850362817e-292"
_EXPONENTS: Final = (b"e-29", b"E-29")  # of both: rows that hold such are read the slow way
_VALUES: Final = {
    float(_NAN): math.nan,
    float(_INFINITY): math.inf,
    -float(_INFINITY): -math.inf,
}
# the words stand first, so that `re` searches for them before it looks at what is around them
_is_nan = re.compile(rb"NaN(?<=[:,\[ \t\r]NaN)(?=[ \t\r\n]*[,}\]])")
_is_infinity = re.compile(rb"Infinity(?<=[:,\[ \t\r-]Infinity)(?=[ \t\r\n]*[,}\]])")
AHEAD = 64  # rows that are learnt from together, so that making a decoder is rare
_CONTAINERS: Final = frozenset({dict, list})
_SMALL: Final = 1 << 18  # bytes of a file of which every row is checked for duplicate keys
_CHECKED: Final = 3  # rows of each block that are, in larger files


class DuplicateKeyError(ValueError):
    """An object holds one key twice."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        raise DuplicateKeyError(next(key for key in keys if keys.count(key) > 1))
    return value


decode = json.JSONDecoder(
    parse_int=lambda digits: int(digits[:_DIGITS]), object_pairs_hook=_unique
).decode
_decode_lines = msgspec.json.Decoder().decode_lines


def parse(row: SourceRow, source: Source) -> dict[str, Any]:
    """Read a row as the standard library does: NaN, Infinity and half surrogates allowed."""
    text = str(row.text, "utf-8")
    try:
        value = decode(text)
    except json.JSONDecodeError as error:
        raise _broken(text, error, row, source) from error
    except RecursionError as error:
        raise source.error("this row is nested too deeply to be read", row) from error
    except DuplicateKeyError as error:
        raise source.error(
            f"the key {str(error)!r} stands twice in one object of this row",
            row,
            hint="only one of the values can be meant: write the key once",
        ) from error
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
        lines = row.line  # that are still to be skipped
        while text := stream.read(ENOUGH):
            skipped = min(text.count(b"\n"), lines)
            lines -= skipped
            if not lines and text.split(b"\n", skipped)[-1].strip():
                return False
    return True


def with_stand_ins(text: memoryview) -> bytes | None:
    """Write numbers in place of bare NaN and Infinity; None where there are none."""
    plain = bytes(text)
    if any(exponent in plain for exponent in _EXPONENTS):
        return None
    written = _is_infinity.sub(_INFINITY, _is_nan.sub(_NAN, plain))
    return None if written == plain else written


def restored(values: Sequence[Any]) -> Sequence[Any]:
    """Put back what numbers stand in for."""
    has_text = {str, msgspec.Raw} & set(map(type, values))
    if not has_text and not any(value in values for value in _VALUES):
        return values
    return [_restored(value) for value in values]


def _restored(value: Any) -> Any:
    if type(value) is float:
        return _VALUES.get(value, value)
    if type(value) is str:
        return value.replace(_NAN.decode(), "NaN").replace(_INFINITY.decode(), "Infinity")
    if type(value) is msgspec.Raw:
        text = bytes(value)
        plain = text.replace(_NAN, b"NaN").replace(_INFINITY, b"Infinity")
        return value if plain == text else msgspec.Raw(plain)
    return value


def _hold_each_key_once(text: bytes) -> bool:
    """Tell of most texts without duplicate keys that there are none, at a tenth of the cost."""
    if b'" ' in text or b'"\t' in text:  # then a key and its colon may stand apart
        return False
    try:
        return _count_keys(_decode_lines(text)) == text.count(b'":')
    except (msgspec.DecodeError, RecursionError):
        return False


def check_keys(rows: Sequence[SourceRow], source: Source, *, first: bool) -> None:
    """Refuse keys that stand twice: in all of a file's first rows if they are few, else in some."""
    few = first and sum(len(row.text) for row in rows) < _SMALL
    for row in rows if few else rows[:_CHECKED]:
        parse(row, source)


def _count_keys(values: list[Any]) -> int:
    count = 0
    while values:
        objects = [value for value in values if type(value) is dict]
        count += sum(map(len, objects))
        inner: list[Any] = [value.values() for value in objects]
        inner += [value for value in values if type(value) is list]
        values = [each for some in inner for each in some if type(each) in _CONTAINERS]
    return count


class RowReader:
    """Reads the rows of JSON files; what it learns from one file helps with the next."""

    def __init__(self, request: Request, ahead: int = AHEAD) -> None:
        self._ahead = ahead
        self._columns = Columns(request)
        self._wary = False  # the last rows were not all fit for the fast path

    @cached_property
    def _decoder(self) -> Decoder:
        return Decoder(self._columns.root)

    def lines(self, block: Block, source: Source) -> Iterator[Chunk]:
        """Read a block of lines, all of them at once if they are like those before."""
        chunk = None
        if self._columns.root.kinds:
            chunk = self._at_once(block, source)
        else:  # rows are mostly alike: one may tell all
            for most in (1, self._ahead):
                self._look_ahead(block.rows(most), source)
                self._decoder = Decoder(self._columns.root)
                chunk = self._at_once(block, source)
                if chunk is not None:
                    break
        if chunk is None:
            yield from self.rows(block.rows(), source)
            return
        self._check_keys(block, source)
        yield chunk

    @staticmethod
    def _check_keys(block: Block, source: Source) -> None:
        """Refuse keys that stand twice: in all rows of a small file, else in some."""
        is_small = block.first == 1 and len(block.text) < _SMALL
        if not (is_small and _hold_each_key_once(bytes(block.text))):
            check_keys(block.rows(None if is_small else _CHECKED), source, first=is_small)

    def _at_once(self, block: Block, source: Source) -> Chunk | None:
        """Read a block that holds nothing but rows like those before."""
        chunk = None if self._wary else self._decoded(block, block.text, source)
        if chunk is None:
            text = with_stand_ins(block.text)
            chunk = None if text is None else self._decoded(block, text, source)
            self._wary = self._wary or chunk is not None  # the next may be as this one
        return chunk

    def _decoded(self, block: Block, text: memoryview | bytes, source: Source) -> Chunk | None:
        try:
            rows = self._decoder.lines(text)
        except (msgspec.DecodeError, RecursionError):
            return None
        places = block.places(len(rows)) if rows else None
        if places is None:
            return None
        decoded = self._decoder.look_into(rows)
        if decoded.suspects():
            return None
        values = decoded.values()
        finite = text is block.text
        if not finite:
            values = {node: restored(column) for node, column in values.items()}
        return self._columns.chunk(
            values,
            places,
            {},
            lambda index: self._learn(block.rows()[index], source),
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
            self._learn(row, source)

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
