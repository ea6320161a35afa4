"""The journal of paid answers as a run uses it."""

from __future__ import annotations

import threading
import time
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import structs

from pytest_evalmetrics.layout import many
from pytest_evalmetrics.scoring.transport.journal_claims import Claims
from pytest_evalmetrics.scoring.transport.journal_file import (
    JournalFile,
    Kept,
    create_journal,
    refuse_other_things,
)
from pytest_evalmetrics.scoring.transport.wire import JournalError, PaidAnswer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytest_evalmetrics.scoring.transport.journal_claims import Holder

_RETRY_S = 0.5  # until a disk that refused is tried again
_OPENING = bytes(20)  # in place of a call's key: the opening of the file
_AGAIN_S = 0.05  # between two checks of another process
# a use is noted if the last one is older: the order need not be finer
_FRESH_S = 3600.0
LEASE_S = 30.0


class JournalMode(StrEnum):
    """How a run uses the journal."""

    NORMAL = "normal"  # answer from the journal, else call and keep the answer
    REPLAY = "replay"  # answer from the journal alone; nothing is called or written
    REFRESH = "refresh"  # call always, and replace the journal's answers
    PLAN = "plan"  # answer from the journal alone, if there is one; failures are calls to make
    OFF = "off"  # no journal


class Journal:
    """The journal of one run, opened at its first use.

    Where it can't be written a run goes on without it. Where answers may be lost that would be paid
    for again, such as in an empty file, the first call raises JournalError.

    Parameters
    ----------
    path
        The file.
    mode
        How the run uses it.
    max_bytes
        Above this size the least recently used answers are dropped.
    lease_s
        Seconds after which the calls of a process without a sign of life are made by others.
    wall
        The seconds since 1970.
    """

    def __init__(
        self,
        path: Path,
        mode: JournalMode = JournalMode.NORMAL,
        *,
        max_bytes: int = 2**30,
        lease_s: float = LEASE_S,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.path = path
        self.mode = mode
        # nothing is called
        self.replays = mode in (JournalMode.REPLAY, JournalMode.PLAN)
        self.warnings: list[str] = []
        self.lease_s = lease_s
        self._max_bytes = max_bytes
        self._wall = wall
        self._file: JournalFile | None = None
        self._is_writable = False
        self._unusable = mode is JournalMode.OFF or (
            mode is JournalMode.PLAN and not path.is_file()
        )
        self._claims: Claims | None = None
        # the loop's thread puts, the run's flushes
        self._lock = threading.Lock()
        # answers that the disk refused
        self._waiting: dict[bytes, Kept] = {}
        # times of use that are not noted yet
        self._used: dict[bytes, float] = {}
        self._started = 0.0
        self._retry_at = 0.0

    def get(self, key: bytes) -> Kept | None:
        """Look up an answer; in replay mode a call without one is a failure."""
        if self.mode is JournalMode.REFRESH:
            return None
        file = self._opened()
        if file is None:
            return None
        kept = self._waiting.get(key)
        if not isinstance(kept, PaidAnswer):
            kept = file.get(key, failures=self.mode is JournalMode.REPLAY)
        if isinstance(kept, PaidAnswer) and self._is_writable:
            now = self._wall()
            if now - max(kept.created, file.used(key)) > _FRESH_S:
                self._used[key] = now
        return kept

    # -- calls that several processes make -------------------------------------------------------

    def claim(self, key: bytes) -> bool:
        """Take a call, until its answer is on disk; False while another process makes it."""
        if self.mode is not JournalMode.NORMAL or self._opened() is None:
            return True
        return self._claims is None or self._claims.take(key)

    def holder(self, key: bytes) -> Holder | None:
        """Return the process that makes a call; None if its lease has ended."""
        if self._claims is None:
            return None
        holder = self._claims.holder(key)
        if not self._claims.is_expired(holder):
            return holder
        process = "another process"
        if holder.process:
            process = f"process {holder.process}"
        self._warn(
            f"is shared with {process}, which gave no sign of life for "
            f"{holder.silent_s:.0f} s",
            "its calls were made again; is it suspended?",
        )
        return None

    def renew(self) -> None:
        """Give a sign of life to the processes that wait for calls of this one."""
        if self._claims is not None:
            self._claims.renew()

    def give_up(self, key: bytes) -> None:
        """End the claim of a call."""
        if self._claims is not None:
            self._claims.release(key)

    # -- writing ---------------------------------------------------------------------------------

    def put(self, key: bytes, kept: Kept) -> None:
        """Write an answer, or a failure without secrets, unless the key is empty."""
        # At once, so that a crash loses only calls in flight; on a full disk `flush` tries again.
        file = self._opened()
        if not key or file is None or not self._is_writable:
            return
        with self._lock:
            self._waiting[key] = structs.replace(kept, created=self._wall())
            if time.monotonic() >= self._retry_at:
                self._write(file, is_end=False)

    def flush(self) -> None:
        """Write what waits; return when it is on disk, or was refused."""
        with self._lock:
            if self._file is not None and (self._waiting or self._used):
                self._write(self._file, is_end=True)

    def close(self) -> None:
        """Write what waits, and close the file."""
        self.flush()
        if self._file is not None:
            self._file.close()
            self._file = None
        self._unusable = True
        if self._claims is not None:
            self._claims.close()
            self._claims = None

    def _write(self, file: JournalFile, *, is_end: bool) -> None:
        try:
            for key, kept in list(self._waiting.items()):
                file.append(key, kept)
                del self._waiting[key]
                self.give_up(key)
            if is_end:
                file.note_used(self._used)
                self._used = {}
            dropped = file.evict(self._max_bytes)
        except OSError as error:
            self._retry_at = time.monotonic() + _RETRY_S
            self._warn(
                f"can't be written: {error}",
                "answers are used, but those that are not kept would be paid for again: free "
                "some room, or name a file elsewhere with --evalmetrics-journal=PATH",
            )
            return
        if dropped is not None and dropped >= self._started:
            self._warn(
                f"is too small: this run alone needs more than {self._max_bytes / 2**20:.0f} MiB",
                "its first answers were dropped and would be paid for again; raise the bound",
            )

    # -- opening ---------------------------------------------------------------------------------

    def _opened(self) -> JournalFile | None:
        """Open the file at the first use; None if it can't be used."""
        if self._file is None and not self._unusable:
            refuse_other_things(self.path)
            if self.replays:
                self._file = self._open_to_read()
            else:
                self._file = self._open()
            self._unusable = self._file is None
        return self._file

    def _open_to_read(self) -> JournalFile:
        if not self.path.is_file():
            raise JournalError(
                f"there is no journal to replay at {self.path}",
                hint="run once without replay, or import a journal that was exported",
            )
        try:
            file = JournalFile(self.path, readonly=True)
        except OSError as error:
            raise JournalError(
                f"the journal {self.path} can't be opened: {error}",
                hint="import a good copy, or run once without replay",
            ) from None
        if file.is_damaged:
            self._warn("is damaged", f"{many(len(file), 'answer')} can be read")
        return file

    def _open(self) -> JournalFile | None:
        """Open the file to read and write; else to read it alone; else go on without it."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = self._open_to_write()
        except OSError as error:
            if self.path.is_file():
                self._warn(
                    f"can't be written: {error}",
                    "what it has is used, but nothing is added",
                )
                return JournalFile(self.path, readonly=True)
            self._warn(
                f"can't be made: {error}",
                "this run goes on without it, and keeps no answers",
            )
            return None
        self._is_writable = True
        self._started = self._wall()
        return file

    def _open_to_write(self) -> JournalFile:
        """Open the file; a damaged one is set aside, and its intact answers are used on."""
        lock = self.path.with_name(f"{self.path.name}.lock")
        self._claims = Claims(lock, self.lease_s, self._wall)
        # one process alone makes or repairs it
        while not self._claims.take(_OPENING):
            if self._claims.is_expired(self._claims.holder(_OPENING)):
                break
            time.sleep(_AGAIN_S)
        try:
            create_journal(self.path)
            file = JournalFile(self.path)
            if file.is_damaged:
                damaged, count = file.repair()
                self._warn(
                    "was damaged",
                    f"{many(count, 'answer')} of it are used on, and the damaged file is "
                    f"{damaged.name}",
                )
            return file
        finally:
            self._claims.release(_OPENING)

    def _warn(self, what: str, then: str) -> None:
        """Warn once: further warnings would repeat the first."""
        if not self.warnings:
            self.warnings.append(f"the journal {self.path} {what}; {then}")
