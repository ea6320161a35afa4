"""JSON Lines: one row per line, as NeMo Gym writes its rollouts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
_MANY = 1024  # lines in a block from which numpy counts them faster


class JsonLines:
    """Reads JSON Lines; blank lines, a byte-order mark and CRLF do no harm.

    Parameters
    ----------
    request
        What the benchmark wants.
    block
        Bytes that are read at a time.
    ahead
        Rows that are learnt from together where a row looks unlike those before.
    """

    def __init__(self, request: Request, *, block: int = BLOCK, ahead: int = AHEAD) -> None:
        self._reader = RowReader(request, ahead)
        self._block = block

    @staticmethod
    def recognises(source: Source) -> bool:
        """Take whatever starts like no array: what is wrong with a line is told then."""
        return source.head[:1] != b"["

    def read(self, source: Source) -> Iterator[Chunk]:
        """Read one file.

        Raises
        ------
        DataError
            If the file is broken, or a row lacks what it needs.
        """
        source.must_be_text()
        with source.open() as stream:
            for block in _blocks(stream, self._block):
                check_utf8(block.buffer, len(block.text), block.first, source)
                yield from self._reader.lines(block, source)


class _Block:
    """Whole lines of a file, from line `first`."""

    def __init__(self, buffer: bytearray, end: int, first: int) -> None:
        self.text = memoryview(buffer)[:end]
        self.first = first
        self.buffer = buffer
        self._lines = _breaks(buffer, end) + (buffer[end - 1] != _BREAK)

    def __len__(self) -> int:
        return self._lines

    def places(self) -> NDArray[np.int64]:
        return np.arange(self.first, self.first + self._lines)

    def rows(self) -> list[Row]:
        rows: list[Row] = []
        start, end = 0, len(self.text)
        for line in range(self.first, self.first + self._lines):
            stop = self.buffer.find(b"\n", start, end)
            text = self.text[start : stop if stop >= 0 else end]
            if text[:1].tobytes().strip() or text.tobytes().strip():
                rows.append(Row(line, line, text))
            start = stop + 1
        return rows


def _breaks(buffer: bytearray, end: int) -> int:
    """Count line breaks, several times as fast as `bytearray.count`."""
    count = start = 0
    while start := buffer.find(b"\n", start, end) + 1:
        count += 1
        if count == _MANY:
            rest = np.frombuffer(buffer, np.uint8, end)[start:]
            return count + int(np.count_nonzero(rest == _BREAK))
    return count


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
