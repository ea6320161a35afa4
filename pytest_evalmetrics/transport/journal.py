"""The journal of paid answers."""

from __future__ import annotations

import sqlite3
import threading
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from pytest_evalmetrics.transport.journal_store import Entry, Failure, Store, Totals
from pytest_evalmetrics.transport.wire import JournalError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytest_evalmetrics.transport.wire import CallError

__all__ = ["Journal", "JournalMode", "JournalStats", "JournalWriter"]

_LINGER_S = 0.005  # how long answers are gathered before they are written together
_LONGER_S = 0.02  # the same where they come even while others are written: each turn is dear
_UNLOOKED = 0.001  # of the bound: what is written before the size is looked at again
_OVERHEAD = 200  # bytes of an answer beside its text, about
_HELD_FAILURES = 256  # and of failures
_HELD_BYTES = 32 * 2**20  # what is held of answers that the disk refuses


class JournalWriter:
    """What waits to be written, and the thread that writes it."""

    def __init__(
        self, store: Store, *, max_bytes: int, started: float, warn: Callable[[str, str], None]
    ) -> None:
        self.written = 0
        self._store = store
        self._max_bytes = max_bytes
        self._started = started
        self._warn = warn
        self._lock = threading.Lock()  # of what waits
        self._writing = threading.Lock()  # of the store
        self._waiting: dict[bytes, Entry] = {}
        self._waiting_bytes = self._dropped = 0
        self._unbounded = max_bytes  # bytes since the size was looked at
        self._used: dict[bytes, float] = {}
        self._failed: dict[bytes, Failure] = {}
        self._wake, self._closing = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="evalmetrics-journal", daemon=True)
        self._thread.start()

    @property
    def unwritten(self) -> int:
        """Answers that the disk refused, or has not yet got."""
        return len(self._waiting) + self._dropped

    def get(self, key: bytes) -> Entry | None:
        """Give an answer that waits."""
        return self._waiting.get(key)

    def put(self, key: bytes, entry: Entry) -> None:
        """Let an answer wait; if the disk refuses for long, the first ones are let go."""
        with self._lock:
            self._forget(key)
            if self._failed:
                self._failed.pop(key, None)
            self._waiting[key] = entry
            self._waiting_bytes += len(entry.text)
            while self._waiting_bytes > _HELD_BYTES and len(self._waiting) > 1:
                self._forget(next(iter(self._waiting)))
                self._dropped += 1
        if not self._wake.is_set():
            self._wake.set()

    def fail(self, key: bytes, failure: Failure) -> None:
        """Let a failure wait; if the disk refuses for long, the first ones are let go."""
        with self._lock:
            self._failed[key] = failure
            while len(self._failed) > _HELD_FAILURES:
                self._failed.pop(next(iter(self._failed)))
        self._wake.set()

    def use(self, key: bytes, at: float) -> None:
        """Note that an answer was used; written with the next answers."""
        with self._lock:
            self._used[key] = at

    def flush(self) -> None:
        """Write what waits; returns when it is on disk, or was refused."""
        with self._writing:
            with self._lock:
                entries, used = list(self._waiting.items()), dict(self._used)
                failed = list(self._failed.items())
            if not (entries or used or failed):
                return
            try:
                self._store.write(entries, [(at, key) for key, at in used.items()], failed)
            except sqlite3.Error as error:
                self._warn(f"can't be written: {error}", "answers are used, but not all are kept")
                return  # they wait on: the next answer tries again
            with self._lock:
                for key, entry in entries:
                    if self._waiting.get(key) is entry:
                        self._forget(key)
                for key in used:
                    self._used.pop(key, None)
                for key, failure in failed:
                    if self._failed.get(key) is failure:
                        del self._failed[key]
            self.written += len(entries)
            self._unbounded += sum(len(e.text) + _OVERHEAD for _, e in entries)
            self._unbounded += sum(f.bytes + _OVERHEAD for _, f in failed)
            if self._unbounded > self._max_bytes * _UNLOOKED:
                self._unbounded = 0
                self._bound()

    def close(self) -> None:
        """Write what waits, end the thread, close the store."""
        self._closing.set()
        self._wake.set()
        self._thread.join()
        self.flush()
        self._store.close()

    def _run(self) -> None:
        while not self._closing.is_set():
            linger = _LONGER_S if self._wake.is_set() else _LINGER_S
            self._wake.wait()
            self._closing.wait(linger)
            self._wake.clear()
            self.flush()

    def _forget(self, key: bytes) -> None:
        entry = self._waiting.pop(key, None)
        if entry is not None:
            self._waiting_bytes -= len(entry.text)

    def _bound(self) -> None:
        try:
            evicted = self._store.evict(self._max_bytes)
        except sqlite3.Error as error:
            self._warn(f"can't be made smaller: {error}", "its size is over its bound")
            return
        if evicted is not None and evicted >= self._started:
            self._warn(
                f"is too small: this run alone needs more than {self._max_bytes / 2**20:.0f} MiB",
                "its first answers were dropped and would be paid for again; raise the bound",
            )


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
    """What a run had of its journal."""

    hits: int  # look-ups
    misses: int
    written: int  # answers that are on disk
    unwritten: int  # answers that the disk refused, or has not yet got
    totals: Totals | None  # what the file holds; None where it can't be read


