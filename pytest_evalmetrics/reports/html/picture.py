"""The task views of report.html: columns, histograms, rewards."""

from __future__ import annotations

import math
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.model.rollout_table import RolloutTable, RowScores

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    # the baseline, and each task's place in it: -1 for a new one, None if all are alike
    Compared = tuple[RolloutTable, Ints | None]

# -- numbers ---------------------------------------------------------------------------------

_WHOLE = 1e15  # above it a float is written with an exponent
_SAMPLE = 4096  # values


def numbers(values: Floats) -> list[float | None]:
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


def _pairs(was: Floats, now: Floats) -> list[list[float | None]]:
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
        [shown[at // len(levels)], shown[at % len(levels)], int(cells[at])]
        for at in np.flatnonzero(cells).tolist()
    ]


_BARS = 30
_FEW = 12  # distinct values that get a bar each


def histogram(now: Floats, was: Floats | None) -> dict[str, Any] | None:
    """Count a score's values in bars of equal width, or by value if there are few."""
    columns = [now, np.empty(0) if was is None else was]
    sides = [column[np.isfinite(column)] for column in columns]
    if not len(sides[0]):
        return None
    values = np.concatenate(sides)
    at, width = _levels(values, _FEW), 0.0
    if at is not None:
        counts = [
            np.bincount(at.searchsorted(side), minlength=len(at)) for side in sides
        ]
    else:
        low, high = float(values.min()), float(values.max())
        edges = np.linspace(low, high, _BARS + 1)
        if not (
            np.diff(edges) > 0
        ).all():  # values that differ by less than floats can split
            return None
        at, width = (edges[:-1] + edges[1:]) / 2, (high - low) / _BARS
        counts = [
            np.histogram(side, bins=_BARS, range=(low, high))[0] for side in sides
        ]
    return {
        "at": numbers(at),
        "width": _number(width),
        "now": counts[0].tolist(),
        "was": counts[1].tolist() if len(sides[1]) else None,
        "now_is": _statistics(sides[0], len(now)),
        "was_is": None if was is None else _statistics(sides[1], len(was)),
    }


def _statistics(values: Floats, count: int) -> dict[str, Any] | None:
    if not len(values):
        return None
    places = np.multiply((0.0, 0.1, 0.5, 0.9, 1.0), len(values) - 1)
    quantiles = np.interp(places, np.arange(len(values)), np.sort(values))
    shown = numbers(np.append(quantiles, values.mean()))
    named = zip(("min", "p10", "median", "p90", "max", "mean"), shown, strict=True)
    return {"count": len(values), "missing": count - len(values), **dict(named)}


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
        self._there = (
            tasks >= 0
        ).tolist()  # the span of -1 ends before it begins: it is empty
        self.rows: Ints = np.fromiter(chain.from_iterable(self._spans), np.int64)

    def split(self, values: Sequence[Any]) -> list[Any]:
        """Split the values of rows by task; None for an absent task."""
        left = iter(values)
        parts = [list(islice(left, len(span))) for span in self._spans]
        return [
            part if there else None
            for there, part in zip(self._there, parts, strict=True)
        ]


def _places(table: RolloutTable, rows: Ints, chosen: Ints | None) -> list[list[int]]:
    """Return the sample, the file and the row number of each row; empty without files."""
    if table.read_as is None:
        return []
    read = table.read_as[rows]
    if chosen is not None:
        read = chosen[read]
    ends = np.cumsum([source.rows for source in table.sources], dtype=np.int64)
    file = np.searchsorted(ends, read, side="right")
    columns = (table.sample[rows], file, read - np.append(0, ends)[file] + 1)
    places: list[list[int]] = np.stack(columns, axis=1).tolist()
    return places


_NOTED = 300  # rows whose reasons and errors a page holds
_LOOKED_AT = 20_000
_REASON = 1_000  # characters


def _row_notes(
    table: RolloutTable, rows: RowScores | None, tasks: Ints
) -> dict[str, list[dict[str, Any]]]:
    """Collect the messages of scorers on the rows of some tasks, by the task's place."""
    notes: dict[str, list[dict[str, Any]]] = {}
    if rows is None or table.read_as is None:
        return notes
    places = (
        (str(place), at)
        for place, task in enumerate(tasks.tolist())
        if task >= 0
        for at in range(int(table.offsets[task]), int(table.offsets[task + 1]))
    )
    noted = (
        (place, {"sample": int(table.sample[at]), **note})
        for place, at in islice(places, _LOOKED_AT)
        for note in _notes(rows, int(table.read_as[at]))
    )
    for place, note in islice(noted, _NOTED):
        notes.setdefault(place, []).append(note)
    return notes


def _notes(rows: RowScores, index: int) -> Iterator[dict[str, Any]]:
    for failed in rows.failed.get(index, {}).values():
        yield {"kind": failed.kind, "reason": _cut(failed.reason), "row": failed.row}
    for why in msgspec.json.decode(rows.reasons(index)):
        yield {"scores": why["scores"], "reason": _cut(why["reason"])}


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
) -> Mapping[str, Any]:
    """Describe one agent's tasks for the page.

    `lower` names the scores of which less is better, `reward` the one that tasks are compared by.
    `chosen` gives the row of the files that each row stands for: an online run answers a row
    several times, and perhaps not all of them.
    """
    with np.errstate(all="ignore"):  # an overflowing sum is shown as no number
        picture = _Picture(table, reward, lower, compared)
        return {
            "about": {**picture.about(), "against": against[:_AGAINST]},
            "tasks": picture.tasks(rows, chosen),
        }


