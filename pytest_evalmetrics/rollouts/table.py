"""Assembly of chunks into one table: order, numbering, duplicates, missing values."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from pytest_evalmetrics.errors import DataError, did_you_mean
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.model.rollout_table import (
    MISSING,
    UNNAMED_AGENT,
    Category,
    RolloutTable,
    TaskId,
)
from pytest_evalmetrics.rollouts.coded_column import CodedColumn
from pytest_evalmetrics.rollouts.free_memory import free_memory
from pytest_evalmetrics.rollouts.row_order import (
    NO_SAMPLE,
    RowKeys,
    numbered,
    start_times,
)
from pytest_evalmetrics.rollouts.row_origins import RowOrigins
from pytest_evalmetrics.rollouts.source import Source, score_paths
from pytest_evalmetrics.rollouts.table_contents import TableContents
from pytest_evalmetrics.rollouts.table_notes import TableNotes
from pytest_evalmetrics.rollouts.table_scores import TableScores

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.rollouts.loader import Chunk, Failure, Request

# bytes of columns between two checks that memory suffices
_CHECK_EVERY: Final = 32 << 20


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
        self._rows = 0
        self._lines = 0  # of the last source, in the parts of it that were added
        self._checked = 0  # bytes of columns when memory was checked last
        self._origins = RowOrigins()
        self._scores = TableScores(request)
        self._contents = TableContents()
        self._notes = TableNotes()
        self._agent = CodedColumn[str, np.int32](np.int32, absent=UNNAMED_AGENT)
        self._task = CodedColumn[TaskId, np.int64](np.int64)
        self._sample = array("q")
        self._labels: dict[str, CodedColumn[str, np.int32]] = {
            name: CodedColumn(np.int32, absent=MISSING) for name in request.categories
        }
        # what the benchmark file names, and a row has
        self._keys: dict[str, None] = {}
        self._labelled: set[str] = set()
        self._any_agent = False
        self._any_sample = False
        # what tells rows apart as they are written; None if it is unknown of some
        self._marks: list[NDArray[np.int64]] | None = []
        # by the first row of a chunk
        self._started: dict[int, NDArray[np.float64]] = {}
        self._record_ids: dict[str, int] = {}  # and the first row that has each
        self._retried: dict[int, Failure] = {}  # by row
        self._positional = request.by_position
        self._attempts = False

    def extend(self, source: Source, part: Part) -> None:
        """Add the next rows of a file, read by another process."""
        before = self._lines if self._origins.is_last(source) else 0
        for chunk in part.chunks:
            self.add(source, chunk, before)
        self._lines = before + part.lines

    def add(self, source: Source, chunk: Chunk, before: int = 0) -> None:
        """Add the next rows of a file; `before` is the number of lines before their first place."""
        self._must_be_even(chunk)
        self._origins.add(source, chunk, before)
        self._add_identity(chunk)
        self._add_labels(chunk)
        self._add_marks(chunk)
        self._notes.add(source, chunk, before)
        self._add_failures(chunk)
        self._must_be_new(chunk)
        self._scores.add(chunk)
        self._contents.add(chunk)
        self._keys.update(dict.fromkeys(chunk.keys))
        self._positional |= chunk.positional
        self._attempts |= chunk.attempts
        self._rows += len(chunk.places)
        self._must_fit()

    def _must_be_even(self, chunk: Chunk) -> None:
        """Refuse a chunk whose columns differ in length, as a loader of a project may make it."""
        rows = len(chunk.places)
        columns: dict[str, Sequence[object] | NDArray[np.float64]] = {
            "sample": chunk.sample,
            "agent": chunk.agent,
            **chunk.labels,
        }
        if not self._request.by_position:
            columns["task"] = chunk.task
        for named in (columns, chunk.scores, chunk.usage):
            for name, column in named.items():
                if len(column) != rows:
                    places = many(rows, "place")
                    raise ValueError(
                        f"a chunk has {places}, and {len(column)} of {name}"
                    )

    def _add_identity(self, chunk: Chunk) -> None:
        """Keep of which task, agent and sample rows are."""
        rows = len(chunk.places)
        if not self._request.by_position:
            self._task.extend(chunk.task)
        self._agent.extend(chunk.agent)
        self._any_agent |= chunk.agent.count(None) < rows
        samples = [NO_SAMPLE if index is None else index for index in chunk.sample]
        self._sample.extend(samples)
        self._any_sample |= chunk.sample.count(None) < rows

    def _add_labels(self, chunk: Chunk) -> None:
        absent = [None] * len(chunk.places)
        for name, column in self._labels.items():
            column.extend(chunk.labels.get(name, absent))
        self._labelled |= self._labels.keys() & chunk.labels.keys()

    def _add_marks(self, chunk: Chunk) -> None:
        """Keep what tells rows apart as they are written, and when they started."""
        if chunk.marks is None:
            self._marks = None
        elif self._marks is not None:
            self._marks.append(chunk.marks)
        if chunk.started is not None:
            self._started[self._rows] = chunk.started

    def _add_failures(self, chunk: Chunk) -> None:
        """Count what went wrong; of attempts that may be made again, once all rows are there."""
        retried = set(chunk.retried)
        for failure in chunk.failures:
            row = self._rows + failure.row
            if failure.row in retried:
                self._retried[row] = failure
            else:
                self._notes.add_failure(failure, self._origins.at(row))

    def _must_be_new(self, chunk: Chunk) -> None:
        """Refuse a record that was read before, by the id that its tool gave it."""
        for row, record_id in enumerate(chunk.record_ids, self._rows):
            if record_id is None:
                continue
            first = self._record_ids.setdefault(record_id, row)
            if first != row:
                where = self._origins.at(first)
                raise self._origins.error(
                    row,
                    f"this record has the id {record_id!r}, which {where} has: it is read twice",
                    "was a run appended to its own file, or is a copy of it among the files?",
                )

    def _must_fit(self) -> None:
        """Refuse more rows than memory holds: while they are sorted, there are two of each."""
        columns = len({name for name, _ in self._scores.columns})
        row = 8 * (columns + 3) + 4 * (1 + len(self._labels))
        held = self._rows * row
        if held < self._checked + _CHECK_EVERY:
            return
        self._checked = held
        free = free_memory()
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
        scores = self._all_scores()
        self._must_be_there(scores)
        agent = self._agent.rows
        tasks, task = self._ordered_tasks()
        content = self._content_of_rows(agent, task, tasks)
        unnumbered = self._unnumbered(agent)
        keys = RowKeys(agent, task, self._numbered(agent, task))
        order = self._order(keys, tasks)
        for row, failure in self._retried.items():
            self._notes.add_failure(failure, self._origins.at(row))
        score_notes = self._notes_of_scores(scores)
        notes = list(self._notes_of_table())
        for notes_of_score in score_notes.values():
            notes += notes_of_score
        categories: dict[str, Category] = {}
        for name, column in self._labels.items():
            categories[name] = Category(column.rows[order], column.values)
        integers = self._scores.integers(scores)
        return RolloutTable(
            agents=self._agent.values,
            agent=keys.agent[order],
            tasks=tasks,
            task=keys.task[order],
            sample=keys.sample[order],
            scores=self._scores.in_order(scores, order),
            integers=integers,
            categories=categories,
            sources=tuple(self._origins.files()),
            notes=tuple(notes),
            score_notes=score_notes,
            read_as=np.arange(self._rows)[order],
            marks=np.concatenate(self._marks)[order] if self._marks else None,
            content=None if content is None else content[order],
            positional=self._positional,
            ruler=self._scores.ruler(),
            directions=self._scores.directions,
            unnumbered=unnumbered,
        )

    def _all_scores(self) -> dict[str, NDArray[np.float64]]:
        """Get all scores, with the reward of formats that have none."""
        scores = self._scores.merged()
        if self._notes.has_failures:
            scores = self._scores.with_missing(scores)
        self._scores.add_reward(scores, self._origins.first_file)
        return scores

    def _must_be_there(self, scores: Collection[str]) -> None:
        """Refuse paths, fields and scores that the benchmark file names, and no row has."""
        for what, path in self._absent_places(scores):
            first_key = path.split(".")[0]
            guess = did_you_mean(first_key, self._keys, what="the rows' keys")
            raise DataError(
                f"{what} is in no row; {guess}",
                hint="a path goes through objects by key and lists by index: result.metrics.f1",
            )
        for name in self._request.scores:
            if name not in scores:
                guess = did_you_mean(name, scores, what="the scores there are")
                raise DataError(
                    f"the score {name!r} is in no row; {guess}",
                    file=self._origins.only_file,
                    hint="name one of these with `reward: NAME`, or say where the rows keep it "
                    "with `fields: {reward: PATH}` under rollouts",
                )

    def _absent_places(self, scores: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield what ``fields:`` and the categories name and no row has, with its path."""
        fields = self._request.fields
        for name, path in score_paths(fields).items():
            if name not in scores:
                yield f"the path {path!r} of the score {name!r}", path
        has_content = bool(self._contents) or self._request.by_position
        content = None if fields.content is None else fields.content[0]
        roles = (
            ("agent", fields.agent, self._any_agent),
            ("sample", fields.sample, self._any_sample),
            ("content", content, has_content),
        )
        for role, role_path, is_there in roles:
            if role_path is not None and not is_there:
                yield f"the path {role_path!r} of the {role}", role_path
        for name in self._request.categories:
            if name not in self._labelled:
                yield f"the field {name!r}", name

    def _ordered_tasks(self) -> tuple[tuple[TaskId, ...], NDArray[np.int64]]:
        """Sort the tasks, and return the index of each row's."""
        if self._request.by_position:
            return tuple(range(self._rows)), np.arange(self._rows)
        codes = self._task.rows
        ids: list[TaskId] = list(self._task.values)
        if any(isinstance(task, str) for task in ids):
            self._must_differ_as_text(codes)
            ids = [str(task) for task in ids]
        # all of them are numbers now, or all are text
        ordered: list[TaskId] = sorted(set(ids))
        if ordered == ids:
            return tuple(ordered), codes
        rank = {task: index for index, task in enumerate(ordered)}
        ranks = np.array([rank[task] for task in ids], np.int64)
        return tuple(ordered), ranks[codes]

    def _must_differ_as_text(self, codes: NDArray[np.int64]) -> None:
        """Refuse the number 1 and the text "1", which a baseline can't tell apart."""
        ids = self._task.values
        code_of = self._task.codes
        for task, code in code_of.items():
            if isinstance(task, str) or str(task) not in code_of:
                continue
            both = (code, code_of[str(task)])
            first, second = sorted(int((codes == one).argmax()) for one in both)
            earlier = ids[codes[first]]
            later = ids[codes[second]]
            where = self._origins.at(first)
            raise self._origins.error(
                second,
                f"this row's task id is {later!r}, and {where} has {earlier!r}: one is a number "
                "and the other is text",
                "write the ids of all rows as numbers, or all as text",
            )

    def _content_of_rows(
        self,
        agent: NDArray[np.int32],
        task: NDArray[np.int64],
        tasks: Sequence[TaskId],
    ) -> NDArray[np.bytes_] | None:
        """Return the content hash of each row's task; None if no content is known."""
        self._contents.must_be_whole(self._agent.values, self._origins.only_file)
        if not self._contents or self._request.by_position:
            return None
        contents = self._contents.of_tasks(self._agent.codes, tasks)
        rows: NDArray[np.bytes_] = contents[agent, task]
        return rows

    def _unnumbered(self, agent: NDArray[np.int32]) -> frozenset[str]:
        """List the agents whose rows have no sample index, and are no attempts by format."""
        if self._attempts:
            return frozenset()
        without = np.frombuffer(self._sample, np.int64) == NO_SAMPLE
        names = self._agent.values
        return frozenset(names[code] for code in set(agent[without].tolist()))

    def _numbered(
        self, agent: NDArray[np.int32], task: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Assign indices to the rows without a sample index, in order of appearance."""
        sample = np.frombuffer(self._sample, np.int64)
        without = sample == NO_SAMPLE
        if not without.any():
            return sample
        self._must_all_be_numbered_or_none(agent, without)
        started = start_times(self._rows, self._started)
        return np.where(without, numbered(agent, task, started), sample)

    def _must_all_be_numbered_or_none(
        self, agent: NDArray[np.int32], without: NDArray[np.bool_]
    ) -> None:
        """Refuse rows of one agent of which some have a sample index."""
        for code, name in enumerate(self._agent.values):
            lacking = np.flatnonzero((agent == code) & without)
            having = np.flatnonzero((agent == code) & ~without)
            if len(lacking) and len(having):
                where = self._origins.at(having[0])
                raise self._origins.error(
                    lacking[0],
                    f"this row has no sample index, and {where} has one; both are of the agent "
                    f"{name!r}",
                    "write it into every row or into none (then they are numbered)",
                )

    def _order(
        self, keys: RowKeys, tasks: Sequence[TaskId]
    ) -> NDArray[np.int64] | slice:
        """Sort the rows, without attempts that were made again; each attempt may be there once."""
        order = keys.order()
        if order is None:
            return slice(None)
        if self._retried:
            made_again = keys.made_again(self._retried)
            for row in made_again:
                del self._retried[row]
            order = order[~np.isin(order, sorted(made_again))]
        same = keys.same_attempt(order)
        if same is not None:
            first, second = same
            task = tasks[keys.task[first]]
            name = self._agent.values[keys.agent[first]]
            attempt = f"task {task!r}, sample {keys.sample[first]}, agent {name!r}"
            where = self._origins.at(first)
            raise self._origins.error(
                second,
                f"this row is the same attempt as {where}: {attempt}",
                "was a run recorded twice, or does the path match two runs? if each row "
                "has another key for it: `fields: {sample: KEY}` under rollouts",
            )
        return order

    def _notes_of_table(self) -> Iterator[Note]:
        """Yield what concerns whole files, tasks or rollouts."""
        yield from self._notes.of_files()
        yield from self._contents.notes(self._agent.values)
        yield from self._notes.of_failures()

    def _notes_of_scores(self, scores: Collection[str]) -> dict[str, tuple[Note, ...]]:
        """List for each score which of its values count as missing."""
        notes_of: dict[str, tuple[Note, ...]] = {}
        for name in scores:
            notes = tuple(self._notes.of_score(name, self._scores.columns))
            if notes:
                notes_of[name] = notes
        return notes_of
