"""Blocks of rows that are cut out of JSON files, without decoding them."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, BinaryIO, Final

import msgspec
import numpy as np

from pytest_evalmetrics.rollouts.json_text import JOIN_ARRAYS, SECOND_ARRAY
from pytest_evalmetrics.rollouts.source import (
    Source,
    SourceRow,
    max_row_bytes,
    not_utf8,
    row_too_long,
    short,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.errors import DataError

BLOCK: Final = 1 << 20  # bytes that are read at a time
_SAMPLED: Final = 1 << 16  # bytes whose lines show how long lines are
_LONG_LINE: Final = 1_000  # bytes
_BREAK, _BRACE, _QUOTE, _BACKSLASH = b'\n{"\\'
# whether a byte opens a bracket (1) or closes one (-1)
_DEPTH = np.zeros(256, np.int8)
_DEPTH[list(b"[{")] = 1
_DEPTH[list(b"]}")] = -1


class Rows(msgspec.Struct, frozen=True):
    """Consecutive rows of a file; their texts live no longer than the block that is being read."""

    texts: Sequence[memoryview]
    places: NDArray[np.int64]
    lines: NDArray[np.int64]

    def row(self, index: int) -> SourceRow:
        """Get one row."""
        return SourceRow(
            int(self.places[index]), int(self.lines[index]), self.texts[index]
        )


class Window:
    """The part of a stream that is being split, in a buffer that is reused."""

    def __init__(self, stream: BinaryIO, source: Source, size: int) -> None:
        self._stream = stream
        self._source = source
        self._most = max_row_bytes()
        self.buffer = bytearray(size)  # replaced by a larger one where a row needs that
        self.end = 0  # bytes of `buffer` that are filled
        self.line = 1  # on which it starts

    def fill(self) -> int:
        """Read more, and return the number of new bytes; 0 at the end of the stream."""
        if self.end > self._most:
            raise row_too_long(self._source, self._most, self.line)
        # otherwise long rows would come in small pieces
        if self.end > len(self.buffer) // 2:
            larger = bytearray(2 * len(self.buffer))
            larger[: self.end] = memoryview(self.buffer)[: self.end]
            self.buffer = larger
        room = memoryview(self.buffer)[self.end : max(BLOCK, self._most + 1)]
        if self._source.span and self._source.url is None:
            room = room[: self._source.span[1] - self._stream.tell()]
        count: int = self._stream.readinto(room)  # type: ignore[attr-defined]
        self.end += count
        return count

    def breaks(self, end: int) -> NDArray[np.int64]:
        """Find the line breaks in the first `end` bytes."""
        first_lines = self.buffer.count(b"\n", 0, min(end, _SAMPLED))
        if first_lines * _LONG_LINE > _SAMPLED:
            return np.flatnonzero(np.frombuffer(self.buffer, np.uint8, end) == _BREAK)
        # long lines are found faster one by one
        breaks = []
        place = self.buffer.find(b"\n", 0, end)
        while place >= 0:
            breaks.append(place)
            place = self.buffer.find(b"\n", place + 1, end)
        return np.array(breaks, dtype=np.int64)

    def drop(self, count: int, lines: int) -> None:
        """Forget the first `count` bytes, with so many line breaks."""
        kept = self.end - count
        self.buffer[:kept] = self.buffer[count : self.end]
        self.end = kept
        self.line += lines

    def error(self, at: int, message: str, hint: str | None = None) -> DataError:
        """Create the error for an invalid byte."""
        line = self.line + self.buffer.count(b"\n", 0, at)
        return self._source.error(message, line=line, hint=hint)

    def check_utf8(self, end: int) -> None:
        """Refuse invalid UTF-8, which msgspec does not detect in values that it skips."""
        if self.buffer.isascii():
            return
        try:
            codecs.utf_8_decode(memoryview(self.buffer)[:end], "strict", True)
        except UnicodeDecodeError as error:
            line = self.line + self.buffer.count(b"\n", 0, error.start)
            raise not_utf8(self._source, self.buffer[error.start], line) from error


# -- lines --------------------------------------------------------------------------------


def split_lines(window: Window, stops: NDArray[np.int64]) -> Rows:
    """Split lines that end at these bytes into rows."""
    end = int(stops[-1])
    window.check_utf8(end)
    starts = np.concatenate(([0], stops[:-1] + 1))
    kept = np.flatnonzero(stops > starts)  # a file may hold very many blank lines
    view = memoryview(window.buffer)
    spans = zip(starts[kept].tolist(), stops[kept].tolist(), strict=True)
    texts = [view[start:stop] for start, stop in spans]
    first = np.frombuffer(window.buffer, np.uint8)[starts[kept]]
    if (first != _BRACE).any():
        some = [at for at, text in enumerate(texts) if not bytes(text).isspace()]
        texts = [texts[at] for at in some]
        kept = kept[some]
    places = kept + window.line
    return Rows(texts, places, places)


# -- an array ----------------------------------------------------------------------------


def rows_of_array(window: Window) -> Iterator[Rows]:
    """Yield the rows of an array until it ends, and check the text between them."""
    place = 0
    end = None
    while end is None:
        if not window.fill():
            what = f"the file ends before its array does, {_after(place)}"
            hint = "run again what is missing, or write JSON Lines, which survives that"
            raise window.error(window.end, f"{what}: was the run interrupted?", hint)
        view = memoryview(window.buffer)
        data = np.frombuffer(window.buffer, np.uint8, window.end)
        starts, stops, end = _split_array(data, inside=place > 0)
        _check_gaps(window, place, starts, stops, end)
        done = stops[-1] if stops else 0
        window.check_utf8(done)
        if end is not None:
            done = end + 1
        breaks = window.breaks(done)
        yield Rows(
            [view[start:stop] for start, stop in zip(starts, stops, strict=True)],
            np.arange(place + 1, place + len(starts) + 1),
            window.line + np.searchsorted(breaks, starts),
        )
        place += len(starts)
        window.drop(done, len(breaks))


def must_have_ended(window: Window) -> None:
    """Refuse anything behind an array."""
    while window.end or window.fill():
        text = bytes(window.buffer[: window.end])
        rest = text.strip()
        if rest.startswith(b"["):
            raise window.error(text.index(rest), SECOND_ARRAY, JOIN_ARRAYS)
        if rest:
            shown = short(rest.decode(errors="replace"))
            message = f"found {shown} after the end of the array"
            raise window.error(text.index(rest), message)
        window.drop(window.end, text.count(b"\n"))


def _after(place: int) -> str:
    return f"after row {place}" if place else "before the first row"


def _check_gaps(
    window: Window, place: int, starts: list[int], stops: list[int], end: int | None
) -> None:
    """Check for exactly one comma between two rows, and none elsewhere."""
    stops_of_gaps = starts
    if end is not None:
        stops_of_gaps = [*starts, end]
    gaps = zip([0, *stops], stops_of_gaps, strict=False)
    for rows, (begin, until) in enumerate(gaps, place):
        gap = bytes(window.buffer[begin:until]).strip()
        if rows == 0:
            gap = gap.removeprefix(b"[").strip()
        is_between = 0 < rows < place + len(starts)
        if gap != (b"," if is_between else b""):
            found = "none"
            if gap:
                found = short(gap.decode(errors="replace"))
            expected = "expected rows, each a JSON object, with one comma between them"
            raise window.error(begin, f"{expected}; found {found} {_after(rows)}")


def _split_array(
    data: NDArray[np.uint8], *, inside: bool
) -> tuple[list[int], list[int], int | None]:
    """Find where whole rows start and stop, and where the array ends."""
    brackets, step = _brackets(data)
    depth = np.cumsum(step, dtype=np.int64) + inside
    ends = np.flatnonzero((step < 0) & (depth == 0))
    end = None
    if len(ends):
        end = int(brackets[ends[0]])
        brackets = brackets[: ends[0]]
        step = step[: ends[0]]
        depth = depth[: ends[0]]
    starts = brackets[(step > 0) & (depth == 2)]  # inside of the array
    stops = brackets[(step < 0) & (depth == 1)] + 1
    return starts[: len(stops)].tolist(), stops.tolist(), end


# -- objects that span lines -----------------------------------------------------------


def split_objects(source: Source) -> Rows:
    """Split a file of JSON objects that span lines into rows."""
    with source.open() as stream:
        text = stream.read()
    try:
        text.decode()
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise not_utf8(source, text[error.start], line) from error
    data = np.frombuffer(text, np.uint8)
    brackets, step = _brackets(data)
    depth = np.cumsum(step, dtype=np.int64)
    starts = brackets[(step > 0) & (depth == 1)].tolist()
    stops = (brackets[(step < 0) & (depth == 0)] + 1).tolist()
    if len(stops) < len(starts):
        line = text.count(b"\n", 0, starts[len(stops)]) + 1
        hint = "run again what is missing"
        message = "the file ends in the middle of a row: was the run interrupted?"
        raise source.error(message, line=line, hint=hint)
    for start, stop in zip([*starts, len(text)], [0, *stops], strict=True):
        between = text[stop:start].strip()
        if between:
            shown = short(between.decode())
            line = text.count(b"\n", 0, stop) + 1
            message = f"found {shown} between two JSON objects"
            hint = "write nothing between them; or all in one array: [ ... ]"
            raise source.error(message, line=line, hint=hint)
    breaks = np.flatnonzero(data == _BREAK)
    view = memoryview(text)
    return Rows(
        [view[start:stop] for start, stop in zip(starts, stops, strict=True)],
        np.arange(1, len(starts) + 1),
        np.searchsorted(breaks, starts) + 1,
    )


# -- brackets ----------------------------------------------------------------------------


def _brackets(data: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Find the brackets outside of strings, and whether each opens (1) or closes (-1)."""
    text = np.append(data, np.uint8(0))
    slashes = np.flatnonzero(text == _BACKSLASH)
    first = np.maximum.accumulate(
        np.where(np.diff(slashes, prepend=-2) > 1, slashes, 0)
    )
    escaped = slashes[(slashes - first) % 2 == 0] + 1
    text[escaped[text[escaped] == _QUOTE]] = 0  # these end no string
    folded = text | 0x20  # makes [ and { one, and ] and } one
    brackets = np.flatnonzero((folded == ord("{")) | (folded == ord("}")))
    quotes = np.flatnonzero(text == _QUOTE)
    # an odd number of quotes before it: the bracket stands inside a string
    brackets = brackets[np.searchsorted(quotes, brackets) % 2 == 0]
    return brackets, _DEPTH[text[brackets]]
