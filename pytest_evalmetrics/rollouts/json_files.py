"""The loaders of JSON Lines and JSON arrays: rows are cut out, and decoded into columns."""

from __future__ import annotations

from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Final
from zlib import crc32

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.rollouts.columns import Columns
from pytest_evalmetrics.rollouts.json_text import decode_row, has_unique_keys, parse
from pytest_evalmetrics.rollouts.row_blocks import (
    BLOCK,
    Rows,
    Window,
    must_have_ended,
    rows_of_array,
    split_lines,
    split_objects,
)
from pytest_evalmetrics.rollouts.row_schema import Decoder, Record, object_decoder
from pytest_evalmetrics.rollouts.row_values import Values
from pytest_evalmetrics.rollouts.source import Source, SourceRow, short

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.rollouts.loader import Chunk, Request

# rows that are learnt from together, so that making a decoder is rare
_AHEAD: Final = 64
# bytes of a file, up to which each row is checked for duplicate keys
_SMALL: Final = 1 << 18
_LARGE_ROW: Final = 512  # bytes: more take longer to read again than to sum up a part
_MIDDLE: Final = 64  # bytes of a row's middle
_RECOGNISED: Final = "leave `format:` out, so that it is recognised"


class JsonLines:
    """Reads JSON Lines, also with blank lines, a byte-order mark and CRLF."""

    block = BLOCK

    def __init__(self, request: Request) -> None:
        self._columns = Columns(request)
        self._keeps_rows = request.whole
        self.lines = 0  # of the last file, or of the part of it that was to be read

    @cached_property
    def _decoder(self) -> Decoder:
        return object_decoder(self._columns.root)

    def read(self, source: Source) -> Iterator[Chunk]:
        """Read one file."""
        for block, rows in enumerate(self._blocks(source)):
            _must_have_unique_keys(rows, source, is_first=block == 0)
            yield from self._decode(rows, source)
        self._columns.must_be_clear(source)

    def texts(self, source: Source) -> Iterator[SourceRow]:
        """Yield the rows, see `TextLoader`."""
        for rows in self._blocks(source):
            yield from map(rows.row, range(len(rows.texts)))

    def _blocks(self, source: Source) -> Iterator[Rows]:
        """Split the file into rows, without the blank lines."""
        source.must_be_text()
        if source.is_array:
            raise source.error("this is a JSON array, not JSON Lines", hint=_RECOGNISED)
        with source.open() as stream:
            window = Window(stream, source, self.block)
            while count := window.fill():
                last_break = window.buffer.rfind(b"\n", window.end - count, window.end)
                if last_break < 0:
                    continue
                breaks = window.breaks(last_break + 1)
                self.lines = window.line + len(breaks) - 1
                yield split_lines(window, breaks)
                window.drop(last_break + 1, len(breaks))
            if window.end:
                self.lines = window.line
                yield split_lines(window, np.array([window.end]))

    def _decode(self, rows: Rows, source: Source) -> Iterator[Chunk]:
        """Decode rows, learning from those that the decoder refuses."""

        def learn(index: int) -> tuple[Record, bool]:
            row = rows.row(index)
            return self._columns.learn(parse(row, source), row, source)

        start = 0
        count = len(rows.texts)
        if count and not self._columns.root.kinds:
            # rows are alike: one may show all columns
            learn(0)
        while start < count:
            decoded: list[msgspec.Struct] = []
            parsed: dict[int, Record] = {}
            new = False
            decode = self._decoder.decode
            blank = self._decoder.blank
            for text in islice(rows.texts, start, None):
                try:
                    decoded.append(decode(text))
                except (msgspec.DecodeError, RecursionError):
                    parsed[len(decoded)], new = learn(start + len(decoded))
                    decoded.append(blank)
                    if new:
                        break
            stop = start + len(decoded)
            values = Values(
                rows.places[start:stop],
                dict(self._decoder.values(decoded)),
                lambda index: learn(start + index),  # noqa: B023 - called at once
                parsed=parsed,
            )
            chunk = self._columns.chunk(values, source)
            yield self._with_rows(chunk, rows, slice(start, stop), source)
            start = stop
            if new:
                for index in range(start, min(start + _AHEAD, count)):
                    learn(index)
                self._decoder = object_decoder(self._columns.root)

    def _with_rows(
        self, chunk: Chunk, rows: Rows, span: slice, source: Source
    ) -> Chunk:
        """Add to a chunk what only the texts of its rows tell."""
        # only rows without a sample may be copies that are taken for attempts
        if None in chunk.sample:
            chunk = structs.replace(chunk, marks=_marks(rows.texts[span]))
        if self._keeps_rows:
            indexes = range(span.start, span.stop)
            records = [decode_row(rows.row(index), source) for index in indexes]
            chunk = structs.replace(chunk, records=records)
        return chunk


class JsonArray(JsonLines):
    """Reads a JSON array of objects, or objects that span lines, one below the other."""

    def _blocks(self, source: Source) -> Iterator[Rows]:
        """Split the array into rows, and check the text between them."""
        source.must_be_text()
        if source.is_objects:
            yield split_objects(source)
            return
        if not source.is_array:
            start = short(source.head.decode(errors="replace"))
            raise source.error(
                f"not a JSON array: it starts with {start}", hint=_RECOGNISED
            )
        with source.open() as stream:
            window = Window(stream, source, self.block)
            yield from rows_of_array(window)
            must_have_ended(window)


def _must_have_unique_keys(rows: Rows, source: Source, *, is_first: bool) -> None:
    """Refuse duplicate keys: in all rows of a small file, else in one row of a block."""
    checked = range(min(1, len(rows.texts)))
    if is_first and sum(map(len, rows.texts)) < _SMALL:
        if has_unique_keys(rows.texts):
            return
        checked = range(len(rows.texts))
    for index in checked:
        parse(rows.row(index), source)


def _marks(texts: Sequence[bytes | memoryview]) -> NDArray[np.int64]:
    """Mark rows by their size, and large ones also by a checksum of their middle."""
    marks = []
    for text in texts:
        mark = len(text)
        if mark > _LARGE_ROW:
            middle = mark // 2
            mark = mark << 32 | crc32(text[middle : middle + _MIDDLE])
        marks.append(mark)
    return np.array(marks, np.int64)
