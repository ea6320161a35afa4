"""JSON Lines: one row per line, as NeMo Gym writes its rollouts."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.rollouts.not_finite import with_stand_ins
from pytest_evalmetrics.rollouts.parse import check_utf8
from pytest_evalmetrics.rollouts.rows import AHEAD, RowReader
from pytest_evalmetrics.rollouts.source import Row
from pytest_evalmetrics.rollouts.window import BLOCK, Window

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from numpy.typing import NDArray

    from pytest_evalmetrics.rollouts.seam import Chunk, Request
    from pytest_evalmetrics.rollouts.source import Source

__all__ = ["JsonLines"]

_BREAK = ord("\n")
_BRACE = ord("{")
_SMALL = 1 << 16  # bytes in which numpy finds them at once
_MANY = 4096  # lines in a block from which numpy finds them faster
_SOME = 32  # lines by which it is seen how long they are
_SHORT = 512  # bytes of a line, on average, below which numpy is faster


class JsonLines:
    """Reads JSON Lines; blank lines, a byte-order mark and CRLF do no harm."""

    def __init__(self, request: Request, *, block: int = BLOCK, ahead: int = AHEAD) -> None:
        self._reader = RowReader(request, ahead)
        self._block = block
        self.lines = 0  # how many lines the last file had, or the part of it that was to be read

    @staticmethod
    def recognises(source: Source) -> bool:
        """Take whatever starts like no array: what is wrong with a line is told then."""
        return source.head[:1] != b"["

    def read(self, source: Source) -> Iterator[Chunk]:
        """Read one file."""
        for block in self._blocks(source):
            yield from self._reader.lines(block, source)

    def texts(self, source: Source) -> Iterator[Row]:
        """Go through the rows, see `TextLoader`."""
        for block in self._blocks(source):
            yield from block.rows()

    def _blocks(self, source: Source) -> Iterator[_Block]:
        source.must_be_text()
        if not self.recognises(source):
            raise source.error(
                "this is a JSON array, not JSON Lines",
                hint="leave `format:` out, so that it is recognised",
            )
        with source.open() as stream:
            for block in _blocks(stream, self._size(source)):
                check_utf8(block.buffer, len(block.text), block.first, source)
                yield block
                self.lines = block.first + len(block) - 1

    def _size(self, source: Source) -> int:
        """Choose the bytes of a window: for a small file making a large one takes longest."""
        if source.packed is not None:
            return self._block
        start, stop = source.span or (0, source.size)
        return min(self._block, 2 * (stop - start) + 2)  # half full it is not made larger


class _Block:
    """Whole lines of a file, from line `first`."""

    def __init__(self, buffer: bytearray, end: int, first: int) -> None:
        self.text = memoryview(buffer)[:end]
        self.first = first
        self.buffer = buffer
        self._starts = _line_starts(buffer, end)

    def __len__(self) -> int:
        return len(self._starts)

    def places(self, rows: int) -> NDArray[np.int64] | None:
        begins = np.frombuffer(self.buffer, np.uint8)[self._starts] == _BRACE
        if np.count_nonzero(begins) != rows:
            return None
        if rows == len(begins):
            return np.arange(self.first, self.first + rows)
        lines = self._lines()
        if not all(_is_blank(lines[i]) for i in np.flatnonzero(~begins).tolist()):
            return None
        return self.first + np.flatnonzero(begins)

    def rows(self, most: int | None = None) -> list[Row]:
        lines = enumerate(self._lines(most), self.first)
        return [Row(line, line, text) for line, text in lines if not _is_blank(text)]

    def with_stand_ins(self) -> bytes | None:
        return with_stand_ins(self.buffer, len(self.text))

    def _lines(self, most: int | None = None) -> list[memoryview]:
        bounds = [*self._starts.tolist(), len(self.text)][: None if most is None else most + 1]
        return [self.text[a : b - (self.buffer[b - 1] == _BREAK)] for a, b in pairwise(bounds)]


def _is_blank(line: memoryview) -> bool:
    return not bytes(line[:1]).strip() and not bytes(line).strip()


def _line_starts(buffer: bytearray, end: int) -> NDArray[np.int64]:
    """Find where each line starts; the search for a byte is the fastest where lines are long."""
    if end <= _SMALL:
        breaks = (np.frombuffer(buffer, np.uint8, end) == _BREAK).nonzero()[0]
        found = np.zeros(len(breaks) + 1, np.int64)
        np.add(breaks, 1, out=found[1:])
        return found[:-1] if found[-1] == end else found
    starts = [0]
    while start := buffer.find(b"\n", starts[-1], end) + 1:
        starts.append(start)
        short = len(starts) == _SOME and start < _SOME * _SHORT
        if short or len(starts) > _MANY:
            rest = np.flatnonzero(np.frombuffer(buffer, np.uint8, end)[start:] == _BREAK)
            found = np.concatenate((starts, rest + (start + 1)))
            break
    else:
        found = np.array(starts)
    return found[:-1] if found[-1] == end else found


def _blocks(stream: BinaryIO, size: int) -> Iterator[_Block]:
    window = Window(stream, size)
    first = 1
    while got := window.fill():
        end = window.buffer.rfind(b"\n", window.end - got, window.end) + 1
        if end:
            block = _Block(window.buffer, end, first)
            yield block
            first += len(block)
            window.drop(end)
    if window.end:
        yield _Block(window.buffer, window.end, first)
