"""The order of a table's rows: by agent, task and attempt, which is numbered where it must be."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

NO_SAMPLE: Final = -1  # of a row without a sample index


class RowKeys(msgspec.Struct, frozen=True):
    """What sorts rows: the codes of their agents and tasks, and their samples, shape (rows,)."""

    agent: NDArray[np.int32]
    task: NDArray[np.int64]
    sample: NDArray[np.int64]

    def order(self) -> NDArray[np.int64] | None:
        """Sort the rows; None if they are sorted, and no two are the same attempt."""
        if (_steps(self.agent, self.task, self.sample) > 0).all():
            return None
        return np.lexsort((self.sample, self.task, self.agent))

    def same_attempt(self, order: NDArray[np.int64]) -> tuple[int, int] | None:
        """Find the first two rows of one attempt; None if there are none."""
        steps = _steps(self.agent[order], self.task[order], self.sample[order])
        same = np.flatnonzero(steps == 0)
        if not len(same):
            return None
        pair = same[np.argmin(order[same + 1])]  # the first one that a reader meets
        return int(order[pair]), int(order[pair + 1])

    def made_again(self, retried: Collection[int]) -> set[int]:
        """Find those of some failed attempts for which another row counts."""
        others = np.ones(len(self.task), dtype=bool)
        others[list(retried)] = False
        columns = (self.agent[others], self.task[others], self.sample[others])
        made = set(zip(*(column.tolist() for column in columns), strict=True))
        again = set()
        # of several failures of one attempt the last one counts
        for row in sorted(retried, reverse=True):
            attempt = (int(self.agent[row]), int(self.task[row]), int(self.sample[row]))
            if attempt in made:
                again.add(row)
            made.add(attempt)
        return again


def numbered(
    agent: NDArray[np.int32],
    task: NDArray[np.int64],
    started: NDArray[np.float64] | None,
) -> NDArray[np.int64]:
    """Assign numbers from 0 to an agent's rows of a task, as they started, or else as they come."""
    keys: list[NDArray[np.number]] = [task, agent]
    if started is not None:
        keys.insert(0, started)
    order = np.lexsort(keys)
    is_first = np.concatenate(([True], _steps(agent[order], task[order]) != 0))
    index = np.arange(len(order))
    first = np.maximum.accumulate(np.where(is_first, index, 0))
    samples = np.empty_like(index)
    samples[order] = index - first
    return samples


def start_times(
    rows: int, started: Mapping[int, NDArray[np.float64]]
) -> NDArray[np.float64] | None:
    """Join the start times of blocks of rows, by their first row; None if none has any."""
    if not started:
        return None
    times = np.full(rows, math.nan)
    for first, block in started.items():
        times[first : first + len(block)] = block
    return times


def _steps(*columns: NDArray[np.integer]) -> NDArray[np.int64]:
    """Compare each row with the one before: the sign of the first column that differs."""
    sign = np.zeros(len(columns[0]) - 1, np.int64)
    for column in columns:
        sign = np.where(sign == 0, np.sign(column[1:] - column[:-1]), sign)
    return sign
