"""Parquet and Arrow files: read by the columns that are needed, and written from a table."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

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
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.json_types import JsonObject
    from pytest_evalmetrics.rollouts.loader import Chunk, Request
    from pytest_evalmetrics.rollouts.row_values import ReadTexts
    from pytest_evalmetrics.rollouts.source import Source

NOTES: Final = (
    b"pytest_evalmetrics.notes"  # metadata key for the notes of a run written by us
)
_CHUNK_ROWS: Final = 1 << 16  # of a chunk
_WHOLE_ROWS: Final = 256  # with all their text: few at a time
_JSON: Final = {str, int, float, bool, type(None)}  # types that need no conversion
_Path = tuple[str, ...]  # of a column: its name, and those of structs' fields


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
            schema, batches = self._open(data)
            paths = dict(_places(schema, self._columns.root))
            self._columns.find_scores(self._columns.places.in_order(paths))
            wanted = {node: path for node, path in paths.items() if node.wanted}
            notes = _notes_of(schema.metadata or {})
            first = 1
            for batch in batches(list(wanted.values()), _CHUNK_ROWS):

                def check(index: int, values: Values, first: int = first) -> None:
                    row = {node: values.at(node)[index] for node in wanted}
                    row |= {
                        node: str(row[node])
                        for node in self._columns.places.agent
                        if node in row
                    }
                    self._columns.check(
                        dict.fromkeys(paths) | row, source, first + index
                    )

                places = np.arange(first, first + batch.num_rows)
                values = _BatchValues(places, batch, wanted, check)
                chunk = self._columns.chunk(values, source)
                yield structs.replace(chunk, notes=notes)
                first += batch.num_rows
        self._columns.must_be_clear(source)

    def rows(self, source: Source) -> Iterator[tuple[int, JsonObject]]:
        """Yield the rows, see `RowLoader`; values without a JSON form become text or numbers."""
        with self._data(source) as data:
            place = 0
            for batch in self._open(data)[1](None, _WHOLE_ROWS):
                for row in batch.to_pylist():
                    place += 1
                    yield place, {key: _plain(value) for key, value in row.items()}

    @contextmanager
    def _data(self, source: Source) -> Iterator[Any]:
        pa = pyarrow_or_hint(
            f"this is {self.what}, which takes pyarrow to be read", source.shown
        )
        with source.open() as stream:
            plain = source.packed is None
            data = (
                pa.memory_map(str(source.path))
                if plain
                else pa.BufferReader(stream.read())
            )
            try:
                with data:
                    yield data
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
                raise source.error(
                    f"this is {self.what}, and it can't be read: {str(error).splitlines()[0]}",
                    hint="was the run, its copy or its download interrupted?",
                ) from error

    def _open(self, data: Any) -> tuple[Any, Any]:
        import pyarrow.parquet as pq  # an extra

        file = pq.ParquetFile(data)

        def batches(paths: Sequence[_Path] | None, rows: int) -> Iterator[Any]:
            columns = None if paths is None else list(map(".".join, paths))
            yield from file.iter_batches(rows, columns=columns)

        return file.schema_arrow, batches


class Arrow(Parquet):
    """Reads Arrow IPC files (Feather), like Parquet."""

    what = "an Arrow file"

    def _open(self, data: Any) -> tuple[Any, Any]:
        import pyarrow as pa  # an extra

        schema = pa.ipc.open_file(data).schema

        def batches(paths: Sequence[_Path] | None, rows: int) -> Iterator[Any]:
            tops = None if paths is None else {path[0] for path in paths}
            wanted = None if tops is None else sorted(map(schema.get_field_index, tops))
            data.seek(0)
            options = pa.ipc.IpcReadOptions(included_fields=wanted)
            file = pa.ipc.open_file(data, options=options)
            for index in range(file.num_record_batches):
                batch = file.get_batch(index)
                for start in range(0, batch.num_rows, rows):
                    yield batch.slice(start, rows)

        return schema, batches


def _places(fields: Any, above: Node, path: _Path = ()) -> Iterator[tuple[Node, _Path]]:
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
        else:
            is_number = types.is_floating(kind) or types.is_decimal(kind)
            node.kinds |= FLOAT if is_number else TEXT
        yield node, inner


class _BatchValues(Values):
    """The values of some rows of a file, which are converted where they are asked for."""

    def __init__(
        self,
        places: NDArray[np.int64],
        batch: Any,
        paths: Mapping[Node, _Path],
        check: Callable[[int, Values], None],
    ) -> None:
        super().__init__(places, {}, lambda index: check(index, self))
        self._batch = batch
        self._paths = paths

    def _column(self, node: Node) -> Any:
        import pyarrow.compute as pc  # an extra

        top, *rest = self._paths[node]
        column = self._batch.column(self._batch.schema.get_field_index(top))
        return pc.struct_field(column, rest) if rest else column

    def at(self, node: Node) -> Sequence[Any]:
        """Return the values of a place in all rows."""
        if node not in self._paths:
            return [None] * len(self.places)
        values: list[Any] = self._column(node).to_pylist()
        return (
            values if _JSON.issuperset(map(type, values)) else list(map(_plain, values))
        )

    def numbers(
        self, nodes: Sequence[Node], *, needed: bool, read_texts: ReadTexts | None
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
        """Return values as numbers or NaN, and which of them are given."""
        import pyarrow as pa  # an extra

        columns = [self._column(node) for node in nodes if node in self._paths]
        if any(not node.kinds & NUMBER for node in nodes if node in self._paths):
            return super().numbers(nodes, needed=needed, read_texts=read_texts)
        numbers = np.full(len(self.places), np.nan)
        given = np.zeros(len(self.places), np.bool_)
        for column in reversed(columns):
            if pa.types.is_boolean(column.type):
                column = column.cast(pa.int8())  # noqa: PLW2901 - the same numbers
            valid = column.is_valid().to_numpy(zero_copy_only=False)
            values = column.cast(pa.float64(), safe=False).to_numpy(
                zero_copy_only=False
            )
            numbers = np.where(valid, values, numbers)
            given = given | valid
        return numbers, given


def _notes_of(metadata: Mapping[bytes, bytes]) -> tuple[Note, ...]:
    """Read the notes of a run written by us."""
    written = metadata.get(NOTES, b"[]")
    notes = msgspec.json.decode(written, type=tuple[Note | str, ...])
    # earlier versions wrote their texts
    return tuple(Remark(note) if isinstance(note, str) else note for note in notes)


def _plain(value: Any) -> Any:
    """Convert a table's value to one that JSON can hold."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Decimal | timedelta):
        return float(value) if isinstance(value, Decimal) else value.total_seconds()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value


def pyarrow_or_hint(message: str, shown: str) -> Any:
    """Import pyarrow, or refuse with the extra that installs it."""
    try:
        import pyarrow as pa  # an extra, and only where a file needs it
    except ImportError as error:
        hint = 'install it: pip install "pytest-evalmetrics[parquet]"'
        raise DataError(message, file=shown, hint=hint) from error
    return pa
