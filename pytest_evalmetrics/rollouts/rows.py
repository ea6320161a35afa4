"""Rows of JSON text to chunks: the fast path, and the way back to it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
import numpy as np

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts.columns import Columns
from pytest_evalmetrics.rollouts.decode import Decoder
from pytest_evalmetrics.rollouts.parse import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.rollouts.schema import Record
    from pytest_evalmetrics.rollouts.seam import Chunk, Request
    from pytest_evalmetrics.rollouts.source import Row, Source

__all__ = ["AHEAD", "Lines", "RowReader"]

AHEAD = 64  # rows that are learnt from together, so that making a decoder is rare


class Lines(Protocol):
    """A block of text with one row per line."""

    text: memoryview

    def places(self, rows: int) -> NDArray[np.int64] | None:
        """Get the lines of so many rows, shape (rows,).

        None if they may not be one to a line, from its first character.
        """
        ...

    def rows(self, most: int | None = None) -> list[Row]:
        """Split into rows, without the blank lines; those of the first `most` lines."""
        ...

    def with_stand_ins(self) -> bytes | None:
        """Write the text without bare NaN and Infinity, see `not_finite`."""
        ...


class RowReader:
    """Reads the rows of JSON files; what it learns from one file helps with the next."""

    def __init__(self, request: Request, ahead: int = AHEAD) -> None:
        self._ahead = ahead
        self._columns = Columns(request)
        self._wary = False  # the last rows were not all fit for the fast path

    @cached_property
    def _decoder(self) -> Decoder:
        return Decoder(self._columns.root)

    def lines(self, lines: Lines, source: Source) -> Iterator[Chunk]:
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

    def _at_once(self, lines: Lines, source: Source) -> Chunk | None:
        """Read a block that holds nothing but rows like those before."""
        chunk = None if self._wary else self._decoded(lines, lines.text, source)
        if chunk is None:
            text = lines.with_stand_ins()
            chunk = None if text is None else self._decoded(lines, text, source)
            self._wary = self._wary or chunk is not None  # the next may be as this one
        return chunk

    def _decoded(self, lines: Lines, text: memoryview | bytes, source: Source) -> Chunk | None:
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
        return self._columns.chunk(
            decoded,
            places,
            {},
            lambda index: self._learn(lines.rows()[index], source),
            stood_in=text is not lines.text,
        )

    def rows(self, rows: Sequence[Row], source: Source) -> Iterator[Chunk]:
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

    def _look_ahead(self, rows: Sequence[Row], source: Source) -> None:
        for row in rows:
            try:
                value = parse(row, source)
            except DataError:  # its turn comes
                return
            self._columns.learn(value, row, source)

    def _learn(self, row: Row, source: Source) -> None:
        self._columns.learn(parse(row, source), row, source)


class _Run:
    """Consecutive rows that go through one decoder."""

    def __init__(
        self, columns: Columns, decoder: Decoder, texts: Sequence[Row], source: Source
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
        decoded = self._decoder.look_into(self.rows)
        return self._columns.chunk(decoded, places, self._odd, self._learn)
