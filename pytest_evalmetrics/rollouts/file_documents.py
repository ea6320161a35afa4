"""The content of a file: rows and lines, or one document."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import structs

from pytest_evalmetrics.rollouts.formats import recognise
from pytest_evalmetrics.rollouts.json_files import (
    JsonArray,
    JsonLines,
    parse,
    read_document,
)
from pytest_evalmetrics.rollouts.loader import Request, RowLoader
from pytest_evalmetrics.spec.sources import FieldMap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.json_types import JsonObject, JsonValue
    from pytest_evalmetrics.rollouts.source import Source
    from pytest_evalmetrics.spec.sources import ShapeSpec

TABLES: Final = ("csv", "parquet", "arrow")
_PLAIN: Final = Request(FieldMap())
_is_number = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?").fullmatch
_CELLS: Final[JsonObject] = {"": None, "true": True, "false": False}


class PlacedRow(msgspec.Struct, frozen=True):
    """A row, its place in its file, and the same for messages."""

    place: int
    value: JsonObject
    at: str
    file: str

    @classmethod
    def of(cls, source: Source, place: int, value: JsonObject) -> PlacedRow:
        """Make a row of a file."""
        return cls(place=place, value=value, at=source.at(place), file=source.shown)


def documents(source: Source) -> Iterator[PlacedRow | list[JsonValue]]:
    """Yield the content of a file: rows or lines, or one document that may be a list."""
    kind = recognise(source)
    if kind.name in TABLES:
        loader = kind.load()(_PLAIN)
        if not isinstance(loader, RowLoader):
            raise TypeError(f"the loader of {kind.name} yields no rows")
        for place, cells in loader.rows(source):
            values = cells
            if kind.name == "csv":
                values = {name: _cell(str(cell)) for name, cell in cells.items()}
            yield PlacedRow.of(source, place, values)
        return
    source.must_be_text()
    if source.is_objects or (not source.is_array and _is_lines(source)):
        lines: JsonLines
        lines = JsonArray(_PLAIN) if source.is_objects else JsonLines(_PLAIN)
        for row in lines.texts(source):
            yield PlacedRow.of(source, row.place, parse(row, source))
        return
    document = read_document(source)
    yield (
        PlacedRow.of(source, 1, document) if isinstance(document, dict) else document
    )


def _is_lines(source: Source) -> bool:
    """Check for JSON Lines: the first line is a value of its own, and not the whole file."""
    with source.open() as stream:
        lines = (line for line in stream if line.strip())
        try:
            json.loads(next(lines, b""))
        except (ValueError, RecursionError):
            return False
        return next(lines, None) is not None


def _cell(cell: str) -> JsonValue:
    """Parse a cell of CSV; ids such as 007 stay text."""
    text = cell.strip()
    match = _is_number(text)
    if match is None:
        return _CELLS.get(text.lower(), cell)
    return float(text) if match[2] or match[3] else int(text)


def viewed(source: Source, spec: ShapeSpec) -> Source:
    """Count places by row, or by line if rows are lines of the file."""
    of_rows = (
        bool(spec.rows or spec.keyed or spec.lists or spec.pivot) or source.is_array
    )
    is_text = source.head[:1] != b"{"
    by_line = not of_rows and (is_text or _is_lines(source))
    return structs.replace(source, counts="line" if by_line else "row")
