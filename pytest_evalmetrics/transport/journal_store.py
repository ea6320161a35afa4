"""The file of the journal: its database, and copies of it as JSON Lines."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import tempfile
import zlib
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from pytest_evalmetrics.run_folder import replacing
from pytest_evalmetrics.transport.wire import JournalError, PaidAnswer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class KeptFailure(msgspec.Struct, frozen=True):
    """The last failure of a call, without secrets; the fields are those of the table."""

    kind: str  # this and the next: see `CallError`
    message: str
    hint: str | None
    status: int | None
    attempts: int
    body: str | None  # the JSON that was refused
    created: float = 0.0  # seconds since 1970


Kept = PaidAnswer | KeptFailure

_LONGEST = 16_384  # characters of a failure's message, and of its hint
_APPLICATION = 0x65764A31  # "evJ1": other programs' files are not taken for ours
_VERSION = 2
_BUSY_S = 30.0  # how long another process may hold the file
_LOW_WATER = 0.9
_CHECKED = (
    2**28
)  # bytes of the largest file that is checked for damage when it is opened
_LEAF_PAGE = 13  # the first byte of a page that holds rows of a table

# crc: of the body, so that a damaged byte never becomes another answer
_ANSWERS = """CREATE TABLE answers (
    key BLOB PRIMARY KEY, status INTEGER NOT NULL, body TEXT NOT NULL, latency REAL NOT NULL,
    attempts INTEGER NOT NULL, created REAL NOT NULL, used REAL NOT NULL, crc INTEGER)"""
_FAILURES = """CREATE TABLE IF NOT EXISTS failures (
    key BLOB PRIMARY KEY, kind TEXT NOT NULL, message TEXT NOT NULL, hint TEXT, status INTEGER,
    attempts INTEGER NOT NULL, body TEXT, created REAL NOT NULL)"""
_TO_THIS_VERSION = {  # from each version; 0 is a new file
    0: (
        _ANSWERS,
        "CREATE INDEX by_use ON answers (used)",
        _FAILURES,
        f"PRAGMA application_id = {_APPLICATION}",
        f"PRAGMA user_version = {_VERSION}",
    ),
    1: (
        "ALTER TABLE answers ADD COLUMN crc INTEGER",
        "UPDATE answers SET crc = crc32(body)",
        _FAILURES,
        f"PRAGMA user_version = {_VERSION}",
    ),
}


class JournalStore:
    """One connection to the file."""

    def __init__(
        self, path: Path, *, readonly: bool = False, check: bool = False
    ) -> None:
        if not readonly:
            with suppress(
                OSError
            ):  # the owner alone reads answers, also in the files beside it
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
                if path.stat().st_mode & 0o077:
                    path.chmod(0o600)
        self._db = _open_readonly(path) if readonly else _connect(path)
        with ExitStack() as refused:
            refused.callback(self._db.close)
            # the process that makes the tables also writes the rest in the same transaction
            (tables,) = self._db.execute(
                "SELECT count(*) FROM sqlite_master"
            ).fetchone()
            if (readonly or tables) and self._pragma("application_id") != _APPLICATION:
                raise _no_journal(path)
            if (version := self._pragma("user_version")) > _VERSION:
                raise JournalError(
                    f"the journal {path} is of version {version}, and {_VERSION} is known here: "
                    "nothing was called, because its answers would be paid for again",
                    hint="update pytest-evalmetrics, or name another file: --evalmetrics-journal",
                )
            if check and path.stat().st_size <= _CHECKED:
                state = self._pragma("quick_check(1)")
                if state != "ok":
                    raise sqlite3.DatabaseError(f"it is malformed: {state}")
            if not readonly:
                self._prepare()
            refused.pop_all()

    def _prepare(self) -> None:
        """Set the connection up; make the tables, or bring them to this version."""
        self._db.execute("PRAGMA auto_vacuum = INCREMENTAL")  # of a new file
        # A reader never waits for a writer; where the file system can't, SQLite stays as it is.
        with suppress(sqlite3.OperationalError):  # another process is at it
            self._db.execute("PRAGMA journal_mode = WAL")
        # Survives kill -9; a loss of power may take the last moments, never the file.
        self._db.execute("PRAGMA synchronous = NORMAL")
        if self._pragma("user_version") != _VERSION:
            self._db.create_function("crc32", 1, _crc, deterministic=True)
            with self._db:
                self._db.execute("BEGIN IMMEDIATE")
                # read again: another process may have been faster
                for statement in _TO_THIS_VERSION.get(self._pragma("user_version"), ()):
                    self._db.execute(statement)

    def get(self, key: bytes, *, failures: bool = False) -> Kept | None:
        """Look up an answer, else a failure; a damaged answer counts as absent."""
        answer = None
        try:
            row = self._db.execute(
                "SELECT * FROM answers WHERE key = ?", (key,)
            ).fetchone()
            answer = row and _answer(row)
        except sqlite3.OperationalError as error:
            if "decode" not in str(error):
                raise
        if answer is not None or not failures:
            return answer
        row = self._db.execute(
            "SELECT * FROM failures WHERE key = ?", (key,)
        ).fetchone()
        return KeptFailure(*row[1:]) if row else None

    def all(self) -> Iterator[tuple[bytes, Kept]]:
        """Yield every answer in the order of the keys, then every failure without one."""
        for row in self._db.execute("SELECT * FROM answers ORDER BY key"):
            if (answer := _answer(row)) is not None:
                yield row[0], answer
        unanswered = "SELECT * FROM failures WHERE key NOT IN (SELECT key FROM answers)"
        for key, *failure in self._db.execute(f"{unanswered} ORDER BY key"):
            yield key, KeptFailure(*failure)

    def write(
        self,
        entries: Iterable[tuple[bytes, Kept]],
        used: Mapping[bytes, float] | None = None,
        *,
        wait_s: float = _BUSY_S,
        otherwise: str = "REPLACE",  # an existing answer, or IGNORE the new one
    ) -> int:
        """Write all or nothing, times of use too; return the number of answers written."""
        self._db.execute(f"PRAGMA busy_timeout = {wait_s * 1000:.0f}")
        count = 0
        with self._db:
            for key, kept in entries:
                count += self._insert(key, kept, otherwise) * isinstance(
                    kept, PaidAnswer
                )
            times = [(at, key) for key, at in (used or {}).items()]
            self._db.executemany("UPDATE answers SET used = ? WHERE key = ?", times)
        return count

    def salvage(self, damaged: Path) -> int:
        """Take the answers of a damaged file, of several versions the newest; return how many."""
        with self._db:
            for key, answer in _answers_in(damaged):
                kept = self.get(key)
                if kept is None or kept.created < answer.created:
                    self._insert(key, answer)
        return self._count()

    def _insert(self, key: bytes, kept: Kept, otherwise: str = "REPLACE") -> int:
        row: tuple[Any, ...]
        if isinstance(kept, PaidAnswer):
            table, row = "answers", (key, *structs.astuple(kept), _crc(kept.body))
        else:
            hint = None if kept.hint is None else _cut(kept.hint)
            kept = structs.replace(
                kept, kind=_cut(kept.kind), message=_cut(kept.message), hint=hint
            )
            table, row = "failures", (key, *structs.astuple(kept))
        insert = f"INSERT OR {otherwise} INTO {table} VALUES (?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - words
        return self._db.execute(insert, row).rowcount

    def _count(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM answers").fetchone()[0])

    def evict(self, max_bytes: int) -> float | None:
        """Drop failures, then the least recently used answers, once a bound is passed."""
        if self._size() <= max_bytes:
            return None
        latest = None
        with self._db:
            self._db.execute("DELETE FROM failures")
        while self._size() > max_bytes * _LOW_WATER:
            oldest = "SELECT used FROM answers ORDER BY used LIMIT 1 OFFSET ?"
            row = self._db.execute(oldest, (self._count() // 20,)).fetchone()
            if row is None:
                break
            (latest,) = row
            with self._db:
                self._db.execute("DELETE FROM answers WHERE used <= ?", row)
        self._shrink()
        return latest

    def clear(self) -> int:
        """Drop all and give the disk its space back; return the number of answers."""
        with self._db:
            self._db.execute("DELETE FROM failures")
            count = self._db.execute("DELETE FROM answers").rowcount
        self._shrink()
        return count

    def close(self) -> None:
        """Close the connection; the last one to close leaves a single file."""
        self._db.close()

    def _pragma(self, name: str) -> Any:
        return self._db.execute(f"PRAGMA {name}").fetchone()[0]

    def _size(self) -> int:
        """Return the bytes in use: whole pages, without those that are free again."""
        pages = self._pragma("page_count") - self._pragma("freelist_count")
        return int(pages * self._pragma("page_size"))

    def _shrink(self) -> None:
        """Return free pages to the disk."""
        self._db.executescript(
            "PRAGMA incremental_vacuum"
        )  # execute() would stop at the first
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _cut(text: str) -> str:
    """Cut a text, and escape half a surrogate pair, which is not text for SQLite."""
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return text.encode("utf-8", "backslashreplace").decode()


def _crc(text: str) -> int:
    return zlib.crc32(text.encode())


def _answer(row: tuple[Any, ...]) -> PaidAnswer | None:
    """Read a row of answers; version 1 had no checksums."""
    answer = PaidAnswer(*row[1:7])
    return answer if row[7:] in ((), (_crc(answer.body),)) else None


def _no_journal(path: Path) -> JournalError:
    return JournalError(
        f"{path} is not a journal: nothing was called, because no answer could be kept",
        hint="name another file with --evalmetrics-journal, or move this one away",
    )


def _connect(path: Path | str, *, uri: bool = False) -> sqlite3.Connection:
    """Connect to a file; the loop's thread uses the connection, and the run's flushes it."""
    return sqlite3.connect(
        path,
        uri=uri,
        timeout=_BUSY_S,
        isolation_level="IMMEDIATE",
        check_same_thread=False,
    )


def _open_readonly(path: Path) -> sqlite3.Connection:
    """Open an existing file for reading alone."""
    # Not with mode=ro at first: the last one to close could not clear away the files of WAL. The
    # second try is for a folder in which they can't be made.
    for options in ("mode=rw", "mode=ro&immutable=1"):
        db = _connect(f"{path.resolve().as_uri()}?{options}", uri=True)
        try:
            db.execute("PRAGMA query_only = ON")
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.Error as refusal:
            db.close()
            error = refusal
        else:
            return db
    raise error


# Damaged files.


def set_aside(path: Path) -> tuple[Path, int]:
    """Move a damaged journal aside, and create a new one from its intact answers."""
    if not path.read_bytes().startswith(b"SQLite format 3") and not any(
        _answers_in(path)
    ):
        raise _no_journal(path)
    number = 1
    while (damaged := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    path.replace(damaged)
    for end in ("-wal", "-shm"):
        with suppress(OSError):
            path.with_name(path.name + end).replace(
                damaged.with_name(damaged.name + end)
            )
    with closing(JournalStore(path)) as store:
        return damaged, store.salvage(damaged)


def _answers_in(damaged: Path) -> Iterator[tuple[bytes, PaidAnswer]]:
    """Yield the intact answers of a damaged file, some of them in several versions."""
    # In a copy with a new first page each page of rows becomes a table of its own: SQLite reads it
    # without the pages above it, which damage makes unreadable. See sqlite.org/fileformat2.
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "journal")
        with closing(sqlite3.connect(copy)) as db:
            db.execute(_ANSWERS)
            db.commit()
            (size,) = db.execute("PRAGMA page_size").fetchone()
        first_page = bytearray(copy.read_bytes()[:size])
        first_page[28:32] = bytes(4)  # SQLite asks the file for its size
        pages = bytearray(damaged.read_bytes())
        pages[:size] = first_page
        for at, page in _logged_pages(damaged, size):
            pages += bytes(max(0, at + size - len(pages)))
            pages[at : at + size] = page
        pages += bytes(-len(pages) % size)
        copy.write_bytes(pages)
        leaves = [
            n + 1 for n in range(1, len(pages) // size) if pages[n * size] == _LEAF_PAGE
        ]
        del pages
        with closing(sqlite3.connect(copy)) as db:
            db.execute("PRAGMA writable_schema = ON")
            db.executemany(
                "INSERT INTO sqlite_master SELECT type, 'page' || :leaf, 'page' || :leaf, :leaf, "
                "replace(replace(sql, 'answers', 'page' || :leaf), 'PRIMARY KEY', '') "
                "FROM sqlite_master WHERE name = 'answers'",
                [{"leaf": leaf} for leaf in leaves],
            )
            db.commit()
        with closing(sqlite3.connect(copy)) as db:
            db.text_factory = lambda text: text.decode(errors="replace")
            for leaf in leaves:
                for order in ("ASC", "DESC"):  # from both ends up to an unreadable row
                    with suppress(sqlite3.DatabaseError):
                        for row in db.execute(
                            f"SELECT * FROM page{leaf} ORDER BY rowid {order}"  # noqa: S608 - numbers
                        ):
                            if isinstance(row[2], str) and row[7] == _crc(row[2]):
                                yield row[0], PaidAnswer(*row[1:7])


def _logged_pages(path: Path, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield the newer pages that a run which was killed left in SQLite's log, and their places."""
    log = path.with_name(f"{path.name}-wal")
    frames = log.read_bytes() if log.is_file() else b""
    for at in range(32, len(frames) - 24 - size + 1, 24 + size):
        number = int.from_bytes(frames[at : at + 4])
        # of this log, not of one before it; the first page is new
        if number > 1 and frames[at + 8 : at + 16] == frames[16:24]:
            yield (number - 1) * size, frames[at + 24 : at + 24 + size]


