"""The journal on disk: its database, and copies of it as JSON Lines."""

from __future__ import annotations

import gzip
import json
import os
import re
import sqlite3
import tempfile
import zlib
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pytest_evalmetrics.transport.wire import CallError, JournalError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

__all__ = [
    "Entry",
    "Failure",
    "Failures",
    "Store",
    "Totals",
    "clear_journal",
    "export_journal",
    "import_journal",
    "journal_totals",
]

_LONGEST = 16_384  # characters of a text of it
_LONGEST_BODY = 65_536

# made with the first failure: most journals never have one
_FAILURES_SCHEMA = """
CREATE TABLE IF NOT EXISTS failures (
    key BLOB PRIMARY KEY, kind TEXT NOT NULL, message TEXT NOT NULL, hint TEXT, status INTEGER,
    attempts INTEGER NOT NULL, body TEXT, created REAL NOT NULL)
"""
_FAILURE_COLUMNS = "key, kind, message, hint, status, attempts, body, created"


@dataclass(frozen=True, slots=True)
class Failure:
    """The last failure of a call."""

    kind: str  # see `CallError`; without secrets
    message: str
    hint: str | None
    status: int | None
    attempts: int
    # the JSON that came and was no answer; None where none came, or none that can be kept
    body: str | None
    created: float  # when it was, seconds since 1970

    @classmethod
    def of(cls, error: CallError, body: str | None, created: float) -> Failure:
        """Take what an error says; `body` and its texts hold no secret."""
        kept = body is not None and len(body) <= _LONGEST_BODY
        return cls(
            _cut(error.kind),
            _cut(error.reason),
            None if error.hint is None else _cut(error.hint),
            error.status,
            error.attempts,
            body if kept else None,
            created,
        )

    def error(self, row: str | None = None) -> CallError:
        """Make the error again."""
        return CallError(
            self.kind,
            self.message,
            row=row,
            status=self.status,
            attempts=self.attempts,
            hint=self.hint,
        )

    @property
    def bytes(self) -> int:
        """What it takes, about."""
        return len(self.message) + len(self.body or "")


def _cut(text: str) -> str:
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    # half a surrogate pair is no text for SQLite
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


class Failures:
    """The table of a journal's file; every change of it is a part of its owner's transaction."""

    def __init__(self, db: sqlite3.Connection, *, there: bool) -> None:
        self._db = db
        self._there = there

    def __bool__(self) -> bool:
        return self._there

    def find(self, key: bytes) -> Failure | None:
        """Look one up."""
        if not self._there:
            return None
        found = self._db.execute(
            f"SELECT {_FAILURE_COLUMNS} FROM failures WHERE key = ?",  # noqa: S608 - names alone
            (key,),
        )
        row = found.fetchone()
        return Failure(*row[1:]) if row else None

    def all(self) -> Iterator[tuple[bytes, Failure]]:
        """Give every one, in the order of the keys."""
        if self._there:
            for key, *failure in self._db.execute(
                f"SELECT {_FAILURE_COLUMNS} FROM failures ORDER BY key"  # noqa: S608 - names alone
            ):
                yield key, Failure(*failure)

    def write(self, failed: Collection[tuple[bytes, Failure]], *, replace: bool = True) -> None:
        """Add some; those that are there are replaced, or stay."""
        if not failed:
            return
        self._db.execute(_FAILURES_SCHEMA)
        self._there = True
        self._db.executemany(
            f"INSERT OR {'REPLACE' if replace else 'IGNORE'} INTO failures "  # noqa: S608 - a word
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (key, f.kind, f.message, f.hint, f.status, f.attempts, f.body, f.created)
                for key, f in failed
            ],
        )

    def forget(self, keys: Iterator[bytes]) -> None:
        """Drop those of calls that were answered since."""
        if self._there:
            self._db.executemany("DELETE FROM failures WHERE key = ?", ((key,) for key in keys))

    def forget_older_half(self) -> bool:
        """Drop the older half of them; return whether there were any."""
        if not self._there:
            return False
        (count,) = self._db.execute("SELECT count(*) FROM failures").fetchone()
        self._db.execute(
            "DELETE FROM failures WHERE key IN (SELECT key FROM failures ORDER BY created LIMIT ?)",
            ((count + 1) // 2,),
        )
        return bool(count)

    def clear(self) -> None:
        """Drop all."""
        if self._there:
            self._db.execute("DELETE FROM failures")


_APPLICATION, _VERSION = 0x65764A31, 1  # "evJ1": other programs' files are not taken for ours
_BUSY_S = 30.0  # how long another process may hold the file
_LOW_WATER = 0.9
_AT_ONCE, _COLUMNS = 32, 7  # SQLite takes 999 values to a statement

_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    key BLOB PRIMARY KEY, status INTEGER NOT NULL, body TEXT NOT NULL, latency REAL NOT NULL,
    attempts INTEGER NOT NULL, created REAL NOT NULL, used REAL NOT NULL);
