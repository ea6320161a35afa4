"""Read the recorded rollouts of a benchmark: as one table, or row by row."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from msgspec import structs

from pytest_evalmetrics.errors import (
    DataError,
    EvalMetricsError,
    NoTaskError,
    WordScoreError,
)
from pytest_evalmetrics.gc_pause import collector_paused
from pytest_evalmetrics.rollouts.file_search import find_files
from pytest_evalmetrics.rollouts.formats import find_loader
from pytest_evalmetrics.rollouts.json_text import decode_row
from pytest_evalmetrics.rollouts.loader import Request, RowLoader, TextLoader
from pytest_evalmetrics.rollouts.repeats import attempts_are_shown
from pytest_evalmetrics.rollouts.run_sidecars import without_sidecars
from pytest_evalmetrics.rollouts.source import (
    RolloutFile,
    Source,
    SourceRow,
    absolute,
    is_large,
    open_source,
)
from pytest_evalmetrics.rollouts.table import TableBuilder
from pytest_evalmetrics.spec import sources

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence
    from pathlib import Path

    from pytest_evalmetrics.json_types import JsonObject
    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.model.rollout_table import RolloutTable
    from pytest_evalmetrics.rollouts.loader import Loader, LoaderFactory, RowVisitor
    from pytest_evalmetrics.rollouts.shape import Shape
    from pytest_evalmetrics.spec import FieldMap, RolloutsSpec
    from pytest_evalmetrics.spec.sources import FilesSpec

    Reader: TypeAlias = Callable[
        [Sequence[RolloutFile], str | None, Request], RolloutTable | None
    ]


class NoRecordsError(DataError):
    """The loader of a format reads numbers alone, and no whole rows."""


TASK_KEYS = ("id", "task_id", "_ng_task_index")  # of a data set


def rollout_files(
    spec: FilesSpec, base: Path, *, fetch: bool = True
) -> list[RolloutFile]:
    """Find the files that are read, in their order; a folder may be a file to its format."""
    if spec.inline:
        data = json.dumps(spec.inline).encode()
        return [RolloutFile(base / "dataset", "dataset", data=data)]

    folders: list[Path] = []  # those that are read as a file is

    def takes(folder: Path) -> bool:
        from pytest_evalmetrics.rollouts.loaders import harbor  # only for a folder

        is_taken = spec.format == "harbor" or (
            spec.format is None and harbor.is_trials_folder(folder)
        )
        if is_taken:
            folders.append(folder)
        return is_taken

    files = without_sidecars(find_files(spec.path, base, takes=takes, fetch=fetch))
    is_harbor = any(file.path.name == "result.json" for file in files)
    if not is_harbor and not folders:
        return files
    from pytest_evalmetrics.rollouts.loaders import harbor  # a job's result, it seems

    return harbor.jobs_as_folders(files)


def records(spec: FilesSpec, base: Path) -> Iterator[tuple[str, JsonObject]]:
    """Yield ``file:line`` and the row, for all rows, in the order in which `load` reads them."""
    for at, source, row in _whole_rows(spec, base):
        yield at, _decoded(row, source)


def records_at(
    spec: FilesSpec, base: Path, wanted: Container[int]
) -> Iterator[tuple[int, str, JsonObject]]:
    """Yield the wanted rows of `records`, each with its number; no other row is parsed."""
    for number, (at, source, row) in enumerate(_whole_rows(spec, base)):
        if number in wanted:
            yield number, at, _decoded(row, source)


def _decoded(row: SourceRow | JsonObject, source: Source) -> JsonObject:
    """Decode a row that is still JSON."""
    if isinstance(row, SourceRow):
        return decode_row(row, source)
    return row


def _whole_rows(
    spec: FilesSpec, base: Path
) -> Iterator[tuple[str, Source, SourceRow | JsonObject]]:
    """Yield ``file:line``, the file, and the row: its text if it is JSON."""
    # One row is held at a time; of other tools' formats those of a file.
    base = absolute(base)
    request = Request(_fields(spec), whole=True)
    files = rollout_files(spec, base)
    shape = _shape_of(spec, base, request)
    request = _with_derived(request, spec)
    for source, loader in _opened(spec, request, files, shape):
        if isinstance(loader, RowLoader):
            for place, item in loader.rows(source):
                yield source.at(place), source, item
        elif isinstance(loader, TextLoader):
            for row in loader.texts(source):
                yield source.at(row.place), source, row
        else:
            for name, record in _named_records(loader, source):
                yield name, source, record


def _named_records(loader: Loader, source: Source) -> Iterator[tuple[str, JsonObject]]:
    """Yield the whole records of a file by chunks, each with its name."""
    for chunk in loader.read(source):
        if len(chunk.records) != len(chunk.places):
            raise NoRecordsError(
                "the rows of this format can't be scored: only its numbers are read",
                file=source.shown,
                hint="write JSON Lines, CSV or Parquet; or let the loader give whole records",
            )
        names = chunk.names or [source.at(int(place)) for place in chunk.places]
        for name, record in zip(names, chunk.records, strict=True):
            yield name, dict(record)


def _shaped(spec: FilesSpec) -> RolloutsSpec:
    """Return files whose rows are shaped as what only `RolloutsSpec` can be."""
    if not isinstance(spec, sources.RolloutsSpec):
        raise TypeError(f"{type(spec).__name__} has no shape")
    return spec


def _shape_of(spec: FilesSpec, base: Path, request: Request) -> Shape | None:
    """Make the loader of shaped files; None if rows are the files' own."""
    if not spec.shaped:
        return None
    from pytest_evalmetrics.rollouts.shape import Shape  # rarely

    return Shape(_shaped(spec), base, request)


