"""Parquet and Arrow files: read by the columns that are needed, and written from a table."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeGuard

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.model.notes import Note, Remark
from pytest_evalmetrics.rollouts.columns import Columns
from pytest_evalmetrics.rollouts.row_schema import (
    BOOL,
    FLOAT,
    INT,
    NUMBER,
    OBJECT,
    TEXT,
    Node,
)
from pytest_evalmetrics.rollouts.row_values import Values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.json_types import JsonObject, JsonValue
    from pytest_evalmetrics.rollouts.loader import Chunk, Request
    from pytest_evalmetrics.rollouts.pyarrow_types import (
        ArrowBatch,
        ArrowColumn,
        ArrowData,
        ArrowField,
        ArrowSchema,
    )
    from pytest_evalmetrics.rollouts.row_schema import Record
    from pytest_evalmetrics.rollouts.row_values import ReadTexts
    from pytest_evalmetrics.rollouts.source import Source

# metadata key for the notes of a run written by us
NOTES: Final = b"pytest_evalmetrics.notes"
_CHUNK_ROWS: Final = 1 << 16  # of a chunk
_WHOLE_ROWS: Final = 256  # with all their text: few at a time
_JSON: Final = {str, int, float, bool, type(None)}  # types that need no conversion
_Path = tuple[str, ...]  # of a column: its name, and those of structs' fields


class _Table(Protocol):
    """An open file."""

    schema: ArrowSchema

    def batches(self, paths: Sequence[_Path] | None, rows: int) -> Iterator[ArrowBatch]:
        """Yield the columns at some paths, or all, by so many rows."""


class _ParquetTable:
    """An open Parquet file."""

    def __init__(self, data: ArrowData) -> None:
        import pyarrow.parquet as pq  # an extra

        self._file = pq.ParquetFile(data)
        self.schema: ArrowSchema = self._file.schema_arrow

    def batches(self, paths: Sequence[_Path] | None, rows: int) -> Iterator[ArrowBatch]:
        """Yield the columns at some paths, or all, by so many rows."""
        columns = None
        if paths is not None:
            columns = [".".join(path) for path in paths]
        yield from self._file.iter_batches(rows, columns=columns)


class _ArrowTable:
    """An open Arrow IPC file, whose columns are read whole."""

    def __init__(self, data: ArrowData) -> None:
        import pyarrow as pa  # an extra

        self._data = data
        self.schema: ArrowSchema = pa.ipc.open_file(data).schema

    def batches(self, paths: Sequence[_Path] | None, rows: int) -> Iterator[ArrowBatch]:
        """Yield the columns at some paths, or all, by so many rows."""
        import pyarrow as pa  # an extra

        wanted = None
        if paths is not None:
            names = {path[0] for path in paths}
            wanted = sorted(map(self.schema.get_field_index, names))
        self._data.seek(0)
        options = pa.ipc.IpcReadOptions(included_fields=wanted)
        file = pa.ipc.open_file(self._data, options=options)
        for index in range(file.num_record_batches):
            batch: ArrowBatch = file.get_batch(index)
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)


class Parquet:
    """Reads Parquet with pyarrow, which comes with the extra ``parquet``.

    Each column of numbers or booleans is a score; those of ``usage`` and ``response.usage``,
    where these are structs, are its usage. Other columns are read only if they are named.
    """

    what = "a Parquet file"

    def __init__(self, request: Request) -> None:
        self._columns = Columns(request, of_table=True)

    def read(self, source: Source) -> Iterator[Chunk]:
        """Read one file."""
        with self._data(source) as data:
            table = self._table(data)
            paths = dict(_places(table.schema, self._columns.root))
            self._columns.find_scores(self._columns.places.in_order(paths))
            wanted = {node: path for node, path in paths.items() if node.wanted}
            notes = _notes_of(table.schema.metadata or {})
            first = 1
            for batch in table.batches(list(wanted.values()), _CHUNK_ROWS):
                places = np.arange(first, first + batch.num_rows)
                check = partial(self._check, all_nodes=paths, source=source)
                values = _BatchValues(places, batch, wanted, check)
                chunk = self._columns.chunk(values, source)
                yield structs.replace(chunk, notes=notes)
                first += batch.num_rows
        self._columns.must_be_clear(source)

    def _check(
        self,
        index: int,
        values: _BatchValues,
        *,
        all_nodes: Iterable[Node],
        source: Source,
    ) -> None:
        """Refuse a row whose values are invalid."""
        record: Record = dict.fromkeys(all_nodes)
        for node in values.paths:
            record[node] = values.at(node)[index]
        # an agent's name may be any single value
        for node in self._columns.places.agent:
            if node in values.paths:
                record[node] = str(record[node])
        self._columns.check(record, source, int(values.places[index]))

    def rows(self, source: Source) -> Iterator[tuple[int, JsonObject]]:
        """Yield the rows, see `RowLoader`; values without a JSON form become text or numbers."""
        with self._data(source) as data:
            place = 0
            for batch in self._table(data).batches(None, _WHOLE_ROWS):
                for row in batch.to_pylist():
                    place += 1
                    yield place, {key: _plain(value) for key, value in row.items()}

    @contextmanager
    def _data(self, source: Source) -> Iterator[ArrowData]:
        """Open a file for pyarrow."""
        must_have_pyarrow(
            f"this is {self.what}, which takes pyarrow to be read", source.shown
        )
        import pyarrow as pa  # an extra

        with source.open() as stream:
            if source.packed is None:
                data = pa.memory_map(str(source.path))
            else:
                data = pa.BufferReader(stream.read())
            try:
                with data:
                    yield data
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
                raise source.error(
                    f"this is {self.what}, and it can't be read: {str(error).splitlines()[0]}",
                    hint="was the run, its copy or its download interrupted?",
                ) from error

    def _table(self, data: ArrowData) -> _Table:
        return _ParquetTable(data)


class Arrow(Parquet):
    """Reads Arrow IPC files (Feather), like Parquet."""

    what = "an Arrow file"

    def _table(self, data: ArrowData) -> _Table:
        return _ArrowTable(data)


def _places(
    fields: Iterable[ArrowField], above: Node, path: _Path = ()
) -> Iterator[tuple[Node, _Path]]:
    """Yield the wanted columns, also those inside of structs."""
    from pyarrow import types  # an extra

    for field in fields:
        node = above.place(field.name)
        inner = (*path, field.name)
        if node is None:
            continue
        kind = field.type
        if types.is_struct(kind):
            node.kinds |= OBJECT
            yield from _places(kind, node, inner)
        elif types.is_boolean(kind):
            node.kinds |= BOOL
        elif types.is_integer(kind):
            node.kinds |= INT
        elif types.is_floating(kind) or types.is_decimal(kind):
            node.kinds |= FLOAT
        else:
            node.kinds |= TEXT
        yield node, inner


class _BatchValues(Values):
    """The values of some rows of a file, which are converted where they are asked for."""

    def __init__(
        self,
        places: NDArray[np.int64],
        batch: ArrowBatch,
        paths: Mapping[Node, _Path],
        check: Callable[[int, _BatchValues], None],
    ) -> None:
        super().__init__(places, {}, lambda index: check(index, self))
        self._batch = batch
        self.paths = paths

    def _column(self, node: Node) -> ArrowColumn:
        import pyarrow.compute as pc  # an extra

        top, *rest = self.paths[node]
        column = self._batch.column(self._batch.schema.get_field_index(top))
        if not rest:
            return column
        inner: ArrowColumn = pc.struct_field(column, rest)
        return inner

    def at(self, node: Node) -> Sequence[JsonValue]:
        """Return the values of a place in all rows."""
        if node not in self.paths:
            return [None] * len(self.places)
        values = self._column(node).to_pylist()
        if _are_single(values):
            return values
        return list(map(_plain, values))

    def numbers(
        self, nodes: Sequence[Node], *, needed: bool, read_texts: ReadTexts | None
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
        """Return values as numbers or NaN, and which of them are given."""
        import pyarrow as pa  # an extra

        columns = [self._column(node) for node in nodes if node in self.paths]
        if any(not node.kinds & NUMBER for node in nodes if node in self.paths):
            return super().numbers(nodes, needed=needed, read_texts=read_texts)
        numbers = np.full(len(self.places), np.nan)
        given = np.zeros(len(self.places), np.bool_)
        for column in reversed(columns):
            whole = column
            if pa.types.is_boolean(column.type):
                whole = column.cast(pa.int8())
            valid = column.is_valid().to_numpy(zero_copy_only=False)
            floats = whole.cast(pa.float64(), safe=False)
            values = floats.to_numpy(zero_copy_only=False)
            numbers = np.where(valid, values, numbers)
            given = given | valid.astype(np.bool_)
        return numbers, given


def _notes_of(metadata: Mapping[bytes, bytes]) -> tuple[Note, ...]:
    """Read the notes of a run written by us."""
    written = metadata.get(NOTES, b"[]")
    notes = msgspec.json.decode(written, type=tuple[Note | str, ...])
    # earlier versions wrote their texts
    return tuple(Remark(note) if isinstance(note, str) else note for note in notes)


def _are_single(values: list[object]) -> TypeGuard[list[JsonValue]]:
    return _JSON.issuperset(map(type, values))


def _plain(value: object) -> JsonValue:
    """Convert a table's value to one that JSON can hold."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return _text_or_number(value)


def _text_or_number(value: object) -> JsonValue:
    """Convert a single value that JSON has no form for."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return str(value)


def must_have_pyarrow(message: str, shown: str) -> None:
    """Refuse to go on without pyarrow, with the extra that installs it."""
    try:
        import pyarrow  # noqa: F401, ICN001 - an extra, and only where a file needs it
    except ModuleNotFoundError as error:
        hint = 'install it: pip install "pytest-evalmetrics[parquet]"'
        raise DataError(message, file=shown, hint=hint) from error
    except ImportError as error:  # of a release for another NumPy
        message = f"{message}, and it can't be imported: {error}"
        hint = "install releases that go together, such as pyarrow<22 beside NumPy 1.26"
        raise DataError(message, file=shown, hint=hint) from error
