"""Calls that failed, as the journal keeps them: for a replay alone, which is to tell the same.

A run asks a failed call again, so nobody but a replay reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_evalmetrics.transport.errors import CallError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator

__all__ = ["Failure", "Failures"]

_LONGEST = 16_384  # characters of a text of it
_LONGEST_BODY = 65_536

# made with the first failure: most journals never have one
_SCHEMA = """
CREATE TABLE IF NOT EXISTS failures (
    key BLOB PRIMARY KEY, kind TEXT NOT NULL, message TEXT NOT NULL, hint TEXT, status INTEGER,
    attempts INTEGER NOT NULL, body TEXT, created REAL NOT NULL)
"""
_COLUMNS = "key, kind, message, hint, status, attempts, body, created"


@dataclass(frozen=True, slots=True)
class Failure:
    """The last failure of a call.

    Attributes
    ----------
    kind, message, hint, status, attempts
        See `CallError`; without secrets.
    body
        The JSON that came and was no answer; None where none came, or none that can be kept.
    created
        When it was, seconds since 1970.
    """

    kind: str
    message: str
    hint: str | None
    status: int | None
    attempts: int
    body: str | None
    created: float

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
    """The table of a journal's file; every change of it is a part of its owner's transaction.

    Parameters
    ----------
    db
        The connection.
    there
        Whether the file has the table.
    """

    def __init__(self, db: sqlite3.Connection, *, there: bool) -> None:
        self._db = db
        self._there = there

    def __bool__(self) -> bool:
        return self._there

    def find(self, key: bytes) -> Failure | None:
        """Look one up."""
        if not self._there:
            return None
        row = self._db.execute(f"SELECT {_COLUMNS} FROM failures WHERE key = ?", (key,)).fetchone()  # noqa: S608 - names alone
        return Failure(*row[1:]) if row else None

    def all(self) -> Iterator[tuple[bytes, Failure]]:
        """Give every one, in the order of the keys."""
        if self._there:
            for key, *failure in self._db.execute(
                f"SELECT {_COLUMNS} FROM failures ORDER BY key"  # noqa: S608 - names alone
            ):
                yield key, Failure(*failure)

    def write(self, failed: Collection[tuple[bytes, Failure]], *, replace: bool = True) -> None:
        """Add some; those that are there are replaced, or stay."""
        if not failed:
            return
        self._db.execute(_SCHEMA)
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
