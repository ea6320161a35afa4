"""Where a task's rows stand, and what scorers said of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable, RowScores, SourceFile

__all__ = ["RowPlaces", "told_of_rows"]

_NOTED = 300  # rows whose reasons and errors a page holds
_LOOKED_AT = 20_000
_CUT = 1_000  # characters of a reason


class RowPlaces:
    """Finds a row of all files in its own file."""

    def __init__(self, sources: Sequence[SourceFile]) -> None:
        # the files: ``path``, and ``lines``: whether the number of a row is that of its
        # line
        self.files = [{"path": s.path, "lines": s.row_is_line} for s in sources]
        self._ends = np.cumsum([s.rows for s in sources], dtype=np.int64)

    def of(self, rows: NDArray[np.int64]) -> tuple[list[int], list[int]]:
        """Return each one's file, by its index, and its number there, from 1."""
        file, number = self._of(rows)
        return file.tolist(), number.tolist()

    def _of(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if len(self._ends) == 1:
            return np.zeros(len(rows), np.int64), rows + 1
        file = np.searchsorted(self._ends, rows, side="right")
        starts = np.append(0, self._ends)[file]
        return file, rows - starts + 1

    def of_table(self, table: RolloutTable, rows: NDArray[np.int64]) -> list[list[int]]:
        """Return the sample, the file and the number of a table's rows.

        Nothing of rows that come from no file.
        """
        if table.read_as is None:
            return []
        file, number = self._of(table.read_as[rows])
        found = np.empty((len(rows), 3), np.int64)
        for at, column in enumerate((table.sample[rows], file, number)):
            found[:, at] = column
        listed: list[list[int]] = found.tolist()
        return listed


def told_of_rows(
    table: RolloutTable, rows: RowScores, order: NDArray[np.int64]
) -> dict[str, list[dict[str, Any]]]:
    """Take what scorers said of the rows of some tasks."""
    found: dict[str, list[dict[str, Any]]] = {}
    if table.read_as is None:
        return found
    offsets, n = table.offsets, len(table.tasks)
    noted = looked_at = 0
    for position, task in enumerate(order.tolist()):
        if noted >= _NOTED or looked_at >= _LOOKED_AT:
            break
        if task >= n:
            continue
        told: list[dict[str, Any]] = []
        for at in range(int(offsets[task]), int(offsets[task + 1])):
            looked_at += 1
            sample = int(table.sample[at])
            told += [{"sample": sample, **note} for note in _notes(rows, int(table.read_as[at]))]
        if told:
            found[str(position)] = told[: _NOTED - noted]
            noted += len(told)
    return found


def _notes(rows: RowScores, index: int) -> Iterator[dict[str, Any]]:
    for failed in rows.failed.get(index, ()):
        yield {"kind": failed.kind, "reason": _cut(failed.reason), "row": failed.where}
    for why in msgspec.json.decode(rows.reasons(index)):
        yield {"scores": why["scores"], "reason": _cut(why["reason"])}


def _cut(text: str) -> str:
    return text if len(text) <= _CUT else text[:_CUT] + " …"
