"""The loaders of JSON Lines and JSON arrays: rows are cut out, and decoded into columns."""

from __future__ import annotations

import codecs
import json
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, Final
from zlib import crc32

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.rollouts.columns import Columns
from pytest_evalmetrics.rollouts.row_schema import Decoder, Record, object_decoder
from pytest_evalmetrics.rollouts.row_values import Values
from pytest_evalmetrics.rollouts.source import (
    ENOUGH,
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
    from pytest_evalmetrics.json_types import JsonObject, JsonValue
    from pytest_evalmetrics.rollouts.loader import Chunk, Request

_BLOCK: Final = 1 << 20  # bytes that are read at a time
# rows that are learnt from together, so that making a decoder is rare
_AHEAD: Final = 64
# bytes of a file, up to which each row is checked for duplicate keys
_SMALL: Final = 1 << 18
_LARGE_ROW: Final = 512  # bytes: more take longer to read again than to sum up a part
_MIDDLE: Final = 64  # bytes of a row's middle
# int() refuses longer ones; half of these are too many for a float64 already
_DIGITS = 640
_SHOWN = 40  # characters of the text around a mistake
_SAMPLED: Final = 1 << 16  # bytes whose lines show how long lines are
_LONG_LINE: Final = 1_000  # bytes
_BREAK, _BRACE, _QUOTE, _BACKSLASH = b'\n{"\\'
_DEPTH = np.zeros(256, np.int8)
_DEPTH[list(b"[{")] = 1
_DEPTH[list(b"]}")] = -1
_RECOGNISED = "leave `format:` out, so that it is recognised"
_INTERRUPTED = (
    "was the run that writes it interrupted? rollouts are JSON, JSON Lines, CSV, Parquet or "
    "Arrow, in UTF-8"
)
_SECOND_ARRAY = "a second array begins here, behind the first"
_JOIN_ARRAYS = "join them: jq -c '.[]' FILE > rows.jsonl"
_WRITE_ONCE = "only one of the values can be meant: write the key once"


class JsonLines:
    """Reads JSON Lines, also with blank lines, a byte-order mark and CRLF."""

    block = _BLOCK

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
            window = _Window(stream, source, self.block)
            while count := window.fill():
                last_break = window.buffer.rfind(b"\n", window.end - count, window.end)
                if last_break < 0:
                    continue
                breaks = window.breaks(last_break + 1)
                self.lines = window.line + len(breaks) - 1
                yield _split_lines(window, breaks)
                window.drop(last_break + 1, len(breaks))
            if window.end:
                self.lines = window.line
                yield _split_lines(window, np.array([window.end]))

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
            yield _split_objects(source)
            return
        if not source.is_array:
            start = short(source.head.decode(errors="replace"))
            raise source.error(
                f"not a JSON array: it starts with {start}", hint=_RECOGNISED
            )
        with source.open() as stream:
            window = _Window(stream, source, self.block)
            yield from _rows_of_array(window)
            _must_have_ended(window)


def _rows_of_array(window: _Window) -> Iterator[Rows]:
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


def _must_have_ended(window: _Window) -> None:
    """Refuse anything behind an array."""
    while window.end or window.fill():
        text = bytes(window.buffer[: window.end])
        rest = text.strip()
        if rest.startswith(b"["):
            raise window.error(text.index(rest), _SECOND_ARRAY, _JOIN_ARRAYS)
        if rest:
            shown = short(rest.decode(errors="replace"))
            message = f"found {shown} after the end of the array"
            raise window.error(text.index(rest), message)
        window.drop(window.end, text.count(b"\n"))


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


def _split_objects(source: Source) -> Rows:
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


# -- a row's text ---------------------------------------------------------------------------


class _DuplicateKeyError(ValueError):
    """An object holds one key twice."""


def _unique(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _DuplicateKeyError(f"the key {twice!r} occurs twice in one object")
    return value


def _must_have_unique_keys(rows: Rows, source: Source, *, is_first: bool) -> None:
    """Refuse duplicate keys: in all rows of a small file, else in one row of a block."""
    checked = range(min(1, len(rows.texts)))
    if is_first and sum(map(len, rows.texts)) < _SMALL:
        if _has_unique_keys(rows.texts):
            return
        checked = range(len(rows.texts))
    for index in checked:
        parse(rows.row(index), source)


def _has_unique_keys(texts: Sequence[bytes | memoryview]) -> bool:
    """Check many rows at once; rows that can't be read count as not unique."""
    try:
        json.loads(b"[" + b",".join(texts) + b"]", object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return False
    return True


_decode = json.JSONDecoder(
    parse_int=lambda digits: int(digits[:_DIGITS]), object_pairs_hook=_unique
).decode


def parse(row: SourceRow, source: Source) -> JsonObject:
    """Read a row as the standard library does: NaN, Infinity and half surrogates allowed."""
    text = str(row.text, "utf-8")
    try:
        value = _decode(text)
    except json.JSONDecodeError as error:
        raise _broken(text, error, row, source) from error
    except _DuplicateKeyError as error:
        raise source.error(str(error), row, hint=_WRITE_ONCE) from error
    except RecursionError as error:
        raise source.error("this row is nested too deeply to be read", row) from error
    if not isinstance(value, dict):
        hint = 'each row is an object such as {"task": "q1", "reward": 1.0}'
        if source.is_nemo_gym:
            hint = 'each row is an object such as {"_ng_task_index": 0, "reward": 1.0}'
        raise source.error(
            f"this row is not a JSON object: found {short(text)}", row, hint=hint
        )
    return value


def decode_row(row: SourceRow, source: Source) -> JsonObject:
    """Decode a whole row, the fast way where it is plain JSON."""
    try:
        value = msgspec.json.decode(row.text)
    except (msgspec.DecodeError, RecursionError):
        # NaN, or an error that `parse` reports
        return parse(row, source)
    if not isinstance(value, dict):
        return parse(row, source)
    return value


def _broken(
    text: str, error: json.JSONDecodeError, row: SourceRow, source: Source
) -> DataError:
    """Make the error of a row that is not JSON."""
    if source.unit == "line":
        error_of_line = _broken_line(text, error, row, source)
        if error_of_line is not None:
            return error_of_line
    joined = _joined_values(text, error)
    if joined is not None:
        return source.error(joined.message, row, hint=joined.hint)
    if source.unit == "row" and row.line:
        row = structs.replace(row, line=row.line + error.lineno - 1)
    start = max(0, error.pos - _SHOWN // 2)
    problem = error.msg.removesuffix(" at")
    return source.error(
        f"this {source.unit} is not JSON: {problem} at column {error.pos + 1}, near "
        f"{short(text[start:])}",
        row,
        hint="was it cut off, or written by two processes at once? fix or delete it",
    )


def _broken_line(
    text: str, error: json.JSONDecodeError, row: SourceRow, source: Source
) -> DataError | None:
    """Recognise a last line that is cut off, and a row that spans lines."""
    end = text.rstrip()
    is_cut = error.pos >= len(end) or not end.endswith("}")
    if is_cut and text.lstrip().startswith("{") and _is_last(row, source):
        message = "the file ends in the middle of a row: was the run interrupted?"
        hint = "delete this line, or run again what is missing"
        return source.error(message, row, hint=hint)
    if text.strip() == "{":
        message = "this line is not a JSON object: it holds only its opening brace"
        hint = "write each row on one line, or all rows as one JSON array"
        return source.error(message, row, hint=hint)
    return None


class _JoinedValues(msgspec.Struct, frozen=True):
    """What stands behind a JSON value on its line, and the way out."""

    message: str
    hint: str


def _joined_values(text: str, error: json.JSONDecodeError) -> _JoinedValues | None:
    """Recognise several JSON values on one line: `error` found more behind the first."""
    first = text[: error.pos]
    if not _is_json(first):
        return None
    rest = text[error.pos :].lstrip()
    gap = first[len(first.rstrip()) :]
    if rest.startswith("[") and "\n" in gap:
        return _JoinedValues(message=_SECOND_ARRAY, hint=_JOIN_ARRAYS)
    if rest.startswith(("{", "[")):
        return _JoinedValues(
            message="two JSON values stand on one line, with no line break between them",
            hint="write one a line: jq -c . FILE > rows.jsonl",
        )
    if rest.startswith(","):
        return _JoinedValues(
            message="a comma follows the JSON value, as in an array",
            hint="write one value a line without commas, or all in one array: [ ... ]",
        )
    return None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _is_last(row: SourceRow, source: Source) -> bool:
    with source.open() as stream:  # in blocks, because the rest may be one endless line
        lines = row.line  # still to be skipped
        while text := stream.read(ENOUGH):
            skipped = min(text.count(b"\n"), lines)
            lines -= skipped
            if not lines and text.split(b"\n", skipped)[-1].strip():
                return False
    return True


def read_document(source: Source) -> JsonObject | list[JsonValue]:
    """Read a file that is one JSON value."""
    with source.open() as stream:
        text = stream.read()
    try:
        document: JsonValue = _decode(text.decode())
    except json.JSONDecodeError as error:
        raise _no_document(error, source) from error
    except _DuplicateKeyError as error:
        raise source.error(str(error), hint=_WRITE_ONCE) from error
    except (RecursionError, ValueError) as error:
        raise source.error(f"this can't be read: {error}", hint=_INTERRUPTED) from error
    if isinstance(document, dict | list):
        return document
    found = short(json.dumps(document))
    message = f"this is not a JSON object or array: found {found}"
    raise source.error(message, hint=_INTERRUPTED)


def _no_document(error: json.JSONDecodeError, source: Source) -> DataError:
    """Make the error of a file that is not one JSON value."""
    joined = _joined_values(error.doc, error)
    if joined is not None:
        return source.error(joined.message, line=error.lineno, hint=joined.hint)
    problem = error.msg.removesuffix(" at")
    start = max(0, error.pos - _SHOWN // 2)
    near = error.doc[start : error.pos + _SHOWN].strip().partition("\n")[0]
    message = f"this is not JSON: {problem} at column {error.colno}"
    if near:
        message += f", near {short(near)}"
    return source.error(message, line=error.lineno, hint=_INTERRUPTED)


# -- a file's rows --------------------------------------------------------------------------


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


class _Window:
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
        room = memoryview(self.buffer)[self.end : max(_BLOCK, self._most + 1)]
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


def _split_lines(window: _Window, stops: NDArray[np.int64]) -> Rows:
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


def _after(place: int) -> str:
    return f"after row {place}" if place else "before the first row"


def _check_gaps(
    window: _Window, place: int, starts: list[int], stops: list[int], end: int | None
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