def _with_derived(request: Request, spec: FilesSpec) -> Request:
    """Let the loaders of tools derive scores."""
    if not spec.shaped:
        return request
    from pytest_evalmetrics.rollouts.derived_scores import derived_scores  # rarely

    return structs.replace(request, derived=tuple(derived_scores(_shaped(spec))))


def _is_of_a_tool(spec: FilesSpec, source: Source) -> bool:
    """Check for a tool's file whose scores alone are derived, which its loader does."""
    from pytest_evalmetrics.rollouts.tool_loader import ToolLoader  # shaped ones only

    kind = find_loader(spec.format, source)
    is_tool = isinstance(kind, type) and issubclass(kind, ToolLoader)
    return is_tool and _shaped(spec).derives_scores_only


def _opened(
    spec: FilesSpec,
    request: Request,
    files: list[RolloutFile],
    shape: Shape | None,
) -> Iterator[tuple[Source, Loader]]:
    """Open files one after the other, each with its loader; it must not change until the next."""
    used: dict[LoaderFactory, Loader] = {}
    for file in files:
        source = open_source(file)
        if shape is not None and not _is_of_a_tool(spec, source):
            yield shape.open(source), shape
        else:
            kind = find_loader(spec.format, source)
            if kind not in used:
                used[kind] = kind(request)  # one for all files: it learns from them
            yield source, used[kind]
        source.must_be_unchanged()


def load(
    spec: FilesSpec,
    base: Path,
    *,
    scores: Sequence[str],
    categories: Sequence[str] = (),
    reader: Reader | None = None,
    visitor: RowVisitor | None = None,
    explains: bool = True,
) -> RolloutTable:
    """Read recorded rollouts; `reader` reads the files elsewhere, if it takes them.

    `visitor` sees the whole rows of formats that have them beside the numbers. It sees all or
    only some of them: none that other processes read. What rows without a task hold is looked
    for only where `explains` says that somebody will read the error.
    """
    # Values other than numbers, booleans and null are refused in `scores`, and missing elsewhere.
    request = Request(
        _fields(spec), tuple(scores), tuple(categories), decimal=spec.decimal
    )
    try:
        table = _load(spec, base, request, reader, visitor)
    except (NoTaskError, WordScoreError) as error:
        if not explains:
            raise
        from pytest_evalmetrics.rollouts.guess.way_out import explained  # errors only

        raise explained(error, spec, base) from None
    return _with_attempts_shown(table, spec, base, spec.fields.task or "_ng_task_index")


def _with_attempts_shown(
    table: RolloutTable, spec: FilesSpec, base: Path, task: str | tuple[str, ...]
) -> RolloutTable:
    """Check that rows with one task id are attempts at it, and note what shows it."""
    if spec.inline:
        return structs.replace(table, marks=None)
    notes = attempts_are_shown(
        table,
        lambda: _records_again(spec, base),
        lambda: _written(spec, base),
        task_key=task if isinstance(task, str) else ", ".join(task),
        nested=_is_nested(spec),
    )
    return structs.replace(table, notes=(*table.notes, *notes), marks=None)


def _written(spec: FilesSpec, base: Path) -> Iterator[bytes | JsonObject]:
    """Yield the rows as `records` does: as their text where the file holds one of each."""
    with suppress(NoRecordsError):
        for _, _, row in _whole_rows(spec, base):
            if isinstance(row, SourceRow):
                yield bytes(row.text)
            else:
                yield row


