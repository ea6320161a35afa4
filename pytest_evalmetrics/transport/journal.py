"""The journal of paid calls: an answer is paid for once, whatever happens to the run.

An answer is written within milliseconds of its arrival, by a thread of its own, a few in one
transaction. After kill -9 the next run asks again only for what was in flight. Failures are
not kept: the next run asks again.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from pytest_evalmetrics.transport.errors import JournalError
from pytest_evalmetrics.transport.journal_store import Entry, Store, Totals

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Journal", "JournalMode", "JournalStats"]

_LINGER_S = 0.005  # how long answers are gathered before they are written together
_HELD_BYTES = 32 * 2**20  # what is held of answers that the disk refuses
_FRESH_S = 3600.0  # a use is noted if the last one is older: the order need not be finer


class JournalMode(StrEnum):
    """How a run uses the journal."""

    NORMAL = "normal"
    """Answer from the journal, else call and keep the answer."""
    REPLAY = "replay"
    """Answer from the journal alone; nothing is called or written."""
    REFRESH = "refresh"
    """Call always, and replace what the journal has."""
    OFF = "off"
    """No journal."""


@dataclass(frozen=True, slots=True)
class JournalStats:
    """What a run had of its journal.

    Attributes
    ----------
    hits, misses
        Look-ups.
    written
        Answers that are on disk.
    unwritten
        Answers that the disk refused, or has not yet got.
    totals
        What the file holds; None where it can't be read.
    """

    hits: int
    misses: int
    written: int
    unwritten: int
    totals: Totals | None


class Journal:
    """The journal of one run; opened at its first use.

    A journal that fails costs the run nothing but what a journal saves: the run goes on,
    and `warnings` says so once. In replay mode it is a `JournalError`.

    Parameters
    ----------
    path
        The file.
    mode
        How it is used.
    max_bytes
        The bound of its size: the least recently used answers go first.
    wall
        Seconds since 1970.
    """

    def __init__(
        self,
        path: Path,
        mode: JournalMode = JournalMode.NORMAL,
        *,
        max_bytes: int = 2**30,
        wall: Callable[[], float] = time.time,
        open_store: Callable[..., Store] = Store,
    ) -> None:
        self.path = path
        self.mode = mode
        self.warnings: list[str] = []
        self._max_bytes = max_bytes
        self._wall = wall
        self._open_store = open_store
        self._started = 0.0
        self._reader: Store | None = None
        self._writer: Store | None = None
        self._broken = mode is JournalMode.OFF
        self._lock = threading.Lock()  # of what waits to be written
        self._writing = threading.Lock()  # of the writer's connection
        self._waiting: dict[bytes, Entry] = {}
        self._waiting_bytes = 0
        self._used: dict[bytes, float] = {}
        self._wake, self._closing = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._hits = self._misses = self._written = self._dropped = 0

    def get(self, key: bytes) -> Entry | None:
        """Look an answer up; in refresh mode and without a journal there is none.

        Raises
        ------
        JournalError
            In replay mode, if the journal can't be read.
        """
        if self._broken or self.mode is JournalMode.REFRESH:
            return None
        entry = self._waiting.get(key) or self._read(key)
        if entry is None:
            self._misses += 1
            return None
        self._hits += 1
        now = self._wall()
        if self.mode is JournalMode.NORMAL and now - entry.used > _FRESH_S:
            with self._lock:
                self._used[key] = now
        return entry

    def put(self, key: bytes, *, status: int, text: str, latency_s: float, attempts: int) -> None:
        """Keep an answer; it is on disk some milliseconds later, or after `flush`."""
        if self._broken or self.mode is JournalMode.REPLAY or not self._is_open():
            return
        if self._writer is None:
            return
        now = self._wall()
        entry = Entry(status, text, latency_s, attempts, now, now)
        with self._lock:
            self._waiting[key] = entry
            self._waiting_bytes += len(text)
            while self._waiting_bytes > _HELD_BYTES and len(self._waiting) > 1:
                oldest = next(iter(self._waiting))
                self._waiting_bytes -= len(self._waiting.pop(oldest).text)
                self._dropped += 1
        self._wake.set()

    def flush(self) -> None:
        """Write what waits; returns when it is on disk, or was refused."""
        if self._writer is not None and (self._waiting or self._used):
            self._write()

    def stats(self) -> JournalStats:
        """Tell what this run had of it."""
        self.flush()
        totals = None
        if not self._broken and self._is_open():
            try:
                totals = self._reader.totals() if self._reader else None
            except sqlite3.Error as error:
                self._fail("be read", error)
        unwritten = len(self._waiting) + self._dropped
        return JournalStats(self._hits, self._misses, self._written, unwritten, totals)

    def close(self) -> None:
        """Write what waits, and close the file."""
        self._closing.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self.flush()
        for store in (self._reader, self._writer):
            if store is not None:
                store.close()
        self._reader = self._writer = None
        self._broken = True

    def _read(self, key: bytes) -> Entry | None:
        if not self._is_open():
            return None
        try:
            return self._reader.get(key) if self._reader else None
        except sqlite3.Error as error:
            self._fail("be read", error)
            return None

    def _is_open(self) -> bool:
        """Open the file at the first use; whether there is one to use."""
        if self._reader is not None:
            return True
        if self._broken:
            return False
        try:
            if self.mode is not JournalMode.REPLAY:
                self._open_writer()
            elif not self.path.is_file():
                raise JournalError(
                    f"there is no journal to replay at {self.path}",
                    hint="run once without replay, or import a journal that was exported",
                )
            self._reader = self._open_store(self.path, readonly=self._writer is None)
        except (sqlite3.Error, OSError) as error:
            self._fail("be opened", error)
            return False
        self._started = self._wall()
        if self._writer is not None:
            self._thread = threading.Thread(
                target=self._write_on, name="evalmetrics-journal", daemon=True
            )
            self._thread.start()
        return True

    def _open_writer(self) -> None:
        """Open for writing; a file that may only be read is read all the same."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = self._open_store(self.path)
        except (sqlite3.Error, OSError) as error:
            if not self.path.is_file():
                raise
            self._open_store(self.path, readonly=True).close()
            self._warn(f"can't be written: {error}", "what it has is used, but nothing is added")

    def _write_on(self) -> None:
        while not self._closing.is_set():
            self._wake.wait()
            self._closing.wait(_LINGER_S)
            self._wake.clear()
            self._write()

    def _write(self) -> None:
        with self._writing:
            with self._lock:
                entries, used = list(self._waiting.items()), dict(self._used)
            if not (entries or used) or self._writer is None:
                return
            try:
                self._writer.write(entries, [(at, key) for key, at in used.items()])
            except sqlite3.Error as error:
                self._warn(f"can't be written: {error}", "answers are used, but not all are kept")
                return  # they wait on: the next answer tries again
            with self._lock:
                for key, entry in entries:
                    if self._waiting.get(key) is entry:
                        del self._waiting[key]
                        self._waiting_bytes -= len(entry.text)
                for key in used:
                    self._used.pop(key, None)
            self._written += len(entries)
            self._bound()

    def _bound(self) -> None:
        if self._writer is None:
            return
        try:
            evicted = self._writer.evict(self._max_bytes)
        except sqlite3.Error as error:
            self._warn(f"can't be made smaller: {error}", "its size is over its bound")
            return
        if evicted is not None and evicted >= self._started:
            self._warn(
                f"is too small: this run alone needs more than {self._max_bytes / 2**20:.0f} MiB",
                "its first answers were dropped and would be paid for again; raise the bound",
            )

    def _fail(self, what: str, error: Exception) -> None:
        """Go on without a journal, or not at all in replay mode."""
        self._broken = True
        if self.mode is JournalMode.REPLAY:
            raise JournalError(
                f"the journal {self.path} can't {what}: {error}",
                hint="import a good copy, or run once without replay",
            ) from None
        self._warn(
            f"can't {what}: {error}",
            "this run goes on without it, and its answers are not kept; "
            "delete the file if it is damaged",
        )

    def _warn(self, what: str, then: str) -> None:
        """Say once what a journal can't do; the later ones would say the same."""
        if not self.warnings:
            self.warnings.append(f"the journal {self.path} {what}; {then}")