class _Side(msgspec.Struct, frozen=True):
    """The run, or the baseline: its tasks, and those that only the other side has."""

    table: RolloutTable | None  # None for a baseline that there is not
    at: Ints  # each task's place in it; -1 if it is not there

    def means(self, score: str) -> Floats:
        """Return the mean score of each task, or NaN."""
        if self.table is None or score not in self.table.scores:
            return np.full(len(self.at), np.nan)
        return np.append(means(self.table, score), np.nan)[self.at]

    def values(self, score: str, order: Ints) -> list[Any]:
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
        baseline, at, gone = None, np.full(n, -1), np.empty(0, np.int64)
        if compared is not None:
            baseline, places = compared
            at = np.arange(n) if places is None else places
            gone = np.flatnonzero(~np.isin(np.arange(len(baseline.tasks)), at))
        self.table, self.reward, self.lower = table, reward, lower
        self.was = _Side(baseline, np.concatenate([at, gone]))
        self.now = _Side(table, np.append(np.arange(n), np.full(len(gone), -1)))
        self.scores = sorted(table.scores, key=lambda name: (name != reward, name))[
            :_SCORES
        ]
        # each task's mean reward, and how much better it is than before; NaN where undefined
        self.before, self.after = self.was.means(reward), self.now.means(reward)
        sign = -1.0 if reward in lower else 1.0
        self.change: Floats = sign * (self.after - self.before) + 0.0
        worse, better = self.change < -_NOISE, self.change > _NOISE
        self.kinds = {
            "worse": worse,
            "better": better,
            "same": np.abs(self.change) <= _NOISE,
        }

    def about(self) -> dict[str, Any]:
        """Summarize all tasks in a few kilobytes."""
        both = ~np.isnan(self.change)
        baseline = self.was.table
        compared = {
            **{kind: int(tasks.sum()) for kind, tasks in self.kinds.items()},
            "new": int((self.was.at < 0).sum()),
            "gone": int((self.now.at < 0).sum()),
            "pairs": _pairs(self.before[both], self.after[both]),
        }
        distributions = []
        for name in self.scores:
            before = None if baseline is None else baseline.scores.get(name)
            if bars := histogram(self.table.scores[name], before):
                distributions.append({"score": name, **bars})
        return {
            "reward": self.reward,
            "tasks": len(self.change),
            "lower": sorted(self.lower.intersection(self.scores)),
            "compared": None if baseline is None else compared,
            "parts": [] if baseline is None else list(self._parts()),
            "distributions": distributions,
        }

    def _parts(self) -> Iterator[dict[str, Any]]:
        """Compare the tasks of each value of a field that is broken down, the worst first."""
        n = len(self.table.tasks)
        both = ~np.isnan(self.change[:n])
        columns = {
            "was": self.before,
            "now": self.after,
            "change": self.change,
            **self.kinds,
        }
        for field, category in self.table.categories.items():
            if not 1 < len(category.labels) <= _LABELS:
                continue
            codes = category.codes[self.table.offsets[:-1]][both]
            count = partial(np.bincount, codes, minlength=len(category.labels))
            tasks = count()
            sums = {name: count(column[:n][both]) for name, column in columns.items()}
            averages = {name: sums[name] / tasks for name in ("was", "now", "change")}
            rows = [
                {
                    "value": category.labels[at],
                    "tasks": int(tasks[at]),
                    **{
                        side: _number(float(averages[side][at]))
                        for side in ("was", "now")
                    },
                    **{kind: int(sums[kind][at]) for kind in ("worse", "better")},
                }
                for at in np.argsort(averages["change"]).tolist()
                if tasks[at]
            ]
            yield {"field": field, "values": rows}

    def tasks(self, rows: RowScores | None, chosen: Ints | None) -> dict[str, Any]:
        """Describe the tasks, in the order of `_order`."""
        attempts = min(_ATTEMPTS, int(self.table.counts.max(initial=1)))
        most = max(1, min(_MOST, _NUMBERS // (2 * (len(self.scores) + attempts))))
        order = self._order(rows)[:most]
        here = self.now.at[order]
        by_task = _ByTask(self.table, here)
        gone = () if self.was.table is None else self.was.table.tasks
        places = zip(here.tolist(), self.was.at[order].tolist(), strict=True)
        was, now = (
            [side.means(name) for name in self.scores] for side in (self.was, self.now)
        )
        described = {
            "of": len(self.change),
            "ids": [
                str(self.table.tasks[i] if i >= 0 else gone[before])
                for i, before in places
            ],
            "scores": self.scores,
            "now": [numbers(side[order]) for side in now],
            "was": [
                None if np.isnan(side).all() else numbers(side[order]) for side in was
            ],
            "rewards_now": self.now.values(self.reward, order),
            "rewards_was": self.was.values(self.reward, order),
            "attempts": _ATTEMPTS,
            "rows": by_task.split(_places(self.table, by_task.rows, chosen)),
            "files": [
                {"path": s.path, "lines": s.row_is_line} for s in self.table.sources
            ],
            "notes": _row_notes(self.table, rows, here),
        }
        return _with_its_files(described)

    def _order(self, rows: RowScores | None) -> Ints:
        """Order the tasks: worse ones, those without a value, better ones, then the lowest."""
        change, now = self.change, self.after
        kind = np.full(len(change), 4)
        kind[np.isnan(now)] = 1
        if rows is not None and rows.failed and self.table.read_as is not None:
            kind[self.table.task[np.isin(self.table.read_as, list(rows.failed))]] = 1
        if self.was.table is not None:
            kind[np.isnan(change) & ~np.isnan(now)] = 3
        kind[self.kinds["better"]] = 2
        kind[self.kinds["worse"]] = 0
        good = np.nan_to_num(-now if self.reward in self.lower else now)
        return np.lexsort((good, -np.nan_to_num(np.abs(change)), kind))


def first(tasks: Mapping[str, Any], most: int) -> dict[str, Any]:
    """Keep the first tasks of a picture."""
    columns, sides = ("ids", "rewards_now", "rewards_was", "rows"), ("now", "was")
    return _with_its_files(
        {
            **tasks,
            **{name: tasks[name][:most] for name in columns},
            **{
                side: [column and column[:most] for column in tasks[side]]
                for side in sides
            },
            "notes": {
                at: notes for at, notes in tasks["notes"].items() if int(at) < most
            },
        }
    )


def _with_its_files(tasks: dict[str, Any]) -> dict[str, Any]:
    """Drop the files of dropped tasks, if there are many files."""
    if len(tasks["files"]) <= _FILES:
        return tasks
    places: dict[int, int] = {}
    rows = [
        under
        and [
            [sample, places.setdefault(file, len(places)), at]
            for sample, file, at in under
        ]
        for under in tasks["rows"]
    ]
    return {**tasks, "rows": rows, "files": [tasks["files"][file] for file in places]}
