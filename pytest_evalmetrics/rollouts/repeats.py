"""Evidence that rows with one task id are attempts at one task.

Rows without a number of their own are numbered as they come. Two kinds of rows look like attempts
and are none: those of two data sets that share ids, and those that are there twice. Where a table
holds either, the rows are read again to tell.
"""

from __future__ import annotations

import math
from itertools import chain, combinations
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.model.rollout_notes import AgreeingAttempts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.json_types import JsonValue
    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.model.rollout_table import RolloutTable

_FEW: Final = 5  # rows that may be the same by chance, one after the other
_SHORT: Final = 16  # characters of a text that says no more than a label
_DIGITS: Final = 6  # of a number that is no measured one
_WHOLE_DIGITS: Final = 9  # the same of a whole number, shorter than a time in seconds
_MOST_TASKS: Final = 200  # whose rows are compared
_MOSTLY: Final = 0.9  # the share of tasks that have a text of their own
# names of the id of one attempt, and of the id of a row, which may be the task's
_ATTEMPT_IDS: Final = (
    "attempt_id",
    "rollout_id",
    "trial_id",
    "record_id",
    "response_id",
    "completion_id",
    "trace_id",
)
_ROW_IDS: Final = ("id", "_id", "uuid")
_AGENT_KEYS: Final = ("agent", "model", "model_name")  # whose rows are another agent's
_QUESTIONS: Final = (
    "question",
    "prompt",
    "input",
    "inputs",
    "query",
    "problem",
    "instruction",
    "messages",
    "user_input",
)
_NUMBER_THEM: Final = (
    "if they are attempts of their own, number them: `fields: {sample: KEY}` "
    "under rollouts"
)


class PlacedRecord(msgspec.Struct, frozen=True):
    """A row as it is written, and its place for messages."""

    at: str
    file: int  # index of its file
    attempt: tuple[int, int]  # the codes of its agent and of its task
    record: Mapping[str, JsonValue]


def attempts_are_shown(
    table: RolloutTable,
    records: Callable[[], Iterable[tuple[str, Mapping[str, JsonValue]]]],
    written: Callable[[], Iterable[bytes | Mapping[str, JsonValue]]],
    *,
    task_key: str,
    nested: bool,
) -> tuple[Note, ...]:
    """Check that rows with one task id are attempts at it, and note what says so.

    `records` reads the rows again, in the order of the files; `task_key` holds their ids. `written`
    yields the same rows as they stand in the file where it has their text, which is several times
    faster. `nested` rows come out of lists within a file, which may hold the same value twice.

    Raises
    ------
    DataError
        If a row is there twice, or the rows of two files share nothing but ids.
    """
    rows = _Rows(table)
    across = rows.across_files()
    copies = rows.none()
    if not nested:
        copies = _possible_copies(rows, records, written, task_key)
    if not across.any() and not copies.any():
        return ()
    placed = rows.read_again(records(), across | copies)
    repeated = rows.placed(placed, copies)
    _must_be_single(repeated, table, task_key, of_several=rows.count_of_several())
    shared = rows.placed(placed, across)
    return _agreeing(shared, table, task_key) if shared else ()


def _possible_copies(
    rows: _Rows,
    records: Callable[[], Iterable[tuple[str, Mapping[str, JsonValue]]]],
    written: Callable[[], Iterable[bytes | Mapping[str, JsonValue]]],
    task_key: str,
) -> NDArray[np.bool_]:
    """Find the rows that another one may be a copy of, reading no more than needed."""
    alike = rows.alike()
    if not alike.any() or _names_records(records(), task_key):
        return alike
    alike = rows.of_one_mark(alike)
    if not alike.any():
        return alike
    return rows.same_as_written(written(), alike)


