"""The file of the journal: a log of records, one a line, and the index that is made of it.

A record is never changed in place: a later one with the same key replaces it. So a process that is
killed loses nothing that was written, several processes can append at the same time, and damage
costs the records that it hits.

    <crc32 of the rest> <length of the rest> <kind> <key> <JSON>

The kind is `a` for an answer, `f` for a failure, `u` for the time at which an answer was last used.
"""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import stat
import time
from contextlib import suppress
from typing import IO, TYPE_CHECKING
from zlib import crc32

import msgspec
from msgspec import structs

from pytest_evalmetrics.scoring.transport.wire import JournalError, PaidAnswer
from pytest_evalmetrics.whole_files import replacing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path


class KeptFailure(msgspec.Struct, frozen=True):
    """The last failure of a call, without secrets."""

    # this and the next two: see `CallError`
    kind: str
    message: str
    hint: str | None
    status: int | None
    attempts: int
    # the JSON that was refused
    body: str | None
    # seconds since 1970
    created: float = 0.0


Kept = PaidAnswer | KeptFailure

_VERSION = 3
_HEAD_START = b"evalmetrics-journal "
_HEAD = b"%s%d\n" % (_HEAD_START, _VERSION)
_SQLITE = b"SQLite format 3\0"  # of the journals of development versions
# stands behind a record that was cut, as by a full disk: it is no damage
_CUT = b"~"
_PREFIX = 18  # bytes before a record's payload: two numbers of 8 digits, and spaces
_KEY = slice(2, 42)  # of a payload
_JSON_AT = 43
_LOW_WATER = 0.9  # of the bound: so much is left after the oldest answers were dropped
_LONGEST = 16_384  # characters of a failure's message, and of its hint
_TAIL_LOOKS = 5
_TAIL_S = 0.02
_ANSWERS = msgspec.json.Decoder(PaidAnswer)
_FAILURES = msgspec.json.Decoder(KeptFailure)
_ENCODER = msgspec.json.Encoder()


class _Place(msgspec.Struct, frozen=True, gc=False):
    """The place of a record's payload in the file, in bytes."""

    start: int
    length: int


def _record(kind: bytes, key: bytes, json: bytes) -> bytes:
    payload = b"%s %s %s" % (kind, key.hex().encode(), json)
    return b"%08x %08x %s\n" % (crc32(payload), len(payload), payload)


def record_of(key: bytes, kept: Kept) -> bytes:
    """Write an answer or a failure as a line."""
    if isinstance(kept, PaidAnswer):
        return _record(b"a", key, _ENCODER.encode(kept))
    hint = kept.hint
    if hint is not None:
        hint = _cut(hint)
    kept = structs.replace(
        kept, kind=_cut(kept.kind), message=_cut(kept.message), hint=hint
    )
    return _record(b"f", key, _ENCODER.encode(kept))


def _cut(text: str) -> str:
    """Cut a text, and escape half a surrogate pair, which UTF-8 can't hold."""
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST - 1]}…"
    return text.encode(errors="backslashreplace").decode()


def _payload(data: bytes | mmap.mmap, start: int) -> bytes | None:
    """Return the payload of the record that starts there; None without an intact one."""
    prefix = data[start : start + _PREFIX]
    try:
        expected = int(prefix[:8], 16)
        length = int(prefix[9:17], 16)
    except ValueError:
        return None
    payload = data[start + _PREFIX : start + _PREFIX + length]
    is_whole = len(payload) == length > _JSON_AT
    if not is_whole or crc32(payload) != expected:
        return None
    return payload


