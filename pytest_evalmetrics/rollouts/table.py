"""Chunks of every format to the one table: order, numbering, duplicates, what is lacking."""

from __future__ import annotations

import math
import struct
from array import array
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.data import Category, RolloutTable, SourceFile
from pytest_evalmetrics.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskId
    from pytest_evalmetrics.rollouts.seam import Chunk, Request
    from pytest_evalmetrics.rollouts.source import Source

__all__ = ["MISSING", "TableBuilder"]

MISSING = "(missing)"  # the label of a row that has none
_AGENT = "agent"  # where rows name none
_REWARD = "reward"
_NONE = -1  # a row without a sample index


class TableBuilder:
    """Gathers chunks, file after file.

    Parameters
    ----------
    request
        What the benchmark wants.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._sources: list[tuple[Source, int]] = []  # and how many rows it has
        self._rows = 0
        self._agents: dict[str, int] = {}
        self._tasks: dict[TaskId, int] = {}
        self._agent = array("i")
        self._task = array("q")
        self._sample = array("q")
        self._place = array("q")
        self._scores: dict[str, array[float]] = {}
        self._usage: dict[str, array[float]] = {}
        self._labels: dict[str, tuple[dict[str, int], array[int]]] = {
            name: ({}, array("i")) for name in request.categories
        }
        self._labelled: set[str] = set()
        self._any_agent = self._any_sample = False
        self._fractional: set[str] = set()
        self._not_finite: dict[tuple[str, str], tuple[int, str]] = {}
        self._not_numbers: dict[str, str] = {}
        self._keys: dict[str, None] = {}
        self._names: dict[int, str] = {}
        self._started: dict[int, NDArray[np.float64]] = {}  # from which row on
        self._failures: dict[tuple[str, bool], tuple[int, str]] = {}
        self._told: dict[str, None] = {}
        self._rewards: dict[str, None] | None = None

    def add(self, source: Source, chunk: Chunk) -> None:
        """Add the next rows of a file."""
        if not self._sources or self._sources[-1][0] is not source:
            self._sources.append((source, 0))
        rows = len(chunk.places)
        self._sources[-1] = (source, self._sources[-1][1] + rows)
        self._place.frombytes(chunk.places.astype(np.int64).tobytes())
        task = range(self._rows, self._rows + rows) if self._request.by_position else chunk.task
        _encode(self._tasks, task, self._task)
        self._any_agent = self._any_agent or any(a is not None for a in chunk.agent)
        _encode(self._agents, chunk.agent, self._agent, absent=_AGENT)
        self._any_sample = self._any_sample or any(s is not None for s in chunk.sample)
        self._sample.frombytes(_samples(chunk.sample))
        for gathered, columns in ((self._scores, chunk.scores), (self._usage, chunk.usage)):
            self._add_columns(gathered, columns, rows)
        for name, (codes, column) in self._labels.items():
            labels = chunk.labels.get(name, [None] * rows)
            if name in chunk.labels:
                self._labelled.add(name)
            _encode(codes, labels, column, absent=MISSING)
        self._fractional |= chunk.fractional
        for bad in chunk.not_finite:
            where = chunk.names[bad.place - 1] if chunk.names else source.at(bad.place)
            count, first = self._not_finite.get((bad.score, bad.what), (0, where))
            self._not_finite[bad.score, bad.what] = (count + 1, first)
        self._not_numbers.update(chunk.not_numbers)
        self._keys.update(dict.fromkeys(chunk.keys))
        self._add_what_formats_say(source, chunk)
        self._rows += rows

    def _add_what_formats_say(self, source: Source, chunk: Chunk) -> None:
        self._names.update(enumerate(chunk.names, self._rows))
        if chunk.started is not None:
            self._started[self._rows] = chunk.started
        for failure in chunk.failures:
            where = self._names.get(self._rows + failure.row) or source.at(
                int(chunk.places[failure.row])
            )
            said = f"{where}: {failure.message}" if failure.message else where
            count, first = self._failures.get((failure.kind, failure.graded), (0, said))
            self._failures[failure.kind, failure.graded] = (count + 1, first)
        self._told.update(dict.fromkeys(chunk.notes))
        if chunk.rewards is not None:
            self._rewards = {**(self._rewards or {}), **dict.fromkeys(chunk.rewards)}

    def _add_columns(
        self,
        gathered: dict[str, array[float]],
        columns: Mapping[str, NDArray[np.float64]],
        rows: int,
    ) -> None:
        for name, column in columns.items():
            if name not in gathered:
                gathered[name] = array("d", [math.nan]) * self._rows
            gathered[name].frombytes(column.tobytes())
        for name in gathered.keys() - columns.keys():
            gathered[name].extend([math.nan] * rows)

    # -- the table ------------------------------------------------------------------------

    def build(self) -> RolloutTable:
        """Make the table.

        Raises
        ------
        DataError
            If a score or a field that the benchmark asks for is in no row, only some rows of
            an agent have a sample index, or two rows are the same attempt.
        """
        scores = self._with_reward(self._merged())
        self._must_be_there(scores)
        agent = np.frombuffer(self._agent, np.int32)
        tasks, task = self._ordered_tasks()
        sample = self._numbered(agent, task)
        order = self._order(agent, task, sample, tasks)

        def sort(column: NDArray[Any]) -> NDArray[Any]:
            return column if order is None else column[order]

        return RolloutTable(
            agents=tuple(self._agents),
            agent=sort(agent),
            tasks=tasks,
            task=sort(task),
            sample=sort(sample),
            scores={name: sort(column) for name, column in scores.items()},
            integers=frozenset(
                name
                for name, column in scores.items()
                if name not in self._fractional and not np.isnan(column).any()
            ),
            categories={
                name: Category(sort(np.frombuffer(column, np.int32)), tuple(codes))
                for name, (codes, column) in self._labels.items()
            },
            sources=tuple(SourceFile(s.shown, rows, s.size) for s, rows in self._sources),
            notes=self._notes(scores),
            read_as=np.arange(self._rows) if order is None else order,
        )

    def _merged(self) -> dict[str, NDArray[np.float64]]:
        scores = {
            name: np.frombuffer(column)
            for name, column in self._scores.items()
            if name not in self._usage
        }
        for name, column in self._usage.items():
            usage = np.frombuffer(column)
            if name in self._scores:
                usage = np.where(np.isnan(usage), np.frombuffer(self._scores[name]), usage)
            scores[name] = usage
        return scores

    def _with_reward(self, scores: dict[str, NDArray[np.float64]]) -> dict[str, Any]:
        """Let the only score of a format that has no reward be the reward."""
        if self._rewards is not None and not self._scores and self._failures:
            absent = np.full(self._rows, math.nan)  # all of them failed
            scores = {**dict.fromkeys(self._request.scores, absent), **scores}
        wanted = _REWARD in self._request.scores and self._request.fields.reward is None
        if _REWARD in scores or not wanted or self._rewards is None:
            return scores
        if len(self._rewards) > 1:
            raise DataError(
                "several scores could be the reward: " + ", ".join(self._rewards),
                file=self._sources[0][0].shown,
                hint=f"say which: `reward: {next(iter(self._rewards))}`, beside rollouts",
            )
        for name in self._rewards:
            if name in self._fractional:
                self._fractional.add(_REWARD)
            scores[_REWARD] = scores[name]
        return scores

    def _must_be_there(self, scores: Mapping[str, Any]) -> None:
        fields = self._request.fields
        keys = list(self._keys)
        paths = dict(fields.scores)
        if fields.reward is not None:
            paths["reward"] = fields.reward
        for name, path in paths.items():
            if name not in scores:
                raise self._lacking(f"the path {path!r} of the score {name!r}", path, keys)
        if fields.agent is not None and not self._any_agent:
            raise self._lacking(f"the path {fields.agent!r} of the agent", fields.agent, keys)
        if fields.sample is not None and not self._any_sample:
            raise self._lacking(f"the path {fields.sample!r} of the sample", fields.sample, keys)
        for name in self._request.categories:
            if name not in self._labelled:
                raise self._lacking(f"the field {name!r}", name, keys)
        for name in self._request.scores:
            if name not in scores:
                raise DataError(
                    f"the score {name!r} is in no row; "
                    + did_you_mean(name, scores, what="the scores there are"),
                    file=self._sources[0][0].shown if len(self._sources) == 1 else None,
                    hint="name one of these with `reward: NAME`, or say where the rows keep it "
                    "with `fields: {reward: PATH}` under rollouts",
                )

    def _lacking(self, what: str, path: str, keys: Sequence[str]) -> DataError:
        return DataError(
            f"{what} is in no row; "
            + did_you_mean(path.split(".", maxsplit=1)[0], keys, what="the rows' keys"),
            hint="a path goes through objects by key and lists by index: result.metrics.f1",
        )

    def _ordered_tasks(self) -> tuple[tuple[TaskId, ...], NDArray[np.int64]]:
        codes = np.frombuffer(self._task, np.int64)
        ids: list[Any] = list(self._tasks)
        if any(isinstance(task, str) for task in ids):
            ids = [str(task) for task in ids]  # 1 and "1" become one task
        ordered = sorted(set(ids))
        rank = {task: i for i, task in enumerate(ordered)}
        return tuple(ordered), np.array([rank[task] for task in ids], np.int64)[codes]

    def _numbered(self, agent: NDArray[np.int32], task: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the rows without a sample index one, in order of appearance."""
        sample = np.frombuffer(self._sample, np.int64)
        without = sample == _NONE
        if not without.any():
            return sample
        for code, name in enumerate(self._agents):
            mine = agent == code
            some, others = np.flatnonzero(mine & without), np.flatnonzero(mine & ~without)
            if len(some) and len(others):
                raise self._error(
                    some[0],
                    f"this row has no sample index, and {self._at(others[0])} has one; "
                    f"both are of the agent {name!r}",
                    hint="write it into every row or into none (then they are numbered)",
                )
        keys: list[NDArray[Any]] = [*self._starts(), task, agent]
        order = np.lexsort(keys)
        new = np.concatenate(([True], _steps(agent[order], task[order]) != 0))
        start = np.flatnonzero(new)
        count = np.diff(np.append(start, len(order)))
        numbered = np.empty(len(order), np.int64)
        numbered[order] = np.arange(len(order)) - np.repeat(start, count)
        return np.where(without, numbered, sample)

    def _starts(self) -> list[NDArray[np.float64]]:
        """When each row began; nothing where no format says so."""
        if not self._started:
            return []
        starts = np.full(self._rows, math.nan)
        for first, known in self._started.items():
            starts[first : first + len(known)] = known
        return [starts]

    def _order(
        self,
        agent: NDArray[np.int32],
        task: NDArray[np.int64],
        sample: NDArray[np.int64],
        tasks: Sequence[TaskId],
    ) -> NDArray[np.int64] | None:
        """Sort the rows, and find those that are the same attempt; None if they are sorted."""
        if (_steps(agent, task, sample) > 0).all():
            return None
        order = np.lexsort((sample, task, agent))
        same = np.flatnonzero(_steps(agent[order], task[order], sample[order]) == 0)
        if len(same):
            pair = same[np.argmin(order[same + 1])]  # the first one that a reader meets
            first, second = order[pair], order[pair + 1]
            name = list(self._agents)[agent[first]]
            raise self._error(
                second,
                f"this row is the same attempt as {self._at(first)}: task "
                f"{tasks[task[first]]!r}, sample {sample[first]}, agent {name!r}",
                hint="was a run recorded twice, or does the path match two runs? if each row "
                "has another key for it: `fields: {sample: KEY}` under rollouts",
            )
        return order

    def _source(self, row: int) -> Source:
        ends = np.cumsum([rows for _, rows in self._sources])
        return self._sources[int(np.searchsorted(ends, row, side="right"))][0]

    def _at(self, row: int) -> str:
        return self._names.get(int(row)) or self._source(row).at(self._place[row])

    def _error(self, row: int, message: str, hint: str) -> DataError:
        if int(row) in self._names:
            return DataError(message, file=self._names[int(row)], hint=hint)
        return self._source(row).error_at(self._place[row], message, hint)

    def _notes(self, scores: Mapping[str, Any]) -> tuple[str, ...]:
        notes = list(self._told)
        for (kind, graded), (count, first) in self._failures.items():
            many = "1 rollout" if count == 1 else f"{count} rollouts"
            what = "graded all the same" if graded else "without a score, which is missing"
            notes.append(f"{kind}: {many} {what} (first {first})")
        for name in scores:
            for (score, what), (count, first) in self._not_finite.items():
                if score == name:
                    values = "1 value is" if count == 1 else f"{count} values are"
                    counts = "counts" if count == 1 else "count"
                    notes.append(f"{name}: {values} {what} and {counts} as missing ({first})")
            if name in self._not_numbers:
                notes.append(
                    f"{name}: in some rows this is no number and counts as missing, "
                    f"first in {self._not_numbers[name]}"
                )
        return tuple(notes)


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


def _samples(values: Sequence[int | None]) -> bytes:
    try:
        return struct.pack(f"{len(values)}q", *values)
    except struct.error:
        return struct.pack(f"{len(values)}q", *(_NONE if v is None else v for v in values))


def _steps(*columns: NDArray[Any]) -> NDArray[np.int64]:
    """Compare each row with the one before: the sign of the first column that differs."""
    sign = np.zeros(len(columns[0]) - 1, np.int64)
    for column in columns:
        sign = np.where(sign == 0, np.sign(np.diff(column)), sign)
    return sign
