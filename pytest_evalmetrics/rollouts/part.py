"""Rows as columns that can be added to others: by one process, or each by its own."""

from __future__ import annotations

import math
import struct
from array import array
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics.data.content import join_versions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskId
    from pytest_evalmetrics.rollouts.seam import Chunk, Request
    from pytest_evalmetrics.rollouts.source import Source

__all__ = ["AGENT", "MISSING", "NO_SAMPLE", "Part", "Where"]

AGENT = "agent"  # where rows name none
MISSING = "(missing)"  # the label of a row that has none
NO_SAMPLE = -1  # a row without a sample index

# A row in messages: which of the files, from 0, and its place in it; or what it is called.
Where = tuple[int, int] | str


class Part:
    """What was read of consecutive rows: numbers, and no text but names and labels.

    Holds builtins and arrays alone, so that it can be pickled. A part that is extended by
    the parts after it, in the order of the files, is what one process would have gathered.

    Parameters
    ----------
    request
        What the benchmark wants.

    Attributes
    ----------
    rows
        How many there are.
    lines
        How many lines of the file they were read from; for the places of those after them.
    agents, tasks
        Name or id -> code, in the order of their first appearance.
    agent, task, sample, place
        Of each row.
    scores, usage
        Name -> column, NaN where missing, in the order of their first appearance.
    labels
        Category -> the codes of its labels, and the code of each row.
    labelled
        The categories that some row has.
    any_agent, any_sample
        Whether some row names one.
    fractional, keys, names, told, rewards
        As `Chunk` says of its rows, for all of them.
    started
        When rows began, by the first of them.
    not_finite
        Score and what it is in place of a finite number -> how often, and where first.
    not_numbers
        Score, and whether it is one of the usage -> where it is first no number at all.
    failures
        Kind, and whether graded all the same -> how often, and the first one.
    content
        Agent and task id -> the hash of what the task is.
    torn
        Agents and tasks whose rows have different contents.
    positional
        Whether task ids are positions.
    ruler
        What scored, see `Chunk`.
    """

    def __init__(self, request: Request) -> None:
        self._by_position = request.by_position
        self.rows = 0
        self.lines = 0
        self.agents: dict[str, int] = {}
        self.tasks: dict[TaskId, int] = {}
        self.agent = array("i")
        self.task = array("q")
        self.sample = array("q")
        self.place = array("q")
        self.scores: dict[str, array[float]] = {}
        self.usage: dict[str, array[float]] = {}
        self.labels: dict[str, tuple[dict[str, int], array[int]]] = {
            name: ({}, array("i")) for name in request.categories
        }
        self.labelled: set[str] = set()
        self.any_agent = self.any_sample = False
        self.fractional: set[str] = set()
        self.not_finite: dict[tuple[str, str], tuple[int, Where]] = {}
        self.not_numbers: dict[tuple[str, bool], Where] = {}
        self.keys: dict[str, None] = {}
        self.names: dict[int, str] = {}
        self.started: dict[int, NDArray[np.float64]] = {}
        self.failures: dict[tuple[str, bool], tuple[int, str]] = {}
        self.told: dict[str, None] = {}
        self.rewards: dict[str, None] | None = None
        self.content: dict[tuple[str, TaskId], str] = {}
        self.torn: dict[tuple[str, TaskId], None] = {}
        self.positional = request.by_position
        self.ruler: dict[tuple[str, str, str], None] = {}

    def nbytes(self) -> int:
        """Count the bytes of the columns."""
        columns = len(self.scores) + len(self.usage)
        return self.rows * (8 * (columns + 3) + 4 * (1 + len(self.labels)))

    # -- rows of a file ---------------------------------------------------------------------

    def add(self, chunk: Chunk, source: Source, file: int = 0) -> None:
        """Add the next rows of a file, which is the one of that number."""
        rows = len(chunk.places)
        self.place.frombytes(chunk.places.astype(np.int64).tobytes())
        if not self._by_position:
            _encode(self.tasks, chunk.task, self.task)
        self.any_agent = self.any_agent or _holds_some(chunk.agent)
        _encode(self.agents, chunk.agent, self.agent, absent=AGENT)
        self.any_sample = self.any_sample or _holds_some(chunk.sample)
        self.sample.frombytes(_samples(chunk.sample))
        self._add_columns(self.scores, chunk.scores, rows)
        self._add_columns(self.usage, chunk.usage, rows)
        for name, (codes, column) in self.labels.items():
            labels = chunk.labels.get(name, [None] * rows)
            if name in chunk.labels:
                self.labelled.add(name)
            _encode(codes, labels, column, absent=MISSING)
        self.fractional |= chunk.fractional
        for bad in chunk.not_finite:
            where = chunk.names[bad.place - 1] if chunk.names else (file, bad.place)
            _count(self.not_finite, (bad.score, bad.what), 1, where)
        for name, said in chunk.not_numbers.items():
            self.not_numbers.setdefault((name, False), said)
        for which, place in chunk.other_kinds.items():
            self.not_numbers.setdefault(which, (file, place))
        self.keys.update(dict.fromkeys(chunk.keys))
        self.names.update(enumerate(chunk.names, self.rows))
        if chunk.started is not None:
            self.started[self.rows] = chunk.started
        for failure in chunk.failures:
            at = self.names.get(self.rows + failure.row) or source.at(
                int(chunk.places[failure.row])
            )
            said = f"{at}: {failure.message}" if failure.message else at
            _count(self.failures, (failure.kind, failure.graded), 1, said)
        self._tell(chunk.notes, chunk.rewards)
        for (agent, task), content in chunk.content.items():
            self._identify((AGENT if agent is None else agent, task), content, chunk.versioned)
        self.positional = self.positional or chunk.positional
        self.ruler.update(dict.fromkeys(chunk.ruler))
        self.rows += rows

    def _identify(self, task: tuple[str, TaskId], content: str, versioned: bool = False) -> None:
        known = self.content.setdefault(task, content)
        if known != content:
            self.content[task] = join_versions(known, content)
            if not versioned:
                self.torn[task] = None

    def _add_columns(
        self,
        gathered: dict[str, array[float]],
        columns: Mapping[str, NDArray[np.float64] | array[float]],
        rows: int,
    ) -> None:
        for name, column in columns.items():
            if name not in gathered:
                gathered[name] = array("d", _absent(self.rows))
            gathered[name].frombytes(column.tobytes())
        for name in gathered.keys() - columns.keys():
            gathered[name].frombytes(_absent(rows))

    def _tell(self, notes: Sequence[str], rewards: Sequence[str] | None) -> None:
        self.told.update(dict.fromkeys(notes))
        if rewards is not None:
            self.rewards = {**(self.rewards or {}), **dict.fromkeys(rewards)}

    # -- rows that were read elsewhere ------------------------------------------------------

    def extend(self, other: Part, *, file: int, lines: int) -> None:
        """Add the rows of a part that holds the next rows of a file.

        Parameters
        ----------
        other
            The part, of one file.
        file
            Which file that is here, from 0.
        lines
            The lines of that file before it.
        """

        def here(where: Where) -> Where:
            return where if isinstance(where, str) else (file, where[1] + lines)

        self.place.frombytes((np.frombuffer(other.place, np.int64) + lines).tobytes())
        self.sample.extend(other.sample)
        _recode(self.tasks, other.tasks, other.task, self.task)
        _recode(self.agents, other.agents, other.agent, self.agent)
        self.any_agent = self.any_agent or other.any_agent
        self.any_sample = self.any_sample or other.any_sample
        self._add_columns(self.scores, other.scores, other.rows)
        self._add_columns(self.usage, other.usage, other.rows)
        for name, (codes, column) in self.labels.items():
            _recode(codes, *other.labels[name], column)
        self.labelled |= other.labelled
        self.fractional |= other.fractional
        for bad, (count, where) in other.not_finite.items():
            _count(self.not_finite, bad, count, here(where))
        for which, where in other.not_numbers.items():
            self.not_numbers.setdefault(which, here(where))
        self.keys.update(other.keys)
        self.names.update((row + self.rows, name) for row, name in other.names.items())
        self.started.update((row + self.rows, known) for row, known in other.started.items())
        for kind, (count, said) in other.failures.items():
            _count(self.failures, kind, count, said)
        self._tell(tuple(other.told), None if other.rewards is None else tuple(other.rewards))
        for task, content in other.content.items():
            self._identify(task, content)
        self.torn.update(other.torn)
        self.positional = self.positional or other.positional
        self.ruler.update(other.ruler)
        self.rows += other.rows


