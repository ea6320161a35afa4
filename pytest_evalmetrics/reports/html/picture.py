"""The task views of report.html: columns, histograms, rewards."""

from __future__ import annotations

import math
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeVar

import msgspec
import numpy as np
from msgspec import structs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.model.rollout_table import (
        Category,
        RolloutTable,
        RowScores,
    )
    from pytest_evalmetrics.reports.html.conversations import TaskConversations

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    # the baseline, and each task's place in it: -1 for a new one, None if all are alike
    Compared = tuple[RolloutTable, Ints | None]
    Numbers = list[float | None]
    Pair = tuple[float | None, float | None, int]  # before, now, tasks
    Place = list[int]  # of a row: the sample, the file, the row's number

T = TypeVar("T")

# -- what a page shows of an agent's tasks ---------------------------------------------------


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    """A summary of a score's values."""

    count: int
    missing: int
    min: float | None
    p10: float | None
    median: float | None
    p90: float | None
    max: float | None
    mean: float | None


class Histogram(msgspec.Struct, frozen=True, kw_only=True):
    """A score's values in bars."""

    at: Numbers  # the middles of the bars
    width: float  # 0 where each value has a bar
    now: list[int]
    was: list[int] | None
    now_is: Statistics | None
    was_is: Statistics | None


class Distribution(Histogram, frozen=True, kw_only=True):
    """The values of a score."""

    score: str


