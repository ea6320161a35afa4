"""The tasks of one agent before and after: what the page shows of them, bounded in size."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from pytest_evalmetrics.masks import all_of
from pytest_evalmetrics.reports.html.columns import ByTask, means, numbers, pairs
from pytest_evalmetrics.reports.html.histograms import histogram
from pytest_evalmetrics.reports.html.rows import RowPlaces, told_of_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable, RowScores

    _Floats = NDArray[np.float64]
    _Ints = NDArray[np.int64]

__all__ = ["Picture", "first", "picture_of"]

_SCORES = 12  # score columns that are shown
_MOST = 10_000  # tasks
_NUMBERS = 250_000  # means and rewards that they may have together
_ATTEMPTS = 16  # rewards of a task
_NOISE = 1e-12
_CUT = 500  # characters of the baseline's files


class Picture(msgspec.Struct, frozen=True, dict=True):
    """One agent's tasks on both sides."""

    table: RolloutTable  # the run's rollouts
    baseline: RolloutTable | None  # the baseline's; None where there is none
    # each task's place in the baseline, -1 for a new one; None where all are alike
    places: _Ints | None
    lower: frozenset[str]  # the scores of which less is better
    reward: str  # the score that tasks are compared by
    rows: RowScores | None = None  # what scorers say of rows

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
            "distributions": [
                {"score": name, **found}
                for name in self._scores
                if (found := self._distribution(name)) is not None
            ],
        }

    def tasks(self, most: int = _MOST) -> dict[str, Any]:
        """Describe the tasks, those that tell the most first."""
        each = 2 * (len(self._scores) + min(_ATTEMPTS, self._attempts))
        order = self._telling()[: max(1, min(most, _NUMBERS // each))]
        ids, gone = self.table.tasks, () if self.baseline is None else self.baseline.tasks
        n = len(ids)
        names = [ids[i] if i < n else gone[int(self._gone[i - n])] for i in order.tolist()]
        here = ByTask(self.table, np.where(order < n, order, -1), _ATTEMPTS)
        there = RowPlaces(self.table.sources)
        return {
            "of": n + len(self._gone),
            "ids": [str(name) for name in names],
            "scores": list(self._scores),
            "now": [numbers(self._of(name)[1][order]) for name in self._scores],
            "was": [
                None if all_of(np.isnan(was := self._of(name)[0])) else numbers(was[order])
                for name in self._scores
            ],
            "rewards_now": self._rewards(self.table, here),
            "rewards_was": self._rewards_before(order),
            "attempts": _ATTEMPTS,
            "rows": here.split(there.of_table(self.table, here.rows)),
            "files": there.files,
            "notes": {} if self.rows is None else told_of_rows(self.table, self.rows, order),
        }

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
    against: str = "",
) -> Mapping[str, Any]:
    """Describe one agent's tasks for the page."""
    baseline, places = (None, None) if compared is None else compared
    picture = Picture(table, baseline, places, lower, reward, rows)
    with np.errstate(all="ignore"):  # what is too large for a sum is shown as no number
        return {"about": {**picture.about(), "against": against[:_CUT]}, "tasks": picture.tasks()}


def first(tasks: Mapping[str, Any], most: int) -> dict[str, Any]:
    """Keep the first tasks of what `Picture.tasks` gives."""
    columns = ("ids", "rewards_now", "rewards_was", "rows")
    return {
        **tasks,
        **{name: tasks[name][:most] for name in columns},
        "now": [column[:most] for column in tasks["now"]],
        "was": [None if column is None else column[:most] for column in tasks["was"]],
        "notes": {at: told for at, told in tasks["notes"].items() if int(at) < most},
    }
