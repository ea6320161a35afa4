"""The content of a file: rows and lines, or one document."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import structs

from pytest_evalmetrics.rollouts.formats import recognise
from pytest_evalmetrics.rollouts.json_files import JsonArray, JsonLines
from pytest_evalmetrics.rollouts.json_text import parse, read_document
from pytest_evalmetrics.rollouts.loader import Request, RowLoader
from pytest_evalmetrics.rollouts.number_texts import are_unclear
from pytest_evalmetrics.spec.sources import FieldMap

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_evalmetrics.json_types import JsonObject, JsonValue
    from pytest_evalmetrics.rollouts.source import Source
    from pytest_evalmetrics.spec.sources import ShapeSpec

TABLES: Final = ("csv", "parquet", "arrow")
_BLOCK: Final = 4000  # rows whose cells show together how numbers are written
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


def documents(
    source: Source, decimal: str | None = None
) -> Iterator[PlacedRow | list[JsonValue]]:
    """Yield the content of a file: rows or lines, or one document that may be a list.

    `decimal` is the decimal sign of a CSV file, if the benchmark file declares it.
    """
    kind = recognise(source)
    if kind.name in TABLES:
        loader = kind.load()(_PLAIN)
        if not isinstance(loader, RowLoader):
            raise TypeError(f"the loader of {kind.name} yields no rows")
        rows = loader.rows(source)
        if kind.name == "csv":
            rows = _with_values(rows, decimal)
        for place, values in rows:
            yield PlacedRow.of(source, place, values)
        return
    source.must_be_text()
    lines: JsonLines | None = None
    if source.is_objects:
        lines = JsonArray(_PLAIN)
    elif not source.is_array and _is_lines(source):
        lines = JsonLines(_PLAIN)
    if lines is not None:
        for row in lines.texts(source):
            yield PlacedRow.of(source, row.place, parse(row, source))
        return
    document = read_document(source)
    if isinstance(document, dict):
        yield PlacedRow.of(source, 1, document)
    else:
        yield document


def _is_lines(source: Source) -> bool:
    """Check for JSON Lines: the first line is a value of its own, and not the whole file."""
    with source.open() as stream:
        lines = (line for line in stream if line.strip())
        try:
            json.loads(next(lines, b""))
        except (ValueError, RecursionError):
            return False
        return next(lines, None) is not None


def _with_values(
    rows: Iterator[tuple[int, JsonObject]], decimal: str | None
) -> Iterator[tuple[int, JsonObject]]:
    """Parse the cells of CSV rows, except dots that may separate thousands."""
    while block := list(islice(rows, _BLOCK)):
        as_text = _columns_of_text([cells for _, cells in block], decimal)
        for place, cells in block:
            values: JsonObject = {}
            for name, cell in cells.items():
                values[name] = _cell(str(cell), keeps_dots=name in as_text)
            yield place, values


def _columns_of_text(rows: Sequence[JsonObject], decimal: str | None) -> set[str]:
    """Find the columns of CSV rows whose dots may separate thousands."""
    if decimal == ".":
        return set()
    names = set(rows[0])
    if decimal == ",":
        return names
    return {name for name in names if are_unclear(str(row[name]) for row in rows)}


def _cell(cell: str, *, keeps_dots: bool) -> JsonValue:
    """Parse a cell of CSV; ids such as 007 stay text."""
    text = cell.strip()
    match = _is_number(text)
    if match is None:
        return _CELLS.get(text.lower(), cell)
    if match[2] and keeps_dots:
        return cell
    if match[2] or match[3]:
        return float(text)
    return int(text)


def viewed(source: Source, spec: ShapeSpec) -> Source:
    """Count places by row, or by line if rows are lines of the file."""
    is_shaped = bool(spec.rows or spec.keyed or spec.lists or spec.pivot)
    if is_shaped or source.is_array:
        return structs.replace(source, counts="row")
    is_text = source.head[:1] != b"{"
    by_line = is_text or _is_lines(source)
    return structs.replace(source, counts="line" if by_line else "row")
