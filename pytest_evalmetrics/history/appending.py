"""Runs added to the history, whole, whoever else writes to it at the same time."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_evalmetrics.errors import ArtifactError
from pytest_evalmetrics.layout import compact

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pytest_evalmetrics.history.run import Run

__all__ = ["append"]


def append(path: Path, runs: Sequence[Run], shown: str) -> None:
    """Add runs at the end of a history, one line each.

    One write, at the end of the file and under a lock: of two processes none loses a line.
    A line that an earlier process left unfinished is not continued.
    """
    data = "".join(compact(run) + "\n" for run in runs).encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        handle = os.open(path, flags, 0o666)
        try:
            with _locked(handle):
                _append(handle, data)
        finally:
            os.close(handle)
    except OSError as error:
        raise ArtifactError(
            f"the history can't be written: {error.strerror or error}",
            file=shown,
            hint="choose another file with --evalmetrics-history, or free some room",
        ) from error


def _append(handle: int, data: bytes) -> None:
    size = os.fstat(handle).st_size
    if size:
        os.lseek(handle, -1, os.SEEK_END)
        if os.read(handle, 1) != b"\n":
            data = b"\n" + data
    try:
        done = os.write(handle, data)
        if done < len(data):  # the disk is full
            os.write(handle, data[done:])
    except OSError:
        os.ftruncate(handle, size)
        raise


@contextmanager
def _locked(handle: int) -> Iterator[None]:
    """Wait until no other process appends."""
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 - there is none elsewhere

        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_LOCK, 1)
        try:
            yield
        finally:
            os.lseek(handle, 0, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
    else:
        import fcntl  # noqa: PLC0415 - there is none on Windows

        fcntl.flock(handle, fcntl.LOCK_EX)  # let go when the file is closed
        yield
