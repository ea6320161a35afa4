"""Files of rollouts: found by paths and globs, and each a stream of plain bytes."""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
import zlib
from contextlib import contextmanager
from functools import cached_property, lru_cache
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING, BinaryIO, Final, Literal

import msgspec

from pytest_evalmetrics import layout
from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.layout import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from _typeshed import WriteableBuffer

    from pytest_evalmetrics.rollouts.loader import FieldPaths
    from pytest_evalmetrics.spec import FieldMap

ENOUGH: Final = 1 << 18  # bytes that suffice to detect a format
# bytes from which on a second process saves more than its start costs
LARGE: Final = 128 << 20
# times as much text as compressed bytes, about
_UNPACKED: Final = {".gz": 4, ".zst": 4}
MAX_ROW: Final = "EVALMETRICS_MAX_ROW_BYTES"
_MAX_ROW_BYTES: Final = 32 << 20
_MAX_EXPANSION: Final = "EVALMETRICS_MAX_EXPANSION"
_EXPANSION: Final = 100  # times the bytes on disk
# bytes that a file may expand to, however small it is
_ALWAYS_UNPACKED: Final = 256 << 20
_KEY_DEPTH = 2  # of the keys that are of interest
_json_token = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\Z)|[{}\[\]:]', re.DOTALL).finditer
NEMO_GYM_TASK: Final = "_ng_task_index"
BOM = b"\xef\xbb\xbf"
_HEAD = 4096
SPACE = b" \t\r\n"
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_LFS = b"version https://git-lfs"
_HTML = 20  # bytes that show a web page
_of_python = re.compile(rb"\[?\s*\{\s*'").match  # a dict as Python prints it
_KIND_NAMES: Final = {str: "text", list: "a list", dict: "an object", bool: "a boolean"}

# -- finding -------------------------------------------------------------------------------


class RolloutFile(msgspec.Struct, frozen=True):
    """A file that holds rollouts."""

    path: Path  # where it is
    shown: str  # as a user would write it: relative to the benchmark file, with ``/``
    url: str | None = None  # of a remote file, whose `path` is only a name
    size: int | None = None  # bytes of a remote file, if known
    data: bytes | None = None  # its bytes, if the benchmark file itself holds them


def absolute(folder: Path) -> Path:
    """Return a folder's absolute path, without following links."""
    return Path(os.path.abspath(folder))  # noqa: PTH100 - resolves '..' without following links


def is_large(files: Sequence[RolloutFile]) -> bool:
    """Whether files are worth several processes."""
    total = 0
    for file in files:
        try:
            size = file.size or 0
            if file.url is None:
                size = file.path.stat().st_size
        except OSError:  # its turn comes
            return False
        total += size * _UNPACKED.get(file.path.suffix, 1)
    return total >= LARGE


# -- opening -------------------------------------------------------------------------------


def task_paths(fields: FieldMap | FieldPaths) -> tuple[str, ...]:
    """Get the paths of the parts of the task's id; none by default."""
    if fields.task is None:
        return ()
    if isinstance(fields.task, str):
        return (fields.task,)
    return fields.task


def score_paths(fields: FieldMap | FieldPaths) -> dict[str, str]:
    """Get the paths of the scores that ``fields:`` maps, each to one field."""
    paths = {
        name: path for name, path in fields.scores.items() if isinstance(path, str)
    }
    if isinstance(fields.reward, str):
        paths["reward"] = fields.reward
    return paths


def short(text: str) -> str:
    """Quote a text for a message, cut short."""
    return repr(shortened(text.strip()))


def shown_json(value: object, length: int = 60) -> str:
    """Write a value for a message, with its kind."""
    text = layout.shown(value, length)
    kind = _KIND_NAMES.get(type(value))
    return text if kind is None else f"{kind}: {text}"


def whole_number_from_env(name: str, default: int, meaning: str) -> int:
    """Read a whole number from 1 that the environment may set."""
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    if not text.isascii() or not text.isdecimal() or int(text) == 0:
        message = (
            f"{name} is {text!r} in the environment; expected a whole number from 1"
        )
        raise DataError(
            message, hint=f"{meaning}: {name}={default or 1}, or leave it out"
        )
    return int(text)


def max_row_bytes() -> int:
    """Return the most bytes that one row may have."""
    return whole_number_from_env(MAX_ROW, _MAX_ROW_BYTES, "the most bytes of one row")


