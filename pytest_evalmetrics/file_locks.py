"""Locks of single bytes of a file, which end with the process that has them."""

from __future__ import annotations

import os
import sys

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


def lock_byte(file: int, place: int) -> bool:
    """Lock a byte of an open file; False while another process has it.

    A file system without locks counts as one where nobody else has it.
    """
    return _apply(file, place, locks=True)


def release_byte(file: int, place: int) -> None:
    """Release a byte that `lock_byte` has locked."""
    _apply(file, place, locks=False)


def _apply(file: int, place: int, *, locks: bool) -> bool:
    try:
        if sys.platform == "win32":
            os.lseek(file, place % 2**31, os.SEEK_SET)  # positions are those of a long
            msvcrt.locking(file, msvcrt.LK_NBLCK if locks else msvcrt.LK_UNLCK, 1)
        else:
            action = fcntl.LOCK_EX | fcntl.LOCK_NB if locks else fcntl.LOCK_UN
            fcntl.lockf(file, action, 1, place)
    except OSError as error:  # any other error: a file system without locks
        return not isinstance(error, BlockingIOError | PermissionError)
    return True
