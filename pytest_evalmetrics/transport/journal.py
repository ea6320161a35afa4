"""The journal of paid answers as a run uses it."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from msgspec import structs

from pytest_evalmetrics.run_folder import lock_byte
from pytest_evalmetrics.transport.journal_store import JournalStore, Kept, set_aside
from pytest_evalmetrics.transport.wire import JournalError, PaidAnswer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_T = TypeVar("_T")
_WAIT_S = (
    0.25  # how long a call waits for another process's writing; then its answer waits
)
_FLUSH_WAIT_S = 30.0  # the same at the end of a run
_RETRY_S = 0.5  # until a disk that refused is tried again
_OPENING = bytes(20)  # in place of a call's key: the opening of the file
_AGAIN_S = 0.05  # between two checks of another process
_FRESH_S = (
    3600.0  # a use is noted if the last one is older: the order need not be finer
)


class JournalMode(StrEnum):
    """How a run uses the journal."""

    NORMAL = "normal"  # answer from the journal, else call and keep the answer
    REPLAY = "replay"  # answer from the journal alone; nothing is called or written
    REFRESH = "refresh"  # call always, and replace the journal's answers
    PLAN = "plan"  # answer from the journal alone, if there is one; failures are calls to make
    OFF = "off"  # no journal


class Journal:
    """The journal of one run, opened at its first use; without it a run goes on."""

    def __init__(
        self,
        path: Path,
        mode: JournalMode = JournalMode.NORMAL,
        *,
        max_bytes: int = 2**30,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.path, self.mode = path, mode
        self.replays = mode in (
            JournalMode.REPLAY,
            JournalMode.PLAN,
        )  # nothing is called
        self.warnings: list[str] = []
        self._max_bytes, self._wall = max_bytes, wall
        self._store: JournalStore | None = None
        self._is_writable = False
        self._unusable = mode is JournalMode.OFF or (
            mode is JournalMode.PLAN and not path.is_file()
        )
        self._claims: int | None = None  # an open file, see `_lock_call`
        self._lock = threading.Lock()  # the loop's thread puts, the run's flushes
        self._waiting: dict[bytes, Kept] = {}  # answers that the disk refused
        self._used: dict[bytes, float] = {}  # when, to be written with the next answers
        self._started = self._retry_at = 0.0

    def get(self, key: bytes) -> Kept | None:
        """Look up an answer; in replay mode a call without one is a failure."""
        if self.mode is JournalMode.REFRESH or (store := self._opened()) is None:
            return None
        kept = self._waiting.get(key)
        if not isinstance(kept, PaidAnswer):
            failures = self.mode is JournalMode.REPLAY
            kept = self._tried("be read", lambda: store.get(key, failures=failures))
        if isinstance(kept, PaidAnswer) and self._is_writable:
            now = self._wall()
            if now - kept.used > _FRESH_S:
                self._used[key] = now
        return kept

    def claim(self, key: bytes) -> bool:
        """Take a call, until its answer is on disk; False while another process makes it."""
        if self.mode is not JournalMode.NORMAL or self._opened() is None:
            return True
        return self._lock_call(key)

    def give_up(self, key: bytes) -> None:
        """End the claim of a call."""
        if self._claims is not None:
            self._lock_call(key, take=False)

    def put(self, key: bytes, kept: Kept) -> None:
        """Write an answer, or a failure without secrets, unless the key is empty."""
        # At once, so that a crash loses only calls in flight; on a full disk `flush` tries again.
        store = self._opened()
        if not key or store is None or not self._is_writable:
            return
        now = self._wall()
        if isinstance(kept, PaidAnswer):
            kept = structs.replace(kept, used=now)
        with self._lock:
            self._waiting[key] = structs.replace(kept, created=now)
            if time.monotonic() >= self._retry_at:
                self._write(store, _WAIT_S)

    def flush(self) -> None:
        """Write what waits; return when it is on disk, or was refused."""
        with self._lock:
            if self._store is not None and (self._waiting or self._used):
                self._write(self._store, _FLUSH_WAIT_S)

    def close(self) -> None:
        """Write what waits, and close the file."""
        self.flush()
        if self._store is not None:
            self._store.close()
            self._store = None
        self._unusable = True
        if self._claims is not None:
            os.close(self._claims)
            self._claims = None

    def _lock_call(self, key: bytes, *, take: bool = True) -> bool:
        """Claim a call by a lock on a byte of a file; two that share one only wait, see `claim`."""
        if self._claims is None:
            try:
                path = self.path.with_name(f"{self.path.name}.lock")
                self._claims = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
            except OSError:  # a folder that can't be written to: nothing is claimed
                return True
        return lock_byte(self._claims, 1 + int.from_bytes(key[:7]), take=take)

    def _write(self, store: JournalStore, wait_s: float) -> None:
        used, self._used = self._used, {}
        try:
            store.write(self._waiting.items(), used, wait_s=wait_s)
        except sqlite3.Error as error:
            self._used = used | self._used
            self._retry_at = time.monotonic() + _RETRY_S
            if wait_s == _FLUSH_WAIT_S or "locked" not in str(error):
                self._warn(
                    f"can't be written: {error}",
                    "answers are used, but not all are kept",
                )
            return
        for key in self._waiting:
            self.give_up(key)
        self._waiting.clear()
        try:
            evicted = store.evict(self._max_bytes)
        except sqlite3.Error as error:
            self._warn(f"can't be made smaller: {error}", "its size is over its bound")
            return
        if evicted is not None and evicted >= self._started:
            self._warn(
                f"is too small: this run alone needs more than {self._max_bytes / 2**20:.0f} MiB",
                "its first answers were dropped and would be paid for again; raise the bound",
            )

    def _opened(self) -> JournalStore | None:
        """Open the file at the first use; None if it can't be used."""
        if self._store is None and not self._unusable:
            self._store = self._tried("be opened", self._open)
        return None if self._unusable else self._store

    def _open(self) -> JournalStore:
        if self.replays:
            if not self.path.is_file():
                raise JournalError(
                    f"there is no journal to replay at {self.path}",
                    hint="run once without replay, or import a journal that was exported",
                )
            return JournalStore(self.path, readonly=True)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            store = self._open_to_write()
            self._is_writable, self._started = True, self._wall()
        except (sqlite3.Error, OSError) as error:
            try:
                store = JournalStore(self.path, readonly=True)  # reading may still work
            except (
                JournalError,
                sqlite3.Error,
            ):  # it was never made, e.g. on a full disk
                raise error from None
            self._warn(
                f"can't be written: {error}",
                "what it has is used, but nothing is added",
            )
        return store

    def _open_to_write(self) -> JournalStore:
        """Open the file; a damaged one is set aside, and what can be read of it is kept."""
        while not self._lock_call(_OPENING):  # one process alone repairs it
            time.sleep(_AGAIN_S)
        try:
            return JournalStore(self.path, check=True)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):  # such as a full disk
                raise
            damaged, count = set_aside(self.path)
            self._warn(
                f"was damaged ({error})",
                f"{count} answers of it are used on, and the damaged file is {damaged.name}",
            )
            return JournalStore(self.path)
        finally:
            self.give_up(_OPENING)

    def _tried(self, what: str, do: Callable[[], _T]) -> _T | None:
        """Use the file; go on without it after an error, or not at all in replay mode."""
        try:
            return do()
        except (sqlite3.Error, OSError) as error:
            self._unusable = True
            if self.mode is JournalMode.REPLAY:
                raise JournalError(
                    f"the journal {self.path} can't {what}: {error}",
                    hint="import a good copy, or run once without replay",
                ) from None
            self._warn(
                f"can't {what}: {error}",
                "this run goes on without it, and keeps no answers; delete it if it is damaged",
            )
            return None

    def _warn(self, what: str, then: str) -> None:
        """Warn once: further warnings would repeat the first."""
        if not self.warnings:
            self.warnings.append(f"the journal {self.path} {what}; {then}")