def _unpacked(
    raw: BinaryIO, packed: Literal["gzip", "zstd"] | None, shown: str
) -> BinaryIO:
    """Decompress a file, unless it expands to far more bytes than rollouts do."""
    if packed is None:
        return raw
    if packed == "gzip":
        plain: io.BufferedIOBase = gzip.GzipFile(fileobj=raw)
    else:
        if sys.version_info >= (3, 14):
            from compression import zstd  # only where a file needs it
        else:
            from backports import zstd  # only where a file needs it
        plain = zstd.ZstdFile(raw)
    return io.BufferedReader(
        _Bounded(plain, os.fstat(raw.fileno()).st_size, shown), ENOUGH
    )


class _Bounded(io.RawIOBase):
    """A decompressed stream that refuses to become too long."""

    def __init__(self, plain: io.BufferedIOBase, size: int, shown: str) -> None:
        super().__init__()
        self._plain = plain
        self._shown = shown
        times = whole_number_from_env(
            _MAX_EXPANSION, _EXPANSION, "how many times its size a file may expand to"
        )
        self._most = max(times * size, _ALWAYS_UNPACKED)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self._plain.seek(offset, whence))

    def readinto(self, buffer: WriteableBuffer) -> int:
        count = self._plain.readinto(buffer)
        if self._plain.tell() > self._most:
            raise DataError(
                f"the compressed file expands to more than {self._most:,} bytes, which "
                f"{_MAX_EXPANSION} allows",
                file=self._shown,
                hint="is it what you expect? raise the bound in the environment, or unpack the "
                f"file: {_MAX_EXPANSION}=1000 allows a thousand times its size",
            )
        return count


@contextmanager
def explained(shown: str) -> Iterator[None]:
    """Raise the errors of the operating system and the decompressors as `DataError`."""
    try:
        yield
    except _read_errors() as error:
        hint = None
        if isinstance(error, FileNotFoundError):
            message = "there is no such file"
        elif isinstance(error, PermissionError):
            message = "no permission to read this file"
            hint = f"try: chmod u+r {shown}"
        elif isinstance(error, EOFError):
            message = "the compressed file ends too early"
            hint = "was its copy or its download interrupted?"
        elif isinstance(error, OSError) and not isinstance(error, gzip.BadGzipFile):
            message = f"the file can't be read: {error.strerror or error}"
        else:
            message = f"the compressed file is damaged: {error}"
        raise DataError(message, file=shown, hint=hint) from error


def _read_errors() -> tuple[type[Exception], ...]:
    errors: list[type[Exception]] = [OSError, EOFError, zlib.error]
    # ZstdError comes from a module that is imported only where a file needs it
    zstd = sys.modules.get("compression.zstd") or sys.modules.get("backports.zstd")
    if zstd is not None:
        errors.append(zstd.ZstdError)
    return tuple(errors)


class _OpenBracket(msgspec.Struct, frozen=True):
    """A bracket that is not closed yet, and the path of its key."""

    bracket: bytes
    path: str


class _KeyScanner:
    """The paths of the keys in a JSON text, token by token."""

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self._opened: list[_OpenBracket] = []
        self._key = ""  # the last text, which is a key if a colon follows

    @property
    def is_in_object(self) -> bool:
        """Whether any object is open."""
        return any(opened.bracket == b"{" for opened in self._opened)

    @property
    def _path(self) -> str:
        return self._opened[-1].path if self._opened else ""

    def open(self, bracket: bytes) -> None:
        """Enter an object or a list."""
        path = self._path
        # else a million objects in each other have paths of gigabytes
        in_list = bool(self._opened) and self._opened[-1].bracket == b"["
        if not in_list and not _is_deep(path):
            path = _joined(path, self._key)
        self._opened.append(_OpenBracket(bracket=bracket, path=path))
        self._key = ""

    def close(self) -> None:
        """Leave an object or a list."""
        if self._opened:
            self._opened.pop()

    def text(self, token: bytes) -> None:
        """See a text."""
        self._key = token[1:].removesuffix(b'"').decode(errors="replace")

    def colon(self) -> None:
        """Take the last text as a key, unless it is too deep to be listed."""
        if not _is_deep(self._path):
            self.keys.add(_joined(self._path, self._key))


