"""What report.html shows of a benchmark's tasks: columns, histograms, rewards."""

from __future__ import annotations

import math
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable, RowScores, SourceFile

    _Floats = NDArray[np.float64]
    _Ints = NDArray[np.int64]
    _Bools = NDArray[np.bool_]
    _Column = NDArray[np.float64]

__all__ = [
    "ByTask",
    "Picture",
    "RowPlaces",
    "coded",
    "first",
    "histogram",
    "means",
    "numbers",
    "pairs",
    "picture_of",
    "told_of_rows",
]

_NOTED = 300  # rows whose reasons and errors a page holds
_LOOKED_AT = 20_000
_CUT = 1_000  # characters of a reason


class RowPlaces:
    """Finds a row of all files in its own file.

    `chosen` gives the row of the files that each row which was read stands for: an online run
    answers a row several times, and perhaps not all of them.
    """

    def __init__(
        self, sources: Sequence[SourceFile], chosen: NDArray[np.int64] | None = None
    ) -> None:
        self._chosen = chosen
        # the files: ``path``, and ``lines``: whether the number of a row is that of its
        # line
        self.files = [{"path": s.path, "lines": s.row_is_line} for s in sources]
        self._ends = np.cumsum([s.rows for s in sources], dtype=np.int64)

    def of(self, rows: NDArray[np.int64]) -> tuple[list[int], list[int]]:
        """Return each one's file, by its index, and its number there, from 1."""
        file, number = self._of(rows)
        return file.tolist(), number.tolist()

    def _of(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if len(self._ends) == 1:
            return np.zeros(len(rows), np.int64), rows + 1
        file = np.searchsorted(self._ends, rows, side="right")
        starts = np.append(0, self._ends)[file]
        return file, rows - starts + 1

    def of_table(self, table: RolloutTable, rows: NDArray[np.int64]) -> list[list[int]]:
        """Return the sample, the file and the number of a table's rows.

        Nothing of rows that come from no file.
        """
        if table.read_as is None:
            return []
        read = table.read_as[rows]
        file, number = self._of(read if self._chosen is None else self._chosen[read])
        found = np.empty((len(rows), 3), np.int64)
        for at, column in enumerate((table.sample[rows], file, number)):
            found[:, at] = column
        listed: list[list[int]] = found.tolist()
        return listed


def told_of_rows(
    table: RolloutTable, rows: RowScores, order: NDArray[np.int64]
) -> dict[str, list[dict[str, Any]]]:
    """Take what scorers said of the rows of some tasks."""
    found: dict[str, list[dict[str, Any]]] = {}
    if table.read_as is None:
        return found
    offsets, n = table.offsets, len(table.tasks)
    noted = looked_at = 0
    for position, task in enumerate(order.tolist()):
        if noted >= _NOTED or looked_at >= _LOOKED_AT:
            break
        if task >= n:
            continue
        told: list[dict[str, Any]] = []
        for at in range(int(offsets[task]), int(offsets[task + 1])):
            looked_at += 1
            sample = int(table.sample[at])
            told += [{"sample": sample, **note} for note in _notes(rows, int(table.read_as[at]))]
        if told:
            found[str(position)] = told[: _NOTED - noted]
            noted += len(told)
    return found


def _notes(rows: RowScores, index: int) -> Iterator[dict[str, Any]]:
    for failed in rows.failed.get(index, ()):
        yield {"kind": failed.kind, "reason": _cut(failed.reason), "row": failed.where}
    for why in msgspec.json.decode(rows.reasons(index)):
        yield {"scores": why["scores"], "reason": _cut(why["reason"])}


def _cut(text: str) -> str:
    return text if len(text) <= _CUT else text[:_CUT] + " …"


_STEPS = 24  # per axis, where tasks' values are too many to show each
_WHOLE = 1e15  # above it a float is written with an exponent
_LOOKED_AT_COLUMN = 4096
_REPEATED = 32  # values
_DIGITS = 6
_EXACT = 22  # powers of ten up to this one are exact as floats
_NEAR = 1e-6  # of a half: many times what multiplying may be off by


class ByTask:
    """The rows of some tasks, one list per task."""

    def __init__(self, table: RolloutTable, tasks: _Ints, most: int) -> None:
        there = np.maximum(tasks, 0)
        starts = table.offsets[there]
        counts = np.minimum(table.offsets[there + 1] - starts, most) if len(tasks) else starts
        counts = np.where(tasks < 0, 0, counts)
        ends = counts.cumsum()
        shift = (starts - (ends - counts)).repeat(counts)
        self.rows: _Ints = np.arange(len(shift)) + shift
        self._bounds = [0, *ends.tolist()]
        self._there = (tasks >= 0).tolist()
        same = len(counts) > 0 and bool((counts == counts[0]).all()) and all(self._there)
        self._each = int(counts[0]) if same else 0  # rows of every task; 0 where they differ

    def split(self, flat: Sequence[Any]) -> list[Any]:
        """Split what there is of each row; None for a task that is not there."""
        if self._each and len(flat) == self._bounds[-1]:
            return list(map(list, zip(*[iter(flat)] * self._each, strict=True)))
        return [
            list(flat[a:b]) if there else None
            for there, (a, b) in zip(self._there, pairwise(self._bounds), strict=True)
        ]


def means(table: RolloutTable, score: str) -> _Floats:
    """Return the mean of each task's finite values, shape (tasks,); NaN where it has none."""
    column = table.scores[score]
    known = np.isfinite(column)
    n = len(table.tasks)
    values = column if known.all() else np.where(known, column, 0.0)
    sums = np.bincount(table.task, weights=values, minlength=n)
    counts = np.bincount(table.task[known], minlength=n)
    found: _Floats = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return found


def coded(values: _Floats, most: int) -> tuple[_Floats, _Ints] | None:
    """Find the few values that there are, and which of them each one is."""
    levels = np.unique(values[:_LOOKED_AT_COLUMN])
    if len(values) > _LOOKED_AT_COLUMN and len(levels) <= most:
        # of a million values a sort takes longer than this
        codes = np.searchsorted(levels, values)
        others = levels[np.minimum(codes, len(levels) - 1)] != values
        if not others.any():
            return levels, codes
        levels = np.unique(np.append(levels, values[others]))
    if len(levels) > most or not len(values):
        return None
    return levels, levels.searchsorted(values)


def pairs(was: _Floats, now: _Floats) -> list[list[float | None]]:
    """Count the tasks by (before, after); on a grid where the values are many."""
    n = len(was)
    if not n:
        return []
    both = np.round(np.concatenate([was, now]), 9)
    found = coded(both, _STEPS + 1)
    if found is None:
        low, high = float(both.min()), float(both.max())
        if not np.isfinite(high - low):
            return []  # too far apart for floating-point numbers
        codes = np.round((both - low) / (high - low) * _STEPS).astype(np.int64)
        levels = np.linspace(low, high, _STEPS + 1)
    else:
        levels, codes = found
    width = len(levels)
    counts = np.bincount(codes[:n] * width + codes[n:], minlength=width * width)
    shown = numbers(levels)
    return [
        [shown[at // width], shown[at % width], int(counts[at])]
        for at in np.flatnonzero(counts).tolist()
    ]


def numbers(values: _Floats) -> list[float | None]:
    """Write numbers in six digits, whole ones as such; None where one is not finite."""
    finite = np.isfinite(values)
    if finite.all() and (np.abs(values) < _WHOLE).all() and (values == np.trunc(values)).all():
        whole: list[float | None] = values.astype(np.int64).tolist()
        return whole
    if len(values) <= 2 * _REPEATED:
        return [_number(x) for x in values.tolist()]
    found = coded(values, _REPEATED) if finite.all() else None
    if found is not None:  # such as the means of four rollouts: each is written once
        written = numbers(found[0])
        return [written[code] for code in found[1].tolist()]
    rounded, sure = _in_six_digits(values)
    listed: list[float | None] = rounded.tolist()
    for at in np.flatnonzero(~sure).tolist():
        listed[at] = _number(float(values[at]))
    return listed


def _number(x: float) -> float | None:
    if not math.isfinite(x):
        return None
    return int(x) if x == int(x) and abs(x) < _WHOLE else float(f"{x:.{_DIGITS}g}")


def _in_six_digits(values: _Floats) -> tuple[_Floats, _Bools]:
    """Round as text does, and tell where that is sure: not of halves, whole or extreme numbers.

    A whole number of at most 2**53 times or through an exact power of ten is the float next
    to the decimal number: what reading the text gives.
    """
    with np.errstate(all="ignore"):
        places = _DIGITS - 1 - np.floor(np.log10(np.abs(values)))
        power = 10.0 ** np.minimum(np.abs(places), _EXACT)
        scaled = np.where(places >= 0, values * power, values / power)
        digits = np.rint(scaled)
        rounded = np.where(places >= 0, digits / power, digits * power)
        size, half = np.abs(digits), np.abs(np.abs(scaled - np.trunc(scaled)) - 0.5)
        sure = (size >= 10 ** (_DIGITS - 1)) & (size <= 10**_DIGITS) & (half > _NEAR)
    return rounded, sure & (np.abs(places) <= _EXACT) & (values != np.trunc(values))


_BARS = 30
_FEW = 12  # distinct values that get a bar each


def histogram(now: _Column, was: _Column | None) -> dict[str, Any] | None:
    """Count a score's values in bars of equal width, or by value where they are few."""
    sides = [_finite(now), _finite(np.empty(0) if was is None else was)]
    if not len(sides[0]):
        return None
    values = [side for side in sides if len(side)]
    found = coded(values[0] if len(values) == 1 else np.concatenate(values), _FEW)
    if found is not None:
        at, codes = found
        width, n, start = 0.0, len(at), len(sides[0])
        counts = [np.bincount(codes[:start], minlength=n), np.bincount(codes[start:], minlength=n)]
    else:
        low, high = min(float(v.min()) for v in values), max(float(v.max()) for v in values)
        edges = np.linspace(low, high, _BARS + 1)
        if not (np.diff(edges) > 0).all():  # values that differ by less than floats can split
            return None
        at, width = (edges[:-1] + edges[1:]) / 2, (high - low) / _BARS
        counts = [np.histogram(side, bins=_BARS, range=(low, high))[0] for side in sides]
    return {
        "at": [_short(x) for x in at.tolist()],
        "width": _short(width),
        "now": counts[0].tolist(),
        "was": counts[1].tolist() if len(sides[1]) else None,
        "now_is": _summed_up(sides[0], len(now)),
        "was_is": None if was is None else _summed_up(sides[1], len(was)),
    }


def _finite(column: _Column) -> _Column:
    known = np.isfinite(column)
    return column if known.all() else column[known]


def _summed_up(found: _Column, of: int) -> dict[str, Any] | None:
    if not len(found):
        return None
    low, median, high = _quantiles(np.sort(found), (0.1, 0.5, 0.9))
    return {
        "count": len(found),
        "missing": of - len(found),
        "mean": _short(float(found.mean())),
        "p10": _short(low),
        "median": _short(median),
        "p90": _short(high),
        "min": _short(float(found.min())),
        "max": _short(float(found.max())),
    }


def _quantiles(ordered: _Column, shares: tuple[float, ...]) -> list[float]:
    """As `numpy.percentile`, which takes longer for few values than all the rest of a histogram."""
    at = np.multiply(shares, len(ordered) - 1)
    below = at.astype(np.int64)
    low, high = ordered[below], ordered[np.minimum(below + 1, len(ordered) - 1)]
    found: list[float] = (low + (high - low) * (at - below)).tolist()
    return found


def _short(value: float) -> float:
    return float(f"{value:.6g}")


_SCORES = 12  # score columns that are shown
_MOST = 10_000  # tasks
_NUMBERS = 250_000  # means and rewards that they may have together
_ATTEMPTS = 16  # rewards of a task
_NOISE = 1e-12
_LABELS = 50  # values of a field
_FILES = 1_000  # that are listed whether or not a task that is shown has a row of them
_AGAINST = 500  # characters of the baseline's files


class Picture(msgspec.Struct, frozen=True, dict=True):
    """One agent's tasks on both sides."""

    table: RolloutTable  # the run's rollouts
    baseline: RolloutTable | None  # the baseline's; None where there is none
    # each task's place in the baseline, -1 for a new one; None where all are alike
    places: _Ints | None
    lower: frozenset[str]  # the scores of which less is better
    reward: str  # the score that tasks are compared by
    rows: RowScores | None = None  # what scorers say of rows
    chosen: _Ints | None = None  # see `RowPlaces`

    def about(self) -> dict[str, Any]:
        """Sum all tasks up: a few kilobytes, however many there are."""
        was, now = self._of(self.reward)
        compared = None
        if self.baseline is not None:
            change = self._change
            both = ~np.isnan(change)
            compared = {
                "worse": int((change < -_NOISE).sum()),
                "better": int((change > _NOISE).sum()),
                "same": int((np.abs(change) <= _NOISE).sum()),
                "new": int((self._at < 0).sum()),
                "gone": len(self._gone),
                "pairs": pairs(was[both], now[both]),
            }
        return {
            "reward": self.reward,
            "tasks": len(self._at) + len(self._gone),
            "lower": sorted(self.lower.intersection(self._scores)),
            "compared": compared,
            "parts": [] if self.baseline is None else list(self._parts()),
            "distributions": [
                {"score": name, **found}
                for name in self._scores
                if (found := self._distribution(name)) is not None
            ],
        }

    def _parts(self) -> Iterator[dict[str, Any]]:
        """Compare the tasks of each value of a field that is broken down, the worst first."""
        n = len(self.table.tasks)
        was, now = (side[:n] for side in self._of(self.reward))
        both = ~np.isnan(self._change[:n])
        for field, category in self.table.categories.items():
            if not 1 < len(category.labels) <= _LABELS:
                continue
            codes = category.codes[self.table.offsets[:-1]][both]
            sums = partial(np.bincount, codes, minlength=len(category.labels))
            change, count = self._change[:n][both], sums()
            with np.errstate(invalid="ignore"):
                means = [sums(side[both]) / count for side in (was, now)]
                order = np.argsort(sums(change) / count)
            worse, better = sums(change < -_NOISE), sums(change > _NOISE)
            rows = [
                {
                    "value": category.labels[at],
                    "tasks": int(count[at]),
                    "was": _short(float(means[0][at])),
                    "now": _short(float(means[1][at])),
                    "worse": int(worse[at]),
                    "better": int(better[at]),
                }
                for at in order.tolist()
                if count[at]
            ]
            yield {"field": field, "values": rows}

    def tasks(self, most: int = _MOST) -> dict[str, Any]:
        """Describe the tasks, those that tell the most first."""
        each = 2 * (len(self._scores) + min(_ATTEMPTS, self._attempts))
        order = self._telling()[: max(1, min(most, _NUMBERS // each))]
        ids, gone = self.table.tasks, () if self.baseline is None else self.baseline.tasks
        n = len(ids)
        names = [ids[i] if i < n else gone[int(self._gone[i - n])] for i in order.tolist()]
        here = ByTask(self.table, np.where(order < n, order, -1), _ATTEMPTS)
        there = RowPlaces(self.table.sources, self.chosen)
        found = {
            "of": n + len(self._gone),
            "ids": [str(name) for name in names],
            "scores": list(self._scores),
            "now": [numbers(self._of(name)[1][order]) for name in self._scores],
            "was": [
                None if np.isnan(was := self._of(name)[0]).all() else numbers(was[order])
                for name in self._scores
            ],
            "rewards_now": self._rewards(self.table, here),
            "rewards_was": self._rewards_before(order),
            "attempts": _ATTEMPTS,
            "rows": here.split(there.of_table(self.table, here.rows)),
            "files": there.files,
            "notes": {} if self.rows is None else told_of_rows(self.table, self.rows, order),
        }
        return _with_its_files(found)

    @cached_property
    def _scores(self) -> tuple[str, ...]:
        found = sorted(self.table.scores, key=lambda name: (name != self.reward, name))
        return tuple(found[:_SCORES])

    @cached_property
    def _at(self) -> _Ints:
        """Each task's place in the baseline."""
        if self.baseline is None:
            return np.full(len(self.table.tasks), -1)
        return np.arange(len(self.table.tasks)) if self.places is None else self.places

    @cached_property
    def _gone(self) -> _Ints:
        """The baseline's tasks that the run does not have; they are counted behind the others."""
        if self.baseline is None:
            return np.empty(0, np.int64)
        left = np.ones(len(self.baseline.tasks), bool)
        left[self._at[self._at >= 0]] = False
        return np.flatnonzero(left)

    def _of(self, score: str) -> tuple[_Floats, _Floats]:
        """Return a score's mean of each task, of the baseline and of the run."""
        if score not in self._means:
            n = len(self._at)
            was = np.full(n + len(self._gone), np.nan)
            now = was.copy()
            if score in self.table.scores:
                now[:n] = means(self.table, score)
            if self.baseline is not None and score in self.baseline.scores:
                before = means(self.baseline, score)
                held = self._at >= 0
                was[:n][held] = before[self._at[held]]
                was[n:] = before[self._gone]
            self._means[score] = was, now
        return self._means[score]

    @cached_property
    def _means(self) -> dict[str, tuple[_Floats, _Floats]]:
        return {}

    @cached_property
    def _change(self) -> _Floats:
        was, now = self._of(self.reward)
        return (was - now if self.reward in self.lower else now - was) + 0.0

    def _telling(self) -> _Ints:
        """Order the tasks: what got worse, what has no value, what got better, the lowest."""
        change, (_, now) = self._change, self._of(self.reward)
        kind = np.full(len(change), 4)
        kind[np.isnan(now)] = 1
        kind[self._failed] = 1
        kind[np.isnan(change) & ~np.isnan(now)] = 3
        kind[change > _NOISE] = 2
        kind[change < -_NOISE] = 0
        if self.baseline is None:
            kind = np.where(kind == 3, 4, kind)  # noqa: PLR2004 - none is new then
        good = -now if self.reward in self.lower else now
        sizes = np.where(np.isnan(change), 0.0, np.abs(change))
        order: _Ints = np.lexsort((np.where(np.isnan(good), 0.0, good), -sizes, kind))
        return order

    @cached_property
    def _failed(self) -> _Ints:
        """The tasks with a row that a scorer could not score."""
        if self.rows is None or not self.rows.failed or self.table.read_as is None:
            return np.empty(0, np.int64)
        failed = np.fromiter(self.rows.failed, np.int64, len(self.rows.failed))
        return np.unique(self.table.task[np.isin(self.table.read_as, failed)])

    @cached_property
    def _attempts(self) -> int:
        return int(self.table.counts.max(initial=1))

    def _rewards(self, table: RolloutTable, tasks: ByTask) -> list[Any]:
        column = table.scores.get(self.reward)
        if column is None:
            return [None for _ in tasks.split([])]
        return tasks.split(numbers(column[tasks.rows]))

    def _rewards_before(self, order: _Ints) -> list[Any]:
        if self.baseline is None:
            return [None] * len(order)
        places = np.concatenate([self._at, self._gone])[order]
        return self._rewards(self.baseline, ByTask(self.baseline, places, _ATTEMPTS))

    def _distribution(self, name: str) -> dict[str, Any] | None:
        was = None if self.baseline is None else self.baseline.scores.get(name)
        return histogram(self.table.scores[name], was)


def picture_of(
    table: RolloutTable,
    *,
    reward: str,
    lower: frozenset[str] = frozenset(),
    compared: tuple[RolloutTable, NDArray[np.int64] | None] | None = None,
    rows: RowScores | None = None,
    chosen: NDArray[np.int64] | None = None,
    against: str = "",
) -> Mapping[str, Any]:
    """Describe one agent's tasks for the page."""
    baseline, places = (None, None) if compared is None else compared
    picture = Picture(table, baseline, places, lower, reward, rows, chosen)
    with np.errstate(all="ignore"):  # what is too large for a sum is shown as no number
        return {
            "about": {**picture.about(), "against": against[:_AGAINST]},
            "tasks": picture.tasks(),
        }


def first(tasks: Mapping[str, Any], most: int) -> dict[str, Any]:
    """Keep the first tasks of what `Picture.tasks` gives."""
    columns = ("ids", "rewards_now", "rewards_was", "rows")
    return _with_its_files(
        {
            **tasks,
            **{name: tasks[name][:most] for name in columns},
            "now": [column[:most] for column in tasks["now"]],
            "was": [None if column is None else column[:most] for column in tasks["was"]],
            "notes": {at: told for at, told in tasks["notes"].items() if int(at) < most},
        }
    )


def _with_its_files(tasks: dict[str, Any]) -> dict[str, Any]:
    """Keep of many files those of the tasks that are there."""
    if len(tasks["files"]) <= _FILES:
        return tasks
    places: dict[int, int] = {}
    rows = [
        under and [[sample, places.setdefault(file, len(places)), at] for sample, file, at in under]
        for under in tasks["rows"]
    ]
    return {**tasks, "rows": rows, "files": [tasks["files"][file] for file in places]}