def _holds_some(values: Sequence[Any]) -> bool:
    return values.count(None) < len(values)


def _absent(rows: int) -> bytes:
    return np.full(rows, math.nan).tobytes()


def _count(counted: dict[Any, tuple[int, Any]], what: Any, more: int, where: Any) -> None:
    count, first = counted.get(what, (0, where))
    counted[what] = (count + more, first)


def _encode(
    codes: dict[Any, int], values: Sequence[Any], column: array[int], *, absent: Any = None
) -> None:
    """Append values as codes, those met for the first time as new ones."""
    local = {
        value: codes.setdefault(absent if value is None else value, len(codes))
        for value in dict.fromkeys(values)
    }
    if len(local) == 1:
        column.extend([*local.values()] * len(values))
    else:
        packed = struct.pack(f"{len(values)}{column.typecode}", *map(local.__getitem__, values))
        column.frombytes(packed)


def _recode(
    codes: dict[Any, int], others: dict[Any, int], coded: array[int], column: array[int]
) -> None:
    """Append codes of another part as ours."""
    ours = np.array([codes.setdefault(value, len(codes)) for value in others], column.typecode)
    if len(coded):
        column.frombytes(ours[np.frombuffer(coded, coded.typecode)].tobytes())


def _samples(values: Sequence[int | None]) -> bytes:
    try:
        return struct.pack(f"{len(values)}q", *values)
    except struct.error:
        return struct.pack(f"{len(values)}q", *(NO_SAMPLE if v is None else v for v in values))