# Copies.

_HEAD = {"format": "evalmetrics-journal", "version": 1}
_EXPORTED = ("status", "latency_s", "attempts", "created", "body")


@contextmanager
def _reported(problem: str, hint: str | None = None) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, EOFError, zlib.error, sqlite3.Error) as error:
        raise JournalError(f"{problem}: {error}", hint=hint) from None


def export_journal(journal: Path, to: Path) -> int:
    """Write every answer and failure to one file, in the order of their keys."""
    count, packs = 0, to.suffix == ".gz"
    with (
        _reported(f"the journal {journal} can't be exported to {to}"),
        closing(JournalStore(journal, readonly=True)) as store,
        replacing(to) as plain,
        # no name and no time in it: the same answers, the same bytes
        gzip.GzipFile("", "wb", fileobj=plain, mtime=0)
        if packs
        else nullcontext(plain) as file,
    ):
        file.write(_line(_HEAD))
        for key, kept in store.all():
            line: dict[str, Any] = {"key": key.hex()}
            if isinstance(kept, KeptFailure):
                line["failure"] = structs.asdict(kept)
            else:
                count += 1
                # the body as text: a number keeps the endpoint's digits
                line |= {name: getattr(kept, name) for name in _EXPORTED}
            file.write(_line(line))
    return count