def _records_again(spec: FilesSpec, base: Path) -> Iterator[tuple[str, JsonObject]]:
    """Yield the rows as `records` does; none of a format that has no whole rows."""
    with suppress(NoRecordsError):
        yield from records(spec, base)


def _is_nested(spec: FilesSpec) -> bool:
    """Check whether rows come out of lists within a file, or are put together of several."""
    if not spec.shaped:
        return False
    shaped = _shaped(spec)
    return any((shaped.rows, shaped.keyed, shaped.lists, shaped.pivot))


def load_dataset(
    spec: FilesSpec,
    base: Path,
    *,
    scores: Sequence[str] = (),
    categories: Sequence[str] = (),
    reader: Reader | None = None,
    visitor: RowVisitor | None = None,
) -> RolloutTable:
    """Read the numbers and the labels of a data set; each row is a task with one rollout."""
    # Its id is at ``fields.task``, else the row's ``id`` or ``task_id``, else its position.
    fields = _fields(spec)
    if fields.task is None:
        _, first = next(records(spec, base), ("", {}))
        fields = replace(
            fields, task=next((key for key in TASK_KEYS if key in first), None)
        )
    request = Request(
        fields,
        tuple(scores),
        tuple(categories),
        by_position=fields.task is None,
        decimal=spec.decimal,
    )
    table = _load(spec, base, request, reader, visitor)
    if fields.task is None:
        return structs.replace(table, marks=None)
    return _with_attempts_shown(table, spec, base, fields.task)


def _fields(spec: FilesSpec) -> FieldMap:
    """Map the fields of rows; if they are shaped, the numbers of `map` are at the top."""
    fields = spec.fields
    if not spec.shaped:
        return fields
    shaped = _shaped(spec)
    derived = {*shaped.map, *shaped.missing, *fields.joint}
    scores = dict(fields.scores)
    for name in derived:
        if name != "reward" or name in scores:
            scores[name] = name
    reward = fields.reward
    if "reward" in derived:
        reward = "reward"
    task = fields.task or _task_of_shape(shaped)
    return replace(fields, task=task, reward=reward, scores=scores)


def _task_of_shape(shaped: RolloutsSpec) -> str | tuple[str, ...] | None:
    """Return the field that a shape gives to rows as the id of their task, if it does."""
    if shaped.keyed:
        return shaped.keyed
    if shaped.lists is not None:
        return "id"
    if shaped.pivot is None:
        return None
    by = shaped.pivot.by
    return by[0] if len(by) == 1 else by


def _load(
    spec: FilesSpec,
    base: Path,
    request: Request,
    reader: Reader | None,
    visitor: RowVisitor | None,
) -> RolloutTable:
    base = absolute(base)
    with collector_paused():
        if reader is not None and not spec.inline and not spec.shaped:
            table = reader(rollout_files(spec, base, fetch=False), spec.format, request)
            if table is not None:
                return table
        files = rollout_files(spec, base)
        if is_large(files) and not spec.shaped:
            from pytest_evalmetrics.rollouts.large import read_large  # rarely

            table = read_large(files, spec.format, request)
            if table is not None:
                return table
        return _read_in_order(spec, base, request, files, visitor)


def _add_rows(
    table: TableBuilder, loader: Loader, source: Source, visitor: RowVisitor | None
) -> int:
    """Add the rows of one file to a table, and return their number."""
    rows = 0
    try:
        for chunk in loader.read(source):
            table.add(source, chunk)
            rows += len(chunk.places)
            if visitor is not None and len(chunk.records) == len(chunk.places):
                visitor.visit(source, chunk)
    except (EvalMetricsError, MemoryError):
        raise
    except Exception as error:  # of one of our loaders, or of a user's
        raise source.error(
            f"its loader can't read this: {type(error).__name__}: {error}",
            hint="is it whole, and of the format it is taken for? `format:` forces another",
        ) from error
    return rows


def _read_in_order(
    spec: FilesSpec,
    base: Path,
    request: Request,
    files: list[RolloutFile],
    visitor: RowVisitor | None,
) -> RolloutTable:
    request = structs.replace(request, whole=visitor is not None)
    table = TableBuilder(request)
    shape = _shape_of(spec, base, request)
    request = _with_derived(request, spec)
    may_be_empty = shape is not None and shape.may_be_empty
    for source, loader in _opened(spec, request, files, shape):
        rows = _add_rows(table, loader, source, visitor)
        if rows == 0 and not may_be_empty:
            raise source.error(
                "the file holds no row", hint="did the run that writes it fail?"
            )
    notes: Sequence[Note] = ()
    if shape is not None and shape.was_used:
        notes = shape.finish()
    built = table.build()
    return structs.replace(built, notes=(*built.notes, *notes))
