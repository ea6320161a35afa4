"""A JSON array of rows, split into its rows without holding it whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pytest_evalmetrics.rollouts.parse import check_utf8, short
from pytest_evalmetrics.rollouts.rows import AHEAD, RowReader
from pytest_evalmetrics.rollouts.source import Row
from pytest_evalmetrics.rollouts.window import BLOCK, Window

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pytest_evalmetrics.errors import DataError
    from pytest_evalmetrics.rollouts.seam import Chunk, Request
    from pytest_evalmetrics.rollouts.source import Source

__all__ = ["JsonArray"]

_DEPTH = np.zeros(256, np.int8)
_DEPTH[list(b"[{")] = 1
_DEPTH[list(b"]}")] = -1


class JsonArray:
    """Reads a file that is one JSON array of objects, on one line or on many."""

    def __init__(self, request: Request, *, block: int = BLOCK, ahead: int = AHEAD) -> None:
        self._reader = RowReader(request, ahead)
        self._block = block

    @staticmethod
    def recognises(source: Source) -> bool:
        """Take what starts with a bracket."""
        return source.head[:1] == b"["

    def read(self, source: Source) -> Iterator[Chunk]:
        """Read one file."""
        for rows in self._rows(source):
            yield from self._reader.rows(rows, source)

    def texts(self, source: Source) -> Iterator[Row]:
        """Go through the rows, see `TextLoader`."""
        for rows in self._rows(source):
            yield from rows

    def _rows(self, source: Source) -> Iterator[list[Row]]:
        source.must_be_text()
        if not self.recognises(source):
            start = short(source.head.decode(errors="replace"))
            raise source.error(
                f"this is no JSON array: it starts with {start}",
                hint="leave `format:` out, so that it is recognised",
            )
        with source.open() as stream:
            yield from _Splitter(Window(stream, self._block), source).blocks()


class _Found(NamedTuple):
    """The rows in a piece of the array: where each starts and stops, and where the array does."""

    starts: list[int]
    stops: list[int]
    end: int | None


class _Splitter:
    """Cuts an array into its rows, and checks what stands between them."""

    def __init__(self, window: Window, source: Source) -> None:
        self._window = window
        self._source = source
        self._place = 0  # rows so far
        self._line = 1  # on which the window starts

    def blocks(self) -> Iterator[list[Row]]:
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
            found = _split(np.frombuffer(window.buffer, np.uint8, window.end))
            yield self._rows(found)
            if found.end is not None:
                self._gap(found.stops[-1] if found.stops else 0, found.end, last=True)
                self._drop(found.end + 1)
                return self._nothing_more()
            self._drop(found.stops[-1] if found.stops else 0)
        raise self._error(
            window.end,
            f"the file ends before its array does, {self._after()}: was the run interrupted?",
            hint="run again what is missing, or write JSON Lines, which survives that",
        )

    def _rows(self, found: _Found) -> list[Row]:
        buffer = self._window.buffer
        view = memoryview(buffer)
        breaks = np.flatnonzero(np.frombuffer(buffer, np.uint8, self._window.end) == ord("\n"))
        lines = self._line + np.searchsorted(breaks, found.starts)
        rows: list[Row] = []
        before = 0
        for start, stop, line in zip(found.starts, found.stops, lines.tolist(), strict=True):
            self._gap(before, start)
            self._place += 1
            rows.append(Row(self._place, line, view[start:stop]))
            before = stop
        check_utf8(buffer, before, self._line, self._source)
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
        self._line += self._window.buffer.count(b"\n", 0, count)
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
        line = self._line + self._window.buffer.count(b"\n", 0, at)
        return self._source.error(message, line=line, hint=hint)


def _split(text: NDArray[np.uint8]) -> _Found:
    """Find the rows that are whole in a text that starts inside the array, outside a row."""
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
    return _Found(starts[: len(stops)].tolist(), stops.tolist(), end)


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
