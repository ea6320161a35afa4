"""Writes answers as they arrive, a few in one transaction, in a thread of its own."""

from __future__ import annotations

import sqlite3
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_evalmetrics.transport.failures import Failure
    from pytest_evalmetrics.transport.journal_store import Entry, Store

__all__ = ["JournalWriter"]

_LINGER_S = 0.005  # how long answers are gathered before they are written together
_LONGER_S = 0.02  # the same where they come even while others are written: each turn is dear
_UNLOOKED = 0.001  # of the bound: what is written before the size is looked at again
_OVERHEAD = 200  # bytes of an answer beside its text, about
_HELD_FAILURES = 256  # and of failures
_HELD_BYTES = 32 * 2**20  # what is held of answers that the disk refuses


class JournalWriter:
    """What waits to be written, and the thread that writes it.

    Parameters
    ----------
    store
        Closed together with this.
    max_bytes
        The bound of the file's size.
    started
        When the run began: that its own answers are dropped is worth a warning.
    warn
        Takes what can't be done, and what that means; from either thread.
    """

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
