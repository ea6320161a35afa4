"""Which rows are read: ``where:``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.model.rollout_notes import FilteredRows
from pytest_evalmetrics.rollouts.derived_scores import value_text
from pytest_evalmetrics.rollouts.json_values import lookup
from pytest_evalmetrics.rollouts.row_paths import LISTED, no_path, shape_error
from pytest_evalmetrics.rollouts.source import short
from pytest_evalmetrics.rollouts.stated_totals import failures_stated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.rollouts.file_documents import PlacedRow
    from pytest_evalmetrics.spec.sources import ShapeSpec


class RowFilter:
    """One path of ``where:``, and what it did to the rows of all files."""

    def __init__(
        self,
        path: str,
        accepted: frozenset[str],
        key: tuple[str, ...],
        task: Sequence[str] = (),
    ) -> None:
        self._path = path
        self._task = task  # the paths of a task's id
        self._kept_tasks: set[str] = set()
        self._other_tasks: dict[str, None] = {}  # of the rows that are left out
        self._accepted = accepted
        self._key = key
        self._first: list[PlacedRow] = []  # some rows, for messages
        self._met: dict[str, None] = {}  # some values
        self._files: dict[str, None] = {}
        self._count = 0
        self._kept = 0

    def kept(self, rows: list[PlacedRow]) -> list[PlacedRow]:
        """Leave out the rows that have another value."""
        kept = []
        for row in rows:
            text = value_text(lookup(row.value, self._path))
            if len(self._met) < LISTED:
                self._met.setdefault(text)
            ids = [value_text(lookup(row.value, path)) for path in self._task]
            task = " / ".join(ids)
            if text in self._accepted:
                kept.append(row)
                self._kept_tasks.add(task)
            else:
                self._other_tasks.setdefault(task)
        for row in rows:
            stated = failures_stated(row.value)
            if stated is not None and stated != len(kept):
                message = (
                    f"this line counts {stated} failures, and {len(kept)} are listed"
                )
                hint = "was the evaluation or the copy interrupted? evaluate again"
                raise shape_error(row.at, (*self._key, self._path), message, hint)
        self._first += rows[: LISTED - len(self._first)]
        self._files |= dict.fromkeys(row.file for row in rows[:1])
        self._count += len(rows)
        self._kept += len(kept)
        return kept

    def finish(self) -> list[Note]:
        """Refuse a filter that no row passes, and note how many do not."""
        if self._kept == self._count:
            return []
        file = next(iter(self._files))
        if set(self._met) == {"null"} and not self._kept:
            raise no_path(self._path, self._first, file, *self._key)
        wanted = " or ".join(sorted(self._accepted))
        if not self._kept:
            met = ", ".join(map(short, self._met))
            message = f"no row has {wanted} at {self._path!r}; there is {met}"
            raise shape_error(file, (*self._key, self._path), message)
        lost: list[str] = []
        if self._task:
            lost = [task for task in self._other_tasks if task not in self._kept_tasks]
        note = FilteredRows(
            file=file if len(self._files) == 1 else "",
            path=self._path,
            accepted=tuple(sorted(self._accepted)),
            rows=self._count,
            left_out=self._count - self._kept,
            lost_tasks=len(lost),
            lost_example=short(lost[0]) if lost else "",
        )
        return [note]


def row_filters(
    spec: ShapeSpec, *above: str, task: Sequence[str] = ()
) -> list[RowFilter]:
    """Make the filters of ``where:``."""
    return [
        RowFilter(path, frozenset(map(value_text, accepted)), (*above, "where"), task)
        for path, accepted in spec.where.items()
    ]
