"""NeMo Gym's ``group_level_metrics``: one entry per task, its rollouts counted truly."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, overload

import msgspec
import numpy as np
from msgspec import UNSET

from pytest_evalmetrics.masks import any_of
from pytest_evalmetrics.metrics.basestats import StatisticsByTask

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable

__all__ = ["Completeness", "GroupEntries"]

_BLOCK: Final = 512  # tasks whose entries are made at a time: about what a cache holds
_undeclarable = re.compile(r'["\\\x00-\x1f]').search  # msgspec takes no such key

_TAIL = (
    "sample",
    "num_rollouts",
    "expected_num_rollouts",
    "missing_num_rollouts",
    "reward_profile_completion_pct",
)


class Completeness(msgspec.Struct, frozen=True):
    """How many rollouts each task has; arrays of shape (tasks,)."""

    found: NDArray[np.int64]  # rollouts that there are
    expected: NDArray[np.int64]  # rollouts that there should be
    missing: NDArray[np.int64]  # rollouts that are absent, and those without a reward

    @classmethod
    def of(
        cls,
        table: RolloutTable,
        reward: str,
        expected: int | NDArray[np.int64] | None = None,
    ) -> Completeness:
        """Count the rollouts of one agent."""
        found = table.counts
        column = table.scores.get(reward)
        absent = np.ones(len(table), dtype=bool) if column is None else np.isnan(column)
        without = np.bincount(table.task[absent], minlength=len(table.tasks))
        wanted = found if expected is None else np.broadcast_to(expected, found.shape)
        return cls(found, wanted, np.maximum(wanted - found, 0) + without)


class GroupEntries(Sequence[dict[str, Any]]):
    """The entry of each task: made when it is looked at, for a run may have a million of them.

    Each is a dict: ``_ng_task_index`` (the task's id, number or text), the base statistics
    that the task has, ``sample``, and the counts.
    """

    def __init__(self, table: RolloutTable, agent: str, completeness: Completeness) -> None:
        self._tasks = table.tasks
        self._sample = {"agent_ref": {"name": agent}}
        self._completeness = completeness
        self._statistics = StatisticsByTask(table)
        self._names = ("_ng_task_index", *self._statistics.names, *_TAIL)
        self._statistics.must_be_finite()

    def __len__(self) -> int:
        return len(self._tasks)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        """Make one entry, or some."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        at = range(len(self))[index]
        return self._entries(at, at + 1)[0]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for start, stop in self._blocks():
            yield from self._entries(start, stop)

    def pieces(self) -> Iterator[bytes]:
        """Write the entries as JSON, some at a time."""
        if any(map(_undeclarable, self._names)):
            for start, stop in self._blocks():
                yield msgspec.json.encode(self._entries(start, stop))[1:-1]
            return
        # what holds the names once is several times as fast as a dict for each task
        entry = _entry(self._names)
        for start, stop in self._blocks():
            rows = list(itertools.starmap(entry, self._rows(start, stop)))
            yield msgspec.json.encode(rows)[1:-1]

    def _blocks(self) -> Iterator[tuple[int, int]]:
        for start in range(0, len(self), _BLOCK):
            yield start, min(start + _BLOCK, len(self))

    def _entries(self, start: int, stop: int) -> list[dict[str, Any]]:
        return [
            {k: v for k, v in zip(self._names, row, strict=True) if v is not UNSET}
            for row in self._rows(start, stop)
        ]

    def _rows(self, start: int, stop: int) -> Iterator[tuple[Any, ...]]:
        counts = self._completeness
        found, expected, missing = (
            part[start:stop] for part in (counts.found, counts.expected, counts.missing)
        )
        share = 100.0 * np.maximum(expected - missing, 0) / np.maximum(expected, 1)
        return zip(
            self._tasks[start:stop],
            *(
                _values(values, whole=name in self._statistics.whole)
                for name, values in zip(
                    self._statistics.names, self._statistics.of(start, stop), strict=True
                )
            ),
            itertools.repeat(self._sample, stop - start),
            found.tolist(),
            expected.tolist(),
            missing.tolist(),
            share.tolist(),
            strict=True,
        )


@lru_cache(maxsize=64)  # benchmarks of a run mostly have the same names
def _entry(names: tuple[str, ...]) -> type[msgspec.Struct]:
    fields = [(f"f{i}", Any) for i in range(len(names))]
    renamed = dict(zip((name for name, _ in fields), names, strict=True))
    return msgspec.defstruct("_Entry", fields, rename=renamed, gc=False)


def _values(values: NDArray[np.float64], *, whole: bool) -> list[Any]:
    listed: list[Any] = (values.astype(np.int64) if whole else values).tolist()
    absent = np.isnan(values)
    if any_of(absent):
        for at in np.flatnonzero(absent).tolist():
            listed[at] = UNSET
    return listed
