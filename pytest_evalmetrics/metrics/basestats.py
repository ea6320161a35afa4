"""NeMo Gym's base statistics: mean, max, min, median and std of every column.

Pooled over all rollouts of an agent, and for each task. The numbers are those of pandas
to the last digit: its order of additions is kept, with a missing value as a 0 in place.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.masks import all_of, any_of
from pytest_evalmetrics.spec.metric_names import STATISTICS
from pytest_evalmetrics.sums import row_totals, total

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable

__all__ = ["StatisticsByTask", "pooled_statistics", "statistics_of"]

_SAFE = 1e140  # no sum of squares of as many numbers as fit into memory overflows below it


def pooled_statistics(table: RolloutTable) -> dict[str, float]:
    """Compute the base statistics over all rollouts.

    Parameters
    ----------
    table
        One agent's rollouts.

    Returns
    -------
    dict
        In NeMo Gym's order. A column without any value has no keys; one with a single
        value among several rollouts has no ``std``.

    Raises
    ------
    MetricError
        If a statistic is too large for a float.
    """
    columns = _present(table)
    found = {name: statistics_of(column) for name, column in columns.items()}
    whole = _whole(table, columns)
    pooled: dict[str, float] = {}
    for at, statistic in enumerate(STATISTICS):
        for name, values in found.items():
            value = values[at]
            if math.isinf(value):
                raise _overflow(f"{statistic}/{name}")
            if value == value:  # noqa: PLR0124 - not NaN
                pooled[f"{statistic}/{name}"] = int(value) if statistic in whole else value
    return pooled


class StatisticsByTask:
    """The base statistics of each task, computed for some tasks at a time.

    Parameters
    ----------
    table
        One agent's rollouts.

    Attributes
    ----------
    names
        ``mean/reward`` and so on, in NeMo Gym's order: all means, then max, min, median, std.
    whole
        Names whose values are written as whole numbers.
    """

    def __init__(self, table: RolloutTable) -> None:
        self._offsets = table.offsets
        self._columns = _present(table)
        whole = _whole(table, self._columns)
        self.names = tuple(f"{s}/{column}" for s in STATISTICS for column in self._columns)
        self.whole = frozenset(name for name in self.names if name.partition("/")[0] in whole)

    def of(self, start: int, stop: int) -> list[NDArray[np.float64]]:
        """Compute those of the tasks from `start` to `stop`.

        Returns
        -------
        list of array
            One per name, shape (stop - start,), NaN where a task has no such statistic.

        Raises
        ------
        MetricError
            If one is too large for a float.
        """
        first, last = self._offsets[start], self._offsets[stop]
        counts = self._offsets[start + 1 : stop + 1] - self._offsets[start:stop]
        buckets: list[_Bucket] = []
        if any_of(counts != counts[:1]):
            buckets = list(_buckets(self._offsets[start:stop] - first, counts))
        found = [_by_task(c[first:last], buckets, stop - start) for c in self._columns.values()]
        ordered = [column[at] for at in range(len(STATISTICS)) for column in found]
        if ordered and any_of(np.isinf(np.concatenate(ordered))):
            of_name = zip(self.names, ordered, strict=True)
            raise _overflow(next(name for name, values in of_name if any_of(np.isinf(values))))
        return ordered

    def must_be_finite(self) -> None:
        """Refuse statistics that are too large before anybody asks for them.

        Raises
        ------
        MetricError
            If one is.
        """
        largest = max((np.fmax.reduce(np.abs(c)) for c in self._columns.values()), default=0.0)
        if largest > _SAFE:
            self.of(0, len(self._offsets) - 1)


def _present(table: RolloutTable) -> dict[str, NDArray[np.float64]]:
    return {name: c for name, c in table.scores.items() if not all_of(np.isnan(c))}


def _whole(table: RolloutTable, columns: dict[str, NDArray[np.float64]]) -> tuple[str, ...]:
    """Name the statistics that are whole numbers: only where every column is."""
    whole = all(name in table.integers and not any_of(np.isnan(c)) for name, c in columns.items())
    return ("max", "min") if whole else ()


def _overflow(name: str) -> MetricError:
    return MetricError(
        f"{name} is too large for a floating-point number",
        hint=f"look for a broken value of {name.partition('/')[2]!r} in the rollouts",
    )


def statistics_of(column: NDArray[np.float64]) -> tuple[float, float, float, float, float]:
    """Compute mean, max, min, median and std of a column that has a value.

    Parameters
    ----------
    column
        Shape (rows,), NaN where missing.

    Returns
    -------
    tuple of float
        std is the sample deviation (ddof = 1): 0 where there is one row, NaN where there
        are more and all but one are missing.
    """
    absent = np.isnan(column)
    held = column[~absent] if any_of(absent) else column
    n = len(held)
    filled = column if n == len(column) else np.where(absent, 0.0, column)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = total(filled) / n
        std = 0.0 if len(column) == 1 else np.nan
        if n > 1:
            squares = (mean - filled) ** 2
            if n < len(column):
                squares[absent] = 0.0
            std = np.sqrt(total(squares) / (n - 1))
        upper = held.copy()
        upper.partition(n // 2)  # for one place: for two it is many times slower
        median = upper[n // 2] if n % 2 else (upper[: n // 2].max() + upper[n // 2]) / 2
    return float(mean), float(held.max()), float(held.min()), float(median), float(std)


# Tasks with the same number of rollouts: their indices, and each rollout's row.
_Bucket = tuple["NDArray[np.int64]", "NDArray[np.int64]"]


def _buckets(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> Iterator[_Bucket]:
    for n in np.unique(counts):
        tasks = np.flatnonzero(counts == n)
        yield tasks, starts[tasks][:, None] + np.arange(n)


def _by_task(
    column: NDArray[np.float64], buckets: list[_Bucket], tasks: int
) -> tuple[NDArray[np.float64], ...]:
    """Compute mean, max, min, median and std of each task, shapes (tasks,)."""
    if not buckets:  # all have as many rollouts: the rows lie as the block does
        return _blockwise(column.reshape(tasks, -1))
    found = tuple(np.empty(tasks) for _ in STATISTICS)
    for at, rows in buckets:
        for whole, part in zip(found, _blockwise(column[rows]), strict=True):
            whole[at] = part
    return found


def _blockwise(block: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Compute the same for each row of a block, shape (m, n), n > 0."""
    absent = np.isnan(block)
    if any_of(absent):
        return _with_gaps(block, absent)
    n = block.shape[1]
    ordered = np.sort(block, axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = row_totals(block) / n
        squares = (mean[:, None] - block) ** 2
        std = np.sqrt(row_totals(squares) / (n - 1)) if n > 1 else np.zeros(len(block))
        median = (ordered[:, (n - 1) // 2] + ordered[:, n // 2]) / 2
    return mean, ordered[:, -1], ordered[:, 0], median, std


def _with_gaps(
    block: NDArray[np.float64], absent: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], ...]:
    """Compute it where values are missing: each row has its own n, and NaN where n is 0."""
    n = block.shape[1] - absent.sum(axis=1)
    filled = np.where(absent, 0.0, block)
    ordered = np.sort(block, axis=1)  # NaN last: what is at place -1 of an empty row
    rows = np.arange(len(block))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        mean = row_totals(filled) / n
        squares = (mean[:, None] - filled) ** 2
        squares[absent] = 0.0
        std = np.sqrt(row_totals(squares) / (n - 1))
        if block.shape[1] == 1:
            std[n == 1] = 0.0
        std[n == 0] = np.nan
        median = (ordered[rows, (n - 1) // 2] + ordered[rows, n // 2]) / 2
    return mean, ordered[rows, n - 1], ordered[:, 0], median, std
