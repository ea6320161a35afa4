"""Jobs that one process hands in, and others read as they come."""

from __future__ import annotations

import pickle
import struct
import time
from typing import IO, TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = ["PAUSE", "HandedIn", "jobs_of"]

PAUSE: Final = 0.002  # seconds between two looks at what the others have done
_NO_ROOM: Final = "no room for what helpers are to do"
_LENGTH: Final = struct.Struct("<Q")  # before each job; none after the last


class HandedIn:
    """The jobs of this process for itself and for others.

    Parameters
    ----------
    path
        The file that they are handed in by.
    """

    def __init__(self, path: Path) -> None:
        self._jobs: list[Any] = []
        self._broken = False
        self._file: IO[bytes] = path.open("wb", buffering=0)

    def add(self, jobs: Iterable[Any]) -> None:
        """Hand in more.

        Raises
        ------
        OSError
            If there is no room for them.
        """
        added = list(jobs)
        pickled = [pickle.dumps(job, protocol=pickle.HIGHEST_PROTOCOL) for job in added]
        self._write(b"".join(_LENGTH.pack(len(one)) + one for one in pickled))
        self._jobs += added

    def complete(self) -> None:
        """Tell that these were all."""
        self._write(_LENGTH.pack(0))
        self.close()

    def close(self) -> None:
        """Hand in nothing more."""
        self._file.close()

    def __len__(self) -> int:
        """Count them."""
        return len(self._jobs)

    def __getitem__(self, number: int) -> Any:
        """Give one."""
        return self._jobs[number]

    def _write(self, content: bytes) -> None:
        if self._broken:  # what came after half a job could not be read
            raise OSError(_NO_ROOM)
        self._broken = True
        if self._file.write(content) < len(content):
            raise OSError(_NO_ROOM)
        self._broken = False


def jobs_of(path: Path) -> Iterator[bytes]:
    """Read what another process hands in, pickled, as it comes.

    Parameters
    ----------
    path
        The file.

    Yields
    ------
    bytes
        Each job; the end comes only when that process says so.
    """
    with path.open("rb") as file:
        while True:
            (length,) = _LENGTH.unpack(_read(file, _LENGTH.size))
            if not length:
                return
            yield _read(file, length)


def _read(file: IO[bytes], size: int) -> bytes:
    found = file.read(size)
    while len(found) < size:  # it is still being written
        time.sleep(PAUSE)
        found += file.read(size - len(found))
    return found
