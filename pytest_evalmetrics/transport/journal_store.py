"""The journal's file: one SQLite table, shared by processes."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_evalmetrics.transport.failures import Failure, Failures

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

__all__ = ["Entry", "Store", "Totals"]

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
    """An answer as it is kept.

    Attributes
    ----------
    status
        The HTTP status.
    text
        The body as it came, JSON.
    latency_s
        Seconds.
    attempts
        How many requests it took.
    created, used
        When it was paid for, and last asked for; seconds since 1970.
    """

    status: int
    text: str
    latency_s: float
    attempts: int
    created: float
    used: float


@dataclass(frozen=True, slots=True)
class Totals:
    """What a journal holds.

    Attributes
    ----------
    answers
        How many.
    bytes
        What they take, in whole pages of the file.
    oldest, newest
        When they were paid for, seconds since 1970; None where there are none.
    """

    answers: int
    bytes: int
    oldest: float | None
    newest: float | None


class Store:
    """One connection to the file; used by one thread at a time.

    Raises
    ------
    sqlite3.Error
        From every method: what the file or the disk refuses.
    """

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
        """Drop failures, and then the least recently used answers, once a bound is passed.

        Returns
        -------
        float or None
            When the last answer to go was used; None where none had to go.
        """
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
