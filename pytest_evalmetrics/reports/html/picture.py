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

    from pytest_evalmetrics.model.rollout_table import RolloutTable, RowScores
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
    return [_number(x) if math.isfinite(x) else None for x in values.tolist()]


def _number(x: float) -> float:
    return int(x) if x == int(x) and abs(x) < _WHOLE else float(f"{x:.6g}")


def means(table: RolloutTable, score: str) -> Floats:
    """Return the mean of each task's finite values, or NaN, shape (tasks,)."""
    rewards = table.rewards(score)
    sums = np.bincount(rewards.task, weights=rewards.values, minlength=len(rewards))
    counts = rewards.counts
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _levels(values: Floats, most: int) -> Floats | None:
    """Return the distinct values, or None if there are many."""
    levels = np.unique(values[:_SAMPLE], return_counts=True)[
        0
    ]  # see `TaskRewards.blocks`
    if len(levels) <= most:
        rest = values[~np.isin(values, levels)]
        levels = np.unique(np.concatenate((levels, rest)), return_counts=True)[0]
    return levels if len(levels) <= most else None


_STEPS = 24  # per axis, where tasks' values are too many to show each


def _pairs(was: Floats, now: Floats) -> list[Pair]:
    """Count the tasks by (before, after), on a grid if there are many values."""
    if not len(was):
        return []
    both = np.round(np.concatenate([was, now]), 9)
    levels = _levels(both, _STEPS + 1)
    if levels is None:
        low, high = float(both.min()), float(both.max())
        if not np.isfinite(high - low):
            return []  # too far apart for floating-point numbers
        levels = np.linspace(low, high, _STEPS + 1)
        codes = np.round((both - low) / (high - low) * _STEPS).astype(np.int64)
    else:
        codes = levels.searchsorted(both)
    before, after = codes.reshape(2, -1)
    cells = np.bincount(before * len(levels) + after)
    shown = numbers(levels)
    return [
        (shown[at // len(levels)], shown[at % len(levels)], int(cells[at]))
        for at in np.flatnonzero(cells).tolist()
    ]


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

    at: Floats
    width: float
    low: float
    high: float

    def counts_of(self, values: Floats) -> list[int]:
        """Count the values of each bar."""
        if not self.width:
            places = self.at.searchsorted(values)
            counts = np.bincount(places, minlength=len(self.at))
        else:
            ends = (self.low, self.high)
            counts, _ = np.histogram(values, bins=_BARS, range=ends)
        result: list[int] = counts.tolist()
        return result


def _bars_of(values: Floats) -> _Bars | None:
    """Choose bars for values; None for such as differ by less than floats can split."""
    low = float(values.min())
    high = float(values.max())
    levels = _levels(values, _FEW)
    if levels is not None:
        return _Bars(at=levels, width=0.0, low=low, high=high)
    edges = np.linspace(low, high, _BARS + 1)
    if not (np.diff(edges) > 0).all():
        return None
    middles = (edges[:-1] + edges[1:]) / 2
    return _Bars(at=middles, width=(high - low) / _BARS, low=low, high=high)


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
        spans = zip(
            table.offsets[tasks].tolist(),
            table.offsets[tasks + 1].tolist(),
            strict=True,
        )
        self._spans = [
            range(start, min(end, start + _ATTEMPTS)) for start, end in spans
        ]
        # the span of -1 ends before it begins: it is empty
        self._there: list[bool] = (tasks >= 0).tolist()
        self.rows: Ints = np.fromiter(chain.from_iterable(self._spans), np.int64)

    def split(self, values: Sequence[T]) -> list[list[T] | None]:
        """Split the values of rows by task; None for an absent task."""
        left = iter(values)
        split: list[list[T] | None] = []
        for span, there in zip(self._spans, self._there, strict=True):
            part = list(islice(left, len(span)))
            split.append(part if there else None)
        return split


def _places(table: RolloutTable, rows: Ints, chosen: Ints | None) -> list[Place]:
    """Return the sample, the file and the row number of each row; empty without files."""
    if table.read_as is None:
        return []
    read = table.read_as[rows]
    if chosen is not None:
        read = chosen[read]
    ends = np.cumsum([source.rows for source in table.sources], dtype=np.int64)
    file = np.searchsorted(ends, read, side="right")
    columns = (table.sample[rows], file, read - np.append(0, ends)[file] + 1)
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
    notes: dict[str, list[RowNote]] = {}
    if rows is None or table.read_as is None:
        return notes
    noted = 0
    for place, at in islice(_rows_of(table, tasks), _LOOKED_AT):
        for note in _notes(rows, int(table.read_as[at]), int(table.sample[at])):
            notes.setdefault(str(place), []).append(note)
            noted += 1
            if noted == _NOTED:
                return notes
    return notes


def _rows_of(table: RolloutTable, tasks: Ints) -> Iterator[tuple[int, int]]:
    """Yield each row of some tasks, with the task's place among them."""
    for place, task in enumerate(tasks.tolist()):
        if task >= 0:
            for at in range(int(table.offsets[task]), int(table.offsets[task + 1])):
                yield place, at


def _notes(rows: RowScores, index: int, sample: int) -> Iterator[RowNote]:
    for failed in rows.failed.get(index, {}).values():
        reason = _cut(failed.reason)
        yield RowNote(sample=sample, reason=reason, kind=failed.kind, row=failed.row)
    for why in msgspec.json.decode(rows.reasons(index), type=list[_Explanation]):
        yield RowNote(sample=sample, reason=_cut(why.reason), scores=why.scores)


def _cut(text: str) -> str:
    return text if len(text) <= _REASON else text[:_REASON] + " …"


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

    `lower` names the scores of which less is better, `reward` the one that tasks are compared by.
    `chosen` gives the row of the files that each row stands for: an online run answers a row
    several times, and perhaps not all of them.
    """
    with np.errstate(all="ignore"):  # an overflowing sum is shown as no number
        picture = _Picture(table, reward, lower, compared)
        return Picture(picture.about(against), picture.tasks(rows, chosen))


class _Side(msgspec.Struct, frozen=True):
    """The run, or the baseline: its tasks, and those that only the other side has."""

    table: RolloutTable | None  # None for a baseline that there is not
    at: Ints  # each task's place in it; -1 if it is not there

    def means(self, score: str) -> Floats:
        """Return the mean score of each task, or NaN."""
        if self.table is None or score not in self.table.scores:
            return np.full(len(self.at), np.nan)
        return np.append(means(self.table, score), np.nan)[self.at]

    def values(self, score: str, order: Ints) -> list[Numbers | None]:
        """List the first values of some tasks; None for a task without values."""
        if self.table is None or score not in self.table.scores:
            return [None] * len(order)
        tasks = _ByTask(self.table, self.at[order])
        return tasks.split(numbers(self.table.scores[score][tasks.rows]))


class _Picture:
    """One agent's tasks on both sides: the run's, then those that only the baseline has."""

    def __init__(
        self,
        table: RolloutTable,
        reward: str,
        lower: frozenset[str],
        compared: Compared | None,
    ) -> None:
        n = len(table.tasks)
        baseline = None
        at: Ints = np.full(n, -1)
        gone: Ints = np.empty(0, np.int64)
        if compared is not None:
            baseline, places = compared
            at = np.arange(n) if places is None else places
            gone = np.flatnonzero(~np.isin(np.arange(len(baseline.tasks)), at))
        self.table = table
        self.reward = reward
        self.lower = lower
        self.was = _Side(baseline, np.concatenate([at, gone]))
        self.now = _Side(table, np.append(np.arange(n), np.full(len(gone), -1)))
        self.scores = sorted(table.scores, key=lambda name: (name != reward, name))[
            :_SCORES
        ]
        # each task's mean reward, and how much better it is than before; NaN where undefined
        self.before = self.was.means(reward)
        self.after = self.now.means(reward)
        sign = -1.0 if reward in lower else 1.0
        self.change: Floats = sign * (self.after - self.before) + 0.0
        self.worse = self.change < -_NOISE
        self.better = self.change > _NOISE

    def about(self, against: str) -> PictureAbout:
        """Summarize all tasks in a few kilobytes."""
        is_compared = self.was.table is not None
        return PictureAbout(
            reward=self.reward,
            tasks=len(self.change),
            lower=sorted(self.lower.intersection(self.scores)),
            compared=self._compared() if is_compared else None,
            parts=list(self._parts()) if is_compared else [],
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

    def _parts(self) -> Iterator[Part]:
        """Compare the tasks of each value of a field that is broken down, the worst first."""
        n = len(self.table.tasks)
        both = ~np.isnan(self.change[:n])
        for field, category in self.table.categories.items():
            if not 1 < len(category.labels) <= _LABELS:
                continue
            codes = category.codes[self.table.offsets[:-1]][both]
            count = partial(np.bincount, codes, minlength=len(category.labels))
            tasks = count()
            was = count(self.before[:n][both]) / tasks
            now = count(self.after[:n][both]) / tasks
            change = count(self.change[:n][both]) / tasks
            worse = count(self.worse[:n][both])
            better = count(self.better[:n][both])
            rows = [
                PartRow(
                    value=category.labels[at],
                    tasks=int(tasks[at]),
                    was=_number(float(was[at])),
                    now=_number(float(now[at])),
                    worse=int(worse[at]),
                    better=int(better[at]),
                )
                for at in np.argsort(change).tolist()
                if tasks[at]
            ]
            yield Part(field, rows)

    def tasks(self, rows: RowScores | None, chosen: Ints | None) -> TaskColumns:
        """Describe the tasks, in the order of `_order`."""
        attempts = min(_ATTEMPTS, int(self.table.counts.max(initial=1)))
        most = max(1, min(_MOST, _NUMBERS // (2 * (len(self.scores) + attempts))))
        order = self._order(rows)[:most]
        here = self.now.at[order]
        by_task = _ByTask(self.table, here)
        now = [self.now.means(name) for name in self.scores]
        was = [self.was.means(name) for name in self.scores]
        described = TaskColumns(
            of=len(self.change),
            ids=self._ids(order),
            scores=self.scores,
            now=[numbers(means[order]) for means in now],
            was=[
                None if np.isnan(means).all() else numbers(means[order])
                for means in was
            ],
            rewards_now=self.now.values(self.reward, order),
            rewards_was=self.was.values(self.reward, order),
            attempts=_ATTEMPTS,
            rows=by_task.split(_places(self.table, by_task.rows, chosen)),
            files=[
                TaskFile(source.path, source.row_is_line)
                for source in self.table.sources
            ],
            notes=_row_notes(self.table, rows, here),
            slices=list(self._slices(here)),
        )
        return _with_its_files(described)

    def _slices(self, tasks: Ints) -> Iterator[TaskSlices]:
        """Describe the fields that are broken down, for some tasks of the run."""
        first_rows = self.table.offsets[:-1]
        for field, category in self.table.categories.items():
            if not 1 < len(category.labels) <= _LABELS:
                continue
            codes = np.append(category.codes[first_rows], -1)
            yield TaskSlices(field, list(category.labels), codes[tasks].tolist())

    def _ids(self, order: Ints) -> list[str]:
        """Name tasks, those that only the baseline has as it names them."""
        ids = []
        gone = () if self.was.table is None else self.was.table.tasks
        pairs = zip(
            self.now.at[order].tolist(), self.was.at[order].tolist(), strict=True
        )
        for now, before in pairs:
            ids.append(str(self.table.tasks[now] if now >= 0 else gone[before]))
        return ids

    def _order(self, rows: RowScores | None) -> Ints:
        """Order the tasks: worse ones, those without a value, better ones, then the lowest."""
        change = self.change
        now = self.after
        kind = np.full(len(change), 4)
        kind[np.isnan(now)] = 1
        if rows is not None and rows.failed and self.table.read_as is not None:
            kind[self.table.task[np.isin(self.table.read_as, list(rows.failed))]] = 1
        if self.was.table is not None:
            kind[np.isnan(change) & ~np.isnan(now)] = 3
        kind[self.better] = 2
        kind[self.worse] = 0
        good = np.nan_to_num(-now if self.reward in self.lower else now)
        return np.lexsort((good, -np.nan_to_num(np.abs(change)), kind))


def first(tasks: TaskColumns, most: int) -> TaskColumns:
    """Keep the first tasks of a picture."""
    kept = structs.replace(
        tasks,
        ids=tasks.ids[:most],
        now=[column[:most] for column in tasks.now],
        was=[None if column is None else column[:most] for column in tasks.was],
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
    return structs.replace(
        tasks, rows=rows, files=[tasks.files[file] for file in places]
    )
