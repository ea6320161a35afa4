"""CSV files."""

from __future__ import annotations

import csv
import io
import re
import sys
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec import structs

from pytest_evalmetrics.layout import many
from pytest_evalmetrics.model.rollout_notes import UnclearColumn
from pytest_evalmetrics.rollouts.columns import Columns
from pytest_evalmetrics.rollouts.format_keys import csv_separator
from pytest_evalmetrics.rollouts.number_texts import are_unclear, separates_by_commas
from pytest_evalmetrics.rollouts.row_values import Values
from pytest_evalmetrics.rollouts.source import (
    Source,
    max_row_bytes,
    not_utf8,
    row_too_long,
)

if TYPE_CHECKING:
    from _csv import Reader
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Self

    from numpy.typing import NDArray

    from pytest_evalmetrics.json_types import JsonObject
    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.rollouts.loader import Chunk, Request
    from pytest_evalmetrics.rollouts.row_schema import Node, Record

INDEX: Final = "_index"  # the unnamed first column of pandas, which is no score
_ROWS: Final = 1 << 15  # of a chunk
_DIGITS: Final = 16  # that a float64 does not hold any more
_WORDS: Final = {
    **dict.fromkeys(("", "null", "none", "na", "n/a")),
    "true": 1,
    "false": 0,
}
_of_excel = re.compile(r'"?sep=(.)"?').fullmatch  # on a line above the names
_is_whole = re.compile(r"-?(0|[1-9]\d*)").fullmatch


class Csv:
    """Reads CSV, separated by commas, semicolons or tabs; empty cells are missing."""

    def __init__(self, request: Request) -> None:
        self._columns = columns = Columns(request, of_table=True)
        self._decimal = request.decimal
        self._read: dict[Node, Callable[[str], int | str | None]] = {
            **dict.fromkeys((*columns.places.task, *columns.places.sample), _id),
            **dict.fromkeys(columns.places.agent, _text),
        }

    def read(self, source: Source) -> Iterator[Chunk]:
        """Read one file."""
        with _table(source) as (names, rows):
            nodes = [self._columns.root.field(name) for name in names]
            while block := list(islice(rows, _ROWS)):
                places = np.array([place for place, _ in block], np.int64)
                columns = zip(*(cells for _, cells in block), strict=True)
                cells = dict(zip(nodes, columns, strict=True))
                numbers = {
                    node: list(map(_number, column)) for node, column in cells.items()
                }
                notes = self._settle_signs(numbers, cells, places, source)
                for node in self._columns.places.in_order(nodes):
                    self._columns.learn_column(node, numbers[node], places)
                texts = {
                    node: list(map(self._read.get(node, _text), column))
                    for node, column in cells.items()
                    if node.wanted
                }
                check = partial(self._check, nodes=nodes, block=block, source=source)
                values = Values(places, texts, check, numbers=numbers)
                chunk = self._columns.chunk(values, source)
                yield structs.replace(chunk, notes=notes)
        self._columns.must_be_clear(source)

    def _check(
        self,
        index: int,
        *,
        nodes: Sequence[Node],
        block: Sequence[tuple[int, list[str]]],
        source: Source,
    ) -> None:
        """Refuse a row whose values are invalid."""
        place, row = block[index]
        record: Record = {}
        for node, cell in zip(nodes, row, strict=True):
            read = self._read.get(node, _number)
            record[node] = read(cell)
        self._columns.check(record, source, place)

    def _settle_signs(
        self,
        numbers: dict[Node, list[float | str | None]],
        cells: Mapping[Node, Sequence[str]],
        places: NDArray[np.int64],
        source: Source,
    ) -> list[Note]:
        """Take back the numbers whose dots may separate thousands.

        Those of a needed score stay text, which is read with the whole column. A further column is
        left out with a note, unless the file shows elsewhere that dots are its decimal signs.
        """
        if self._decimal == ".":
            return []
        with_dots = [node for node, column in numbers.items() if _has_fractions(column)]
        unclear = [node for node in with_dots if are_unclear(cells[node])]
        stay_text = with_dots
        if self._decimal is None:
            stay_text = [node for node in unclear if self._columns.is_needed(node)]
        for node in stay_text:
            numbers[node] = _with_texts(numbers[node], cells[node])
        left_out = [node for node in unclear if node not in stay_text]
        # in English, and where other cells show it, dots are decimal signs
        has_decimal_dots = len(unclear) < len(with_dots)
        if not left_out or has_decimal_dots or separates_by_commas(source):
            return []
        notes: list[Note] = []
        for node in left_out:
            numbers[node] = [None] * len(numbers[node])
            notes.append(_unclear_column(node, cells[node], places, source))
        return notes

    def rows(self, source: Source) -> Iterator[tuple[int, JsonObject]]:
        """Yield the rows, see `RowLoader`; each cell is text, because CSV knows no types."""
        with _table(source) as (names, rows):
            for place, cells in rows:
                yield place, dict(zip(names, cells, strict=True))


