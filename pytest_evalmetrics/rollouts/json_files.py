"""JSON Lines and JSON arrays, split into rows without holding a file whole."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.rollouts.json_reader import AHEAD, RowReader, check_keys, check_utf8
from pytest_evalmetrics.rollouts.source import MAX_ROW, SourceRow, max_row_bytes, short

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from numpy.typing import NDArray

    from pytest_evalmetrics.errors import DataError
    from pytest_evalmetrics.rollouts.loader import Chunk, Request
    from pytest_evalmetrics.rollouts.source import Source

BLOCK = 1 << 22  # bytes; large enough that what is done once for each block does not count
_BREAK = ord("\n")
_BRACE = ord("{")
_SOME = 32  # lines by which it is seen how long they are
_SHORT = 512  # bytes of a line, on average, below which numpy is faster
_DEPTH = np.zeros(256, np.int8)
_DEPTH[list(b"[{")] = 1
_DEPTH[list(b"]}")] = -1


class Window:
    """The part of a stream that is being looked at; no row may be too long for it."""

    def __init__(self, stream: BinaryIO, source: Source, size: int) -> None:
        self._stream = stream
        self._source = source
        self._most = max_row_bytes()
        self.buffer = bytearray(size)  # replaced by a larger one where a row needs that
        self.end = 0  # bytes of `buffer` that are filled
        self.line = 1  # on which it starts

    def fill(self) -> int:
        """Read on, and say how many bytes came; 0 at the end of the stream."""
        if self.end > self._most:
            raise self._source.error(
                f"a row of more than {self._most:,} bytes, which {MAX_ROW} allows",
                line=self.line,
                hint=f"is this a file of rollouts? {MAX_ROW}={4 * self._most} in the environment "
                "raises the bound",
            )
        if self.end > len(self.buffer) // 2:  # else long rows would come in small pieces
            larger = bytearray(2 * len(self.buffer))
            larger[: self.end] = memoryview(self.buffer)[: self.end]
            self.buffer = larger
        room = memoryview(self.buffer)[self.end : max(BLOCK, self._most + 1)]
        got: int = self._stream.readinto(room)  # type: ignore[attr-defined]
        self.end += got
        return got

    def drop(self, count: int) -> None:
        """Forget the first `count` bytes."""
        kept = self.end - count
        self.buffer[:kept] = self.buffer[count : self.end]
        self.end = kept


class JsonLines:
    """Reads JSON Lines; blank lines, a byte-order mark and CRLF do no harm."""

    def __init__(self, request: Request, *, block: int = BLOCK, ahead: int = AHEAD) -> None:
        self._reader = RowReader(request, ahead)
        self._block = block
        self.lines = 0  # how many lines the last file had, or the part of it that was to be read

    def read(self, source: Source) -> Iterator[Chunk]:
        """Read one file."""
        for block in self._blocks(source):
            yield from self._reader.lines(block, source)

    def texts(self, source: Source) -> Iterator[SourceRow]:
        """Go through the rows, see `TextLoader`."""
        for block in self._blocks(source):
            yield from block.rows()

    def _blocks(self, source: Source) -> Iterator[Block]:
        source.must_be_text()
        if source.is_array:
            raise source.error(
                "this is a JSON array, not JSON Lines",
                hint="leave `format:` out, so that it is recognised",
            )
        with source.open() as stream:
            window = Window(stream, source, self._size(source))
            for block in _blocks(window):
                check_utf8(block.buffer, len(block.text), block.first, source)
                yield block
            self.lines = window.line - 1  # blank ones too, of which there is no block

    def _size(self, source: Source) -> int:
        """Choose the bytes of a window: for a small file making a large one takes longest."""
        if source.packed is not None:
            return self._block
        start, stop = source.span or (0, source.size)
        return min(self._block, 2 * (stop - start) + 2)  # half full it is not made larger


class Block:
    """Whole lines of a file, from line `first`."""

    def __init__(self, buffer: bytearray, end: int, first: int) -> None:
        self.text = memoryview(buffer)[:end]
        self.first = first
        self.buffer = buffer
        self._starts = _line_starts(buffer, end)

    def __len__(self) -> int:
        return len(self._starts)

    def places(self, rows: int) -> NDArray[np.int64] | None:
        """Get the lines of so many rows; None if they may not be one to a line."""
        first = np.frombuffer(self.buffer, np.uint8)[self._starts]
        begins = first == _BRACE
        if np.count_nonzero(begins) != rows:
            return None
        if rows == len(begins):
            return np.arange(self.first, self.first + rows)
        others = np.flatnonzero(~begins & (first != _BREAK)).tolist()
        if others and not all(map(_is_blank, map(self._lines().__getitem__, others))):
            return None
        return self.first + np.flatnonzero(begins)

    def rows(self, most: int | None = None) -> list[SourceRow]:
        """Split into rows, without the blank lines; only those of the first `most` lines."""
        lines = enumerate(self._lines(most), self.first)
        return [SourceRow(line, line, text) for line, text in lines if not _is_blank(text)]

    def _lines(self, most: int | None = None) -> list[memoryview]:
        starts = self._starts if most is None else self._starts[: most + 1]
        bounds = [*starts.tolist(), len(self.text)][: None if most is None else most + 1]
        return [self.text[a : b - (self.buffer[b - 1] == _BREAK)] for a, b in pairwise(bounds)]


def _is_blank(line: memoryview) -> bool:
    return not bytes(line[:1]).strip() and not bytes(line).strip()


def _line_starts(buffer: bytearray, end: int) -> NDArray[np.int64]:
    """Find where each line starts; searching for a byte is the fastest where lines are long."""
    starts = [0]
    while len(starts) < _SOME and (start := buffer.find(b"\n", starts[-1], end) + 1):
        starts.append(start)
    if len(starts) == _SOME and starts[-1] > _SOME * _SHORT:
        while start := buffer.find(b"\n", starts[-1], end) + 1:
            starts.append(start)
    elif len(starts) == _SOME:
        rest = np.flatnonzero(np.frombuffer(buffer, np.uint8, end)[starts[-1] :] == _BREAK)
        starts = np.concatenate((starts, rest + (starts[-1] + 1)))  # type: ignore[assignment]
    found = np.array(starts)
    return found[:-1] if found[-1] == end else found


def _blocks(window: Window) -> Iterator[Block]:
    while got := window.fill():
        end = window.buffer.rfind(b"\n", window.end - got, window.end) + 1
        if end and _is_blank(memoryview(window.buffer)[:end]):  # may be very many lines
            breaks = np.frombuffer(window.buffer, np.uint8, end) == _BREAK
            window.line += int(np.count_nonzero(breaks))
        elif end:
            block = Block(window.buffer, end, window.line)
            yield block
            window.line += len(block)
        window.drop(end)
    if window.end:
        block = Block(window.buffer, window.end, window.line)
        yield block
        window.line += len(block)


class JsonArray:
    """Reads a file that is one JSON array of objects, on one line or on many."""

    def __init__(self, request: Request, *, block: int = BLOCK, ahead: int = AHEAD) -> None:
        self._reader = RowReader(request, ahead)
        self._block = block

    def read(self, source: Source) -> Iterator[Chunk]:
        """Read one file."""
        first = True
        for rows in self._rows(source):
            check_keys(rows, source, first=first)
            first = False
            yield from self._reader.rows(rows, source)

    def texts(self, source: Source) -> Iterator[SourceRow]:
        """Go through the rows, see `TextLoader`."""
        for rows in self._rows(source):
            yield from rows

    def _rows(self, source: Source) -> Iterator[list[SourceRow]]:
        source.must_be_text()
        if not source.is_array:
            start = short(source.head.decode(errors="replace"))
            raise source.error(
                f"this is no JSON array: it starts with {start}",
                hint="leave `format:` out, so that it is recognised",
            )
        with source.open() as stream:
            yield from _Splitter(Window(stream, source, self._block), source).blocks()


class _Splitter:
    """Cuts an array into its rows, and checks what stands between them."""

    def __init__(self, window: Window, source: Source) -> None:
        self._window = window
        self._source = source
        self._place = 0  # rows so far

    def blocks(self) -> Iterator[list[SourceRow]]:
        """Go through the rows, those of some text at a time."""
        window = self._window
        opened = False
        while window.fill():
            if not opened:
                bracket = window.buffer.find(b"[", 0, window.end)
                if bracket < 0:  # only white space so far
                    continue
                self._drop(bracket + 1)
                opened = True
            starts, stops, end = _split(np.frombuffer(window.buffer, np.uint8, window.end))
            yield self._rows(starts, stops)
            last = stops[-1] if stops else 0
            if end is not None:
                self._gap(last, end, last=True)
                self._drop(end + 1)
                return self._nothing_more()
            self._drop(last)
        raise self._error(
            window.end,
            f"the file ends before its array does, {self._after()}: was the run interrupted?",
            hint="run again what is missing, or write JSON Lines, which survives that",
        )

    def _rows(self, starts: list[int], stops: list[int]) -> list[SourceRow]:
        buffer = self._window.buffer
        view = memoryview(buffer)
        breaks = np.flatnonzero(np.frombuffer(buffer, np.uint8, self._window.end) == ord("\n"))
        lines = self._window.line + np.searchsorted(breaks, starts)
        rows: list[SourceRow] = []
        before = 0
        for start, stop, line in zip(starts, stops, lines.tolist(), strict=True):
            self._gap(before, start)
            self._place += 1
            rows.append(SourceRow(self._place, line, view[start:stop]))
            before = stop
        check_utf8(buffer, before, self._window.line, self._source)
        return rows

    def _gap(self, start: int, stop: int, *, last: bool = False) -> None:
        """Check that there is one comma between two rows, and none elsewhere."""
        text = bytes(self._window.buffer[start:stop]).strip()
        if text != (b"," if self._place and not last else b""):
            found = short(text.decode(errors="replace")) if text else "none"
            raise self._error(
                start,
                f"expected rows, each a JSON object, with one comma between them; found {found} "
                + self._after(),
            )

    def _after(self) -> str:
        return f"after row {self._place}" if self._place else "before the first row"

    def _drop(self, count: int) -> None:
        self._window.line += self._window.buffer.count(b"\n", 0, count)
        self._window.drop(count)

    def _nothing_more(self) -> None:
        window = self._window
        while window.end or window.fill():
            text = bytes(window.buffer[: window.end])
            if rest := text.strip():
                found = short(rest.decode(errors="replace"))
                raise self._error(text.index(rest), f"found {found} after the end of the array")
            self._drop(window.end)

    def _error(self, at: int, message: str, hint: str | None = None) -> DataError:
        line = self._window.line + self._window.buffer.count(b"\n", 0, at)
        return self._source.error(message, line=line, hint=hint)


def _split(text: NDArray[np.uint8]) -> tuple[list[int], list[int], int | None]:
    """Find where whole rows start and stop in a text inside the array, and where the array ends."""
    folded = text | 0x20  # makes [ and { one, and ] and } one
    brackets = np.flatnonzero((folded == ord("{")) | (folded == ord("}")))
    quotes = np.flatnonzero(text == ord('"'))
    quotes = quotes[~_escaped(text, quotes)]
    # an odd number of quotes before it: the bracket stands inside a string
    brackets = brackets[np.searchsorted(quotes, brackets) % 2 == 0]
    step = _DEPTH[text[brackets]]
    depth = np.cumsum(step, dtype=np.int64)
    closing = np.flatnonzero(depth < 0)
    end = None
    if len(closing):
        end = int(brackets[closing[0]])
        brackets, step, depth = (a[: closing[0]] for a in (brackets, step, depth))
    starts = brackets[(step > 0) & (depth == 1)]
    stops = brackets[(step < 0) & (depth == 0)] + 1
    return starts[: len(stops)].tolist(), stops.tolist(), end


def _escaped(text: NDArray[np.uint8], quotes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which quotes stand after an odd number of backslashes."""
    slashes = np.flatnonzero(text == ord("\\"))
    if not len(slashes):
        return np.zeros(len(quotes), np.bool_)
    first = np.concatenate(([True], np.diff(slashes) > 1))
    start = np.maximum.accumulate(np.where(first, slashes, 0))
    index = np.searchsorted(slashes, quotes) - 1  # the last backslash before each quote
    after: NDArray[np.bool_] = (index >= 0) & (slashes[index] == quotes - 1)
    odd: NDArray[np.bool_] = (quotes - start[index]) % 2 == 1
    return np.logical_and(after, odd)