class ComparedTasks(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks of both sides, counted."""

    worse: int
    better: int
    same: int
    new: int
    gone: int
    pairs: list[Pair]


class PartRow(msgspec.Struct, frozen=True):
    """The tasks with one value of a field."""

    value: str
    tasks: int
    was: float  # mean rewards
    now: float
    worse: int
    better: int


class Part(msgspec.Struct, frozen=True):
    """The tasks by a field."""

    field: str
    values: list[PartRow]  # the worst first


class PictureAbout(msgspec.Struct, frozen=True, kw_only=True):
    """All tasks of an agent, in a few kilobytes."""

    reward: str
    tasks: int
    lower: list[str]  # scores of which less is better
    compared: ComparedTasks | None
    parts: list[Part]
    distributions: list[Distribution]
    against: str  # the baseline's files


class TaskFile(msgspec.Struct, frozen=True):
    """A file that rows are of."""

    path: str
    lines: bool  # whether the numbers of its rows are those of lines


class RowNote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a scorer says of a row: why it failed, or why it gave its scores."""

    sample: int
    reason: str
    kind: str = ""
    row: str = ""
    scores: list[str] = []


class TaskSlices(msgspec.Struct, frozen=True):
    """The values of a field, and each task's place among them; -1 for a task without one."""

    field: str
    values: list[str]
    places: list[int]


class TaskColumns(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks of an agent, by column: one entry a task, the most telling first."""

    of: int  # tasks in all
    ids: list[str]
    scores: list[str]
    # each score's means, shape (scores, tasks); None for a score without any before
    now: list[Numbers]
    was: list[Numbers | None]
    # each task's first rewards; None for a task that a side lacks
    rewards_now: list[Numbers | None]
    rewards_was: list[Numbers | None]
    attempts: int  # that are kept of a task
    rows: list[list[Place] | None]  # of these rewards
    files: list[TaskFile]
    notes: dict[str, list[RowNote]]  # by the task's place
    slices: list[TaskSlices]


class Picture(msgspec.Struct, frozen=True):
    """The tasks of one agent."""

    about: PictureAbout
    tasks: TaskColumns
    # of tasks that changed, in the order of what they lost
    conversations: dict[str, TaskConversations] = {}


# -- numbers ---------------------------------------------------------------------------------

_WHOLE = 1e15  # above it a float is written with an exponent
_SAMPLE = 4096  # values


def numbers(values: Floats) -> Numbers:
    """Round numbers to six digits for JSON; whole ones become integers, non-finite ones None."""
    if (np.abs(values) < _WHOLE).all() and (values == np.trunc(values)).all():
        return [*values.astype(np.int64).tolist()]
    rounded: Numbers = []
    for value in values.tolist():
        if math.isfinite(value):
            rounded.append(_number(value))
        else:
            rounded.append(None)
    return rounded


def _number(x: float) -> float:
    if x == int(x) and abs(x) < _WHOLE:
        return int(x)
    return float(f"{x:.6g}")


def means(table: RolloutTable, score: str) -> Floats:
    """Return the mean of each task's finite values, or NaN, shape (tasks,)."""
    rewards = table.rewards(score)
    sums = np.bincount(rewards.task, weights=rewards.values, minlength=len(rewards))
    counts = rewards.counts
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _levels(values: Floats, most: int) -> Floats | None:
    """Return the distinct values, or None if there are many."""
    levels = _distinct(values[:_SAMPLE])
    if len(levels) > most:
        return None
    rest = values[~np.isin(values, levels)]
    levels = _distinct(np.concatenate((levels, rest)))
    if len(levels) > most:
        return None
    return levels


def _distinct(values: Floats) -> Floats:
    # without counts np.unique would import numpy.ma
    levels, _ = np.unique(values, return_counts=True)
    return levels


_STEPS = 24  # per axis, where tasks' values are too many to show each


def _pairs(was: Floats, now: Floats) -> list[Pair]:
    """Count the tasks by (before, after), on a grid if there are many values."""
    if not len(was):
        return []
    both = np.round(np.concatenate([was, now]), 9)
    levels = _levels(both, _STEPS + 1)
    if levels is not None:
        codes = levels.searchsorted(both)
    else:
        low = float(both.min())
        high = float(both.max())
        if not np.isfinite(high - low):
            return []  # too far apart for floating-point numbers
        levels = np.linspace(low, high, _STEPS + 1)
        steps = (both - low) / (high - low) * _STEPS
        codes = np.round(steps).astype(np.int64)
    before, after = codes.reshape(2, -1)
    cells = np.bincount(before * len(levels) + after)
    shown = numbers(levels)
    pairs: list[Pair] = []
    for cell in np.flatnonzero(cells).tolist():
        at_before, at_after = divmod(cell, len(levels))
        pairs.append((shown[at_before], shown[at_after], int(cells[cell])))
    return pairs


_BARS = 30
_FEW = 12  # distinct values that get a bar each


def histogram(now: Floats, was: Floats | None) -> Histogram | None:
    """Count a score's values in bars of equal width, or by value if there are few."""
    finite_now = now[np.isfinite(now)]
    if not len(finite_now):
        return None
    finite_was = np.empty(0)
    was_is = None
    if was is not None:
        finite_was = was[np.isfinite(was)]
        was_is = _statistics(finite_was, len(was))
    bars = _bars_of(np.concatenate([finite_now, finite_was]))
    if bars is None:
        return None
    counts_was = None
    if len(finite_was):
        counts_was = bars.counts_of(finite_was)
    return Histogram(
        at=numbers(bars.at),
        width=_number(bars.width),
        now=bars.counts_of(finite_now),
        was=counts_was,
        now_is=_statistics(finite_now, len(now)),
        was_is=was_is,
    )


class _Bars(msgspec.Struct, frozen=True):
    """Where the bars of a histogram are; of width 0 each stands for one value."""

    at: Floats  # their middles
    width: float = 0.0
    ends: tuple[float, float] | None = (
        None  # of all bars together, where they have a width
    )

    def counts_of(self, values: Floats) -> list[int]:
        """Count the values of each bar."""
        if self.ends is None:
            places = self.at.searchsorted(values)
            counts = np.bincount(places, minlength=len(self.at))
        else:
            counts, _ = np.histogram(values, bins=_BARS, range=self.ends)
        result: list[int] = counts.tolist()
        return result


def _bars_of(values: Floats) -> _Bars | None:
    """Choose bars for values; None for such as differ by less than floats can split."""
    levels = _levels(values, _FEW)
    if levels is not None:
        return _Bars(at=levels)
    low = float(values.min())
    high = float(values.max())
    edges = np.linspace(low, high, _BARS + 1)
    if not (np.diff(edges) > 0).all():
        return None
    middles = (edges[:-1] + edges[1:]) / 2
    return _Bars(at=middles, width=(high - low) / _BARS, ends=(low, high))


def _statistics(values: Floats, count: int) -> Statistics | None:
    if not len(values):
        return None
    places = np.multiply((0.0, 0.1, 0.5, 0.9, 1.0), len(values) - 1)
    quantiles = np.interp(places, np.arange(len(values)), np.sort(values))
    shown = numbers(np.append(quantiles, values.mean()))
    return Statistics(
        count=len(values),
        missing=count - len(values),
        min=shown[0],
        p10=shown[1],
        median=shown[2],
        p90=shown[3],
        max=shown[4],
        mean=shown[5],
    )


# -- the rows of tasks -----------------------------------------------------------------------


class _ByTask:
    """The first rows of some tasks; -1 stands for an absent task."""

    def __init__(self, table: RolloutTable, tasks: Ints) -> None:
        starts = table.offsets[tasks].tolist()
        ends = table.offsets[tasks + 1].tolist()
        self._spans = []
        for start, end in zip(starts, ends, strict=True):
            # the span of -1 ends before it begins: it is empty
            self._spans.append(range(start, min(end, start + _ATTEMPTS)))
        self._there: list[bool] = (tasks >= 0).tolist()
        self.rows: Ints = np.fromiter(chain.from_iterable(self._spans), np.int64)

    def split(self, values: Sequence[T]) -> list[list[T] | None]:
        """Split the values of rows by task; None for an absent task."""
        left = iter(values)
        split: list[list[T] | None] = []
        for span, there in zip(self._spans, self._there, strict=True):
            part = list(islice(left, len(span)))
            if there:
                split.append(part)
            else:
                split.append(None)
        return split


def _places(table: RolloutTable, rows: Ints, chosen: Ints | None) -> list[Place]:
    """Return the sample, the file and the row number of each row; empty without files."""
    if table.read_as is None:
        return []
    read = table.read_as[rows]
    if chosen is not None:
        read = chosen[read]
    ends = np.cumsum([source.rows for source in table.sources], dtype=np.int64)
    starts = np.append(0, ends)
    file = np.searchsorted(ends, read, side="right")
    number = read - starts[file] + 1
    columns = (table.sample[rows], file, number)
    places: list[Place] = np.stack(columns, axis=1).tolist()
    return places


_NOTED = 300  # rows whose reasons and errors a page holds
_LOOKED_AT = 20_000
_REASON = 1_000  # characters


class _Explanation(msgspec.Struct):
    """A scorer's reason for a row's scores."""

    scores: list[str]
    reason: str


def _row_notes(
    table: RolloutTable, rows: RowScores | None, tasks: Ints
) -> dict[str, list[RowNote]]:
    """Collect the messages of scorers on the rows of some tasks, by the task's place."""
    if rows is None or table.read_as is None:
        return {}
    notes: dict[str, list[RowNote]] = {}
    noted = 0
    for place, at in islice(_rows_of(table, tasks), _LOOKED_AT):
        read = int(table.read_as[at])
        sample = int(table.sample[at])
        for note in _notes(rows, read, sample):
            notes.setdefault(str(place), []).append(note)
            noted += 1
            if noted == _NOTED:
                return notes
    return notes


def _rows_of(table: RolloutTable, tasks: Ints) -> Iterator[tuple[int, int]]:
    """Yield each row of some tasks, with the task's place among them."""
    for place, task in enumerate(tasks.tolist()):
        if task < 0:
            continue
        start = int(table.offsets[task])
        end = int(table.offsets[task + 1])
        for at in range(start, end):
            yield place, at


def _notes(rows: RowScores, index: int, sample: int) -> Iterator[RowNote]:
    for failed in rows.failed.get(index, {}).values():
        reason = _cut(failed.reason)
        yield RowNote(sample=sample, reason=reason, kind=failed.kind, row=failed.row)
    for why in msgspec.json.decode(rows.reasons(index), type=list[_Explanation]):
        yield RowNote(sample=sample, reason=_cut(why.reason), scores=why.scores)


def _cut(text: str) -> str:
    if len(text) <= _REASON:
        return text
    return f"{text[:_REASON]} …"


# -- all tasks of an agent -------------------------------------------------------------------

_SCORES = 12  # score columns that are shown
_MOST = 10_000  # tasks
_NUMBERS = 250_000  # means and rewards that they may have together
_ATTEMPTS = 16  # rewards of a task
_NOISE = 1e-12
_LABELS = 50  # values of a field
_FILES = 1_000  # listed even if no shown task has a row of them
_AGAINST = 500  # characters of the baseline's files


def picture_of(
    table: RolloutTable,
    *,
    reward: str,
    lower: frozenset[str] = frozenset(),
    compared: Compared | None = None,
    rows: RowScores | None = None,
    chosen: Ints | None = None,
    against: str = "",
) -> Picture:
    """Describe one agent's tasks for the page.

    `lower` names the scores of which less is better, `reward` the one that tasks are compared by,
    where the baseline keeps it: it has the scores of gated metrics alone.
    `chosen` gives the row of the files that each row stands for: an online run answers a row
    several times, and perhaps not all of them.
    """
    if compared is not None:
        reward = _compared_score(table, compared[0], reward)
    with np.errstate(all="ignore"):  # an overflowing sum is shown as no number
        picture = _Picture(table, reward, lower, compared)
        return Picture(picture.about(against), picture.tasks(rows, chosen))


def _compared_score(table: RolloutTable, baseline: RolloutTable, reward: str) -> str:
    """Return the score that tasks are compared by: the reward, if the baseline keeps it."""
    if reward in baseline.scores:
        return reward
    common = sorted(table.scores.keys() & baseline.scores.keys())
    if not common:
        return reward
    return common[0]


class _Side(msgspec.Struct, frozen=True):
    """The run, or the baseline: its tasks, and those that only the other side has."""

    table: RolloutTable | None  # None for a baseline that there is not
    at: Ints  # each task's place in it; -1 if it is not there

    def means(self, score: str) -> Floats:
        """Return the mean score of each task, or NaN."""
        if self.table is None or score not in self.table.scores:
            return np.full(len(self.at), np.nan)
        # the place -1 is the last
        with_absent = np.append(means(self.table, score), np.nan)
        return with_absent[self.at]

    def values(self, score: str, order: Ints) -> list[Numbers | None]:
        """List the first values of some tasks; None for a task without values."""
        if self.table is None or score not in self.table.scores:
            return [None] * len(order)
        tasks = _ByTask(self.table, self.at[order])
        values = self.table.scores[score][tasks.rows]
        return tasks.split(numbers(values))


def _sides(table: RolloutTable, compared: Compared | None) -> tuple[_Side, _Side]:
    """Return the baseline's side and the run's, which have the same tasks in the same order.

    The run's tasks come first, then those that only the baseline has.
    """
    n = len(table.tasks)
    own = np.arange(n)
    if compared is None:
        return _Side(None, np.full(n, -1)), _Side(table, own)
    baseline, places = compared
    if places is None:
        places = own
    theirs = np.arange(len(baseline.tasks))
    gone = theirs[~np.isin(theirs, places)]
    absent = np.full(len(gone), -1)
    was = _Side(baseline, np.concatenate([places, gone]))
    now = _Side(table, np.concatenate([own, absent]))
    return was, now


class _Picture:
    """One agent's tasks on both sides: the run's, then those that only the baseline has."""

    def __init__(
        self,
        table: RolloutTable,
        reward: str,
        lower: frozenset[str],
        compared: Compared | None,
    ) -> None:
        self.table = table
        self.reward = reward
        self.lower = lower
        self.was, self.now = _sides(table, compared)
        by_name = sorted(table.scores, key=lambda name: (name != reward, name))
        self.scores = by_name[:_SCORES]
        # each task's mean reward, and how much better it is than before; NaN where undefined
        self.before = self.was.means(reward)
        self.after = self.now.means(reward)
        self.change: Floats = self.after - self.before
        if reward in lower:
            self.change = -self.change
        self.change += 0.0  # no -0
        self.worse = self.change < -_NOISE
        self.better = self.change > _NOISE

    def about(self, against: str) -> PictureAbout:
        """Summarize all tasks in a few kilobytes."""
        compared = None
        parts: list[Part] = []
        if self.was.table is not None:
            compared = self._compared()
            parts = list(self._parts())
        return PictureAbout(
            reward=self.reward,
            tasks=len(self.change),
            lower=sorted(self.lower.intersection(self.scores)),
            compared=compared,
            parts=parts,
            distributions=list(self._distributions()),
            against=against[:_AGAINST],
        )

    def _compared(self) -> ComparedTasks:
        both = ~np.isnan(self.change)
        return ComparedTasks(
            worse=int(self.worse.sum()),
            better=int(self.better.sum()),
            same=int((np.abs(self.change) <= _NOISE).sum()),
            new=int((self.was.at < 0).sum()),
            gone=int((self.now.at < 0).sum()),
            pairs=_pairs(self.before[both], self.after[both]),
        )

    def _distributions(self) -> Iterator[Distribution]:
        for name in self.scores:
            before = None
            if self.was.table is not None:
                before = self.was.table.scores.get(name)
            bars = histogram(self.table.scores[name], before)
            if bars is not None:
                yield Distribution(score=name, **structs.asdict(bars))

    def _categories(self) -> Iterator[tuple[str, Category, NDArray[np.int32]]]:
        """Yield the fields that are broken down, with the code of each of the run's tasks."""
        first_rows = self.table.offsets[:-1]
        for field, category in self.table.categories.items():
            if 1 < len(category.labels) <= _LABELS:
                yield field, category, category.codes[first_rows]

    def _parts(self) -> Iterator[Part]:
        """Compare the tasks of each value of a field that is broken down, the worst first."""
        n = len(self.table.tasks)
        both = ~np.isnan(self.change[:n])
        for field, category, codes in self._categories():
            count = partial(np.bincount, codes[both], minlength=len(category.labels))
            tasks = count()
            was = count(self.before[:n][both]) / tasks
            now = count(self.after[:n][both]) / tasks
            change = count(self.change[:n][both]) / tasks
            worse = count(self.worse[:n][both])
            better = count(self.better[:n][both])
            rows = []
            for at in np.argsort(change).tolist():
                if not tasks[at]:
                    continue
                row = PartRow(
                    value=category.labels[at],
                    tasks=int(tasks[at]),
                    was=_number(float(was[at])),
                    now=_number(float(now[at])),
                    worse=int(worse[at]),
                    better=int(better[at]),
                )
                rows.append(row)
            yield Part(field, rows)

    def tasks(self, rows: RowScores | None, chosen: Ints | None) -> TaskColumns:
        """Describe the tasks, in the order of `_order`."""
        order = self._order(rows)[: self._most()]
        here = self.now.at[order]
        by_task = _ByTask(self.table, here)
        places = _places(self.table, by_task.rows, chosen)
        described = TaskColumns(
            of=len(self.change),
            ids=self._ids(order),
            scores=self.scores,
            now=[numbers(self.now.means(name)[order]) for name in self.scores],
            was=[self._means_before(name, order) for name in self.scores],
            rewards_now=self.now.values(self.reward, order),
            rewards_was=self.was.values(self.reward, order),
            attempts=_ATTEMPTS,
            rows=by_task.split(places),
            files=[
                TaskFile(source.path, source.row_is_line)
                for source in self.table.sources
            ],
            notes=_row_notes(self.table, rows, here),
            slices=list(self._slices(here)),
        )
        return _with_its_files(described)

    def _most(self) -> int:
        """Return how many tasks a page has room for."""
        attempts = min(_ATTEMPTS, int(self.table.counts.max(initial=1)))
        numbers_of_task = 2 * (len(self.scores) + attempts)
        return max(1, min(_MOST, _NUMBERS // numbers_of_task))

    def _means_before(self, score: str, order: Ints) -> Numbers | None:
        """Return the means of tasks in the baseline; None for a score without any."""
        means = self.was.means(score)
        if np.isnan(means).all():
            return None
        return numbers(means[order])

    def _slices(self, tasks: Ints) -> Iterator[TaskSlices]:
        """Describe the fields that are broken down, for some tasks of the run."""
        for field, category, codes in self._categories():
            # the place -1, of an absent task, is the last
            with_absent = np.append(codes, -1)
            places = with_absent[tasks].tolist()
            yield TaskSlices(field, list(category.labels), places)

    def _ids(self, order: Ints) -> list[str]:
        """Name tasks, those that only the baseline has as it names them."""
        ids = []
        for at in order.tolist():
            here = int(self.now.at[at])
            if here >= 0 or self.was.table is None:
                task = self.table.tasks[here]
            else:
                task = self.was.table.tasks[int(self.was.at[at])]
            ids.append(str(task))
        return ids

    def _order(self, rows: RowScores | None) -> Ints:
        """Order the tasks: worse ones, those without a value, better ones, then the lowest."""
        change = self.change
        now = self.after
        kind = np.full(len(change), 4)
        kind[np.isnan(now)] = 1
        if rows is not None and rows.failed and self.table.read_as is not None:
            failed_rows = np.isin(self.table.read_as, list(rows.failed))
            kind[self.table.task[failed_rows]] = 1
        if self.was.table is not None:
            kind[np.isnan(change) & ~np.isnan(now)] = 3
        kind[self.better] = 2
        kind[self.worse] = 0
        value = now
        if self.reward in self.lower:
            value = -now
        size = np.nan_to_num(np.abs(change))
        return np.lexsort((np.nan_to_num(value), -size, kind))


def first(tasks: TaskColumns, most: int) -> TaskColumns:
    """Keep the first tasks of a picture."""
    was: list[Numbers | None] = []
    for column in tasks.was:
        if column is None:
            was.append(None)
        else:
            was.append(column[:most])
    kept = structs.replace(
        tasks,
        ids=tasks.ids[:most],
        now=[column[:most] for column in tasks.now],
        was=was,
        rewards_now=tasks.rewards_now[:most],
        rewards_was=tasks.rewards_was[:most],
        rows=tasks.rows[:most],
        notes={at: notes for at, notes in tasks.notes.items() if int(at) < most},
        slices=[
            structs.replace(sliced, places=sliced.places[:most])
            for sliced in tasks.slices
        ],
    )
    return _with_its_files(kept)


def _with_its_files(tasks: TaskColumns) -> TaskColumns:
    """Drop the files of dropped tasks, if there are many files."""
    if len(tasks.files) <= _FILES:
        return tasks
    places: dict[int, int] = {}
    rows: list[list[Place] | None] = []
    for of_task in tasks.rows:
        if of_task is None:
            rows.append(None)
            continue
        renumbered = []
        for sample, file, at in of_task:
            place = places.setdefault(file, len(places))
            renumbered.append([sample, place, at])
        rows.append(renumbered)
    files = [tasks.files[file] for file in places]
    return structs.replace(tasks, rows=rows, files=files)
