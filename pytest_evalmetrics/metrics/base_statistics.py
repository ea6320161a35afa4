"""NeMo Gym's base statistics: mean, max, min, median and std of every column.

Pooled over all rollouts of an agent, for each task, and as metrics that can be gated. The numbers
are those of pandas to the last digit: its order of additions is kept, with a missing value as a 0
in place.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.model.metric_facts import STATISTIC_FACTS
from pytest_evalmetrics.model.rollout_table import RolloutTable, TaskRewards
from pytest_evalmetrics.spec.metric_names import STATISTICS
from pytest_evalmetrics.sums import row_totals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# no sum of squares of as many numbers as fit into memory overflows below it
_SAFE: Final = 1e140
# tasks whose entries are built at a time, about a CPU cache's worth
_BLOCK: Final = 512
_TAIL = (
    "sample",
    "num_rollouts",
    "expected_num_rollouts",
    "missing_num_rollouts",
    "reward_profile_completion_pct",
)


def task_sums(rewards: TaskRewards) -> Floats:
    """Sum each task's rewards, shape (tasks,); 0 for an empty one."""
    if rewards.is_one_each:
        return rewards.values  # no copy of what may be a million numbers
    sums = np.zeros(len(rewards))
    held = rewards.counts > 0
    if held.any():  # reduceat knows no empty stretch: the starts of the others bound it
        sums[held] = np.add.reduceat(rewards.values, rewards.offsets[:-1][held])
    return sums


class PooledMean:
    """The mean over all rollouts; its interval is by task, for these are independent."""

    name = "mean"
    direction = STATISTIC_FACTS["mean"].direction
    limits = STATISTIC_FACTS["mean"].limits
    unbiased = True

    def task_parts(self, rewards: TaskRewards) -> tuple[Floats, Floats]:
        """Sum each task's rollouts, and count them."""
        return task_sums(rewards), rewards.counts.astype(np.float64)


class PooledStatistic:
    """max, min, median or std over all rollouts."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.direction = STATISTIC_FACTS[name].direction
        self.limits = STATISTIC_FACTS[name].limits
        self.extreme = {"min": "lowest", "max": "highest"}.get(name, "")
        self.no_interval = f"no interval is computed for the {name} of pooled rollouts"

    def compute_array(self, rewards: TaskRewards) -> float:
        """Pool all rollouts; the std of a single one is not defined."""
        if self.name == "std" and len(rewards.values) == 1:
            return math.nan
        of_one_row = _of_rows(rewards.values[None])
        return float(of_one_row[STATISTICS.index(self.name)][0])


def statistic_metric(name: str) -> PooledMean | PooledStatistic:
    """Return the base statistic of that name as a metric."""
    if name == "mean":
        return PooledMean()
    return PooledStatistic(name)


def pooled_statistics(table: RolloutTable) -> dict[str, float]:
    """Compute the base statistics of one agent over all rollouts, in NeMo Gym's order."""
    # A column without any value has no keys, one with a single value among several rollouts no std.
    statistics = _Statistics(table)
    of_one_task = statistics.of(np.array([0, len(table)]))
    pooled: dict[str, float] = {}
    for name, values, is_whole in zip(
        statistics.names, of_one_task, statistics.whole, strict=True
    ):
        (value,) = _listed(values, is_whole)
        if value is not None:
            pooled[name] = value
    return pooled