class _Rows:
    """The rows of a table that were numbered as they come."""

    def __init__(self, table: RolloutTable) -> None:
        self._table = table
        counts = [source.rows for source in table.sources]
        files = np.repeat(np.arange(len(counts)), counts)
        # each row's number in the files
        self._read_as = np.arange(sum(counts))
        if table.read_as is not None:
            self._read_as = table.read_as
        self._file = files[self._read_as]
        unnumbered = [
            code for code, name in enumerate(table.agents) if name in table.unnumbered
        ]
        self._counted = np.isin(table.agent, unnumbered)
        # tables are sorted by agent and task
        changes = (np.diff(table.agent) != 0) | (np.diff(table.task) != 0)
        self._group = np.concatenate(([0], np.cumsum(changes)))[: len(table)]

    def none(self) -> NDArray[np.bool_]:
        """Return a mask of no row."""
        return np.zeros(len(self._table), dtype=bool)

    def across_files(self) -> NDArray[np.bool_]:
        """Find the rows of tasks in several files whose content is not known."""
        content = self._table.content
        files = len(self._table.sources)
        unknown = self._counted
        if content is not None:
            unknown = unknown & (content == b"")
        if files < 2 or not unknown.any():
            return self.none()
        groups = int(self._group[-1]) + 1
        first = np.full(groups, files)
        last = np.full(groups, -1)
        np.minimum.at(first, self._group, self._file)
        np.maximum.at(last, self._group, self._file)
        several: NDArray[np.bool_] = (first < last)[self._group] & unknown
        return several

    def alike(self) -> NDArray[np.bool_]:
        """Find the rows of a task that have the same numbers in all columns as another row."""
        alike = self.none()
        counts = np.bincount(self._group)
        rows = np.flatnonzero(self._counted & (counts[self._group] > 1))
        if not len(rows):
            return alike
        columns = [
            np.nan_to_num(column[rows], nan=math.pi)
            for column in self._table.scores.values()
        ]
        order = np.lexsort((*columns, self._group[rows]))
        same = np.diff(self._group[rows][order]) == 0
        for column in columns:
            same &= np.diff(column[order]) == 0
        pairs = np.flatnonzero(same)
        alike[rows[order[pairs]]] = True
        alike[rows[order[pairs + 1]]] = True
        return alike

    def of_one_mark(self, alike: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Keep the rows that another one of their task may be a copy of, by their marks."""
        marks = self._table.marks
        if marks is None:
            return alike
        rows = np.flatnonzero(alike)
        order = rows[np.lexsort((marks[rows], self._group[rows]))]
        same = (np.diff(self._group[order]) == 0) & (np.diff(marks[order]) == 0)
        kept = self.none()
        kept[order[:-1][same]] = True
        kept[order[1:][same]] = True
        return kept

    def count_of_several(self) -> int:
        """Count the rows of tasks with more than one row."""
        counts = np.bincount(self._group)
        return int(counts[counts > 1].sum())

    def same_as_written(
        self,
        written: Iterable[bytes | Mapping[str, JsonValue]],
        mask: NDArray[np.bool_],
    ) -> NDArray[np.bool_]:
        """Keep the rows of a mask that are the same as another one, as far as a hash tells."""
        rows = self._by_number(mask)
        first: dict[int, int] = {}
        same = self.none()
        for number, content in enumerate(written):
            row = rows.get(number)
            if row is None:
                continue
            text = content
            if not isinstance(text, bytes):
                text = msgspec.json.encode(content, order="sorted")
            before = first.setdefault(hash(text), row)
            if before != row:
                same[[before, row]] = True
        return same

    def placed(
        self, placed: Mapping[int, PlacedRecord], mask: NDArray[np.bool_]
    ) -> list[PlacedRecord]:
        """List the rows of a mask in the order in which they were read."""
        rows = np.flatnonzero(mask)
        ordered = rows[np.argsort(self._read_as[rows])].tolist()
        return [placed[row] for row in ordered if row in placed]

    def read_again(
        self,
        records: Iterable[tuple[str, Mapping[str, JsonValue]]],
        mask: NDArray[np.bool_],
    ) -> dict[int, PlacedRecord]:
        """Read the rows of a mask as they are written, by their place in the table."""
        rows = self._by_number(mask)
        agent = self._table.agent
        task = self._table.task
        placed = {}
        for number, (at, record) in enumerate(records):
            row = rows.get(number)
            if row is not None:
                placed[row] = PlacedRecord(
                    at=at,
                    file=int(self._file[row]),
                    attempt=(int(agent[row]), int(task[row])),
                    record=record,
                )
        return placed

    def _by_number(self, mask: NDArray[np.bool_]) -> dict[int, int]:
        """Map the rows' numbers in the files to the rows of a mask."""
        rows = np.flatnonzero(mask)
        return dict(zip(self._read_as[rows].tolist(), rows.tolist(), strict=True))


def _names_records(
    records: Iterable[tuple[str, Mapping[str, JsonValue]]], task_key: str
) -> bool:
    """Check whether rows may have an id of their own beside the task's."""
    _, first = next(iter(records), ("", {}))
    return any(key in first and key != task_key for key in (*_ATTEMPT_IDS, *_ROW_IDS))


# -- rows that are there twice ---------------------------------------------------------------


def _must_be_single(
    rows: Sequence[PlacedRecord],
    table: RolloutTable,
    task_key: str,
    *,
    of_several: int,
) -> None:
    """Refuse rows that are the same as written, unless that may be chance.

    `of_several` counts the rows of all tasks with more than one row.
    """
    first: dict[bytes, int] = {}
    originals: list[int] = []  # the numbers of the rows that others are the same as
    pairs: list[tuple[PlacedRecord, PlacedRecord]] = []
    for number, row in enumerate(rows):
        text = msgspec.json.encode(row.record, order="sorted")
        original = first.setdefault(text, number)
        if original != number:
            originals.append(original)
            pairs.append((rows[original], row))
    telling = [pair for pair in pairs if not _may_recur(pair[1], table)]
    if not telling:
        telling = _of_one_record(rows, task_key)
    # short rows that recur all together, in their order, are a copy as well
    is_in_order = originals == sorted(originals)
    if not telling and is_in_order and _is_copied_block(pairs, of_several):
        telling = pairs
    if not telling:
        return
    before, row = telling[0]
    message = f"{row.at} is the same row as {before.at}, which is read twice"
    if len(telling) > 1:
        message += f" ({many(len(telling), 'row')} in all)"
    raise DataError(
        message,
        hint=f"was a run appended to its own file? delete the copy; {_NUMBER_THEM}",
    )


def _of_one_record(
    rows: Sequence[PlacedRecord], task_key: str
) -> list[tuple[PlacedRecord, PlacedRecord]]:
    """Pair the rows of one task that have the id of one record."""
    pairs = []
    for key in (*_ATTEMPT_IDS, *_ROW_IDS):
        if key == task_key:
            continue
        first: dict[tuple[tuple[int, int], str], PlacedRecord] = {}
        repeated = []
        for row in rows:
            record_id = row.record.get(key)
            if isinstance(record_id, bool) or not isinstance(record_id, str | int):
                continue
            before = first.setdefault((row.attempt, repr(record_id)), row)
            if before is not row:
                repeated.append((before, row))
        tasks = {task for task, _ in first}
        # an id such as `id` may be the task's: then each task has one
        if key in _ATTEMPT_IDS or len(first) > len(tasks):
            pairs += repeated
    return pairs


def _may_recur(row: PlacedRecord, table: RolloutTable) -> bool:
    """Check whether a row holds no more than labels and short numbers, as another may."""
    agent, task = row.attempt
    labels = {str(table.tasks[task]), table.agents[agent]}
    for value in row.record.values():
        if not _is_short(value) and str(value) not in labels:
            return False
    return True


def _is_short(value: JsonValue) -> bool:
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, str):
        return len(value) <= _SHORT and not any(map(str.isspace, value))
    if isinstance(value, int):
        return abs(value) < 10**_WHOLE_DIGITS
    if isinstance(value, float):
        return len(repr(value).strip("-").replace(".", "")) <= _DIGITS
    if isinstance(value, dict):
        return all(map(_is_short, value.values()))
    return not value


