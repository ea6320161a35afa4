"""Which process makes which call: several that share a journal pay for each call once."""

from __future__ import annotations

import os
import struct
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from pytest_evalmetrics.file_locks import lock_byte, release_byte

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_SLOTS = 2**16
_SLOT = struct.Struct("<Qd")  # a process, and when it last gave a sign of life
_LOCKS_AT = _SLOTS * _SLOT.size  # the bytes to lock lie behind the slots


class Holder(msgspec.Struct, frozen=True):
    """The process that makes a call."""

    process: int
    # seconds since its last sign of life
    silent_s: float


class Claims:
    """The claims of this process, as locks on bytes of a file beside the journal.

    The system gives up the locks of a process that ends. One that is suspended keeps them, but
    gives no sign of life: after the lease others make its calls.
    """

    def __init__(
        self,
        path: Path,
        lease_s: float,
        wall: Callable[[], float] = time.time,
        process: int | None = None,
    ) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        self._lease_s = lease_s
        self._wall = wall
        self._process = process or os.getpid()
        self._held: set[bytes] = set()
        # calls of others: when this process first met them
        self._met: dict[bytes, float] = {}

    def take(self, key: bytes) -> bool:
        """Claim a call; False while another process makes it."""
        if not lock_byte(self._file, _lock_of(key)):
            return False
        self._held.add(key)
        self._met.pop(key, None)
        self._write_slot(key)
        return True

    def release(self, key: bytes) -> None:
        """End a claim."""
        if key in self._held:
            self._held.remove(key)
            release_byte(self._file, _lock_of(key))

    def holder(self, key: bytes) -> Holder:
        """Return who makes a call that can't be claimed."""
        now = self._wall()
        met = self._met.setdefault(key, now)
        slot = self._read_slot(key)
        if slot is None or slot.process == self._process:
            # a claim on another call has overwritten it
            return Holder(process=0, silent_s=now - met)
        return slot

    def is_expired(self, holder: Holder) -> bool:
        """Check whether a process has given no sign of life for so long as the lease."""
        return holder.silent_s >= self._lease_s

    def renew(self) -> None:
        """Give a sign of life."""
        for key in self._held:
            self._write_slot(key)

    def close(self) -> None:
        """End all claims."""
        os.close(self._file)
        self._held.clear()

    def _write_slot(self, key: bytes) -> None:
        slot = _SLOT.pack(self._process, self._wall())
        with suppress(OSError):
            os.lseek(self._file, _slot_of(key), os.SEEK_SET)
            os.write(self._file, slot)

    def _read_slot(self, key: bytes) -> Holder | None:
        with suppress(OSError, struct.error):
            os.lseek(self._file, _slot_of(key), os.SEEK_SET)
            process, renewed = _SLOT.unpack(os.read(self._file, _SLOT.size))
            if process:
                return Holder(process=process, silent_s=self._wall() - renewed)
        return None


def _lock_of(key: bytes) -> int:
    return _LOCKS_AT + 1 + int.from_bytes(key[:7])


def _slot_of(key: bytes) -> int:
    return int.from_bytes(key[:2]) * _SLOT.size
