"""Recorded rollouts: files in, one table out.

Whatever the format, a file is turned into columns as it is read; no text of it is kept.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_evalmetrics.collector import collector_paused
from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.rollouts.cutting import is_large
from pytest_evalmetrics.rollouts.files import RolloutFile, absolute
from pytest_evalmetrics.rollouts.finding import find_loader, rollout_files
from pytest_evalmetrics.rollouts.in_memory import table_in_memory
from pytest_evalmetrics.rollouts.memory import Room
from pytest_evalmetrics.rollouts.seam import (
    Chunk,
    Failure,
    Loader,
    NotFinite,
    Request,
    TextLoader,
    loaders,
    register_loader,
)
from pytest_evalmetrics.rollouts.source import Source, open_source
from pytest_evalmetrics.rollouts.table import TableBuilder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from typing import TypeAlias

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.rollouts.seam import LoaderFactory
    from pytest_evalmetrics.spec import RolloutsSpec

    # Reads files elsewhere: the files (those with a URL are not here yet), the loader's name or
    # None, what is wanted -> the table; None where this process is to read them.
    Reader: TypeAlias = Callable[[Sequence[RolloutFile], str | None, Request], RolloutTable | None]

__all__ = [
    "Chunk",
    "Failure",
    "Loader",
    "NotFinite",
    "Request",
    "RolloutFile",
    "Source",
    "TextLoader",
    "load",
    "load_dataset",
    "loaders",
    "register_loader",
    "table_in_memory",
]


def load(
    spec: RolloutsSpec,
    base: Path,
    *,
    scores: Sequence[str],
    categories: Sequence[str] = (),
    reader: Reader | None = None,
) -> RolloutTable:
    """Read recorded rollouts.

    Parameters
    ----------
    spec
        Which files, and how to read them.
    base
        The folder of the benchmark file, which paths are relative to.
    scores
        The scores that the benchmark needs. In these, what is neither a number, a boolean
        nor null is refused; in others it counts as missing.
    categories
        Fields kept as labels, as dotted paths.
    reader
        Reads the files elsewhere, if it takes them.

    Returns
    -------
    RolloutTable
        Sorted by agent, task and sample; NaN where a number is missing.

    Raises
    ------
    DataError
        If a file can't be read or is broken, a row lacks its task id, two rows are the same
        attempt, or what is asked for is in no row.
    RegistryError
        If there is no such format.
    """
    return _load(spec, base, Request(spec.fields, tuple(scores), tuple(categories)), reader)


def load_dataset(
    spec: RolloutsSpec,
    base: Path,
    *,
    scores: Sequence[str] = (),
    categories: Sequence[str] = (),
    reader: Reader | None = None,
) -> RolloutTable:
    """Read the numbers and the labels of a data set; each row is a task with one rollout.

    A task's id is what ``fields.task`` names, else the row's ``id`` or ``task_id``, else its
    position. Parameters and errors as of `load`.
    """
    from pytest_evalmetrics.rollouts.records import task_key  # noqa: PLC0415 - loads msgspec

    key = task_key(spec, base)
    fields = spec.fields if key is None else replace(spec.fields, task=key)
    by_position = key is None
    request = Request(fields, tuple(scores), tuple(categories), by_position)
    return _load(spec, base, request, reader)


def _load(spec: RolloutsSpec, base: Path, request: Request, reader: Reader | None) -> RolloutTable:
    with collector_paused():
        return _read(spec, absolute(base), request, reader)


def _read(spec: RolloutsSpec, base: Path, request: Request, reader: Reader | None) -> RolloutTable:
    if reader is not None:
        table = reader(rollout_files(spec, base, fetch=False), spec.format, request)
        if table is not None:
            return table
    files = rollout_files(spec, base)
    if is_large(files):
        from pytest_evalmetrics.rollouts.large import read_large  # noqa: PLC0415 - starts processes

        table = read_large(files, spec.format, request)
        if table is not None:
            return table
    return _read_in_order(files, spec, request)


def _read_in_order(files: list[RolloutFile], spec: RolloutsSpec, request: Request) -> RolloutTable:
    table = TableBuilder(request)
    room = Room()
    used: dict[LoaderFactory, Loader] = {}
    before = 0  # bytes of the files that were read

    def share() -> float:
        at = source.position.bytes()
        total = sum(os.path.getsize(file.path) for file in files)  # noqa: PTH202 - the same
        return max(before + (source.size if at is None else at), 1) / max(total, 1)

    for file in files:
        source = open_source(file)
        kind = find_loader(spec.format, source)
        if kind not in used:
            used[kind] = kind(request)  # what it learns from one file helps with the next
        rows = 0
        with _in_words(source):
            for chunk in used[kind].read(source):
                table.add(source, chunk)
                rows += len(chunk.places)
                room.check(table.part, share)
        if not rows:
            raise source.error("the file holds no row", hint="did the run that writes it fail?")
        source.must_be_unchanged()
        before += source.size
    return table.build()


@contextmanager
def _in_words(source: Source) -> Iterator[None]:
    """Say which file a loader stumbled over, one of ours or of a user."""
    try:
        yield
    except (EvalMetricsError, MemoryError):
        raise
    except Exception as error:
        raise source.error(
            f"its loader can't read this: {type(error).__name__}: {error}",
            hint="is it whole, and of the format that it is taken for? `format:` forces another",
        ) from error