def _is_copied_block(
    pairs: Sequence[tuple[PlacedRecord, PlacedRecord]], rows: int
) -> bool:
    """Check whether all rows of tasks with several recur once, for some tasks."""
    tasks = [row.attempt for _, row in pairs]
    if len(pairs) < _FEW or len(set(tasks)) < len(tasks):
        return False
    return 2 * len(pairs) == rows


# -- ids in several files --------------------------------------------------------------------


def _agreeing(
    rows: Sequence[PlacedRecord], table: RolloutTable, task_key: str
) -> tuple[Note, ...]:
    """Note the text by which the rows of two files are of the same tasks, or refuse them."""
    groups: dict[tuple[int, int], list[PlacedRecord]] = {}
    for row in rows:
        groups.setdefault(row.attempt, []).append(row)
    compared = list(groups.values())[:_MOST_TASKS]
    for key in rows[0].record:
        if _tasks_agree(compared, key):
            files = {row.file for row in rows}
            return (AgreeingAttempts(files=len(files), tasks=len(groups), key=key),)
    raise _unclear(compared, table, task_key, ids=len(groups))


def _unclear(
    groups: Sequence[Sequence[PlacedRecord]],
    table: RolloutTable,
    task_key: str,
    *,
    ids: int,
) -> DataError:
    """Make the error of rows of two files that share nothing but so many ids of tasks."""
    before = groups[0][0]
    row = next(other for other in groups[0] if other.file != before.file)
    task = table.tasks[row.attempt[1]]
    file = table.sources[before.file].path
    ways = [
        "`fields: {sample: KEY}` where attempts are numbered",
        "`fields: {content: KEY}` where they share a text",
    ]
    subset = _subset_keys(groups)
    if subset:
        keys = ", ".join((*subset, task_key))
        tell = f"{subset[0]!r} tells" if len(subset) == 1 else "these fields tell"
        ways.insert(0, f"`fields: {{task: [{keys}]}}` if {tell} data sets apart")
    return DataError(
        f"{row.at}: the task id {task!r} is in {file} too ({many(ids, 'task id')} in all), and "
        "nothing in the rows shows that they are attempts at one task: they have no sample "
        "number, and no text that agrees",
        hint=f"say under rollouts which it is: {', or '.join(ways)}",
    )


