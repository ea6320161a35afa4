"""Files as whole documents: rows of tables, JSON Lines, or one JSON value, with their places."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pytest_evalmetrics.rollouts.formats import recognise
from pytest_evalmetrics.rollouts.json_files import JsonLines
from pytest_evalmetrics.rollouts.json_rows import DuplicateKeyError, decode, parse
from pytest_evalmetrics.rollouts.loader import Request, RowLoader
from pytest_evalmetrics.rollouts.source import short
from pytest_evalmetrics.spec import FieldMap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.rollouts.source import Source

TABLES: Final = ("csv", "parquet", "arrow")
_PLAIN: Final = Request(FieldMap())
_is_number = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?").fullmatch
_CELLS: Final[dict[str, Any]] = {"": None, "true": True, "false": False}


class PlacedRow(NamedTuple):
    """A row and its place in its file, for messages."""

    place: int
    value: dict[str, Any]


def with_places(source: Source, *, of_rows: bool) -> Source:
    """Count places in rows where they are made of what the file holds, else in lines."""
    is_text = source.head[:1] not in (b"{", b"[")
    by_line = not of_rows and not source.is_array and (is_text or _is_lines(source))
    return replace(source, counts="line" if by_line else "row")


def _is_lines(source: Source) -> bool:
    """Check for JSON Lines: the first line is a value of its own, and not the whole file."""
    with source.open() as stream:
        lines = (line for line in stream if line.strip())
        try:
            json.loads(next(lines, b""))
        except ValueError:
            return False
        return next(lines, None) is not None


def documents(source: Source) -> Iterator[PlacedRow | list[Any]]:
    """Go through what a file holds: rows or lines, or one document that may be a list."""
    kind = recognise(source)
    if kind.name in TABLES:
        loader = kind.load()(_PLAIN)
        if not isinstance(loader, RowLoader):
            raise source.error(f"the rows of the format {kind.name} can't be had one by one")
        for place, cells in loader.rows(source):
            if kind.name == "csv":
                cells = {name: _cell(cell) for name, cell in cells.items()}  # noqa: PLW2901
            yield PlacedRow(place, cells)
        return
    source.must_be_text()
    if not source.is_array and _is_lines(source):
        for line in JsonLines(_PLAIN).texts(source):
            yield PlacedRow(line.place, parse(line, source))
        return
    document = _whole(source)
    yield PlacedRow(1, document) if isinstance(document, dict) else document


def _whole(source: Source) -> dict[str, Any] | list[Any]:
    with source.open() as stream:
        text = stream.read()
    try:
        document: Any = decode(text.decode())
    except UnicodeDecodeError as error:
        raise source.error("this is not UTF-8 text", hint="save the file as UTF-8") from error
    except json.JSONDecodeError as error:
        raise source.error(
            f"this is no JSON: {error.msg} at column {error.colno}",
            line=error.lineno,
            hint="was the run that writes it interrupted?",
        ) from error
    except DuplicateKeyError as error:
        raise source.error(
            f"the key {str(error)!r} stands twice in one object",
            hint="only one of the values can be meant: write the key once",
        ) from error
    except (RecursionError, ValueError) as error:
        raise source.error(f"this can't be read: {error}") from error
    if isinstance(document, dict | list):
        return document
    raise source.error(f"this is no JSON object or array: found {short(json.dumps(document))}")


def _cell(cell: str) -> Any:
    """Read a cell of CSV, which knows no types; ids such as 007 stay text."""
    text = cell.strip()
    match = _is_number(text)
    if match is None:
        return _CELLS.get(text.lower(), cell)
    return float(text) if match[2] or match[3] else int(text)