class Journal:
    """The journal of one run; opened at its first use.

    A journal that fails costs the run nothing but what a journal saves: the run goes on,
    and `warnings` says so once. In replay mode it is a `JournalError`.
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
        self._reader: Store | None = None
        self._writer: JournalWriter | None = None
        self._unusable = mode is JournalMode.OFF
        self._hits = self._misses = 0

    def get(self, key: bytes) -> Entry | None:
        """Look an answer up; in refresh mode and without a journal there is none."""
        if self._unusable or self.mode is JournalMode.REFRESH:
            return None
        entry = self._writer.get(key) if self._writer is not None else None
        entry = entry or self._read(key)
        if entry is None:
            self._misses += 1
            return None
        self._hits += 1
        now = self._wall()
        if self._writer is not None and now - entry.used > _FRESH_S:
            self._writer.use(key, now)
        return entry

    def put(self, key: bytes, *, status: int, text: str, latency_s: float, attempts: int) -> None:
        """Keep an answer; it is on disk some milliseconds later, or after `flush`."""
        if self._is_open() and self._writer is not None:
            now = self._wall()
            self._writer.put(key, Entry(status, text, latency_s, attempts, now, now))

    def failure(self, key: bytes) -> Failure | None:
        """Look up how a call failed that has no answer: in replay mode, else there is none."""
        if self.mode is not JournalMode.REPLAY or not self._is_open() or self._reader is None:
            return None
        try:
            return self._reader.failure(key)
        except sqlite3.Error as error:
            self._fail("be read", error)
            return None

    def put_failure(self, key: bytes, error: CallError, body: str | None = None) -> None:
        """Keep how a call failed, and what came; neither holds a secret."""
        if self._is_open() and self._writer is not None:
            self._writer.fail(key, Failure.of(error, body, self._wall()))

    def flush(self) -> None:
        """Write what waits; returns when it is on disk, or was refused."""
        if self._writer is not None:
            self._writer.flush()

    def stats(self) -> JournalStats:
        """Tell what this run had of it; to be asked before it is closed."""
        self.flush()
        totals = None
        if self._is_open() and self._reader is not None:
            try:
                totals = self._reader.totals()
            except sqlite3.Error as error:
                self._fail("be read", error)
        written, unwritten = (
            (self._writer.written, self._writer.unwritten) if self._writer else (0, 0)
        )
        return JournalStats(self._hits, self._misses, written, unwritten, totals)

    def close(self) -> None:
        """Write what waits, and close the file."""
        for part in (self._writer, self._reader):
            if part is not None:
                part.close()
        self._reader = self._writer = None
        self._unusable = True

    def _read(self, key: bytes) -> Entry | None:
        try:
            return self._reader.get(key) if self._is_open() and self._reader is not None else None
        except sqlite3.Error as error:
            self._fail("be read", error)
            return None

    def _is_open(self) -> bool:
        """Open the file at the first use; whether there is one to use."""
        if self._reader is not None or self._unusable:
            return not self._unusable
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
        return not self._unusable

    def _open_writer(self) -> None:
        """Open for writing; a file that may only be read is read all the same."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            store = self._open_store(self.path)
        except (sqlite3.Error, OSError) as error:
            if not self.path.is_file():
                raise
            self._open_store(self.path, readonly=True).close()
            self._warn(f"can't be written: {error}", "what it has is used, but nothing is added")
            return
        self._writer = JournalWriter(
            store, max_bytes=self._max_bytes, started=self._wall(), warn=self._warn
        )

    def _fail(self, what: str, error: Exception) -> None:
        """Go on without a journal, or not at all in replay mode."""
        self._unusable = True
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
