"""Whether a file is still what it was when somebody looked at it."""

from __future__ import annotations

import os
import time
from hashlib import blake2b
from stat import S_ISREG
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Look", "is_unchanged", "look_at"]

_SETTLED: Final = 3 * 10**9  # ns: no file system's clock is coarser than two seconds


class Look(NamedTuple):
    """What was seen of a file.

    Attributes
    ----------
    path
        Where it is.
    stamp
        What the file system says of it.
    digest
        Of its bytes, where it was written so lately that the next write may bear the same
        time; else empty.
    """

    path: str
    stamp: tuple[int, ...]
    digest: bytes


def look_at(path: str | Path) -> Look:
    """Look at a file, before it is read.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    OSError
        If there is none, or it is no plain file, or can't be read.
    """
    told = os.stat(path)  # noqa: PTH116 - many
    if not S_ISREG(told.st_mode):
        raise OSError("no plain file")
    settled = time.time_ns() - max(told.st_mtime_ns, told.st_ctime_ns) > _SETTLED
    return Look(os.fspath(path), _stamp(told), b"" if settled else _digest(path))


def is_unchanged(look: Look) -> bool:
    """Whether another look would give the same.

    Raises
    ------
    OSError
        If the file is gone, or can't be read any more.
    """
    now = _stamp(os.stat(look.path))  # noqa: PTH116 - many
    return now == look.stamp and (not look.digest or _digest(look.path) == look.digest)


def _stamp(told: os.stat_result) -> tuple[int, ...]:
    return told.st_dev, told.st_ino, told.st_size, told.st_mtime_ns, told.st_ctime_ns


def _digest(path: str | Path) -> bytes:
    with open(path, "rb", buffering=0) as opened:  # noqa: PTH123 - many
        return blake2b(opened.read()).digest()
