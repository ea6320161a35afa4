"""A journal as one file, for CI to cache or to commit: JSON lines, compressed where named .gz."""

from __future__ import annotations

import gzip
import json
import os
import re
import sqlite3
import tempfile
import zlib
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pytest_evalmetrics.transport.errors import JournalError
from pytest_evalmetrics.transport.failures import Failure
from pytest_evalmetrics.transport.journal_store import Entry, Store, Totals

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["clear_journal", "export_journal", "import_journal", "journal_totals"]

_HEAD = {"format": "evalmetrics-journal", "version": 1}
_KEY = re.compile(r"([0-9a-f]{2})+")
_FAULTS = (OSError, ValueError, EOFError, zlib.error, sqlite3.Error)


def export_journal(journal: Path, to: Path) -> int:
    """Write every answer to one file, and every failure; return how many answers.

    The same answers give the same bytes, in the order of their keys. The file is replaced
    as a whole or not at all.

    Raises
    ------
    JournalError
        There is no journal, or it can't be read, or the file can't be written.
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

    Raises
    ------
    JournalError
        The file can't be read, or a line of it is no answer; or the journal can't be written.
    """
    try:
        journal.parent.mkdir(parents=True, exist_ok=True)
        with _store(journal) as store:
            return store.add_new(_entries(source))
    except _FAULTS as error:
        raise JournalError(f"{source} can't be imported into {journal}: {error}") from None


def clear_journal(journal: Path) -> int:
    """Empty a journal and give the disk its space back; return how many answers it held.

    Raises
    ------
    JournalError
        It can't be written.
    """
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
    """Tell what a journal holds.

    Raises
    ------
    JournalError
        There is none, or it can't be read.
    """
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
