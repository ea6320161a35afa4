"""What was asked for each row, kept on the disk until it is written: it may be large."""

from __future__ import annotations

import os
import tempfile
import weakref
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.errors import ArtifactError
from pytest_evalmetrics.layout import compact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.scorers import Exchange

__all__ = ["Exchanges"]

_IN_MEMORY = 4 * 2**20


class Exchanges:
    """The calls of each row, by scorer, in the order in which they were made.

    Parameters
    ----------
    rows, scorers
        How many there are.
    """

    def __init__(self, rows: int, scorers: int) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - lives as long as we do
        weakref.finalize(self, self._file.close)
        self._starts = np.zeros((rows, scorers), np.int64)
        self._lengths = np.zeros((rows, scorers), np.int64)

    def add(self, row: int, scorer: int, found: Sequence[Exchange]) -> None:
        """Keep one scorer's calls for one row.

        Raises
        ------
        ArtifactError
            There is no room for them.
        """
        if not found:
            return
        data = compact(found)[1:-1].encode()
        try:
            self._starts[row, scorer] = self._file.seek(0, os.SEEK_END)
            self._file.write(data)
        except OSError as error:
            raise ArtifactError(
                "the requests of the rows can't be kept for row_scores.jsonl in "
                f"{tempfile.gettempdir()}: {error.strerror or error}",
                hint="free some room, or name another folder in the environment as TMPDIR",
            ) from error
        self._lengths[row, scorer] = len(data)

    def of(self, row: int) -> bytes:
        """Give all calls of a row, as a JSON array."""
        texts = []
        places = zip(self._starts[row].tolist(), self._lengths[row].tolist(), strict=True)
        for start, length in places:
            if length:
                self._file.seek(start)
                texts.append(self._file.read(length))
        return b"[" + b",".join(texts) + b"]"
