"""Assembly of chunks into one table: order, numbering, duplicates, missing values."""

from __future__ import annotations

import math
from array import array
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from pytest_evalmetrics.errors import DataError, did_you_mean
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.model import rollout_table as data
from pytest_evalmetrics.model.notes import Remark
from pytest_evalmetrics.model.rollout_notes import (
    EditedTask,
    FailedRollouts,
    MixedQuestions,
    NumbersCountAsMissing,
    TextsCountAsMissing,
)
from pytest_evalmetrics.model.rollout_table import (
    UNNAMED_AGENT,
    Category,
    RolloutTable,
    SourceFile,
    TaskId,
)
from pytest_evalmetrics.rollouts.source import Source, score_paths

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.model.metric_facts import DirectionName
    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.rollouts.loader import Chunk, Failure, Request

_NO_SAMPLE: Final = -1  # a row without a sample index
_CHECK_EVERY: Final = (
    32 << 20
)  # bytes of columns between two checks that memory suffices
_MEMORY: Final = Path("/proc/meminfo")
_GROUP: Final = Path("/sys/fs/cgroup")
_GROUPS: Final = (  # of version 2, and of version 1
    ("", "memory.max", "memory.current", "inactive_file"),
    (
        "memory/",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
)


class Part(msgspec.Struct, frozen=True):
    """A part of a file, as another process read it: its places count from its own first line."""

    chunks: list[Chunk]
    lines: int

    @property
    def rows(self) -> int:
        """Count the rows."""
        return sum(len(chunk.places) for chunk in self.chunks)


class TableBuilder:
    """Gathers chunks, file after file."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._sources: list[tuple[Source, int]] = []  # and how many rows it has
        self._lines = 0  # of the last source, in the parts of it that were added
        self._checked = 0  # bytes of columns when memory was checked last
        self._rows = 0
        self._agents: dict[str, int] = {}
        self._tasks: dict[TaskId, int] = {}
        self._agent = array("i")
        self._task = array("q")
        self._sample = array("q")
        self._place = array("q")
        self._marks: list[NDArray[np.int64]] | None = []  # None if some are unknown
        self._columns: dict[
            tuple[str, bool], array[float]
        ] = {}  # by name, and whether of usage
        self._labels: dict[str, tuple[dict[str, int], array[int]]] = {
            name: ({}, array("i")) for name in request.categories
        }
        self._labelled: set[str] = set()
        self._any_agent = self._any_sample = False
        self._fractional: set[str] = set()
        self._not_finite: dict[
            tuple[str, str], tuple[int, str]
        ] = {}  # how many, the first
        self._not_numbers: dict[tuple[str, bool], str] = {}  # the first
        self._keys: dict[str, None] = {}
        self._names: dict[int, str] = {}
        self._started: dict[int, NDArray[np.float64]] = {}
        self._failures: dict[tuple[str, bool], tuple[int, str]] = {}
        self._chunk_notes: dict[Note, None] = {}
        self._rewards: dict[str, None] | None = None
        self._content: dict[tuple[str, TaskId], str] = {}
        self._dealt = False
        self._torn: dict[tuple[str, TaskId], None] = {}
        self._positional = request.by_position
        self._attempts = False
        self._ruler: dict[tuple[str, str, str], None] = {}
        self._record_ids: dict[str, int] = {}  # and the first row that has each
        self._retried: dict[int, Failure] = {}  # by row
        self._directions: dict[str, DirectionName] = {}

    def extend(self, source: Source, part: Part) -> None:
        """Add the next rows of a file, read by another process."""
        before = self._lines if self._is_last(source) else 0
        for chunk in part.chunks:
            self.add(source, chunk, before)
        self._lines = before + part.lines

    def _is_last(self, source: Source) -> bool:
        return bool(self._sources) and self._sources[-1][0].path == source.path

    def add(self, source: Source, chunk: Chunk, before: int = 0) -> None:
        """Add the next rows of a file; `before` is the number of lines before their first place."""
        rows = len(chunk.places)
        columns = self._numbers_of(chunk)
        if not self._is_last(source):
            self._sources.append((source, 0))
        self._sources[-1] = (source, self._sources[-1][1] + rows)
        self._add_identity(chunk, before)
        self._add_labels(chunk)
        self._add_marks(chunk)
        self._add_remarks(source, chunk, before)
        self._must_be_new(chunk)
        self._add_numbers(columns, rows)
        self._rows += rows
        self._add_facts(chunk)
        for (agent, task), content in chunk.content.items():
            owner = UNNAMED_AGENT if agent is None else agent
            self._identify((owner, task), content, versioned=chunk.versioned)
        self._must_fit()

    def _add_identity(self, chunk: Chunk, before: int) -> None:
        """Keep where rows are, and of which task, agent and sample."""
        rows = len(chunk.places)
        places = np.asarray(chunk.places) + before
        self._place.frombytes(places.astype(np.int64).tobytes())
        if not self._request.by_position:
            _encode(self._tasks, chunk.task, self._task)
        _encode(self._agents, chunk.agent, self._agent, absent=UNNAMED_AGENT)
        self._any_agent |= chunk.agent.count(None) < rows
        self._sample.extend([_NO_SAMPLE if n is None else n for n in chunk.sample])
        self._any_sample |= chunk.sample.count(None) < rows

    def _add_labels(self, chunk: Chunk) -> None:
        absent = [None] * len(chunk.places)
        for name, (codes, column) in self._labels.items():
            labels = chunk.labels.get(name, absent)
            _encode(codes, labels, column, absent=data.MISSING)
        self._labelled |= self._labels.keys() & chunk.labels.keys()

    def _add_numbers(
        self, columns: Mapping[tuple[str, bool], NDArray[np.float64]], rows: int
    ) -> None:
        """Lengthen each column; those that a chunk does not have by missing numbers."""
        for key, numbers in columns.items():
            if key not in self._columns:
                self._columns[key] = array("d", _absent(self._rows))
            self._columns[key].frombytes(numbers.tobytes())
        for key in self._columns.keys() - columns.keys():
            self._columns[key].frombytes(_absent(rows))

    def _add_facts(self, chunk: Chunk) -> None:
        """Keep what a chunk says of its file, rather than of a row."""
        self._fractional |= chunk.fractional
        self._keys.update(dict.fromkeys(chunk.keys))
        for note in chunk.notes:
            remark = Remark(note) if isinstance(note, str) else note
            self._chunk_notes.setdefault(remark)
        self._ruler.update(dict.fromkeys(chunk.ruler))
        self._directions |= chunk.directions
        if chunk.rewards is not None:
            self._rewards = {**(self._rewards or {}), **dict.fromkeys(chunk.rewards)}
        self._dealt |= chunk.dealt
        self._positional |= chunk.positional
        self._attempts |= chunk.attempts

    def _numbers_of(self, chunk: Chunk) -> dict[tuple[str, bool], NDArray[np.float64]]:
        """Return its columns of numbers, if all of its columns have as many rows as it has."""
        columns = {
            (name, False): np.asarray(c, np.float64) for name, c in chunk.scores.items()
        }
        columns |= {
            (name, True): np.asarray(c, np.float64) for name, c in chunk.usage.items()
        }
        own = {"sample": chunk.sample, "agent": chunk.agent, **chunk.labels}
        own |= {} if self._request.by_position else {"task": chunk.task}
        rows = len(chunk.places)
        for name, column in [
            *own.items(),
            *((name, c) for (name, _), c in columns.items()),
        ]:
            if len(column) != rows:
                raise ValueError(
                    f"a chunk has {many(rows, 'place')}, and {len(column)} of {name}"
                )
        return columns

    def _add_marks(self, chunk: Chunk) -> None:
        """Keep what tells rows apart as they are written, while all rows have it."""
        if chunk.marks is None:
            self._marks = None
        elif self._marks is not None:
            self._marks.append(chunk.marks)

    def _add_remarks(self, source: Source, chunk: Chunk, before: int) -> None:
        for bad in chunk.not_finite:
            count, first = self._not_finite.get((bad.score, bad.what), (0, ""))
            if not count:
                first = (
                    chunk.names[bad.place - 1]
                    if chunk.names
                    else source.at(before + bad.place)
                )
            self._not_finite[bad.score, bad.what] = count + 1, first
        for name, first in chunk.not_numbers.items():
            self._not_numbers.setdefault((name, False), first)
        for which, place in sorted(chunk.other_kinds.items(), key=itemgetter(1)):
            self._not_numbers.setdefault(which, source.at(before + place))
        self._names.update(enumerate(chunk.names, self._rows))
        if chunk.started is not None:
            self._started[self._rows] = chunk.started
        retried = set(chunk.retried)
        for failure in chunk.failures:
            if failure.row in retried:
                self._retried[self._rows + failure.row] = failure
                continue
            place = before + int(chunk.places[failure.row])
            at = self._names.get(self._rows + failure.row) or source.at(place)
            self._count(failure, at)

    def _count(self, failure: Failure, at: str) -> None:
        """Count a failure by its kind; the first one is shown."""
        shown = f"{at}: {failure.message}" if failure.message else at
        key = failure.kind, failure.graded
        count, first = self._failures.get(key, (0, shown))
        self._failures[key] = count + 1, first

    def _must_be_new(self, chunk: Chunk) -> None:
        """Refuse a record that was read before, by the id that its tool gave it."""
        for row, record_id in enumerate(chunk.record_ids, self._rows):
            if record_id is None:
                continue
            first = self._record_ids.setdefault(record_id, row)
            if first != row:
                message = f"this record has the id {record_id!r}, which {self._at(first)} has: "
                message += "it is read twice"
                hint = "was a run appended to its own file, or is a copy of it among the files?"
                raise self._error(row, message, hint)

    def _identify(
        self, task: tuple[str, TaskId], content: str, *, versioned: bool
    ) -> None:
        before = self._content.setdefault(task, content)
        if data.NO_CONTENT in (before, content) or (
            self._dealt and (before != content or data.VERSIONS in content)
        ):
            self._content[task] = data.NO_CONTENT
        elif before != content:
            self._content[task] = data.join_versions(before, content)
        if not versioned and data.VERSIONS in self._content[task]:
            self._torn[task] = None

    def _must_fit(self) -> None:
        """Refuse more rows than memory holds: while they are sorted, there are two of each."""
        columns = len({name for name, _ in self._columns})
        held = self._rows * (8 * (columns + 3) + 4 * (1 + len(self._labels)))
        if held < self._checked + _CHECK_EVERY:
            return
        self._checked = held
        free = available()
        if free is not None and held > free:
            raise DataError(
                f"these rollouts do not fit into memory: the first {self._rows:,} rows with "
                f"{columns} columns of numbers need {2 * held:,} bytes, and {free + held:,} are "
                "free",
                hint="split the benchmark into several, or run it where there is more memory",
            )

    # -- the table ------------------------------------------------------------------------

    def build(self) -> RolloutTable:
        """Make the table, once: what was gathered is let go."""
        scores = self._with_reward(self._merged())
        self._must_be_there(scores)
        agent = np.frombuffer(self._agent, np.int32)
        tasks, task = self._ordered_tasks()
        content = self._contents(agent, task, tasks)
        unnumbered = self._unnumbered(agent)
        sample = self._numbered(agent, task)
        order = self._order(agent, task, sample, tasks)
        for row, failure in self._retried.items():
            self._count(failure, self._at(row))
        marks = np.concatenate(self._marks) if self._marks else None
        ruler: dict[str, dict[str, list[str]]] = {}
        for name, key, value in sorted(self._ruler):
            ruler.setdefault(name, {}).setdefault(key, []).append(value)
        integers = frozenset(
            name
            for name, column in scores.items()
            if name not in self._fractional and not np.isnan(column).any()
        )
        score_notes = self._notes_of_scores(scores)
        ordered = {}
        for name in tuple(
            scores
        ):  # each is let go at once: there is never a copy of them all
            ordered[name] = scores.pop(name)[order]
            for usage in (False, True):
                self._columns.pop((name, usage), None)
        return RolloutTable(
            agents=tuple(self._agents),
            agent=agent[order],
            tasks=tasks,
            task=task[order],
            sample=sample[order],
            scores=ordered,
            integers=integers,
            categories={
                name: Category(np.frombuffer(column, np.int32)[order], tuple(codes))
                for name, (codes, column) in self._labels.items()
            },
            sources=tuple(self._source_files()),
            notes=(
                *self._notes_of_files(),
                *chain.from_iterable(score_notes.values()),
            ),
            score_notes=score_notes,
            read_as=np.arange(self._rows)[order],
            marks=None if marks is None else marks[order],
            content=None if content is None else content[order],
            positional=self._positional,
            ruler=ruler,
            directions=self._directions,
            unnumbered=unnumbered,
        )

    def _source_files(self) -> Iterator[SourceFile]:
        end = 0
        for source, rows in self._sources:
            start = end
            end = end + rows
            in_lines = rows > 0 and source.head[:1] == b"{" and start not in self._names
            # lines ascend: none was blank where the last row's is as many as there are rows
            yield SourceFile(
                source.shown,
                rows,
                source.size,
                in_lines and self._place[end - 1] == rows,
            )

    def _merged(self) -> dict[str, NDArray[np.float64]]:
        """Get the scores, then the usage, which wins over a score of the same name."""
        of_usage = {name for name, usage in self._columns if usage}
        scores = {}
        for name, usage in sorted(self._columns, key=lambda column: column[1]):
            numbers = np.frombuffer(self._columns[name, usage])
            if usage and (name, False) in self._columns:
                plain = np.frombuffer(self._columns[name, False])
                numbers = np.where(np.isnan(numbers), plain, numbers)
            if usage or name not in of_usage:
                scores[name] = numbers
        return scores

    def _with_reward(
        self, scores: dict[str, NDArray[np.float64]]
    ) -> dict[str, NDArray[np.float64]]:
        """Let the only score of a format that has no reward be the reward."""
        if self._rewards is None:
            return scores
        has_scores = any(not usage for _, usage in self._columns)
        if not has_scores and self._failures:
            absent = np.full(self._rows, math.nan)  # all of them failed
            scores = {**dict.fromkeys(self._request.scores, absent), **scores}
        is_named = self._request.fields.reward is not None
        is_wanted = "reward" in self._request.scores and not is_named
        if "reward" in scores or not is_wanted:
            return scores
        if len(self._rewards) > 1:
            raise DataError(
                "several scores could be the reward: " + ", ".join(self._rewards),
                file=self._sources[0][0].shown,
                hint=f"say which: `reward: {next(iter(self._rewards))}`, beside rollouts",
            )
        for name in self._rewards:
            self._take_as_reward(name, scores)
        return scores

    def _take_as_reward(
        self, name: str, scores: dict[str, NDArray[np.float64]]
    ) -> None:
        """Add a score as the reward, with what a file states of it, and what measures it."""
        if self._directions.get(name) == "lower":
            message = f"the only score is {name!r}, and of a reward more is better"
            hint = (
                f"write `reward: {name}` beside rollouts, and a baseline's `direction:`"
            )
            raise DataError(message, file=self._sources[0][0].shown, hint=hint)
        if name in self._fractional:
            self._fractional.add("reward")
        for prefix in ("", *data.STATED):
            if prefix + name in scores:
                scores[prefix + "reward"] = scores[prefix + name]
        for scorer, key, score in list(self._ruler):
            if (key, score) == ("scores", name):
                self._ruler.setdefault((scorer, "scores", "reward"))

    def _must_be_there(self, scores: Collection[str]) -> None:
        """Refuse paths, fields and scores that the benchmark file names, and no row has."""
        for what, path in self._absent_places(scores):
            first_key = path.split(".")[0]
            guess = did_you_mean(first_key, self._keys, what="the rows' keys")
            hint = "a path goes through objects by key and lists by index: result.metrics.f1"
            raise DataError(f"{what} is in no row; {guess}", hint=hint)
        file = None
        if len(self._sources) == 1:
            file = self._sources[0][0].shown
        for name in self._request.scores:
            if name not in scores:
                guess = did_you_mean(name, scores, what="the scores there are")
                raise DataError(
                    f"the score {name!r} is in no row; {guess}",
                    file=file,
                    hint="name one of these with `reward: NAME`, or say where the rows keep it "
                    "with `fields: {reward: PATH}` under rollouts",
                )

    def _absent_places(self, scores: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield what ``fields:`` and the categories name and no row has, with its path."""
        fields = self._request.fields
        for name, path in score_paths(fields).items():
            if name not in scores:
                yield f"the path {path!r} of the score {name!r}", path
        if fields.agent is not None and not self._any_agent:
            yield f"the path {fields.agent!r} of the agent", fields.agent
        if fields.sample is not None and not self._any_sample:
            yield f"the path {fields.sample!r} of the sample", fields.sample
        has_content = bool(self._content) or self._request.by_position
        if fields.content is not None and not has_content:
            path = fields.content[0]
            yield f"the path {path!r} of the content", path
        for name in self._request.categories:
            if name not in self._labelled:
                yield f"the field {name!r}", name

    def _ordered_tasks(self) -> tuple[tuple[TaskId, ...], NDArray[np.int64]]:
        if self._request.by_position:
            return tuple(range(self._rows)), np.arange(self._rows)
        codes = np.frombuffer(self._task, np.int64)
        ids: list[TaskId] = list(self._tasks)
        if any(isinstance(task, str) for task in ids):
            self._must_differ_as_text(codes)
            ids = [str(task) for task in ids]
        # all of them are numbers now, or all are text
        ordered: list[TaskId] = sorted(set(ids))
        if ordered == ids:
            return tuple(ordered), codes
        rank = {task: i for i, task in enumerate(ordered)}
        return tuple(ordered), np.array([rank[task] for task in ids], np.int64)[codes]

    def _must_differ_as_text(self, codes: NDArray[np.int64]) -> None:
        """Refuse the number 1 and the text "1", which a baseline can't tell apart."""
        ids = self._tasks
        for task, code in ids.items():
            if isinstance(task, int) and str(task) in ids:
                both = (code, ids[str(task)])
                first, second = sorted(int((codes == each).argmax()) for each in both)
                earlier, later = (list(ids)[codes[row]] for row in (first, second))
                message = f"this row's task id is {later!r}, and {self._at(first)} has {earlier!r}"
                message += ": one is a number and the other is text"
                hint = "write the ids of all rows as numbers, or all as text"
                raise self._error(second, message, hint)

    def _contents(
        self, agent: NDArray[np.int32], task: NDArray[np.int64], tasks: Sequence[TaskId]
    ) -> NDArray[np.bytes_] | None:
        """Return the content hash of each row's task; None if no content is known."""
        for name, torn in self._torn:
            of = f" of the agent {name!r}" if len(self._agents) > 1 else ""
            raise DataError(
                f"the task {torn!r}{of} has rollouts of different questions",
                file=self._sources[0][0].shown if len(self._sources) == 1 else None,
                hint="does the path match runs of two data sets? give each its own benchmark; or "
                "name what tells the tasks apart: `fields: {task: KEY}` under rollouts",
            )
        if not self._content or self._request.by_position:
            return None
        place = {id_: at for at, id_ in enumerate(tasks)}
        as_text = bool(tasks) and isinstance(tasks[0], str)
        contents = np.zeros(len(self._agents) * len(tasks), dtype=f"S{data.HASH_SIZE}")
        for (name, id_), content in self._content.items():
            at = place[str(id_) if as_text else id_]
            # several versions are one content, which no single version has
            combined = (
                data.content_hash(content) if data.VERSIONS in content else content
            )
            contents[self._agents[name] * len(tasks) + at] = combined
        rows: NDArray[np.bytes_] = contents[agent * len(tasks) + task]
        return rows

    def _unnumbered(self, agent: NDArray[np.int32]) -> frozenset[str]:
        """List the agents whose rows have no sample index, and are no attempts by format."""
        if self._attempts:
            return frozenset()
        without = np.frombuffer(self._sample, np.int64) == _NO_SAMPLE
        names = list(self._agents)
        return frozenset(names[code] for code in set(agent[without].tolist()))

    def _numbered(
        self, agent: NDArray[np.int32], task: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Assign indices to the rows without a sample index, in order of appearance."""
        sample = np.frombuffer(self._sample, np.int64)
        without = sample == _NO_SAMPLE
        if not without.any():
            return sample
        for code, name in enumerate(self._agents):
            mine = agent == code
            lacking = np.flatnonzero(mine & without)
            having = np.flatnonzero(mine & ~without)
            if len(lacking) and len(having):
                rows = (
                    f"this row has no sample index, and {self._at(having[0])} has one"
                )
                hint = "write it into every row or into none (then they are numbered)"
                raise self._error(
                    lacking[0], f"{rows}; both are of the agent {name!r}", hint
                )
        keys: list[NDArray[np.number]] = [task, agent]
        if self._started:  # a format with the start time of each row
            starts = np.full(self._rows, math.nan)
            for first, times in self._started.items():
                starts[first : first + len(times)] = times
            keys.insert(0, starts)
        order = np.lexsort(keys)
        new = np.concatenate(([True], _steps(agent[order], task[order]) != 0))
        at = np.arange(len(order))
        numbered = np.empty_like(at)
        numbered[order] = at - np.maximum.accumulate(np.where(new, at, 0))
        return np.where(without, numbered, sample)

    def _order(
        self,
        agent: NDArray[np.int32],
        task: NDArray[np.int64],
        sample: NDArray[np.int64],
        tasks: Sequence[TaskId],
    ) -> NDArray[np.int64] | slice:
        """Sort the rows, and find those that are the same attempt."""
        if (_steps(agent, task, sample) > 0).all():
            return slice(None)  # they are sorted
        superseded = self._superseded(agent, task, sample)
        order = np.lexsort((sample, task, agent))
        if superseded:
            order = order[~np.isin(order, sorted(superseded))]
        same = np.flatnonzero(_steps(agent[order], task[order], sample[order]) == 0)
        if len(same):
            pair = same[np.argmin(order[same + 1])]  # the first one that a reader meets
            first = order[pair]
            second = order[pair + 1]
            name = list(self._agents)[agent[first]]
            attempt = (
                f"task {tasks[task[first]]!r}, sample {sample[first]}, agent {name!r}"
            )
            message = f"this row is the same attempt as {self._at(first)}: {attempt}"
            hint = "was a run recorded twice, or does the path match two runs? if each row "
            hint += "has another key for it: `fields: {sample: KEY}` under rollouts"
            raise self._error(second, message, hint)
        return order

    def _superseded(
        self,
        agent: NDArray[np.int32],
        task: NDArray[np.int64],
        sample: NDArray[np.int64],
    ) -> set[int]:
        """Find the failed attempts that were made again, for which another row counts."""
        if not self._retried:
            return set()
        others = np.ones(self._rows, dtype=bool)
        others[list(self._retried)] = False
        made = set(
            zip(
                agent[others].tolist(),
                task[others].tolist(),
                sample[others].tolist(),
                strict=True,
            )
        )
        superseded = set()
        # of several failures of one attempt the last one counts
        for row in sorted(self._retried, reverse=True):
            attempt = int(agent[row]), int(task[row]), int(sample[row])
            if attempt in made:
                superseded.add(row)
            made.add(attempt)
        for row in superseded:
            del self._retried[row]
        return superseded

    def _source(self, row: int) -> Source:
        ends = np.cumsum([rows for _, rows in self._sources])
        return self._sources[int(np.searchsorted(ends, row, side="right"))][0]

    def _at(self, row: int) -> str:
        return self._names.get(int(row)) or self._source(row).at(self._place[row])

    def _error(self, row: int, message: str, hint: str) -> DataError:
        if int(row) in self._names:
            return DataError(message, file=self._names[int(row)], hint=hint)
        return self._source(row).error_at(self._place[row], message, hint)

    def _notes_of_files(self) -> tuple[Note, ...]:
        """List what concerns whole files, tasks or rollouts."""
        notes = list(self._chunk_notes)
        mixed = [
            task
            for (_, task), content in self._content.items()
            if content == data.NO_CONTENT
        ]
        if mixed:
            notes.append(MixedQuestions(tasks=len(mixed), example=mixed[0]))
        for (agent, task), content in self._content.items():
            if data.VERSIONS in content:
                versions = content.count(data.VERSIONS) + 1
                shown = agent if len(self._agents) > 1 else ""
                notes.append(EditedTask(task=task, versions=versions, agent=shown))
        for (kind, is_graded), (count, first) in self._failures.items():
            failed = FailedRollouts(
                kind=kind, is_graded=is_graded, rollouts=count, first=first
            )
            notes.append(failed)
        return tuple(notes)

    def _notes_of_scores(self, scores: Iterable[str]) -> dict[str, tuple[Note, ...]]:
        """List for each score which of its values count as missing."""
        notes = {name: tuple(self._notes_of_score(name)) for name in scores}
        return {name: several for name, several in notes.items() if several}

    def _notes_of_score(self, name: str) -> Iterator[Note]:
        for (score, what), (count, first) in self._not_finite.items():
            if score == name:
                yield NumbersCountAsMissing(
                    score=name, what=what, values=count, first=first
                )
        # texts of a score that is a number elsewhere
        for (score, usage), first in self._not_numbers.items():
            if score == name and (name, usage) in self._columns:
                yield TextsCountAsMissing(score=name, first=first)
                return


def _steps(*columns: NDArray[np.integer]) -> NDArray[np.int64]:
    """Compare each row with the one before: the sign of the first column that differs."""
    sign = np.zeros(len(columns[0]) - 1, np.int64)
    for column in columns:
        sign = np.where(sign == 0, np.sign(column[1:] - column[:-1]), sign)
    return sign


def available() -> int | None:
    """Count the bytes that may still be taken, by the machine and by a container's limit."""
    try:
        lines = _MEMORY.read_text(encoding="ascii").splitlines()
        free = (
            next(int(x.split()[1]) for x in lines if x.startswith("MemAvailable:"))
            * 1024
        )
    except (OSError, ValueError, StopIteration, IndexError):
        return None
    for folder, limit, used, given_back in _GROUPS:
        try:
            most, now, stat = (
                _GROUP.joinpath(folder + name).read_text(encoding="ascii")
                for name in (limit, used, "memory.stat")
            )
            held = dict(line.split() for line in stat.splitlines())
            left = (
                int(most) - int(now) + int(held.get(given_back, 0))
            )  # files' may be given back
        except (OSError, ValueError):  # no limit, or no such group
            continue
        free = min(free, max(0, left))
    return free


def _absent(rows: int) -> bytes:
    return np.full(rows, math.nan).tobytes()


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _encode(
    codes: dict[Any, int],
    values: Sequence[Any],
    column: array[int],
    *,
    absent: Any = None,
) -> None:
    """Append values as codes, those met for the first time as new ones."""
    code_of = {
        value: codes.setdefault(absent if value is None else _plain(value), len(codes))
        for value in dict.fromkeys(values)
    }
    column.extend(map(code_of.__getitem__, values))