@lru_cache(maxsize=8)  # a file is opened several times to see what it is
def keys_of(text: bytes) -> tuple[frozenset[str], bool]:
    """List the keys of the first object in a text, and whether it is whole, not cut off."""
    scanner = _KeyScanner()
    for match in _json_token(text):
        token = match.group()
        if token in (b"{", b"["):
            scanner.open(token)
        elif token in (b"}", b"]"):
            scanner.close()
            if token == b"}" and not scanner.is_in_object:
                return frozenset(scanner.keys), True
        elif token == b":":
            scanner.colon()
        else:
            scanner.text(token)
    return frozenset(scanner.keys), False


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _is_deep(path: str) -> bool:
    """Whether the keys at a path are too deep to be listed."""
    return path.count(".") >= _KEY_DEPTH - 1


class SourceRow(msgspec.Struct, frozen=True):
    """One row's text and where it is."""

    place: int  # its number in the file: of its line, or of itself (see `Source.unit`), from 1
    line: int  # its first line, from 1; 0 if unknown
    text: memoryview  # JSON, as bytes that live no longer than the block that is being read


class Source(msgspec.Struct, frozen=True, dict=True):
    """A file of rollouts."""

    path: Path  # where it is
    shown: str  # as a user would write it
    size: int  # bytes on disk
    # the first bytes from the first that is no white space, unwrapped; none of a folder
    head: bytes
    packed: Literal["gzip", "zstd"] | None = None  # how it is compressed
    # from which byte to which it is read, where that is not from its start to its end
    span: tuple[int, int] | None = None
    # of a remote file that is read in spans, whose `path` is only a name
    url: str | None = None
    # the file's status before it was read; None if the file system has none
    stamp: tuple[int, ...] | None = None
    # of a small file, or of rows that the benchmark file holds
    data: bytes | None = None
    # the unit of places, if rows are not as written
    counts: Literal["line", "row"] | None = None

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of the first row, or of the whole document, see `keys_of`."""
        if self.head[:1] not in (b"{", b"["):
            return frozenset()
        keys, whole = keys_of(self.head)
        if not whole:
            with self.open() as stream:
                keys, _ = keys_of(stream.read(ENOUGH))
        return keys

    @property
    def is_array(self) -> bool:
        """Whether this starts as a JSON array."""
        return self.head[:1] == b"["

    @cached_property
    def is_objects(self) -> bool:
        """Whether this starts with a JSON object that spans lines."""
        first, _, rest = self.head.partition(b"\n")
        second = rest.partition(b"\n")[0].lstrip()
        if not first.startswith(b"{"):
            return False
        # a line of JSON Lines that is cut off looks alike, but for the line after it
        first = first.rstrip()
        opens = first.endswith((b"[", b":")) and second.startswith((b"{", b"["))
        goes_on = first.endswith((b"{", b"[", b",")) and second.startswith((b'"', b"}"))
        return opens or goes_on

    @property
    def is_nemo_gym(self) -> bool:
        """Whether the first rows are NeMo Gym's."""
        return NEMO_GYM_TASK.encode() in self.head or NEMO_GYM_TASK in self.keys

    @property
    def is_zip(self) -> bool:
        """Whether this is a zip archive."""
        return self.head.startswith(b"PK\x03\x04")

    @property
    def is_folder(self) -> bool:
        """Whether this is a folder, for the formats that are one."""
        return not self.head

    @property
    def unit(self) -> Literal["line", "row"]:
        """The unit of places: lines, or rows in a JSON array, which may be one line."""
        if self.counts is not None:
            return self.counts
        return "row" if self.is_array or self.is_objects else "line"

    def at(self, place: int) -> str:
        """Format the place of a row: ``file:line``, or ``file, row n``."""
        if self.unit == "line":
            return f"{self.shown}:{place}"
        return f"{self.shown}, row {place}"

    def error(
        self,
        message: str,
        row: SourceRow | None = None,
        *,
        line: int | None = None,
        hint: str | None = None,
        kind: type[DataError] = DataError,
    ) -> DataError:
        """Create an error for this file, or for one of its rows."""
        if row is not None:
            line = row.line or None
            if self.unit == "row":
                message = f"row {row.place}: {message}"
        return kind(message, file=self.shown, line=line, hint=hint)

    def error_at(
        self,
        place: int,
        message: str,
        hint: str,
        kind: type[DataError] = DataError,
    ) -> DataError:
        """Create an error for a row by its place."""
        if self.unit == "line":
            return self.error(message, line=place, hint=hint, kind=kind)
        return self.error(f"row {place}: {message}", hint=hint, kind=kind)

    def must_be_text(self) -> None:
        """Refuse a file that is evidently of a kind that can't be read, with what it is."""
        is_json = self.head[:1] in (b"{", b"[") and not _of_python(self.head)
        if is_json and b"\x00" not in self.head:
            return
        from pytest_evalmetrics.rollouts.file_kinds import kind_of  # rarely

        kind = kind_of(self.head, self.path)
        if kind is not None:
            raise self.error(f"this is {kind.what}", hint=kind.hint)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the file for reading, decompressed, where its span starts."""
        start = 0
        if self.span is not None:
            start = self.span[0]
        with explained(self.shown), self._raw() as raw:
            stream = _unpacked(raw, self.packed, self.shown)
            # a mark stands only at the start of a file
            has_mark = start == 0 and stream.read(len(BOM)) == BOM
            if not has_mark:
                # of a remote file only the span is there
                stream.seek(0 if self.url else start)
            yield stream

    def must_be_unchanged(self) -> None:
        """Refuse a file that is another one now than when it began to be read."""
        if self.stamp is None:
            return
        with explained(self.shown):
            now = _stamp(os.stat(self.path))  # noqa: PTH116 - for each file
        if now != self.stamp:
            hint = "wait until the run that writes it has ended"
            raise self.error("this file was changed while it was read", hint=hint)

    def _raw(self) -> BinaryIO:
        if self.data is not None:
            return io.BytesIO(self.data)
        if self.url is None or self.span is None:
            return self.path.open("rb")
        from pytest_evalmetrics.rollouts.remote_access import (
            read_range,  # takes an extra
        )

        return io.BytesIO(read_range(self.url, self.shown, *self.span))


def row_too_long(source: Source, most: int, line: int | None = None) -> DataError:
    """Make the error of a row of more bytes than may be read at once."""
    how = f"{MAX_ROW}={4 * most} in the environment raises the bound"
    message = f"a row of more than {most:,} bytes, which {MAX_ROW} allows"
    return source.error(message, line=line, hint=f"is this a file of rollouts? {how}")


def not_utf8(source: Source, byte: int, line: int | None = None) -> DataError:
    """Make the error of text in another encoding."""
    message = f"this is not UTF-8 text: found the byte 0x{byte:02x}"
    return source.error(message, line=line, hint="save the file as UTF-8")


def open_source(file: RolloutFile) -> Source:
    """Read the start of a file."""
    shown = file.shown
    if file.data is not None:
        head = file.data[:ENOUGH]
        return Source(file.path, shown, len(file.data), head, data=file.data)
    with explained(shown):
        stat = os.stat(file.path)  # noqa: PTH116 - for each file
    if S_ISDIR(stat.st_mode):
        return Source(file.path, shown, 0, b"")
    if not S_ISREG(stat.st_mode):  # opening a pipe would wait for ever
        raise DataError(
            "this is not a regular file", file=shown, hint="copy it into a file"
        )
    size = stat.st_size
    data = None
    with explained(shown), file.path.open("rb") as raw:
        start = raw.read(_HEAD) or b""
        raw.seek(0)
        packed = _packing_of(start)
        stream = _unpacked(raw, packed, shown)
        if packed is None and len(start) == size < _HEAD:
            # all of it is here: read it once
            data = start
            stream = io.BytesIO(start)
        head = _first_bytes(stream)
    _must_hold_something(head, size, shown)
    return Source(file.path, shown, size, head, packed, stamp=_stamp(stat), data=data)


def _packing_of(start: bytes) -> Literal["gzip", "zstd"] | None:
    """Recognise how a file is compressed by its first bytes."""
    if start.startswith(_GZIP):
        return "gzip"
    if start.startswith(_ZSTD):
        return "zstd"
    return None


def _first_bytes(stream: BinaryIO) -> bytes:
    """Read the first bytes from the first that is no white space."""
    head = stream.read(_HEAD).removeprefix(BOM).lstrip(SPACE)
    while not head:
        block = stream.read(_HEAD)
        if not block:
            break
        head = block.lstrip(SPACE)
    return head


def _must_hold_something(head: bytes, size: int, shown: str) -> None:
    """Refuse empty files, web pages and pointers to files."""
    if not head:
        what = "the file is empty" if size == 0 else "the file holds no row"
        raise DataError(what, file=shown, hint="did the run that writes it fail?")
    if head[:_HTML].lower().startswith((b"<!doctype html", b"<html")):
        hint = "is it a login page, or a page about the file? name a raw file that needs no login"
        raise DataError("this is a web page, not rollouts", file=shown, hint=hint)
    if head.startswith(_LFS):
        what = "this is a Git LFS pointer, not the file itself"
        raise DataError(what, file=shown, hint="run: git lfs pull")


def _stamp(stat: os.stat_result) -> tuple[int, ...]:
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns
