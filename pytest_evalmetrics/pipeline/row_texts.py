"""Texts of rows, kept on the disk until they are written: together they may be large."""

from __future__ import annotations

import os
import tempfile
import weakref
from contextlib import suppress
from typing import IO, TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.errors import ArtifactError
from pytest_evalmetrics.masks import any_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["RowTexts"]

_BUFFER = 2**20  # with the usual one, every few rows are a write to the disk


class RowTexts:
    """JSON texts of each row, by scorer."""

    def __init__(
        self,
        rows: int,
        scorers: int,
        what: str,
        open_file: Callable[[], IO[bytes]] | None = None,
    ) -> None:
        self._shape = rows, scorers
        self._what = what
        self._open = open_file or _temporary
        self._file: IO[bytes] | None = None
        self._starts: NDArray[np.int64]
        self._lengths: NDArray[np.int64]
        self._end = 0
        self._is_at_end = True

    def add(self, row: int, scorer: int, items: bytes) -> None:
        """Keep what one scorer has on one row: JSON values with commas between them."""
        try:
            file = self._file or self._begin()
            if not self._is_at_end:
                file.seek(0, os.SEEK_END)  # each one is a write to the disk
                self._is_at_end = True
            file.write(items)
        except OSError as error:
            raise self._full(error) from error
        self._starts[row, scorer] = self._end
        self._lengths[row, scorer] = len(items)
        self._end += len(items)

    def flush(self) -> None:
        """Write what waits in a buffer."""
        try:
            if self._file is not None:
                self._file.flush()
        except OSError as error:
            raise self._full(error) from error

    def of(self, row: int) -> bytes:
        """Give all that is kept of a row, as a JSON array."""
        if self._file is None or not any_of(self._lengths[row]):
            return b"[]"
        texts = []
        self._is_at_end = False
        places = zip(self._starts[row].tolist(), self._lengths[row].tolist(), strict=True)
        for start, length in places:
            if length:
                self._file.seek(start)
                texts.append(self._file.read(length))
        return b"[" + b",".join(texts) + b"]"

    def _begin(self) -> IO[bytes]:
        self._file = self._open()
        weakref.finalize(self, _closed, self._file)
        self._starts = np.zeros(self._shape, np.int64)
        self._lengths = np.zeros(self._shape, np.int64)
        return self._file

    def _full(self, error: OSError) -> ArtifactError:
        return ArtifactError(
            f"the {self._what} of the rows can't be kept for row_scores.jsonl in "
            f"{tempfile.gettempdir()}: {error.strerror or error}",
            hint="free some room, or name another folder in the environment as TMPDIR",
        )


def _temporary() -> IO[bytes]:
    return tempfile.TemporaryFile(buffering=_BUFFER)


def _closed(file: IO[bytes]) -> None:
    with suppress(OSError):  # a full disk refuses what waits; that is told by then
        file.close()