class JournalFile:
    """The journal's file, open for reading, and for appending unless it is `readonly`.

    Raises
    ------
    JournalError
        It is not a journal, or of a newer version.
    OSError
        It can't be opened.
    """

    def __init__(self, path: Path, *, readonly: bool = False) -> None:
        self._path = path
        self._readonly = readonly
        self._file = -1
        self._open()

    def _open(self) -> None:
        flags = os.O_RDWR | os.O_APPEND
        if self._readonly:
            flags = os.O_RDONLY
        self._file = os.open(self._path, flags | getattr(os, "O_BINARY", 0))
        state = os.fstat(self._file)
        self._inode = state.st_ino
        self._answers: dict[bytes, _Place] = {}
        self._failures: dict[bytes, _Place] = {}
        self._used: dict[bytes, float] = {}
        # bytes that were read into the index, and whether some of them are damaged
        self._scanned = 0
        self.is_damaged = False
        # whether the next record must begin on a line of its own
        self._is_cut = False
        try:
            self._check_head(state.st_size)
            self.refresh()
        except BaseException:
            self.close()
            raise
        self._read_tail()
        if not self._readonly and state.st_mode & 0o077:
            with suppress(OSError):  # the owner alone reads answers
                self._path.chmod(stat.S_IRUSR | stat.S_IWUSR)

    def _read_tail(self) -> None:
        """Find out whether the last record is cut, or another process is just writing it."""
        for _ in range(_TAIL_LOOKS):
            if self._scanned >= self.size:
                return
            time.sleep(_TAIL_S)
            self.refresh()
        self._is_cut = True
        self.is_damaged = True

    def _check_head(self, size: int) -> None:
        path = self._path
        head = _read(self._file, 0, len(_HEAD))
        if head == _HEAD:
            self._scanned = len(_HEAD)
            return
        if size == 0:
            raise JournalError(
                f"the journal {path} is empty: nothing was called, because its answers would be "
                "paid for again",
                hint="restore it; or delete it to start anew",
            )
        number = head.removeprefix(_HEAD_START).strip()
        if head.startswith(_HEAD_START) and number.isdigit():
            raise JournalError(
                f"the journal {path} is of version {int(number)}, and {_VERSION} is known here: "
                "nothing was called, because its answers would be paid for again",
                hint="update pytest-evalmetrics, or name another file: --evalmetrics-journal=PATH",
            )
        if _read(self._file, 0, len(_SQLITE)) == _SQLITE or not self._has_records():
            raise JournalError(
                f"{path} is not a journal: nothing was called, because no answer could be kept",
                hint="name another file with --evalmetrics-journal=PATH, or move this one away",
            )
        self.is_damaged = True

    def _has_records(self) -> bool:
        self.refresh()
        return bool(self._answers or self._failures)

    # -- the index -------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Read what was appended since, also by other processes."""
        size = os.fstat(self._file).st_size
        if size <= self._scanned:
            return
        with mmap.mmap(self._file, size, access=mmap.ACCESS_READ) as data:
            self._scanned = self._read_records(data, size)

    def _read_records(self, data: mmap.mmap, size: int) -> int:
        """Add records to the index; return where the last whole line ends."""
        at = self._scanned
        while at < size:
            payload = _payload(data, at)
            if payload is not None:
                self._add(payload, at + _PREFIX)
                at += _PREFIX + len(payload)
                if data[at : at + 1] == b"\n":
                    at += 1
                continue
            end = data.find(b"\n", at)
            if end < 0:
                break
            line = data[at:end]
            is_cut = data[end + 1 : end + 3] == _CUT + b"\n"
            if line not in (b"", _CUT) and not is_cut:
                self.is_damaged = True
            at = end + 1
        return at

    def _add(self, payload: bytes, start: int) -> None:
        try:
            key = bytes.fromhex(payload[_KEY].decode())
        except ValueError:
            self.is_damaged = True
            return
        kind = payload[:1]
        place = _Place(start=start, length=len(payload))
        if kind == b"a":
            self._answers[key] = place
            self._failures.pop(key, None)
        elif kind == b"f":
            self._failures[key] = place
        elif kind == b"u":
            with suppress(ValueError):
                self._used[key] = float(payload[_JSON_AT:])

    def __len__(self) -> int:
        return len(self._answers)

    # -- reading ---------------------------------------------------------------------------------

    def get(self, key: bytes, *, failures: bool = False) -> Kept | None:
        """Look up an answer, else a failure; a damaged one counts as absent."""
        if key not in self._answers:
            self.refresh()
        place = self._answers.get(key)
        if place is not None:
            answer = self._answer_at(place)
            if answer is not None:
                return answer
        if failures and key in self._failures:
            return self._failure_at(self._failures[key])
        return None

    def used(self, key: bytes) -> float:
        """Return when an answer was last used, as noted; 0 if it was not."""
        return self._used.get(key, 0.0)

    def all(self) -> Iterator[tuple[bytes, Kept]]:
        """Yield every answer in the order of the keys, then every failure without one."""
        for key in sorted(self._answers):
            answer = self._answer_at(self._answers[key])
            if answer is not None:
                yield key, answer
        for key in sorted(self._failures.keys() - self._answers.keys()):
            failure = self._failure_at(self._failures[key])
            if failure is not None:
                yield key, failure

    def _answer_at(self, place: _Place) -> PaidAnswer | None:
        json = self._json_at(place)
        if json is not None:
            with suppress(msgspec.MsgspecError):
                return _ANSWERS.decode(json)
        return None

    def _failure_at(self, place: _Place) -> KeptFailure | None:
        json = self._json_at(place)
        if json is not None:
            with suppress(msgspec.MsgspecError):
                return _FAILURES.decode(json)
        return None

    def _json_at(self, place: _Place) -> bytes | None:
        start = place.start - _PREFIX
        record = _read(self._file, start, _PREFIX + place.length)
        payload = _payload(record, 0)
        if payload is None:
            return None
        return payload[_JSON_AT:]

    # -- writing ---------------------------------------------------------------------------------

    def append(self, key: bytes, kept: Kept) -> None:
        """Write a record; it survives the end of the process in any way.

        Raises
        ------
        OSError
            The disk refused it.
        """
        record = record_of(key, kept)
        start = self._write(record)
        # the checksum, the length and the line feed do not count
        place = _Place(start=start + _PREFIX, length=len(record) - _PREFIX - 1)
        if isinstance(kept, PaidAnswer):
            self._answers[key] = place
            self._failures.pop(key, None)
        else:
            self._failures[key] = place

    def note_used(self, times: dict[bytes, float]) -> None:
        """Write when answers were last used."""
        lines = [_record(b"u", key, b"%.3f" % at) for key, at in times.items()]
        if lines:
            self._write(b"".join(lines))
            self._used |= times

    def _write(self, lines: bytes, *, is_indexed: bool = True) -> int:
        """Append lines; return where they start.

        `is_indexed` says that their records need not be read into the index.
        """
        # In one piece, so that those of several processes don't mix. Another process may have put a
        # new file in the place of this one: then it is written again, for the answer would be lost.
        while True:
            cut = b""
            if self._is_cut:
                cut = b"\n%s\n" % _CUT
            self._is_cut = True
            written = os.write(self._file, cut + lines)
            if written < len(cut) + len(lines):
                self._take_back(written)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._is_cut = False
            if self._is_in_place():
                break
            self.close()
            self._open()
        end = os.lseek(self._file, 0, os.SEEK_CUR)
        start = end - len(lines)
        if is_indexed and start - len(cut) == self._scanned:
            self._scanned = end
        return start

    def _take_back(self, written: int) -> None:
        """Remove a part of a record, unless another process wrote behind it."""
        end = os.lseek(self._file, 0, os.SEEK_CUR)
        if end == self.size:
            os.ftruncate(self._file, end - written)
            self._is_cut = False

    def _is_in_place(self) -> bool:
        try:
            return self._path.stat().st_ino == self._inode
        except FileNotFoundError:  # deleted by hand: whoever did that wants none
            return True

    @property
    def size(self) -> int:
        """The bytes of the file."""
        return os.fstat(self._file).st_size

    def evict(self, max_bytes: int) -> float | None:
        """Leave out failures and the least recently used answers, once a bound is passed.

        Returns the time of the latest use of those that were dropped; None if none was.
        """
        if self.size <= max_bytes:
            return None
        self.refresh()
        by_use: list[tuple[float, bytes]] = []
        for key, place in self._answers.items():
            answer = self._answer_at(place)
            if answer is not None:
                by_use.append((max(answer.created, self.used(key)), key))
        by_use.sort(reverse=True)
        room = max_bytes * _LOW_WATER
        kept: list[bytes] = []
        latest: float | None = None
        for at, key in by_use:
            room -= self._answers[key].length + _PREFIX + 1
            if room < 0:
                latest = at
                break
            kept.append(key)
        self._rewrite(lambda file: self._copy(kept, file))
        return latest

    def clear(self) -> int:
        """Drop all; return the number of answers."""
        count = len(self)
        self._rewrite(lambda _: None)
        return count

    def repair(self) -> tuple[Path, int]:
        """Set the damaged file aside, and go on with its intact records.

        Returns the path of the damaged file, and the number of answers.
        """
        number = 1
        while True:
            damaged = self._path.with_name(f"{self._path.name}.damaged-{number}")
            if not damaged.exists():
                break
            number += 1
        try:
            os.link(self._path, damaged)
        except OSError:  # a file system without links
            shutil.copy2(self._path, damaged)
        self._rewrite(lambda file: self._copy([*self._answers], file, failures=True))
        return damaged, len(self)

    def _copy(
        self, keys: Iterable[bytes], file: IO[bytes], *, failures: bool = False
    ) -> None:
        places = [self._answers[key] for key in keys]
        if failures:
            places += self._failures.values()
        for place in sorted(places, key=lambda place: place.start):
            json = self._json_at(place)
            if json is not None:
                start = place.start - _PREFIX
                file.write(_read(self._file, start, _PREFIX + place.length))
                file.write(b"\n")
        for key in keys:
            if key in self._used:
                file.write(_record(b"u", key, b"%.3f" % self._used[key]))

    def _rewrite(self, write: Callable[[IO[bytes]], None]) -> None:
        """Put a new file in the place of this one, and open that."""
        self.refresh()
        seen = self.size
        with replacing(self._path) as file:
            with suppress(OSError, AttributeError):
                os.fchmod(file.fileno(), 0o600)
            file.write(_HEAD)
            write(file)
        old = self._file
        try:
            self._open()
            # what others appended meanwhile; they write it again if they see the new file
            tail = _read(old, seen, os.fstat(old).st_size - seen)
            if tail.strip():
                self._write(tail, is_indexed=False)
                self.refresh()
        finally:
            os.close(old)

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _read(file: int, start: int, length: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(file, length, start)
    os.lseek(file, start, os.SEEK_SET)
    return os.read(file, length)


def create_journal(path: Path) -> None:
    """Make an empty journal, unless there is a file; never a half of one."""
    if path.exists():
        return
    with replacing(path) as file:
        with suppress(OSError, AttributeError):
            os.fchmod(file.fileno(), 0o600)
        file.write(_HEAD)


def refuse_other_things(path: Path) -> None:
    """Raise JournalError for a folder, or a file that can't be read, in the journal's place."""
    problem: str | None = None
    if path.is_dir():
        problem = "it is a folder"
    elif path.exists() and not path.is_file():
        problem = "it is not a file"
    elif path.exists() and not os.access(path, os.R_OK):
        problem = "it can't be read"
    if problem is not None:
        raise JournalError(
            f"{path} can't be the journal: {problem}. Nothing was called, because its answers "
            "would be paid for again",
            hint="name another file with --evalmetrics-journal=PATH, or move this one away",
        )
