"""Parquet and Arrow (Feather) files, of which only the columns that are needed are read."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_evalmetrics.rollouts.layout import layout_of, refused_cell
from pytest_evalmetrics.rollouts.seam import Chunk, NotFinite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskId
    from pytest_evalmetrics.rollouts.layout import Layout
    from pytest_evalmetrics.rollouts.seam import Request
    from pytest_evalmetrics.rollouts.source import Source

__all__ = ["NOTES", "Arrow", "Parquet"]

NOTES: Final = b"pytest_evalmetrics.notes"  # where a run that we wrote keeps what was told of it
_ROWS: Final = 1 << 16  # of a chunk
_WHOLE_ROWS: Final = 256  # with all their text: few at a time
_MAX_SAMPLE: Final = 2**63
_USAGE: Final = ("response.usage", "usage")  # where NeMo Gym keeps it


class Parquet:
    """Reads Parquet with pyarrow, which comes with the extra ``parquet``.

    Each column of numbers or booleans is a score; those of ``usage`` and ``response.usage``,
    where these are structs, are its usage. Other columns are read only if they are named.

    Parameters
    ----------
    request
        What the benchmark wants.
    """

    magic = b"PAR1"
    what = "a Parquet file"

    def __init__(self, request: Request) -> None:
        self._request = request
        self._identified: set[tuple[str | None, TaskId]] = set()

    @classmethod
    def recognises(cls, source: Source) -> bool:
        """Take what starts with the format's own letters."""
        return source.head.startswith(cls.magic)

    def read(self, source: Source) -> Iterator[Chunk]:
        """Read one file.

        Raises
        ------
        DataError
            If pyarrow is not there, the file is damaged, or a row lacks what it needs.
        """
        with self._data(source) as data:
            yield from self._chunks(data, source)

    def rows(self, source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
        """Go through the rows, see `RowLoader`; what JSON has no form for is text, or a number."""
        with self._data(source) as data:
            schema, batches = self._open(data)
            place = 0
            for batch in batches([name for name, _ in _leaves(schema)], _WHOLE_ROWS):
                for row in batch.to_pylist():
                    place += 1
                    yield place, {key: _plain(value) for key, value in row.items()}

    @contextmanager
    def _data(self, source: Source) -> Iterator[Any]:
        try:
            import pyarrow as pa  # noqa: PLC0415 - an extra, and only where a file needs it
        except ImportError as error:
            raise source.error(
                f"this is {self.what}, which takes pyarrow to be read",
                hint='install it: pip install "pytest-evalmetrics[parquet]"',
            ) from error
        with source.open() as stream:
            plain = source.packed is None
            data = pa.memory_map(str(source.path)) if plain else pa.BufferReader(stream.read())
            try:
                with data:
                    yield data
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
                raise source.error(
                    f"this is {self.what}, and it can't be read: {str(error).splitlines()[0]}",
                    hint="was the run, its copy or its download interrupted?",
                ) from error

    def _chunks(self, data: Any, source: Source) -> Iterator[Chunk]:
        schema, batches = self._open(data)
        types = dict(_leaves(schema))
        layout = layout_of(list(types), self._request, source)
        scores = [
            name
            for name, column in layout.scores.items()
            # what is inside of a struct is read where it is asked for, and the usage
            if name in layout.needed
            or (
                _is_number(types[column])
                and (column in schema.names or _usage_name(name)[1] is not None)
            )
        ]
        first = 1
        notes = tuple(json.loads((schema.metadata or {}).get(NOTES, b"[]")))
        for batch in batches(layout.used(scores)):
            rows = _Batch(batch, layout, types, first, source)
            yield replace(rows.chunk(scores, self._identified), notes=notes)
            first += batch.num_rows

    def _open(self, data: Any) -> tuple[Any, Any]:
        import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

        file = pq.ParquetFile(data)

        def batches(columns: list[str], rows: int = _ROWS) -> Iterator[Any]:
            yield from file.iter_batches(rows, columns=columns)

        return file.schema_arrow, batches


class Arrow(Parquet):
    """Reads Arrow IPC files, which are Feather's too, in the same way."""

    magic = b"ARROW1"
    what = "an Arrow file"

    def _open(self, data: Any) -> tuple[Any, Any]:
        import pyarrow as pa  # noqa: PLC0415 - an extra

        schema = pa.ipc.open_file(data).schema

        def batches(columns: list[str], rows: int = _ROWS) -> Iterator[Any]:
            tops = [_top(column, schema) for column in columns]
            wanted = sorted({schema.get_field_index(top) for top in tops})
            data.seek(0)
            options = pa.ipc.IpcReadOptions(included_fields=wanted)
            file = pa.ipc.open_file(data, options=options)
            for index in range(file.num_record_batches):
                batch = file.get_batch(index)
                for start in range(0, batch.num_rows, rows):
                    yield batch.slice(start, rows)

        return schema, batches


def _top(column: str, schema: Any) -> str:
    return column if column in schema.names else column.partition(".")[0]


def _leaves(schema: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """Go through the columns, those inside of structs by their dotted paths."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    for field in schema:
        name = above + field.name
        if pa.types.is_struct(field.type):
            yield from _leaves(field.type, f"{name}.")
        else:
            yield name, field.type


def _is_number(kind: Any) -> bool:
    import pyarrow as pa  # noqa: PLC0415 - an extra

    t = pa.types
    return any(test(kind) for test in (t.is_integer, t.is_floating, t.is_boolean, t.is_decimal))


class _Batch:
    """Some rows of a file, to be made into a chunk."""

    def __init__(
        self, batch: Any, layout: Layout, types: dict[str, Any], first: int, source: Source
    ) -> None:
        self._batch = batch
        self._layout = layout
        self._types = types
        self._first = first
        self._source = source

    def chunk(self, names: list[str], identified: set[tuple[str | None, TaskId]]) -> Chunk:
        layout, rows = self._layout, self._batch.num_rows
        task = [0] * rows if layout.task is None else self._values(layout.task)
        sample = [None] * rows if layout.sample is None else self._values(layout.sample)
        # looking at types and ends costs little; what is wrong, and where, is told value by value
        if not _all_of(task, {int, str}):
            for at, one in enumerate(task, self._first):
                layout.check_task(one, at, self._source)
        if not (_all_of(sample, {int}) and min(sample) >= 0 and max(sample) < _MAX_SAMPLE):
            for at, number in enumerate(sample, self._first):
                layout.check_sample(number, at, self._source)
        agent = [None] * rows if layout.agent is None else self._values(layout.agent)
        if not _all_of(agent, {str}):
            agent = [None if name is None else str(name) for name in agent]
        bad: list[NotFinite] = []
        columns: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
        fractional: set[str] = set()
        for name in names:
            column = layout.scores[name]
            short, usage = _usage_name(name)
            found = self._numbers(name, column, bad)
            if usage is None or short not in columns[1] or usage == _USAGE[0]:
                columns[usage is not None][short] = found
            if not _is_whole(self._types[column]):
                fractional.add(short)
        return Chunk(
            places=np.arange(self._first, self._first + rows),
            task=task,
            sample=sample,
            agent=agent,
            scores=columns[0],
            usage=columns[1],
            labels={
                n: [None if v is None else _text(v) for v in self._values(c)]
                for n, c in layout.labels.items()
            },
            fractional=frozenset(fractional),
            not_finite=bad,
            keys=tuple(self._types),
            content=layout.contents(
                agent,
                task,
                [[_plain(v) for v in self._values(name)] for name in layout.content],
                identified,
            ),
            positional=layout.numbered and _all_of(task, {int}),
        )

    def _column(self, path: str) -> Any:
        import pyarrow.compute as pc  # noqa: PLC0415 - an extra

        names = self._batch.schema.names
        if path in names:
            return self._batch.column(names.index(path))
        top, _, rest = path.partition(".")
        return pc.struct_field(self._batch.column(names.index(top)), rest.split("."))

    def _values(self, path: str) -> list[Any]:
        values: list[Any] = self._column(path).to_pylist()
        return values

    def _numbers(self, name: str, path: str, bad: list[NotFinite]) -> NDArray[np.float64]:
        import pyarrow as pa  # noqa: PLC0415 - an extra

        column = self._column(path)
        if not _is_number(self._types[path]):  # needed, then
            for at, value in enumerate(column.to_pylist(), self._first):
                if value is not None:
                    raise refused_cell(self._source, at, f"the score {name!r}", value, "a number")
            return np.full(len(column), np.nan)
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.int8())
        given = column.is_valid().to_numpy(zero_copy_only=False)
        found: NDArray[np.float64] = np.array(
            column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64
        )
        for at in np.flatnonzero(given & ~np.isfinite(found)).tolist():
            what = "NaN" if np.isnan(found[at]) else "infinite or too large"
            bad.append(NotFinite(name, what, self._first + at))
            found[at] = np.nan
        return found


def _usage_name(name: str) -> tuple[str, str | None]:
    """Split ``response.usage.input_tokens`` into what is counted and where."""
    above, _, last = name.rpartition(".")
    return (last, above) if above in _USAGE else (name, None)


def _all_of(values: list[Any], kinds: set[type]) -> bool:
    return set(map(type, values)) <= kinds and bool(values)


def _is_whole(kind: Any) -> bool:
    import pyarrow as pa  # noqa: PLC0415 - an extra

    return bool(pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _plain(value: Any) -> Any:
    """Turn what a table may hold into what JSON knows."""
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
