"""The loaders of JSON Lines and JSON arrays: rows are decoded into columns."""

from __future__ import annotations

from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from pytest_evalmetrics.rollouts.json_columns import Columns
from pytest_evalmetrics.rollouts.json_rows import BLOCK, Rows, array_blocks, line_blocks, parse
from pytest_evalmetrics.rollouts.row_schema import Decoder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from pytest_evalmetrics.rollouts.loader import Chunk, Request
    from pytest_evalmetrics.rollouts.row_schema import Record
    from pytest_evalmetrics.rollouts.source import Source, SourceRow

_AHEAD: Final = 64  # rows that are learnt from together, so that making a decoder is rare
_SMALL: Final = 1 << 18  # bytes of a file of which every row is checked for duplicate keys


class RowReader:
    """Reads the rows of JSON files; what it learns from one file helps with the next."""

    def __init__(self, request: Request) -> None:
        self._columns = Columns(request)

    @cached_property
    def _decoder(self) -> Decoder:
        return Decoder(self._columns.root)

    def rows(self, rows: Sequence[SourceRow], source: Source) -> Iterator[Chunk]:
        """Read rows that were written one by one."""
        texts = [row.text for row in rows]
        places, lines = (np.array([row[at] for row in rows], np.int64) for at in (0, 1))
        yield from self.read(Rows(texts, places, lines), source)

    def read(self, rows: Rows, source: Source) -> Iterator[Chunk]:
        """Decode rows, learning from those that the decoder refuses."""

        def learn(index: int) -> tuple[Record, bool]:
            row = rows.row(index)
            return self._columns.learn(parse(row, source), row, source)

        start, count = 0, len(rows.texts)
        if count and not self._columns.root.kinds:  # rows are mostly alike: one may tell all
            learn(0)
        while start < count:
            decoded: list[Any] = []
            parsed: dict[int, Record] = {}
            new = False
            decode, blank = self._decoder.decode, self._decoder.blank
            for text in islice(rows.texts, start, None):
                try:
                    decoded.append(decode(text))
                except (msgspec.DecodeError, RecursionError):
                    parsed[len(decoded)], new = learn(start + len(decoded))
                    decoded.append(blank)
                    if new:
                        break
            stop = start + len(decoded)
            yield self._columns.chunk(
                self._decoder.values(decoded),
                rows.places[start:stop],
                parsed,
                lambda index: learn(start + index),  # noqa: B023 - called at once
            )
            start = stop
            if new:
                for index in range(start, min(start + _AHEAD, count)):
                    learn(index)
                self._decoder = Decoder(self._columns.root)


class JsonLines:
    """Reads JSON Lines; blank lines, a byte-order mark and CRLF do no harm."""

    block = BLOCK

    def __init__(self, request: Request) -> None:
        self._reader = RowReader(request)
        self.lines = 0  # of the last file, or of the part of it that was to be read

    def read(self, source: Source) -> Iterator[Chunk]:
        """Read one file."""
        first = True
        for rows in self._blocks(source):
            _check_keys(rows, source, first=first)
            first = False
            yield from self._reader.read(rows, source)

    def texts(self, source: Source) -> Iterator[SourceRow]:
        """Go through the rows, see `TextLoader`."""
        for rows in self._blocks(source):
            yield from map(rows.row, range(len(rows.texts)))

    def _blocks(self, source: Source) -> Iterator[Rows]:
        for rows, lines in line_blocks(source, self.block):
            self.lines = lines
            yield rows


class JsonArray(JsonLines):
    """Reads a file that is one JSON array of objects, on one line or on many."""

    def _blocks(self, source: Source) -> Iterator[Rows]:
        return array_blocks(source, self.block)


def _check_keys(rows: Rows, source: Source, *, first: bool) -> None:
    """Refuse keys that stand twice: in all rows of a small file, else in one of each block."""
    is_small = first and sum(map(len, rows.texts)) < _SMALL
    for index in range(len(rows.texts) if is_small else min(1, len(rows.texts))):
        parse(rows.row(index), source)
