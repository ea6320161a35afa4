"""The loader of files that are not one row per line: `rows`, `where`, `map`, `join` ...

A file is read whole; each step turns rows into rows, and the last ones are read as JSON Lines are.
"""

from __future__ import annotations

import json
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec import structs

from pytest_evalmetrics.errors import ShapeError
from pytest_evalmetrics.rollouts.columns import Columns
from pytest_evalmetrics.rollouts.derived_scores import derived_scores
from pytest_evalmetrics.rollouts.file_documents import (
    TABLES,
    PlacedRow,
    documents,
    viewed,
)
from pytest_evalmetrics.rollouts.joined_rows import Partners
from pytest_evalmetrics.rollouts.json_values import lookup
from pytest_evalmetrics.rollouts.pages import Pages
from pytest_evalmetrics.rollouts.row_filters import row_filters
from pytest_evalmetrics.rollouts.row_paths import no_path
from pytest_evalmetrics.rollouts.row_values import Values
from pytest_evalmetrics.rollouts.shaped_rows import RowFinder
from pytest_evalmetrics.rollouts.source import Source, SourceRow, task_paths
from pytest_evalmetrics.rollouts.stated_means import (
    is_unfinished_log,
    other_mean_stated,
)
from pytest_evalmetrics.rollouts.unjudged_lists import UnjudgedTasks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pytest_evalmetrics.json_types import JsonObject
    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.rollouts.loader import Chunk, Request
    from pytest_evalmetrics.spec.sources import RolloutsSpec

_BATCH: Final = 512  # rows of a chunk


class Shape:
    """The loader of one benchmark's shaped files."""

    def __init__(self, spec: RolloutsSpec, base: Path, request: Request) -> None:
        self._spec = spec
        self._task = task_paths(request.fields)
        self._derived = derived_scores(spec)
        self._pages = Pages()
        self._filters = row_filters(spec, task=self._task)
        paths = {score.name: score.paths[0] for score in self._derived}
        self._columns = Columns(request, derived_from=paths)
        self._partners = Partners(spec.join, base) if spec.join is not None else None
        self.was_used = False  # whether it has opened a file
        self._met: set[str] = set()  # the derived scores of which a row has a value

    def open(self, source: Source) -> Source:
        """Choose how the file's places are counted."""
        self.was_used = True
        spec = self._spec
        if spec.format not in (None, "json", "jsonl", *TABLES):
            message = f"the rows of format: {spec.format} have a shape of their own; rows:, map: "
            message += "and the like are for JSON, CSV and Parquet"
            raise ShapeError(message, key=("format",))
        return viewed(source, spec)

    def read(self, source: Source) -> Iterator[Chunk]:
        """Read one file."""
        notes: list[Note] = []
        rows = self._rows(source, notes)
        while batch := list(islice(rows, _BATCH)):
            parsed = {}
            for index, placed in enumerate(batch):
                line = placed.place if source.unit == "line" else 0
                row = SourceRow(placed.place, line, memoryview(b""))
                parsed[index], _ = self._columns.learn(placed.value, row, source)
            places = np.array([row.place for row in batch], np.int64)
            chunk = self._columns.chunk(
                Values(places, {}, lambda _: None, parsed=parsed), source
            )
            yield structs.replace(chunk, notes=tuple(notes), ruler=self._ruler())
            notes.clear()
        self._columns.must_be_clear(source)

    def rows(self, source: Source) -> Iterator[tuple[int, JsonObject]]:
        """Yield the rows, see `RowLoader`."""
        return ((row.place, row.value) for row in self._rows(source, []))

    def finish(self) -> Sequence[Note]:
        """Check all files together, and return notes."""
        for score in self._derived:
            if score.name not in self._met:
                paths = ", ".join(map(repr, score.paths))
                part = "map" if score.points else "fields"
                raise ShapeError(
                    f"{part}: {score.name}: no row has a value at {paths}",
                    key=(part, score.name),
                )
        self._pages.must_be_complete()
        notes = list(chain.from_iterable(f.finish() for f in self._filters))
        if self._partners is not None:
            notes += self._partners.unused()
        return notes

    @property
    def may_be_empty(self) -> bool:
        """Whether a file may hold no row that is wanted."""
        return bool(self._spec.where)

    def _rows(self, source: Source, notes: list[Note]) -> Iterator[PlacedRow]:
        finder = RowFinder(source, self._spec, self._filters, self._pages)
        rows = finder.find(documents(source, self._spec.decimal))
        if is_unfinished_log([row.value for row in finder.found]):
            raise source.error(
                "this log of OpenAI evals has no final_report: its run did not finish",
                hint="run the eval again, or leave the file out",
            )
        notes += self._other_means(finder, source)
        rows += self._unjudged(finder, source, notes)
        if self._partners is not None:
            rows = self._partners.joined(rows, notes)
        self._must_have_tasks(rows, source)
        for row in rows:
            self._add_derived_scores(row)
            yield row

    def _unjudged(
        self, finder: RowFinder, source: Source, notes: list[Note]
    ) -> list[PlacedRow]:
        """Make rows of what the file lists beside its rows as not judged."""
        if not finder.unjudged or not self._task:
            return []
        tasks = UnjudgedTasks(self._spec, self._task, finder.found)
        count = len(finder.found)
        missing, unread = tasks.rows_and_notes(finder.unjudged, source, count)
        notes += unread
        return missing

    def _must_have_tasks(self, rows: list[PlacedRow], source: Source) -> None:
        """Refuse rows of which none has a part of the task's id."""
        some = rows[:_BATCH]
        for path in self._task:
            if some and all(lookup(row.value, path) is None for row in some):
                raise no_path(path, rows, source.shown, "fields", "task")

    def _add_derived_scores(self, row: PlacedRow) -> None:
        for score in self._derived:
            values = [lookup(row.value, path) for path in score.paths]
            has_value = any(value is not None for value in values)
            if has_value or "null" in score.points:
                self._met.add(score.name)
            row.value[score.name] = score.of(row.value, row.at)

    def _other_means(self, finder: RowFinder, source: Source) -> Iterator[Note]:
        """Compare the mean that a tool states beside its rows with theirs."""
        path = self._spec.fields.reward
        if not isinstance(path, str):
            return
        lines = (row.value for row in finder.found if "final_report" in row.value)
        rewards = [lookup(row.value, path) for row in finder.found]
        for document in (*finder.documents, *lines):
            note = other_mean_stated(document, rewards, path=path, file=source.shown)
            if note is not None:
                yield note

    def _ruler(self) -> tuple[tuple[str, str, str], ...]:
        """List the numbers behind texts and lists, which are part of what measures."""
        ruler = list(chain.from_iterable(score.ruler for score in self._derived))
        if self._spec.lists is not None:
            values = json.dumps(self._spec.lists, sort_keys=True)
            ruler += [("lists", "values", values), ("lists", "scores", "reward")]
        return tuple(ruler)
