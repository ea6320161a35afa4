"""The file of the journal: its database, and copies of it as JSON Lines."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import tempfile
import zlib
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from pytest_evalmetrics.transport.salvage import rows_in
from pytest_evalmetrics.transport.wire import CallError, JournalError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Entry:
    """An answer as it is kept; the fields are those of the table."""

    status: int  # the HTTP status
    text: str  # the body as it came, JSON
    latency_s: float  # seconds
    attempts: int  # how many requests it took
    created: float  # when it was paid for, and last used; seconds since 1970
    used: float

    @property
    def size(self) -> int:
        """Its bytes, about."""
        return len(self.text)

    def values(self) -> tuple[Any, ...]:
        """Return the columns of its row behind the key."""
        kept = (self.status, self.text, self.latency_s, self.attempts, self.created, self.used)
        return (*kept, _crc(self.text))


@dataclass(frozen=True, slots=True)
class KeptFailure:
    """The last failure of a call, without secrets; the fields are those of the table."""

    kind: str  # see `CallError`
    message: str
    hint: str | None
    status: int | None
    attempts: int
    body: str | None  # the JSON that was refused; None where there was none, or none to be kept
    created: float  # seconds since 1970

    @property
    def size(self) -> int:
        """Its bytes, about."""
        return len(self.message) + len(self.body or "")

    @classmethod
    def of(cls, error: CallError, body: str | None, created: float) -> KeptFailure:
        """Make it of an error without secrets."""
        if body is not None and len(body) > 65_536:  # noqa: PLR2004 - an error needs no more
            body = None
        hint = None if error.hint is None else _cut(error.hint)
        reason = _cut(error.message)
        return cls(_cut(error.kind), reason, hint, error.status, error.attempts, body, created)

    def error(self) -> CallError:
        """Make the error again."""
        more: dict[str, Any] = {"status": self.status, "attempts": self.attempts}
        return CallError(self.kind, self.message, hint=self.hint, **more)


def _cut(text: str) -> str:
    text = text if len(text) <= 16_384 else f"{text[:16_383]}…"  # noqa: PLR2004 - for people
    # half a surrogate pair is no text for SQLite
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


_APPLICATION = 0x65764A31  # "evJ1": other programs' files are not taken for ours
_VERSION = 2
_BUSY_S = 30.0  # how long another process may hold the file
_LOW_WATER = 0.9
_CHECKED = 2**28  # bytes of a file that is checked for damage when it is opened

# crc: of the body, so that a damaged byte never becomes another answer
_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS answers (
    key BLOB PRIMARY KEY, status INTEGER NOT NULL, body TEXT NOT NULL, latency REAL NOT NULL,
    attempts INTEGER NOT NULL, created REAL NOT NULL, used REAL NOT NULL, crc INTEGER)""",
    "CREATE INDEX IF NOT EXISTS by_use ON answers (used)",
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {_VERSION}",
)
_ANSWERS = "SELECT key, status, body, latency, attempts, created, used, {} FROM answers"
_INSERT = "INSERT OR {} INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_MIGRATIONS = {  # from a version to the next one
    1: ("ALTER TABLE answers ADD COLUMN crc INTEGER", "UPDATE answers SET crc = crc32(body)"),
}
_FAILURES = "SELECT key, kind, message, hint, status, attempts, body, created FROM failures"
# made with the first failure: most journals never have one
_FAILURES_SCHEMA = """CREATE TABLE IF NOT EXISTS failures (
    key BLOB PRIMARY KEY, kind TEXT NOT NULL, message TEXT NOT NULL, hint TEXT, status INTEGER,
    attempts INTEGER NOT NULL, body TEXT, created REAL NOT NULL)"""