def _tasks_agree(groups: Sequence[Sequence[PlacedRecord]], key: str) -> bool:
    """Check whether the rows of each task have one text under a key, and most tasks their own."""
    distinct: set[bytes] = set()
    for rows in groups:
        texts = {_content_text(row.record.get(key)) for row in rows}
        text = texts.pop()
        if texts or text is None:
            return False
        distinct.add(text)
    if len(groups) == 1:
        return key in _QUESTIONS
    return len(distinct) >= _MOSTLY * len(groups)


def _content_text(value: JsonValue) -> bytes | None:
    """Write a value that can tell tasks apart: no label, and no number."""
    if isinstance(value, bool | int | float) or value is None or _is_short(value):
        return None
    return msgspec.json.encode(value, order="sorted")


def _subset_keys(groups: Sequence[Sequence[PlacedRecord]]) -> tuple[str, ...]:
    """Find one or two keys whose labels differ between all rows of one task id."""
    rows = list(chain.from_iterable(groups))
    labels = [
        key
        for key in groups[0][0].record
        if key not in _AGENT_KEYS and _are_labels(rows, key)
    ]
    for subset in (*combinations(labels, 1), *combinations(labels, 2)):
        if all(_all_differ(group, subset) for group in groups):
            return subset
    return ()


def _are_labels(rows: Sequence[PlacedRecord], key: str) -> bool:
    return all(_is_label(row.record.get(key)) for row in rows)


def _is_label(value: JsonValue) -> bool:
    """Check for a short text, a whole number or null, as the name of a subset is."""
    if isinstance(value, bool | float | dict | list):
        return False
    return _is_short(value)


def _all_differ(rows: Sequence[PlacedRecord], keys: Sequence[str]) -> bool:
    labels = {tuple(row.record.get(key) for key in keys) for row in rows}
    return len(labels) == len(rows)
