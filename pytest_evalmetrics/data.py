"""What flows between the steps: columns of numbers, one row per rollout.

Text never gets this far. NaN means missing: a rollout without a finite number.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = [
    "Category",
    "FailedRow",
    "PairedMetric",
    "RolloutTable",
    "RowScores",
    "SourceFile",
    "TaskId",
    "TaskRewards",
]

TaskId = int | str


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that rollouts were read from.

    Attributes
    ----------
    path
        As a user would write it: relative to the benchmark file where it lies below
        or beside it, with ``/``.
    rows
        Rollouts in it.
    size
        Bytes on disk.
    row_is_line
        Whether each row stands on the line of its number.
    """

    path: str
    rows: int
    size: int
    row_is_line: bool = False


@dataclass(frozen=True, slots=True)
class Category:
    """A row's field kept as a label, for ``breakdown:`` and ``cluster:``.

    Attributes
    ----------
    codes
        Index into `labels`, shape (rows,).
    labels
        The values met, as text; a row without the field has the label ``(missing)``.
    """

    codes: NDArray[np.int32]
    labels: tuple[str, ...]


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
        return np.diff(self.offsets)

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


@dataclass(frozen=True)
class RolloutTable:
    """Recorded rollouts as columns, sorted by agent, then task, then sample.

    Attributes
    ----------
    agents
        Names, in the order in which they first appear in the files.
    agent
        Index into `agents`, shape (rows,).
    tasks
        Task ids: whole numbers in ascending order, or else text in ascending order.
    task
        Index into `tasks`, shape (rows,).
    sample
        The attempt's number, shape (rows,).
    scores
        Name -> float64 column, shape (rows,), NaN where missing; in the order of first
        appearance, what a row says of its usage last.
    integers
        The scores whose every value is a whole number in the file.
    categories
        The fields kept as labels.
    sources
        The files.
    notes
        What a reader should know: values that count as missing and why, counted.
    read_as
        Which row of the files it was, from 0, shape (rows,); None where it is none of a file.
    """

    agents: tuple[str, ...]
    agent: NDArray[np.int32]
    tasks: tuple[TaskId, ...]
    task: NDArray[np.int64]
    sample: NDArray[np.int64]
    scores: Mapping[str, NDArray[np.float64]]
    integers: frozenset[str] = frozenset()
    categories: Mapping[str, Category] = field(default_factory=dict)
    sources: tuple[SourceFile, ...] = ()
    notes: tuple[str, ...] = ()
    read_as: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.task)

    def by_agent(self) -> Iterator[tuple[str, RolloutTable]]:
        """Split into one table per agent, each with the tasks that it attempted."""
        for code, name in enumerate(self.agents):
            start, stop = np.searchsorted(self.agent, [code, code + 1])
            yield name, self._slice(slice(int(start), int(stop)))

    def where(self, rows: NDArray[np.bool_]) -> RolloutTable:
        """Keep the rows of a mask, and the tasks that still have one."""
        return self._slice(rows)

    def _slice(self, rows: slice | NDArray[np.bool_]) -> RolloutTable:
        present, task = np.unique(self.task[rows], return_inverse=True)
        return replace(
            self,
            agent=self.agent[rows],
            tasks=tuple(self.tasks[i] for i in present.tolist()),
            task=task.astype(np.int64),
            sample=self.sample[rows],
            scores={name: column[rows] for name, column in self.scores.items()},
            categories={
                name: Category(c.codes[rows], c.labels) for name, c in self.categories.items()
            },
            read_as=None if self.read_as is None else self.read_as[rows],
        )

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Where each task's rows start, shape (tasks + 1,), for a table of one agent."""
        return np.searchsorted(self.task, np.arange(len(self.tasks) + 1)).astype(np.int64)

    def rewards(self, score: str, *, missing: float | None = None) -> TaskRewards:
        """Group one score by task, for a table of one agent.

        Parameters
        ----------
        score
            A name in `scores`.
        missing
            What a missing value counts as; None leaves it out.
        """
        column = self.scores[score]
        absent = np.isnan(column)
        if not absent.any():
            return TaskRewards(column, self.offsets)
        if missing is not None:
            return TaskRewards(np.where(absent, missing, column), self.offsets)
        kept = np.concatenate(([0], np.cumsum(~absent))).astype(np.int64)
        return TaskRewards(column[~absent], kept[self.offsets])


@dataclass(frozen=True, slots=True)
class FailedRow:
    """Why a row lacks its scores.

    Attributes
    ----------
    kind
        A word to group by: ``http-500``, ``no-score``.
    reason
        What happened, without secrets.
    where
        ``file:line``.
    hint
        The way out.
    scores
        What it lacks.
    """

    kind: str
    reason: str
    where: str
    hint: str | None
    scores: tuple[str, ...]


@dataclass(frozen=True)
class RowScores:
    """What scorers gave to each row.

    Attributes
    ----------
    table
        The rows, sorted as tables are.
    names
        Those of its scores that scorers gave.
    failed
        Row of the files, from 0 -> why it lacks scores, one per scorer.
    requests
        Gives what was asked for a row of the files, and answered, as a JSON array.
    reasons
        Gives why scores of a row of the files are what they are, as a JSON array.
    answers
        Gives what was generated for a row, as a JSON array of one object; None where nothing
        was generated.
    """

    table: RolloutTable
    names: tuple[str, ...]
    failed: Mapping[int, Sequence[FailedRow]]
    requests: Callable[[int], bytes] = lambda _row: b"[]"
    reasons: Callable[[int], bytes] = lambda _row: b"[]"
    answers: Callable[[int], bytes] | None = None


@dataclass(frozen=True)
class PairedMetric:
    """One metric on both sides of a comparison, task by task.

    Attributes
    ----------
    name
        The metric.
    tasks
        The tasks that both sides have, and on which the metric has a value on both.
    baseline, current
        Each task's value, shape (tasks,); None for a metric that can't be split into tasks.
    value_baseline, value_current
        The metric over these tasks.
    rewards_baseline, rewards_current
        The rollouts behind it, aligned with `tasks`.
    difference
        Indices of tasks, shape (m,), repeats allowed -> baseline less current of the metric
        over these; what a bootstrap resamples. None where the metric is the mean over tasks.
    excluded
        Common tasks without a value on one side, such as too few rollouts for pass@k.
    bounded
        Whether the metric is a rate in [0, 1].
    """

    name: str
    tasks: tuple[TaskId, ...]
    baseline: NDArray[np.float64] | None
    current: NDArray[np.float64] | None
    value_baseline: float
    value_current: float
    rewards_baseline: TaskRewards
    rewards_current: TaskRewards
    difference: Callable[[NDArray[np.int64]], float] | None = None
    excluded: tuple[TaskId, ...] = ()
    bounded: bool = False
