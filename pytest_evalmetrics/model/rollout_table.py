"""Rollouts as columns of numbers, and the rewards of each task.

Text never gets this far; a task is recognised under another id by a short hash of its content.
NaN means missing: a rollout without a finite number.
"""

from __future__ import annotations

import json
import re
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.model.notes import Note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.model.metric_facts import DirectionName
    from pytest_evalmetrics.model.scores import RowFailure

TaskId = int | str
UNNAMED_AGENT: Final = "agent"  # of rows that name none
# prefixes of a score's name, for what a file states of an aggregate: its standard error, the number
# of samples that it is computed over, and the number that the data set has
STATED_ERROR = "(standard error) "
STATED_COUNT = "(samples) "
STATED_TOTAL = "(samples in all) "
STATED = (STATED_ERROR, STATED_COUNT, STATED_TOTAL)
MISSING = "(missing)"  # the label of a row that has none
HASH_SIZE = 12  # hex digits of the hash of a task's content
VERSIONS = "+"  # between the hashes of a task's versions
NO_CONTENT = ""  # the hash of a task whose rollouts have different questions
_SYSTEM_ROLES = ("system", "developer")
_NOT_THE_QUESTION = ("id", "source", "metadata")  # keys of a message


def content_hash(value: object) -> str:
    """Hash a task's content: builtins as JSON, in which the order of keys doesn't matter.

    The hash has twelve hex digits; that of None, which is no content, is empty.
    """
    if value is None:
        return ""

    try:
        data = msgspec.json.encode(value, order="sorted")
    except (TypeError, ValueError, RecursionError):
        text = json.dumps(value, sort_keys=True, default=repr)
        data = text.encode()
    return blake2b(data, digest_size=HASH_SIZE // 2).hexdigest()


def join_versions(*contents: str) -> str:
    """Join the hashes of a task's versions, each once, whatever their order."""
    hashes: set[str] = set()
    for content in contents:
        hashes.update(content.split(VERSIONS))
    return VERSIONS.join(sorted(hashes))


def question_of(messages: object) -> Any:
    """Reduce a conversation to the question: no system prompt, and no ids of messages.

    The system prompt belongs to the agent under test, which may change.
    """
    if not isinstance(messages, list):
        return messages
    question: list[object] = []
    for message in messages:
        if not isinstance(message, dict):
            question.append(message)
        elif message.get("role") not in _SYSTEM_ROLES:
            parts = message.items()
            question.append({k: v for k, v in parts if k not in _NOT_THE_QUESTION})
    return question


class TaskRewards(msgspec.Struct, frozen=True, dict=True):
    """One score of one agent, grouped by task: a ragged array without missing values.

    `values` are finite scores, shape (samples,): task after task, each task's in sample order.
    `offsets` tell where each task starts, shape (tasks + 1,); a task may be empty.
    """

    values: NDArray[np.float64]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property  # not kept: of a million tasks it is eight megabytes
    def counts(self) -> NDArray[np.int64]:
        """Samples of each task, shape (tasks,)."""
        return self.offsets[1:] - self.offsets[:-1]

    @cached_property
    def is_one_each(self) -> bool:
        """Whether each task has exactly one sample."""
        if len(self.values) != len(self):
            return False
        return bool((self.counts == 1).all())

    def count(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Count the chosen samples of each task, shape (tasks,); no task is empty."""
        if self.is_one_each:
            return chosen.astype(np.int64)
        counted: NDArray[np.int64] = np.add.reduceat(
            chosen, self.offsets[:-1], dtype=np.int64
        )
        return counted

    @cached_property
    def task(self) -> NDArray[np.int64]:
        """Each sample's task, from 0, shape (samples,)."""
        return np.repeat(np.arange(len(self)), self.counts)

    def once(self, key: str, make: Callable[[], object]) -> Any:
        """Compute something of these samples once, however often they are weighed anew."""
        kept = vars(self).setdefault("_kept", {})
        if key not in kept:
            kept[key] = make()
        return kept[key]

    @property
    def numbers(self) -> NDArray[np.float64]:
        """Each sample's worth, by which changes are ranked: its value."""
        return self.values

    def same_as(self, other: TaskRewards) -> bool:
        """Check whether both hold the same samples, task by task."""
        if not np.array_equal(self.offsets, other.offsets):
            return False
        return self._values_same_as(other)

    def _values_same_as(self, other: TaskRewards) -> bool:
        return np.array_equal(self.values, other.values)

    def blocks(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Bucket tasks by their number of samples: a loop costs per distinct n, not per task.

        Yields
        ------
        tasks, block
            The tasks' indices, shape (m,), and their samples, shape (m, n), for each n > 0.
        """
        counts = self.counts
        # without counts np.unique would import numpy.ma, which takes 20 ms
        for n in np.unique(counts[counts > 0], return_counts=True)[0]:
            tasks = np.flatnonzero(counts == n)
            if len(tasks) == len(counts):
                yield tasks, self.values.reshape(len(tasks), n)
            else:
                yield tasks, self.values[self.offsets[tasks][:, None] + np.arange(n)]

    def to_lists(self) -> list[object]:
        """One list per task, as a user's metric sees it."""
        values = self.values.tolist()
        return [values[a:b] for a, b in pairwise(self.offsets.tolist())]

    def take(self, tasks: NDArray[np.int64]) -> TaskRewards:
        """Select tasks by index, in that order, repeats allowed."""
        if self.is_one_each:
            offsets = self.offsets
            if len(tasks) != len(self):
                offsets = np.arange(len(tasks) + 1)
            return structs.replace(self, values=self.values[tasks], offsets=offsets)
        counts = self.counts[tasks]
        offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        at = np.arange(offsets[-1]) + np.repeat(
            self.offsets[tasks] - offsets[:-1], counts
        )
        return structs.replace(self, values=self.values[at], offsets=offsets)

    @classmethod
    def from_lists(cls, tasks: Sequence[Sequence[float]]) -> TaskRewards:
        """Group nested sequences, one inner sequence per task."""
        counts = [len(t) for t in tasks]
        values = np.array([v for t in tasks for v in t], dtype=np.float64)
        return cls(values, np.concatenate(([0], np.cumsum(counts))).astype(np.int64))


# whether a label is a number, as JSON writes it
is_numeric = re.compile(
    r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
).fullmatch


def _recoded(
    parts: Iterable[tuple[NDArray[Any], Sequence[str]]], labels: Sequence[str]
) -> Any:
    """Join codes, each with its labels, as codes of other labels; -1 stays."""
    new_codes = {label: at for at, label in enumerate(labels)}
    joined = []
    for codes, own_labels in parts:
        # the last one is found at -1
        places = [new_codes[label] for label in own_labels] + [-1]
        joined.append(np.array(places, codes.dtype)[codes])
    return np.concatenate(joined)


def in_order(labels: Iterable[str]) -> tuple[str, ...]:
    """Sort labels: numbers by size, then text."""
    return tuple(sorted(labels, key=_numbers_first))


def _numbers_first(label: str) -> tuple[int, float, str]:
    if is_numeric(label):
        return 0, float(label), ""
    return 1, 0.0, label


class TaskRows(TaskRewards, frozen=True):
    """Several columns of one agent's rows, grouped by task.

    `values` are the rows' places in `columns`: whatever draws, regroups or deals rewards does the
    same with whole rows.
    """

    #: Name -> numbers, or codes of `labels`, shape (places,).
    columns: Mapping[str, NDArray[Any]]
    #: Of all columns of labels, numbers in their order before text.
    labels: tuple[str, ...]
    #: The names of these columns.
    coded: frozenset[str]
    #: Of each row, shape (places,): 1 where the answer is right.
    worth: NDArray[np.float64]

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """The rows' places, shape (samples,)."""
        return self.values.astype(np.int64)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a column, shape (samples,)."""
        column: NDArray[Any] = self.once(name, lambda: self.columns[name][self.places])
        return column

    def beside(self, other: TaskRows) -> tuple[TaskRows, TaskRows]:
        """Return these rows and others as places in the columns of both."""
        labels = in_order({*self.labels, *other.labels})
        columns: dict[str, NDArray[Any]] = {}
        for name in self.columns:
            own = self.columns[name]
            others = other.columns[name]
            if name in self.coded:
                parts = [(own, self.labels), (others, other.labels)]
                columns[name] = _recoded(parts, labels)
            else:
                columns[name] = np.concatenate((own, others))
        worth = np.concatenate((self.worth, other.worth))
        ours = structs.replace(self, columns=columns, labels=labels, worth=worth)
        places = other.values + len(self.worth)
        theirs = structs.replace(ours, values=places, offsets=other.offsets)
        return ours, theirs

    def _values_same_as(self, other: TaskRewards) -> bool:
        return self.to_lists() == other.to_lists()

    @property
    def numbers(self) -> NDArray[np.float64]:
        """Each row's worth, by which changes are ranked."""
        return self.worth[self.places]

    def to_lists(self) -> list[object]:
        """One mapping per task, column -> list, as a user's metric sees it."""
        columns: dict[str, list[object]] = {}
        for name in self.columns:
            if name in self.coded:
                columns[name] = [self.labels[code] for code in self[name]]
            else:
                columns[name] = self[name].tolist()
        tasks: list[object] = []
        for start, stop in pairwise(self.offsets.tolist()):
            task = {name: column[start:stop] for name, column in columns.items()}
            tasks.append(task)
        return tasks


class Row(msgspec.Struct, frozen=True):
    """One row to be scored."""

    index: int  # its position among the rows that were read, from 0
    agent: str  # the agent of the attempt
    task: TaskId
    sample: int  # the attempt's number
    item: Mapping[str, object]  # the row as it is written
    # the generated answer; the row itself for recorded rollouts, empty for a data set
    sample_data: Mapping[str, object] = msgspec.field(default_factory=dict)
    where: str = ""  # ``file:line``, for messages

    @property
    def context(self) -> dict[str, object]:
        """The names available to templates: the row's columns, ``item`` and ``sample``."""
        return {**self.item, "item": self.item, "sample": self.sample_data}


class SourceFile(msgspec.Struct, frozen=True):
    """A file that rollouts were read from."""

    path: str  # as a user would write it, with ``/``: relative to the benchmark file if beside it
    rows: int  # rollouts in it
    size: int  # bytes on disk
    row_is_line: bool = False  # whether row numbers are line numbers


class Category(msgspec.Struct, frozen=True):
    """A row's field kept as a label, for ``breakdown:`` and ``cluster:``."""

    codes: NDArray[np.int32]  # index into `labels`, shape (rows,)
    # the values met, as text; ``(missing)`` where a row has none
    labels: tuple[str, ...]


class RolloutTable(msgspec.Struct, frozen=True, dict=True):
    """Recorded rollouts as columns of shape (rows,), sorted by agent, then task, then sample."""

    agents: tuple[str, ...]  # in the order in which they first appear in the files
    agent: NDArray[np.int32]  # index into `agents`
    # whole numbers in ascending order, or else text in ascending order
    tasks: tuple[TaskId, ...]
    task: NDArray[np.int64]  # index into `tasks`
    sample: NDArray[np.int64]  # the attempt's number
    # NaN if missing; in the order of first appearance, with scores of usage last
    scores: Mapping[str, NDArray[np.float64]]
    # scores whose values are all integers in the file
    integers: frozenset[str] = frozenset()
    categories: Mapping[str, Category] = msgspec.field(default_factory=dict)
    sources: tuple[SourceFile, ...] = ()
    notes: tuple[Note, ...] = ()  # such as the values that count as missing
    # score -> those of the notes that are about it
    score_notes: Mapping[str, tuple[Note, ...]] = msgspec.field(default_factory=dict)
    read_as: NDArray[np.int64] | None = None  # each row's number in the files, from 0
    # `Chunk.marks` of each row, until copies were looked for; else None
    marks: NDArray[np.int64] | None = None
    # `content_hash` of each row's task, empty if unknown; None if all are unknown
    content: NDArray[np.bytes_] | None = None
    # whether ids are positions in a data set, which a new row moves
    positional: bool = False
    # scorer of the files -> setting -> values; ``scores`` lists the scores of a scorer
    ruler: Mapping[str, Mapping[str, Sequence[str]]] = msgspec.field(
        default_factory=dict
    )
    # score -> which way is better, where the files declare it
    directions: Mapping[str, DirectionName] = msgspec.field(default_factory=dict)
    # the agents whose rows have no sample of their own: they are numbered as they come
    unnumbered: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.task)

    def by_agent(self) -> Iterator[tuple[str, RolloutTable]]:
        """Split into one table per agent, each with the tasks that it attempted."""
        if len(self.agents) == 1:
            yield self.agents[0], self
            return
        for code, name in enumerate(self.agents):
            start, stop = np.searchsorted(self.agent, [code, code + 1])
            yield name, self.where(slice(int(start), int(stop)))

    def where(self, rows: slice | NDArray[np.bool_ | np.int64]) -> RolloutTable:
        """Keep the rows of a mask, a slice or a list, and the tasks that still have one."""
        present, task = np.unique(self.task[rows], return_inverse=True)
        categories = {}
        for name, category in self.categories.items():
            categories[name] = Category(category.codes[rows], category.labels)
        read_as = self.read_as
        if read_as is not None:
            read_as = read_as[rows]
        content = self.content
        if content is not None:
            content = content[rows]
        return structs.replace(
            self,
            agent=self.agent[rows],
            tasks=tuple(self.tasks[i] for i in present.tolist()),
            task=task.astype(np.int64),
            sample=self.sample[rows],
            scores={name: column[rows] for name, column in self.scores.items()},
            categories=categories,
            read_as=read_as,
            content=content,
        )

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Where each task's rows start, shape (tasks + 1,), for a table of one agent."""
        starts: NDArray[np.int64] = self.task.searchsorted(
            np.arange(len(self.tasks) + 1)
        )
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

    def lacking(self, names: Iterable[str]) -> NDArray[np.bool_]:
        """Find the rows that lack a number or a label of any of these columns, shape (rows,)."""
        lacking = np.zeros(len(self), dtype=bool)
        for name in names:
            category = self.categories.get(name)
            column = self.scores.get(name)
            if category is not None:
                missing = -1
                if MISSING in category.labels:
                    missing = category.labels.index(MISSING)
                lacking |= (category.codes == missing) | (category.codes < 0)
            elif column is not None:
                lacking |= np.isnan(column)
        return lacking

    def rewards(self, score: str, *, missing: float | None = None) -> TaskRewards:
        """Group one score by task, for a table of one agent; missing values count as `missing`.

        Without a value for `missing` they are left out.
        """
        column = self.scores[score]
        absent = np.isnan(column)
        if not absent.any():
            return TaskRewards(column, self.offsets)
        if missing is not None:
            return TaskRewards(np.where(absent, missing, column), self.offsets)
        kept = np.concatenate(([0], np.cumsum(~absent))).astype(np.int64)
        return TaskRewards(column[~absent], kept[self.offsets])


def pool(tables: Sequence[RolloutTable]) -> RolloutTable:
    """Put the runs of one agent into one table; a category that a run lacks is left out."""
    if len(tables) == 1:
        return tables[0]
    tasks = _tasks_of_all(tables)
    unsorted = np.concatenate([_places_among(tasks, table) for table in tables])
    order = np.argsort(unsorted, kind="stable")
    task = unsorted[order]
    return RolloutTable(
        agents=tables[-1].agents,
        agent=np.zeros(len(task), dtype=np.int32),
        tasks=tasks,
        task=task,
        sample=np.arange(len(task)) - np.searchsorted(task, task),
        scores=_pooled_scores(tables, order),
        categories=_pooled_categories(tables, order),
        content=_pooled_content(tables, order),
        positional=any(table.positional for table in tables),
    )


def _tasks_of_all(tables: Sequence[RolloutTable]) -> tuple[TaskId, ...]:
    """Return each task of any table once: numbers by size, or else all by their text.

    Runs of the same tasks keep their order: sorting a million ids takes a second.
    """
    first = tables[0].tasks
    if all(table.tasks == first for table in tables):
        return first
    tasks: dict[TaskId, None] = {}
    for table in tables:
        tasks.update(dict.fromkeys(table.tasks))
    if all(isinstance(task, int) for task in tasks):
        return tuple(sorted(tasks))
    return tuple(sorted(tasks, key=str))


def _places_among(tasks: tuple[TaskId, ...], table: RolloutTable) -> NDArray[np.int64]:
    """Find the place of each row's task among others, shape (rows,)."""
    if table.tasks == tasks:
        return table.task
    place_of = {task: place for place, task in enumerate(tasks)}
    places = np.array([place_of[task] for task in table.tasks], dtype=np.int64)
    return places[table.task]


def _pooled_scores(
    tables: Sequence[RolloutTable], order: NDArray[np.int64]
) -> dict[str, NDArray[np.float64]]:
    names: dict[str, None] = {}
    for table in tables:
        names.update(dict.fromkeys(table.scores))
    pooled = {}
    for name in names:
        columns = []
        for table in tables:
            column = table.scores.get(name)
            if column is None:
                column = np.full(len(table), np.nan)
            columns.append(column)
        pooled[name] = np.concatenate(columns)[order]
    return pooled


def _pooled_categories(
    tables: Sequence[RolloutTable], order: NDArray[np.int64]
) -> dict[str, Category]:
    pooled = {}
    for name in tables[0].categories:
        if not all(name in table.categories for table in tables):
            continue
        labels: dict[str, None] = {}
        parts = []
        for table in tables:
            category = table.categories[name]
            labels.update(dict.fromkeys(category.labels))
            parts.append((category.codes, category.labels))
        codes = _recoded(parts, tuple(labels))[order]
        pooled[name] = Category(codes, tuple(labels))
    return pooled


def _pooled_content(
    tables: Sequence[RolloutTable], order: NDArray[np.int64]
) -> NDArray[np.bytes_] | None:
    contents = []
    for table in tables:
        if table.content is None:
            return None
        contents.append(table.content)
    return np.concatenate(contents)[order]


class Drift(msgspec.Struct, frozen=True):
    """How the tasks of a run differ from those of its baseline."""

    expected: int  # tasks of the baseline
    # same content: the baseline's id and the run's
    moved: tuple[tuple[str, str], ...] = ()
    edited: tuple[str, ...] = ()  # same id, other content: these are other tasks now
    lost: tuple[str, ...] = ()  # of the baseline alone, without the edited ones
    new: tuple[str, ...] = ()  # of the run alone, without the edited ones
    blind: bool = False  # ids are positions, so that moved tasks can't be detected
    unknown: bool = False  # the run holds content and its baseline does not


class RowScores(msgspec.Struct, frozen=True):
    """The scores of each row; rows are numbered in file order, from 0."""

    table: RolloutTable
    names: tuple[str, ...]  # of its scores that scorers gave
    # why rows lack scores, by row and by the scores of a scorer
    failed: Mapping[int, Mapping[tuple[str, ...], RowFailure]]
    # each returns a JSON array for a row: requests with answers, reasons of scores, generated texts
    requests: Callable[[int], bytes] = lambda _row: b"[]"
    reasons: Callable[[int], bytes] = lambda _row: b"[]"
    answers: Callable[[int], bytes] | None = None