CREATE INDEX IF NOT EXISTS by_use ON answers (used);
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """An answer as it is kept."""

    status: int  # the HTTP status
    text: str  # the body as it came, JSON
    latency_s: float  # seconds
    attempts: int  # how many requests it took
    created: float  # when it was paid for, and last asked for; seconds since 1970
    used: float


@dataclass(frozen=True, slots=True)
class Totals:
    """What a journal holds."""

    answers: int  # how many
    bytes: int  # what they take, in whole pages of the file
    oldest: float | None  # when they were paid for, seconds since 1970; None where there are none
    newest: float | None


class Store:
    """One connection to the file; used by one thread at a time."""

    def __init__(self, path: Path, *, readonly: bool = False) -> None:
        self._db = _open_readonly(path) if readonly else _connect(path)
        try:
            self._db.execute("BEGIN")  # one view of the file: another process may be making it
            (application,) = self._db.execute("PRAGMA application_id").fetchone()
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            tables, failures = self._db.execute(
                "SELECT count(*), total(name = 'failures') FROM sqlite_master"
            ).fetchone()
            self._failures = Failures(self._db, there=bool(failures))
            self._db.execute("COMMIT")
            if (application, version) != (_APPLICATION, _VERSION) and (tables or readonly):
                raise sqlite3.DatabaseError(  # noqa: TRY301 - closed like every other failure
                    "it is no journal"
                    if application != _APPLICATION
                    else f"it is of version {version}, this is version {_VERSION}"
                )
            if not readonly:
                self._prepare(new=not tables)
        except BaseException:
            self._db.close()
            raise

    def _prepare(self, *, new: bool) -> None:
        if new:
            self._db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        # A reader never waits for a writer; where the file system can't, SQLite stays as it is.
        with suppress(sqlite3.OperationalError):  # another process is at it
            self._db.execute("PRAGMA journal_mode = WAL")
        # Survives kill -9; a loss of power may take the last moments, never the file.
        self._db.execute("PRAGMA synchronous = NORMAL")
        if new:
            with self._writing():
                for statement in _SCHEMA.split(";")[:-1]:
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
                self._db.execute(f"PRAGMA user_version = {_VERSION}")

    def get(self, key: bytes) -> Entry | None:
        """Look an answer up."""
        row = self._db.execute(
            "SELECT status, body, latency, attempts, created, used FROM answers WHERE key = ?",
            (key,),
        ).fetchone()
        return Entry(*row) if row else None

    def failure(self, key: bytes) -> Failure | None:
        """Look up how a call failed that has no answer."""
        return self._failures.find(key)

    def write(
        self,
        entries: Collection[tuple[bytes, Entry]],
        used: Collection[tuple[float, bytes]],
        failed: Collection[tuple[bytes, Failure]] = (),
    ) -> None:
        """Write answers and failures and note uses, in one transaction."""
        values = [
            value
            for key, e in entries
            for value in (key, e.status, e.text, e.latency_s, e.attempts, e.created, e.used)
        ]
        with self._writing():
            # several to a statement: between statements the thread that calls has to wait
            for start in range(0, len(values), _AT_ONCE * _COLUMNS):
                some = values[start : start + _AT_ONCE * _COLUMNS]
                rows = ", ".join(["(?, ?, ?, ?, ?, ?, ?)"] * (len(some) // _COLUMNS))
                self._db.execute(f"INSERT OR REPLACE INTO answers VALUES {rows}", some)  # noqa: S608 - question marks alone
            if used:
                self._db.executemany("UPDATE answers SET used = ? WHERE key = ?", used)
            if self._failures:
                self._failures.forget(key for key, _ in entries)
            self._failures.write(failed)

    def add_new(self, found: Iterator[tuple[bytes, Entry | Failure]]) -> int:
        """Add what is not there yet, all or none; return how many answers."""
        failed: list[tuple[bytes, Failure]] = []

        def answers() -> Iterator[tuple[bytes, int, str, float, int, float, float]]:
            for key, e in found:
                if isinstance(e, Failure):
                    failed.append((key, e))
                else:
                    yield key, e.status, e.text, e.latency_s, e.attempts, e.created, e.used

        with self._writing():
            count = self._db.executemany(
                "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)", answers()
            ).rowcount
            self._failures.write(failed, replace=False)
            return count

    def all(self) -> Iterator[tuple[bytes, Entry]]:
        """Give every answer, in the order of the keys."""
        rows = self._db.execute(
            "SELECT key, status, body, latency, attempts, created, used FROM answers ORDER BY key"
        )
        for key, *entry in rows:
            yield key, Entry(*entry)

    def all_failures(self) -> Iterator[tuple[bytes, Failure]]:
        """Give every failure, in the order of the keys."""
        return self._failures.all()

    def size(self) -> int:
        """Give the bytes in use: whole pages, without those that are free again."""
        (pages,) = self._db.execute("PRAGMA page_count").fetchone()
        (free,) = self._db.execute("PRAGMA freelist_count").fetchone()
        (page,) = self._db.execute("PRAGMA page_size").fetchone()
        return int((pages - free) * page)

    def evict(self, max_bytes: int) -> float | None:
        """Drop failures, and then the least recently used answers, once a bound is passed."""
        if self.size() <= max_bytes:
            return None
        latest = None
        while self.size() > max_bytes * _LOW_WATER:
            with self._writing():
                if self._failures.forget_older_half():
                    continue
                (count,) = self._db.execute("SELECT count(*) FROM answers").fetchone()
                oldest = self._db.execute(
                    "SELECT rowid, used FROM answers ORDER BY used LIMIT ?",
                    (max(1, count // 20),),
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
        """Drop all and give the disk its space back; return how many answers there were."""
        with self._writing():
            self._failures.clear()
            count = self._db.execute("DELETE FROM answers").rowcount
        self._shrink()
        return count

    def totals(self) -> Totals:
        """Count what there is."""
        row = self._db.execute("SELECT count(*), min(created), max(created) FROM answers")
        count, oldest, newest = row.fetchone()
        return Totals(count, self.size(), oldest, newest)

    def close(self) -> None:
        """Close the connection; the last one to close leaves a single file."""
        self._db.close()

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


def _connect(path: Path) -> sqlite3.Connection:
    # isolation_level None: the transactions are ours. The thread changes: see `Store`.
    return sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)


def _open_readonly(path: Path) -> sqlite3.Connection:
    """Open an existing file for reading alone.

    Not with mode=ro at first: the last one to close could not clear away the files of WAL.
    The second try is for a folder in which they can't be made.
    """
    uri = path.resolve().as_uri()
    for options in ("mode=rw", "mode=ro&immutable=1"):
        db = sqlite3.connect(
            f"{uri}?{options}",
            uri=True,
            timeout=_BUSY_S,
            isolation_level=None,
            check_same_thread=False,
        )
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


_HEAD = {"format": "evalmetrics-journal", "version": 1}
_KEY = re.compile(r"([0-9a-f]{2})+")
_FAULTS = (OSError, ValueError, EOFError, zlib.error, sqlite3.Error)


def export_journal(journal: Path, to: Path) -> int:
    """Write every answer to one file, and every failure; return how many answers.

    The same answers give the same bytes, in the order of their keys. The file is replaced
    as a whole or not at all.
    """
    count = 0
    try:
        with _store(journal, readonly=True) as store, _replacing(to) as file:
            file.write(_line(_HEAD))
            for key, entry in store.all():
                file.write(_line(_as_dict(key, entry)))
                count += 1
            for key, failure in store.all_failures():
                file.write(_line({"key": key.hex(), "failure": asdict(failure)}))
    except _FAULTS as error:
        raise JournalError(f"the journal {journal} can't be exported to {to}: {error}") from None
    return count


def import_journal(journal: Path, source: Path) -> int:
    """Add a file's answers to a journal; return how many were new.

    What the journal has stays as it is. All are added or, after an error, none.
    """
    try:
        journal.parent.mkdir(parents=True, exist_ok=True)
        with _store(journal) as store:
            return store.add_new(_entries(source))
    except _FAULTS as error:
        raise JournalError(f"{source} can't be imported into {journal}: {error}") from None


def clear_journal(journal: Path) -> int:
    """Empty a journal and give the disk its space back; return how many answers it held."""
    if not journal.exists():
        return 0
    try:
        with _store(journal) as store:
            return store.clear()
    except _FAULTS as error:
        raise JournalError(
            f"the journal {journal} can't be emptied: {error}", hint="delete the file"
        ) from None


def journal_totals(journal: Path) -> Totals:
    """Tell what a journal holds."""
    try:
        with _store(journal, readonly=True) as store:
            return store.totals()
    except _FAULTS as error:
        raise JournalError(f"the journal {journal} can't be read: {error}") from None


@contextmanager
def _store(path: Path, *, readonly: bool = False) -> Iterator[Store]:
    store = Store(path, readonly=readonly)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def _replacing(to: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """Give a file to write, which takes its place only when it is whole."""
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


def _as_dict(key: bytes, entry: Entry) -> dict[str, Any]:
    return {
        "key": key.hex(),
        "status": entry.status,
        "latency_s": entry.latency_s,
        "attempts": entry.attempts,
        "created": entry.created,
        "body": entry.text,  # as text: a number keeps the digits that the endpoint wrote
    }


def _entries(source: Path) -> Iterator[tuple[bytes, Entry | Failure]]:
    with gzip.open(source) if source.suffix == ".gz" else source.open("rb") as file:
        number = 0
        for number, line in enumerate(file, start=1):
            entry = _entry(line) if number > 1 else None
            if entry is not None:
                yield entry
            elif number > 1 or _parsed(line) != _HEAD:
                expected = json.dumps(_HEAD) if number == 1 else "an answer as export writes it"
                raise JournalError(
                    f"this is no exported journal: expected {expected}",
                    file=str(source),
                    line=number,
                    hint="nothing was imported; export the journal again",
                )
        if not number:
            raise ValueError("it is empty")


def _parsed(line: bytes | str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _entry(line: bytes) -> tuple[bytes, Entry | Failure] | None:
    """Read a line; None where it is neither an answer nor a failure."""
    match _parsed(line):
        case {
            "key": str(key),
            "failure": {
                "kind": str(kind),
                "message": str(message),
                "hint": (str() | None) as hint,
                "status": (int() | None) as status,
                "attempts": int(attempts),
                "body": (str() | None) as body,
                "created": float() | int() as created,
            },
        } if _KEY.fullmatch(key):
            failure = Failure(kind, message, hint, status, attempts, body, created)
            return bytes.fromhex(key), failure
        case {
            "key": str(key),
            "status": int(status),
            "latency_s": float() | int() as latency,
            "attempts": int(attempts),
            "created": float() | int() as created,
            "body": str(body),
        } if _KEY.fullmatch(key):
            return bytes.fromhex(key), Entry(status, body, latency, attempts, created, created)
    return None