def _unclear_column(
    node: Node, cells: Sequence[str], places: NDArray[np.int64], source: Source
) -> UnclearColumn:
    """Note a column that is left out, with its first cell that has a dot."""
    first = next(index for index, cell in enumerate(cells) if "." in cell)
    place = source.at(int(places[first]))
    return UnclearColumn(score=node.key, text=cells[first].strip(), at=place)


def _id(cell: str) -> int | str | None:
    text = cell.strip()
    if _is_whole(text):
        return int(text)
    return text or None


def _text(cell: str) -> str | None:
    return cell or None


def _number(cell: str) -> float | str | None:
    cell = cell.strip()
    if len(cell) < _DIGITS and _is_whole(cell):
        return int(cell)
    if "_" in cell:  # Python reads 1_000
        return cell
    try:
        return float(cell)
    except ValueError:
        return _WORDS.get(cell.lower(), cell)


def _has_fractions(numbers: Sequence[float | str | None]) -> bool:
    return float in set(map(type, numbers))


def _with_texts(
    numbers: Sequence[float | str | None], cells: Sequence[str]
) -> list[float | str | None]:
    """Put the texts of numbers with a dot in their place."""
    return [
        cell.strip() if type(number) is float and "." in cell else number
        for number, cell in zip(numbers, cells, strict=True)
    ]


@contextmanager
def _table(
    source: Source,
) -> Iterator[tuple[list[str], Iterator[tuple[int, list[str]]]]]:
    """Open a file: the names of its columns, and its rows with their lines."""
    source.must_be_text()
    with source.open() as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        line = source.head.decode(errors="replace").partition("\n")[0]
        separator = csv_separator(line)
        names_separator = _of_excel(line.strip())
        if names_separator is not None:
            text.readline()
            separator = names_separator[1]
        lines = _Lines(text, source)
        reader = csv.reader(lines, delimiter=separator, strict=True)
        # of a cell's length, in the whole process
        limit = csv.field_size_limit(sys.maxsize)
        try:
            names = [name.strip() for name in next(reader)]
            if names[:1] in ([""], ["Unnamed: 0"]) and len(names) > 1:
                names[0] = INDEX
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise source.error(f"two columns have the name {twice!r}", line=1)
            yield names, _rows(reader, len(names), source)
        except csv.Error as error:
            what = f"this is not CSV: {error}"
            if lines.are_read:
                what = "the file ends inside of quotes"
            hint = "was the run, its copy or its download interrupted?"
            raise source.error(what, line=reader.line_num, hint=hint) from error
        except UnicodeDecodeError as error:
            raise not_utf8(source, error.object[error.start]) from error
        finally:
            csv.field_size_limit(limit)
            text.detach()


def _rows(
    reader: Reader, width: int, source: Source
) -> Iterator[tuple[int, list[str]]]:
    last = reader.line_num
    for cells in reader:
        place = last + 1
        last = reader.line_num
        if not cells:
            continue
        if len(cells) != width:
            columns = many(width, "column")
            message = (
                f"this line has {many(len(cells), 'cell')}, and the file {columns}"
            )
            hint = "was it cut off? text with a separator in it has to stand in quotes"
            raise source.error(message, line=place, hint=hint)
        yield place, cells


class _Lines:
    """The lines of a text, none of them endless; `are_read` once all are."""

    def __init__(self, text: io.TextIOWrapper, source: Source) -> None:
        self._text = text
        self._source = source
        self._most = max_row_bytes()
        self.are_read = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        line = self._text.readline(self._most)
        if not line:
            self.are_read = True
            raise StopIteration
        if len(line) == self._most:
            raise row_too_long(self._source, self._most)
        return line
