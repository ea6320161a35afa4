"""Parquet and Arrow files: read by the columns that are needed, and written from a table."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_evalmetrics.data import MISSING
from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.rollouts.loader import Chunk, NotFinite
from pytest_evalmetrics.rollouts.recorded import load
from pytest_evalmetrics.rollouts.tabular import layout_of, refused_cell
from pytest_evalmetrics.spec import RolloutsSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import Category, RolloutTable, TaskId
    from pytest_evalmetrics.rollouts.loader import Request
    from pytest_evalmetrics.rollouts.source import Source
    from pytest_evalmetrics.rollouts.tabular import Layout

NOTES: Final = b"pytest_evalmetrics.notes"  # where a run that we wrote keeps what was told of it
_CHUNK_ROWS: Final = 1 << 16  # of a chunk
_WHOLE_ROWS: Final = 256  # with all their text: few at a time
_WRITING: Final = "it takes pyarrow to write a Parquet file"
_USAGE: Final = ("response.usage", "usage")  # where NeMo Gym keeps it
_TASK, _SAMPLE, _AGENT = "_ng_task_index", "_ng_rollout_index", "agent_ref.name"
_BOOLEANS: Final = {"true": True, "false": False, MISSING: None}
_INT64: Final = 2.0**63


class Parquet:
    """Reads Parquet with pyarrow, which comes with the extra ``parquet``.

    Each column of numbers or booleans is a score; those of ``usage`` and ``response.usage``,
    where these are structs, are its usage. Other columns are read only if they are named.
    """

    magic = b"PAR1"
    what = "a Parquet file"

    def __init__(self, request: Request) -> None:
        self._request = request
        self._identified: set[tuple[str | None, TaskId]] = set()

    def read(self, source: Source) -> Iterator[Chunk]:
        """Read one file."""
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
        pa = _pyarrow(f"this is {self.what}, which takes pyarrow to be read", source.shown)
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
            rows = _Batch(batch, types, first, source)
            yield layout.chunk(
                np.arange(first, first + batch.num_rows),
                source,
                self._identified,
                ids=rows.values,
                texts=rows.texts,
                contents=lambda name: list(map(_plain, rows.values(name))),  # noqa: B023 - called at once
                keys=tuple(types),
                notes=notes,
                **rows.scores(scores, layout),
            )
            first += batch.num_rows

    def _open(self, data: Any) -> tuple[Any, Any]:
        import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

        file = pq.ParquetFile(data)

        return file.schema_arrow, lambda columns, rows=_CHUNK_ROWS: file.iter_batches(
            rows, columns=columns
        )


class Arrow(Parquet):
    """Reads Arrow IPC files, which are Feather's too, in the same way."""

    magic = b"ARROW1"
    what = "an Arrow file"

    def _open(self, data: Any) -> tuple[Any, Any]:
        import pyarrow as pa  # noqa: PLC0415 - an extra

        schema = pa.ipc.open_file(data).schema

        def batches(columns: list[str], rows: int = _CHUNK_ROWS) -> Iterator[Any]:
            tops = [name if name in schema.names else name.partition(".")[0] for name in columns]
            wanted = sorted({schema.get_field_index(top) for top in tops})
            data.seek(0)
            options = pa.ipc.IpcReadOptions(included_fields=wanted)
            file = pa.ipc.open_file(data, options=options)
            for index in range(file.num_record_batches):
                batch = file.get_batch(index)
                for start in range(0, batch.num_rows, rows):
                    yield batch.slice(start, rows)

        return schema, batches


