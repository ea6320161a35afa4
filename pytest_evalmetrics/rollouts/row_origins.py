"""Where the rows of a table come from: which file, and which place in it."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.model.rollout_table import SourceFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.rollouts.loader import Chunk
    from pytest_evalmetrics.rollouts.source import Source


class RowOrigins:
    """The files of a table's rows in the order in which they are read, and each row's place."""

    def __init__(self) -> None:
        self._sources: list[Source] = []
        self._counts: list[int] = []  # of the rows of each source
        self._place = array("q")
        # names of rows in messages, where file and place do not suffice
        self._names: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._place)

    def is_last(self, source: Source) -> bool:
        """Check whether the last rows are of this file."""
        return bool(self._sources) and self._sources[-1].path == source.path

    def add(self, source: Source, chunk: Chunk, before: int) -> None:
        """Add the next rows of a file; `before` lines are before their first place."""
        if self.is_last(source):
            self._sources[-1] = source
        else:
            self._sources.append(source)
            self._counts.append(0)
        self._counts[-1] += len(chunk.places)
        self._names.update(enumerate(chunk.names, len(self)))
        places = np.asarray(chunk.places) + before
        self._place.frombytes(places.astype(np.int64).tobytes())

    def at(self, row: int) -> str:
        """Name a row for a message."""
        row = int(row)
        if self._names.get(row):
            return self._names[row]
        return self._source(row).at(self._place[row])

    def error(self, row: int, message: str, hint: str) -> DataError:
        """Make an error of a row."""
        row = int(row)
        if row in self._names:
            return DataError(message, file=self._names[row], hint=hint)
        return self._source(row).error_at(self._place[row], message, hint)

    def _source(self, row: int) -> Source:
        ends = np.cumsum(self._counts)
        return self._sources[int(np.searchsorted(ends, row, side="right"))]

    @property
    def first_file(self) -> str | None:
        """The first file, as a user would write it; None if no file has a row."""
        return self._sources[0].shown if self._sources else None

    @property
    def only_file(self) -> str | None:
        """The file, if there is one alone."""
        return self.first_file if len(self._sources) == 1 else None

    def files(self) -> Iterator[SourceFile]:
        """Describe the files."""
        end = 0
        for source, rows in zip(self._sources, self._counts, strict=True):
            start = end
            end += rows
            in_lines = rows > 0 and source.head[:1] == b"{" and start not in self._names
            # lines ascend: none was blank where the last row's is as many as there are rows
            is_full = in_lines and self._place[end - 1] == rows
            yield SourceFile(source.shown, rows, source.size, is_full)