class JournalStore:
    """One connection to the file; used by one thread at a time."""

    def __init__(self, path: Path, *, readonly: bool = False, check: bool = False) -> None:
        if not readonly:
            _make_private(path)
        self._wait_s = _BUSY_S
        self._db = _open_readonly(path) if readonly else _connect(path)
        try:
            self._db.execute("BEGIN")  # one view of the file: another process may be making it
            (application,) = self._db.execute("PRAGMA application_id").fetchone()
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            tables, failures = self._db.execute(
                "SELECT count(*), total(name = 'failures') FROM sqlite_master"
            ).fetchone()
            self._has_failures = bool(failures)
            self._db.execute("COMMIT")
            if tables or readonly:
                _accept(path, application, version)
            if check and tables and path.stat().st_size <= _CHECKED:
                (state,) = self._db.execute("PRAGMA quick_check(1)").fetchone()
                if state != "ok":
                    raise sqlite3.DatabaseError(f"it is malformed: {state}")  # noqa: TRY301 - closed
            if not readonly:
                self._prepare(new=not tables, version=version)
            self._answers = _ANSWERS.format("NULL" if readonly and version == 1 else "crc")
        except BaseException:
            self._db.close()
            raise

    def _prepare(self, *, new: bool, version: int) -> None:
        if new:
            self._db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        # A reader never waits for a writer; where the file system can't, SQLite stays as it is.
        with suppress(sqlite3.OperationalError):  # another process is at it
            self._db.execute("PRAGMA journal_mode = WAL")
        # Survives kill -9; a loss of power may take the last moments, never the file.
        self._db.execute("PRAGMA synchronous = NORMAL")
        if new:
            with self._writing():
                for statement in _SCHEMA:
                    self._db.execute(statement)
        elif version < _VERSION:
            self._migrate()

    def _migrate(self) -> None:
        self._db.create_function("crc32", 1, _crc, deterministic=True)
        with self._writing():
            (version,) = self._db.execute("PRAGMA user_version").fetchone()  # another may be faster
            for old in range(version, _VERSION):
                for statement in _MIGRATIONS[old]:
                    self._db.execute(statement)
            self._db.execute(f"PRAGMA user_version = {_VERSION}")

    def get(self, key: bytes) -> Entry | None:
        """Look an answer up; one whose bytes are damaged is none."""
        try:
            row = self._db.execute(self._answers + " WHERE key = ?", (key,)).fetchone()
        except sqlite3.OperationalError as error:
            if "decode" not in str(error):
                raise
            return None
        return Entry(*row[1:7]) if row and row[7] in (None, _crc(row[2])) else None

    def failure(self, key: bytes) -> KeptFailure | None:
        """Look up the failure of a call that has no answer."""
        if not self._has_failures:
            return None
        row = self._db.execute(_FAILURES + " WHERE key = ?", (key,)).fetchone()
        return KeptFailure(*row[1:]) if row else None

    def all(self) -> Iterator[tuple[bytes, Entry | KeptFailure]]:
        """Yield every answer in the order of the keys, then every failure."""
        for key, *entry, crc in self._db.execute(self._answers + " ORDER BY key"):
            if crc in (None, _crc(entry[1])):
                yield key, Entry(*entry)
        if self._has_failures:
            for key, *failure in self._db.execute(_FAILURES + " ORDER BY key"):
                yield key, KeptFailure(*failure)

    def write(
        self,
        kept: Mapping[bytes, Entry | KeptFailure],
        used: Mapping[bytes, float],
        *,
        wait_s: float = _BUSY_S,
    ) -> None:
        """Write answers, failures and times of use in one transaction."""
        if wait_s != self._wait_s:
            self._db.execute(f"PRAGMA busy_timeout = {wait_s * 1000:.0f}")
            self._wait_s = wait_s
        rows = [(key, *one.values()) for key, one in kept.items() if isinstance(one, Entry)]
        failed = [(key, one) for key, one in kept.items() if isinstance(one, KeptFailure)]
        if len(rows) == 1 and not (used or failed or self._has_failures):
            self._db.execute(_INSERT.format("REPLACE"), rows[0])  # a transaction by itself
            return
        with self._writing():
            self._db.executemany(_INSERT.format("REPLACE"), rows)
            times = [(at, key) for key, at in used.items()]
            self._db.executemany("UPDATE answers SET used = ? WHERE key = ?", times)
            if self._has_failures:
                keys = ((row[0],) for row in rows)
                self._db.executemany("DELETE FROM failures WHERE key = ?", keys)
            self._write_failures("REPLACE", failed)

    def add_new(self, entries: Iterator[tuple[bytes, Entry | KeptFailure]]) -> int:
        """Add what is missing, all or none; return the number of answers."""
        failed: list[tuple[bytes, KeptFailure]] = []

        def answers() -> Iterator[tuple[Any, ...]]:
            for key, entry in entries:
                if isinstance(entry, KeptFailure):
                    failed.append((key, entry))
                else:
                    yield key, *entry.values()

        with self._writing():
            count = self._db.executemany(_INSERT.format("IGNORE"), answers()).rowcount
            self._write_failures("IGNORE", failed)
            return count

    def salvage(self, damaged: Path) -> int:
        """Take the answers of a damaged file, of several versions the newest; return how many."""
        with self._writing():
            self._db.executemany(
                "INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE "
                "SET status = excluded.status, body = excluded.body, latency = excluded.latency, "
                "attempts = excluded.attempts, created = excluded.created, used = excluded.used, "
                "crc = excluded.crc WHERE excluded.created > created",
                ((*row[:7], _crc(row[2])) for row in rows_in(damaged)),
            )
            (count,) = self._db.execute("SELECT count(*) FROM answers").fetchone()
        return int(count)

    def _write_failures(self, conflict: str, failed: Collection[tuple[bytes, KeptFailure]]) -> None:
        if failed:
            self._db.execute(_FAILURES_SCHEMA)
            self._has_failures = True
            self._db.executemany(
                f"INSERT OR {conflict} INTO failures VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - a word
                [(key, *astuple(failure)) for key, failure in failed],
            )

    def evict(self, max_bytes: int) -> float | None:
        """Drop failures, then the least recently used answers, once a bound is passed.

        Return when the last dropped answer was used.
        """
        if self._size() <= max_bytes:
            return None
        latest = None
        if self._has_failures:
            with self._writing():
                self._db.execute("DELETE FROM failures")
        while self._size() > max_bytes * _LOW_WATER:
            with self._writing():
                (count,) = self._db.execute("SELECT count(*) FROM answers").fetchone()
                oldest = self._db.execute(
                    "SELECT rowid, used FROM answers ORDER BY used LIMIT ?", (max(1, count // 20),)
                ).fetchall()
                self._db.executemany(
                    "DELETE FROM answers WHERE rowid = ?", [(row,) for row, _ in oldest]
                )
            if not oldest:
                break
            latest = oldest[-1][1]
        self._shrink()
        return latest

    def clear(self) -> int:
        """Drop all and give the disk its space back; return the number of answers."""
        with self._writing():
            if self._has_failures:
                self._db.execute("DELETE FROM failures")
            count = self._db.execute("DELETE FROM answers").rowcount
        self._shrink()
        return count

    def close(self) -> None:
        """Close the connection; the last one to close leaves a single file."""
        self._db.close()

    def _size(self) -> int:
        """Return the bytes in use: whole pages, without those that are free again."""
        pages, free, page = (
            self._db.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * page)

    def _shrink(self) -> None:
        """Give free pages back to the disk."""
        self._db.executescript("PRAGMA incremental_vacuum")  # execute() would stop at the first
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # a full disk has rolled back already
                self._db.execute("ROLLBACK")
            raise


def set_aside(path: Path) -> tuple[Path, int]:
    """Move a damaged journal away, and make a new one of its answers.

    Return where the damaged file is now, and how many answers there were. A file that has none,
    and is no journal by its first bytes, is somebody else's: it stays, and is a `JournalError`.
    """
    if not path.read_bytes()[:16].startswith(b"SQLite format 3") and not any(rows_in(path)):
        raise _no_journal(path)
    number = 1
    while (damaged := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    path.replace(damaged)
    for end in ("-wal", "-shm"):
        with suppress(OSError):
            path.with_name(path.name + end).replace(damaged.with_name(damaged.name + end))
    with closing(JournalStore(path)) as store:
        return damaged, store.salvage(damaged)


def _accept(path: Path, application: int, version: int) -> None:
    """Refuse other programs' files, and journals of a later version."""
    if application != _APPLICATION:
        raise _no_journal(path)
    if version > _VERSION:
        raise JournalError(
            f"the journal {path} is of version {version}, and this pytest-evalmetrics knows "
            f"{_VERSION}: nothing was called, because its answers would be paid for again",
            hint="update pytest-evalmetrics, or name another journal with --evalmetrics-journal",
        )


def _no_journal(path: Path) -> JournalError:
    return JournalError(
        f"{path} is no journal: nothing was called, because no answer could be kept",
        hint="name another file with --evalmetrics-journal, or move this one away",
    )


def _crc(text: str) -> int:
    return zlib.crc32(text.encode())


def _make_private(path: Path) -> None:
    """Let the owner alone read answers; SQLite gives the files beside it the same mode."""
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)


def _connect(path: Path | str, *, uri: bool = False) -> sqlite3.Connection:
    # isolation_level None: the transactions are ours. The thread changes: see `JournalStore`.
    return sqlite3.connect(
        path, uri=uri, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
    )


def _open_readonly(path: Path) -> sqlite3.Connection:
    """Open an existing file for reading alone.

    Not with mode=ro at first: the last one to close could not clear away the files of WAL.
    The second try is for a folder in which they can't be made.
    """
    for options in ("mode=rw", "mode=ro&immutable=1"):
        db = _connect(f"{path.resolve().as_uri()}?{options}", uri=True)
        try:
            db.execute("PRAGMA query_only = ON")
            with closing(db.execute("SELECT count(*) FROM sqlite_master")) as rows:
                rows.fetchone()
        except sqlite3.OperationalError:
            db.close()
        except sqlite3.Error:  # it is no database at all
            db.close()
            raise
        else:
            return db
    raise sqlite3.OperationalError("it can't be opened for reading")


# Copies.

_HEAD = {"format": "evalmetrics-journal", "version": 1}
_FAULTS = (OSError, ValueError, EOFError, zlib.error, sqlite3.Error)


def export_journal(journal: Path, to: Path) -> int:
    """Write every answer to one file, and every failure; return the number of answers.

    The same answers give the same bytes, in the order of their keys. The file is replaced
    as a whole or not at all.
    """
    count = 0
    try:
        with closing(JournalStore(journal, readonly=True)) as store, _replacing(to) as file:
            file.write(_line(_HEAD))
            for key, kept in store.all():
                line: dict[str, Any] = {"key": key.hex()}
                if isinstance(kept, KeptFailure):
                    line["failure"] = asdict(kept)
                else:
                    count += 1
                    for name in ("status", "latency_s", "attempts", "created"):
                        line[name] = getattr(kept, name)
                    line["body"] = kept.text  # as text: a number keeps the endpoint's digits
                file.write(_line(line))
    except _FAULTS as error:
        raise JournalError(f"the journal {journal} can't be exported to {to}: {error}") from None
    return count


def import_journal(journal: Path, source: Path) -> int:
    """Add a file's answers to a journal; return the number of new ones.

    The journal's own answers stay. All are added or, after an error, none.
    """
    try:
        journal.parent.mkdir(parents=True, exist_ok=True)
        with closing(JournalStore(journal)) as store:
            return store.add_new(_entries(source))
    except _FAULTS as error:
        raise JournalError(f"{source} can't be imported into {journal}: {error}") from None


def clear_journal(journal: Path) -> int:
    """Empty a journal and give the disk its space back; return the number of its answers."""
    if not journal.exists():
        return 0
    try:
        with closing(JournalStore(journal)) as store:
            return store.clear()
    except _FAULTS as error:
        raise JournalError(
            f"the journal {journal} can't be emptied: {error}", hint="delete the file"
        ) from None


@contextmanager
def _replacing(to: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """Open a file for writing that takes its place only when it is whole."""
    to.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=to.parent, prefix=f".{to.name}.")
    try:
        with os.fdopen(handle, "wb") as raw:
            if to.suffix == ".gz":  # no name and no time in it: the same answers, the same bytes
                with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as zipped:
                    yield zipped
            else:
                yield raw
            raw.flush()
            os.fsync(raw.fileno())
        Path(name).chmod(0o644)  # a temporary file is private
        Path(name).replace(to)
    finally:
        Path(name).unlink(missing_ok=True)


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _entries(source: Path) -> Iterator[tuple[bytes, Entry | KeptFailure]]:
    with gzip.open(source) if source.suffix == ".gz" else source.open("rb") as file:
        number = 0
        for number, line in enumerate(file, start=1):
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                value = None
            entry = _entry(value) if number > 1 else None
            if entry is not None:
                yield entry
            elif number > 1 or value != _HEAD:
                expected = json.dumps(_HEAD) if number == 1 else "an answer as export writes it"
                raise JournalError(
                    f"this is no exported journal: expected {expected}",
                    file=str(source),
                    line=number,
                    hint="nothing was imported; export the journal again",
                )
        if not number:
            raise ValueError("it is empty")


class _Answer(msgspec.Struct):
    status: int
    latency_s: float
    attempts: int
    created: float
    body: str


def _entry(value: Any) -> tuple[bytes, Entry | KeptFailure] | None:
    """Read a line; None where it is neither an answer nor a failure."""
    try:
        key = bytes.fromhex(value["key"])
        if "failure" in value:
            return key, msgspec.convert(value["failure"], KeptFailure)
        answer = msgspec.convert(value, _Answer)
    except (msgspec.ValidationError, LookupError, TypeError, ValueError):
        return None
    created = answer.created
    return key, Entry(
        answer.status, answer.body, answer.latency_s, answer.attempts, created, created
    )
