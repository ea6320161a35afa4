"""Rows whose other halves are in further files: ``join:``."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from msgspec import structs

from pytest_evalmetrics.errors import ShapeError
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.model.rollout_notes import UnjoinedRows
from pytest_evalmetrics.rollouts.derived_scores import value_text
from pytest_evalmetrics.rollouts.file_documents import PlacedRow, documents, viewed
from pytest_evalmetrics.rollouts.file_search import find_files
from pytest_evalmetrics.rollouts.pages import Pages
from pytest_evalmetrics.rollouts.row_filters import row_filters
from pytest_evalmetrics.rollouts.row_paths import shape_error, single_value
from pytest_evalmetrics.rollouts.shaped_rows import RowFinder
from pytest_evalmetrics.rollouts.source import open_source, short

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.spec.sources import JoinSpec


class Partners:
    """The other halves of rows, by what they have in common."""

    def __init__(self, spec: JoinSpec, base: Path) -> None:
        self._spec = spec
        self._base = base
        self._used: set[tuple[str, ...]] = set()
        self._rows: dict[tuple[str, ...], PlacedRow] | None = None
        self._pages = Pages()
        self._filters = row_filters(spec, "join")

    def _read(self) -> dict[tuple[str, ...], PlacedRow]:
        rows: dict[tuple[str, ...], PlacedRow] = {}
        for file in find_files(self._spec.path, self._base):
            source = viewed(open_source(file), self._spec)
            finder = RowFinder(source, self._spec, self._filters, self._pages, "join")
            for row in finder.find(documents(source)):
                first = rows.setdefault(self._key(row), row)
                if first is not row:
                    message = f"the same {', '.join(self._spec.on)} as {first.at}"
                    hint = "add to on: what tells them apart"
                    raise shape_error(row.at, ("join", "on"), message, hint)
            source.must_be_unchanged()
        return rows

    def _key(self, row: PlacedRow) -> tuple[str, ...]:
        return tuple(
            value_text(single_value(row, path, "join", "on")) for path in self._spec.on
        )

    def joined(self, rows: list[PlacedRow], notes: list[Note]) -> list[PlacedRow]:
        """Add to each row the fields of its other half."""
        if self._rows is None:
            self._rows = self._read()
        joined: list[PlacedRow] = []
        alone: list[PlacedRow] = []
        for row in rows:
            key = self._key(row)
            partner = self._rows.get(key)
            if partner is None:
                alone.append(row)
                joined += [row] if self._spec.unmatched == "keep" else []
                continue
            self._used.add(key)
            for name in row.value.keys() & partner.value.keys():
                here = row.value[name]
                there = partner.value[name]
                if here != there:
                    own = short(value_text(here))
                    other = short(value_text(there))
                    values = f"{own} here and {other} at {partner.at}"
                    hint = "the two halves must not say different things under one name"
                    raise shape_error(row.at, ("join",), f"{name!r} is {values}", hint)
            joined.append(structs.replace(row, value={**partner.value, **row.value}))
        notes += self._report(alone)
        return joined

    def unused(self) -> list[Note]:
        """Report the other halves that no row has."""
        self._pages.must_be_complete()
        rows = self._rows or {}
        notes = list(chain.from_iterable(f.finish() for f in self._filters))
        unused = [row for key, row in rows.items() if key not in self._used]
        return [*notes, *self._report(unused)]

    def _report(self, rows: Sequence[PlacedRow]) -> list[Note]:
        """Note the rows without the other half, or refuse them."""
        if not rows:
            return []
        if self._spec.unmatched == "error":
            alone = many(len(rows), "row")
            message = f"join: {alone} without the other half, the first at {rows[0].at}"
            hint = "are both files of the same run? unmatched: keep, or drop, allows it"
            raise ShapeError(message, key=("join",), hint=hint)
        return [UnjoinedRows(rows=len(rows), first=rows[0].at)]