def import_journal(journal: Path, source: Path) -> int:
    """Add a file's answers to a journal, all or none, without replacing any; return the number."""
    with _reported(f"{source} can't be imported into {journal}"):
        journal.parent.mkdir(parents=True, exist_ok=True)
        with closing(JournalStore(journal)) as store:
            return store.write(_entries(source), otherwise="IGNORE")


def clear_journal(journal: Path) -> int:
    """Empty a journal and give the disk its space back; return the number of its answers."""
    if not journal.exists():
        return 0
    with (
        _reported(f"the journal {journal} can't be emptied", hint="delete the file"),
        closing(JournalStore(journal)) as store,
    ):
        return store.clear()


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _entries(source: Path) -> Iterator[tuple[bytes, Kept]]:
    number = 0
    with gzip.open(source) if source.suffix == ".gz" else source.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                value = json.loads(line)
                if number > 1:
                    yield _entry(value)
                elif value != _HEAD:
                    raise ValueError  # noqa: TRY301 - the same
            except (
                msgspec.ValidationError,
                LookupError,
                TypeError,
                ValueError,
                RecursionError,
            ):
                expected = (
                    json.dumps(_HEAD)
                    if number == 1
                    else "an answer as export writes it"
                )
                raise JournalError(
                    f"this is not an exported journal: expected {expected}",
                    file=str(source),
                    line=number,
                    hint="nothing was imported; export the journal again",
                ) from None
    if not number:
        raise ValueError("it is empty")


def _entry(value: Any) -> tuple[bytes, Kept]:
    key = bytes.fromhex(value["key"])
    if "failure" in value:
        fields = {
            name: value["failure"][name] for name in KeptFailure.__struct_fields__
        }
        return key, msgspec.convert(fields, KeptFailure)
    names = PaidAnswer.__struct_fields__
    fields = {name: value["created" if name == "used" else name] for name in names}
    return key, msgspec.convert(fields, PaidAnswer)
