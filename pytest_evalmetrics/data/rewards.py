"""One score of one agent, grouped by task."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["TaskId", "TaskRewards"]

TaskId = int | str


@dataclass(frozen=True)
class TaskRewards:
    """One score of one agent, grouped by task: a ragged array without missing values.

    Attributes
    ----------
    values
        Finite scores, shape (samples,): task after task, each task's in sample order.
    offsets
        Where each task starts, shape (tasks + 1,); a task may be empty.
    """

    values: NDArray[np.float64]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Samples of each task, shape (tasks,)."""
        return self.offsets[1:] - self.offsets[:-1]

    def blocks(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Tasks bucketed by their number of samples.

        Yields
        ------
        tasks, block
            The tasks' indices, shape (m,), and their samples, shape (m, n), for each
            n > 0 that occurs. A loop over blocks costs per distinct n, not per task.
        """
        counts = self.counts
        sizes = np.unique(counts)
        for n in sizes[sizes > 0]:
            tasks = np.flatnonzero(counts == n)
            if len(tasks) == len(counts):
                yield tasks, self.values.reshape(len(tasks), n)
            else:
                yield tasks, self.values[self.offsets[tasks][:, None] + np.arange(n)]

    def to_lists(self) -> list[list[float]]:
        """One list per task, as a user's metric sees it."""
        values = self.values.tolist()
        bounds = self.offsets.tolist()
        return [values[a:b] for a, b in pairwise(bounds)]

    def take(self, tasks: NDArray[np.int64]) -> TaskRewards:
        """Select tasks by index, in that order, repeats allowed."""
        counts = self.counts[tasks]
        offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
        return TaskRewards(self.values[np.repeat(self.offsets[tasks], counts) + within], offsets)

    @classmethod
    def from_lists(cls, tasks: Sequence[Sequence[float]]) -> TaskRewards:
        """Group nested sequences, one inner sequence per task."""
        counts = [len(t) for t in tasks]
        values = np.array([v for t in tasks for v in t], dtype=np.float64)
        return cls(values, np.concatenate(([0], np.cumsum(counts))).astype(np.int64))