def _of_rows(block: Floats) -> tuple[Floats, ...]:
    """Compute mean, max, min, median and std (0 if n is 1) of each row of a block, shape (m, n).

    n is above 0; a row without values has NaN.
    """
    absent = np.isnan(block)
    gaps = bool(absent.any())
    width = block.shape[1]
    counts: NDArray[np.int64] = np.full(len(block), width)
    if gaps:
        counts = width - absent.sum(axis=1)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        mean, std = _mean_and_std(block, absent, counts, gaps=gaps)
        if len(block) == 1 and counts[0]:
            # a copy, which may be reordered
            values = block[~absent] if gaps else block[0].copy()
            highest, lowest, median = _order_statistics_of_one(values)
            return mean, highest, lowest, median, std
        # NaN last, which is then at place -1 of an empty row
        ordered = np.sort(block, axis=1)
        rows = np.arange(len(block))
        low_middle = ordered[rows, (counts - 1) // 2]
        high_middle = ordered[rows, counts // 2]
        median = (low_middle + high_middle) / 2
        highest = ordered[rows, counts - 1]
        lowest = ordered[:, 0]
    return mean, highest, lowest, median, std


def _mean_and_std(
    block: Floats,
    absent: NDArray[np.bool_],
    counts: NDArray[np.int64],
    *,
    gaps: bool,
) -> tuple[Floats, Floats]:
    filled = block
    if gaps:
        filled = np.where(absent, 0.0, block)
    mean: Floats = row_totals(filled) / counts
    squares = (mean[:, None] - filled) ** 2
    if gaps:
        squares[absent] = 0.0
    std: Floats = np.sqrt(row_totals(squares) / (counts - 1))
    std[counts == 0] = np.nan
    if block.shape[1] == 1:
        std[counts == 1] = 0.0
    return mean, std


def _order_statistics_of_one(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Compute max, min and median of one row, which is reordered, shapes (1,)."""
    half = len(values) // 2
    # partitioned for one place: for two it is many times slower
    values.partition(half)
    middle = values[half]
    if len(values) % 2 == 0:
        middle = (values[:half].max() + values[half]) / 2
    return values.max(keepdims=True), values.min(keepdims=True), np.array([middle])


def _by_task(column: Floats, offsets: NDArray[np.int64]) -> tuple[Floats, ...]:
    """Compute the same for each task, shapes (tasks,)."""
    counts = np.diff(offsets)
    if (counts == counts[:1]).all():  # the rows lie as the block does
        return _of_rows(column.reshape(len(counts), -1))
    statistics = tuple(np.empty(len(counts)) for _ in STATISTICS)
    for tasks, block in TaskRewards(column, offsets).blocks():
        for whole, part in zip(statistics, _of_rows(block), strict=True):
            whole[tasks] = part
    return statistics


class _Statistics:
    """The base statistics of each column that has a value, in NeMo Gym's order."""

    def __init__(self, table: RolloutTable) -> None:
        columns: dict[str, Floats] = {}
        # max and min are written as whole numbers only where every column is whole
        all_whole = True
        for name, column in table.scores.items():
            absent = np.isnan(column)
            if absent.all():
                continue
            columns[name] = column
            if name not in table.integers or absent.any():
                all_whole = False
        names: list[str] = []
        whole: list[bool] = []
        for statistic in STATISTICS:
            names += [f"{statistic}/{name}" for name in columns]
            is_whole = all_whole and statistic in ("max", "min")
            whole += [is_whole] * len(columns)
        self.columns = tuple(columns.values())
        self.names = tuple(names)
        self.whole = tuple(whole)

    def of(self, bounds: NDArray[np.int64]) -> list[Floats]:
        """Compute the statistics of the tasks between two bounds of rows, NaN if none."""
        first = bounds[0]
        last = bounds[-1]
        by_column = [
            _by_task(column[first:last], bounds - first) for column in self.columns
        ]
        # all means, then all highest values ...
        ordered: list[Floats] = []
        for statistic in range(len(STATISTICS)):
            ordered += [statistics[statistic] for statistics in by_column]
        for name, values in zip(self.names, ordered, strict=True):
            if np.isinf(values).any():
                _, _, score = name.partition("/")
                raise MetricError(
                    f"{name} is too large for a floating-point number",
                    hint=f"look for a broken value of {score!r} in the rollouts",
                )
        return ordered


class GroupEntries(Sequence[dict[str, object]]):
    """NeMo Gym's ``group_level_metrics``: the entry of each task, made when it is read.

    Each is a dict: ``_ng_task_index`` (the task's id, number or text), the base statistics
    that the task has (all means, then max, min, median, std), ``sample``, and the counts. A run
    may have a million of them. `unscored` are each task's rollouts that have no reward, and
    `expected` those that it should have, None as many as it has.
    """

    def __init__(
        self,
        table: RolloutTable,
        agent: str,
        unscored: NDArray[np.int64],
        expected: int | NDArray[np.int64] | None = None,
    ) -> None:
        self._tasks = table.tasks
        self._offsets = table.offsets
        self._sample = {"agent_ref": {"name": agent}}
        present = table.counts
        wanted = present
        if expected is not None:
            wanted = np.broadcast_to(expected, present.shape)
        self.missing = np.maximum(wanted - present, 0) + unscored
        complete = np.maximum(wanted - self.missing, 0)
        completion_pct = 100.0 * complete / np.maximum(wanted, 1)
        self._counts = (present, wanted, self.missing, completion_pct)
        self.statistics = _Statistics(table)
        self._names = ("_ng_task_index", *self.statistics.names, *_TAIL)
        # refuse too large numbers before they are used
        if any(_is_large(column) for column in self.statistics.columns):
            self.statistics.of(self._offsets)

    def __len__(self) -> int:
        return len(self._tasks)

    def __getitem__(self, index: Any) -> Any:
        """Make one entry, or some."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        at = range(len(self))[index]
        return self._entries(at, at + 1)[0]

    def __iter__(self) -> Iterator[dict[str, object]]:
        for start in range(0, len(self), _BLOCK):
            yield from self._entries(start, start + _BLOCK)

    def pieces(self) -> Iterator[bytes]:
        """Write the entries as JSON, some at a time."""
        for start in range(0, len(self), _BLOCK):
            yield msgspec.json.encode(self._entries(start, start + _BLOCK))[1:-1]

    def _entries(self, start: int, stop: int) -> list[dict[str, object]]:
        statistics = self.statistics.of(self._offsets[start : stop + 1])
        columns = (
            self._tasks[start:stop],
            *map(_listed, statistics, self.statistics.whole),
            repeat(self._sample),
            *(column[start:stop].tolist() for column in self._counts),
        )
        entries = [
            dict(zip(self._names, row, strict=True))
            for row in zip(*columns, strict=False)
        ]
        if any(np.isnan(values).any() for values in statistics):
            entries = [_without_gaps(entry) for entry in entries]
        return entries


def _is_large(column: Floats) -> bool:
    """Check whether the squares of a column's values may be too large for a float."""
    return bool(np.fmax.reduce(np.abs(column)) > _SAFE)


def _without_gaps(entry: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in entry.items() if value is not None}


def _listed(values: Floats, is_whole: bool) -> list[float | None]:
    """Return numbers as JSON has them: None for NaN."""
    numbers = values
    if is_whole:
        numbers = values.astype(np.int64)
    listed: list[float | None] = numbers.tolist()
    for at in np.flatnonzero(np.isnan(values)).tolist():
        listed[at] = None
    return listed
