"""Recorded rollouts as columns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.data.rewards import TaskRewards
from pytest_evalmetrics.masks import any_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data.rewards import TaskId

__all__ = ["Category", "RolloutTable", "SourceFile"]


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
    content
        A hash of each row's task, see `content_hash`, empty where unknown, shape (rows,); None
        where no task's content is known.
    positional
        Whether task ids are positions in a data set, which move when a row is added.
    ruler
        What scored in the files, as they say it -> setting -> values; ``scores``: what it gave.
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
    content: NDArray[np.bytes_] | None = None
    positional: bool = False
    ruler: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.task)

    def by_agent(self) -> Iterator[tuple[str, RolloutTable]]:
        """Split into one table per agent, each with the tasks that it attempted."""
        if len(self.agents) == 1:
            yield self.agents[0], self
            return
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
            content=None if self.content is None else self.content[rows],
        )

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Where each task's rows start, shape (tasks + 1,), for a table of one agent."""
        starts: NDArray[np.int64] = self.task.searchsorted(np.arange(len(self.tasks) + 1))
        return starts.astype(np.int64, copy=False)

    @property
    def contents(self) -> NDArray[np.bytes_] | None:
        """Hash of each task's content, shape (tasks,), for a table of one agent."""
        if self.content is None:
            return None
        held = self.counts > 0
        contents = np.zeros(len(self.tasks), dtype=self.content.dtype)
        contents[held] = self.content[self.offsets[:-1][held]]
        return contents

    @property  # not kept: of a million tasks it is eight megabytes
    def counts(self) -> NDArray[np.int64]:
        """Rollouts of each task, shape (tasks,), for a table of one agent."""
        return self.offsets[1:] - self.offsets[:-1]

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
        if not any_of(absent):
            return TaskRewards(column, self.offsets)
        if missing is not None:
            return TaskRewards(np.where(absent, missing, column), self.offsets)
        kept = np.concatenate(([0], np.cumsum(~absent))).astype(np.int64)
        return TaskRewards(column[~absent], kept[self.offsets])