def _leaves(schema: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """Go through the columns, those inside of structs by their dotted paths."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    for field in schema:
        name = above + field.name
        if pa.types.is_struct(field.type):
            yield from _leaves(field.type, f"{name}.")
        else:
            yield name, field.type


def _is_number(kind: Any, *, whole: bool = False) -> bool:
    from pyarrow import types  # noqa: PLC0415 - an extra

    if types.is_integer(kind) or types.is_boolean(kind):
        return True
    return not whole and (types.is_floating(kind) or types.is_decimal(kind))


class _Batch:
    """Some rows of a file."""

    def __init__(self, batch: Any, types: dict[str, Any], first: int, source: Source) -> None:
        self._batch = batch
        self._types = types
        self._first = first
        self._source = source

    def scores(self, names: list[str], layout: Layout) -> dict[str, Any]:
        """Read columns of numbers, as the fields of a chunk."""
        bad: list[NotFinite] = []
        scores: dict[str, NDArray[np.float64]] = {}
        usage: dict[str, NDArray[np.float64]] = {}
        fractional: set[str] = set()
        for name in names:
            column = layout.scores[name]
            short, above = _usage_name(name)
            numbers = self._numbers(name, column, bad)
            if above is None:
                scores[short] = numbers
            elif short not in usage or above == _USAGE[0]:
                usage[short] = numbers
            if not _is_number(self._types[column], whole=True):
                fractional.add(short)
        return {
            "scores": scores,
            "usage": usage,
            "fractional": frozenset(fractional),
            "not_finite": bad,
        }

    def _column(self, path: str) -> Any:
        import pyarrow.compute as pc  # noqa: PLC0415 - an extra

        names = self._batch.schema.names
        if path in names:
            return self._batch.column(names.index(path))
        top, _, rest = path.partition(".")
        return pc.struct_field(self._batch.column(names.index(top)), rest.split("."))

    def values(self, path: str) -> list[Any]:
        """Get a column as builtins."""
        return list(self._column(path).to_pylist())

    def texts(self, path: str) -> list[str | None]:
        """Get a column as text."""
        values = self.values(path)
        return [v if v is None or type(v) is str else _text(v) for v in values]

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


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


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


def to_parquet(pattern: str, target: str, base: Path, labels: Sequence[str] = ()) -> str:
    """Read rollouts, and write their numbers into one Parquet file."""
    _pyarrow(_WRITING, target)  # before a large run is read
    spec = RolloutsSpec(path=(pattern,))
    try:  # as most benchmarks read it: the only score of a format is then the reward, too
        table = load(spec, base, scores=("reward",), categories=labels)
    except DataError:
        table = load(spec, base, scores=(), categories=labels)
    write_parquet(table, base / target, shown=target)
    kept = [*table.scores, *labels]
    notes = "".join(f"{note}\n" for note in table.notes)
    rollouts, tasks = many(len(table), "rollout"), many(len(table.tasks), "task")
    return f"{notes}{target}: {rollouts} of {tasks}, {', '.join(kept)}\n"


def write_parquet(table: RolloutTable, path: Path, *, shown: str) -> None:
    """Write a table such that reading the file gives the same table, its sources aside."""
    pa = _pyarrow(_WRITING, shown)
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
        pq.write_table(_arrow_columns(table, pa), temporary)
        _must_be_the_same(table, Path(temporary), shown)
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)  # such a file is its owner's alone at first
        Path(temporary).replace(path)
    except (OSError, OverflowError, pa.ArrowException) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise DataError(f"this can't be written: {why}", file=shown) from error
    finally:
        if temporary:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()


def _pyarrow(message: str, shown: str) -> Any:
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra, and only where a file needs it
    except ImportError as error:
        hint = 'install it: pip install "pytest-evalmetrics[parquet]"'
        raise DataError(message, file=shown, hint=hint) from error
    return pa


def _arrow_columns(table: RolloutTable, pa: Any) -> Any:
    """Make the columns, named as NeMo Gym names its keys, in the order of the files."""
    order = slice(None) if table.read_as is None else np.argsort(table.read_as)
    tasks = np.array(table.tasks, object)[table.task[order]]
    columns = {
        _TASK: pa.array(tasks.tolist()),
        _SAMPLE: pa.array(table.sample[order]),
        _AGENT: pa.array(np.array(table.agents, object)[table.agent[order]].tolist()),
    }
    for name, category in table.categories.items():
        columns[name] = pa.array(_label_texts(category)[order].tolist(), pa.string())
    for name, column in table.scores.items():
        kind = _stored_kind(column, table.categories.get(name), whole=name in table.integers)
        values = column[order]
        absent = np.isnan(values)
        held: NDArray[Any] = np.where(absent, 0, values).astype(kind)
        columns.pop(name, None)  # the scores keep their order
        columns[name] = pa.array(held, mask=absent)
    made = pa.table(columns)
    return made.replace_schema_metadata({NOTES: json.dumps(table.notes).encode()})


def _stored_kind(column: NDArray[np.float64], label: Category | None, *, whole: bool) -> type:
    """Choose what a score is kept as; one that is a label too has to keep how it is written."""
    texts = set() if label is None else set(label.labels) - {MISSING}
    if texts and texts <= _BOOLEANS.keys():
        return np.bool_
    if whole or (texts and all(text.lstrip("-").isdecimal() for text in texts)):
        return np.int64 if (np.abs(column[~np.isnan(column)]) < _INT64).all() else np.uint64
    return np.float64


def _label_texts(category: Category) -> NDArray[Any]:
    texts = [None if text == MISSING else text for text in category.labels]
    return np.array(texts, object)[category.codes]


def _must_be_the_same(table: RolloutTable, path: Path, shown: str) -> None:
    spec = RolloutsSpec(path=(str(path),))
    read = load(spec, path.parent, scores=(), categories=tuple(table.categories))
    wrong = [
        name
        for name in ("agents", "agent", "tasks", "task", "sample")
        if not np.array_equal(getattr(table, name), getattr(read, name))
    ]
    if list(table.scores) != list(read.scores):
        wrong.append("the list of scores")
    for name, column in read.scores.items():
        same = np.array_equal(table.scores.get(name, []), column, equal_nan=True)
        if not same or (name in table.integers) != (name in read.integers):
            wrong.append(f"the score {name!r}")
    for name, category in table.categories.items():
        if not np.array_equal(_label_texts(category), _label_texts(read.categories[name])):
            wrong.append(f"the label {name!r}")
    if wrong:
        raise DataError(
            f"these rollouts can't be kept as Parquet columns: {', '.join(wrong)} would not be "
            "read back as it is",
            file=shown,
            hint="is a score or a label named as one of our own columns, or with a leading _? "
            "read the files as they are",
        )
