"""Rows as they are written, whole, one at a time: what scorers look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from pytest_evalmetrics.rollouts.files import absolute
from pytest_evalmetrics.rollouts.finding import find_loader, rollout_files
from pytest_evalmetrics.rollouts.parse import parse
from pytest_evalmetrics.rollouts.seam import Request, RowLoader, TextLoader
from pytest_evalmetrics.rollouts.source import open_source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_evalmetrics.rollouts.seam import Loader, LoaderFactory
    from pytest_evalmetrics.rollouts.source import Row, Source
    from pytest_evalmetrics.spec import RolloutsSpec

__all__ = ["TASK_KEYS", "records", "task_key"]

TASK_KEYS = ("id", "task_id", "_ng_task_index")


def records(spec: RolloutsSpec, base: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Go through the rows of all files, in the order in which `load` reads them.

    Parameters
    ----------
    spec
        Which files, and how to read them.
    base
        The folder of the benchmark file, which paths are relative to.

    Yields
    ------
    where, row
        ``file:line`` as the user would write it, and the row. One is held at a time; of
        other tools' formats those of a file.

    Raises
    ------
    DataError
        If a file can't be read or is broken, or its format has no rows of its own.
    RegistryError
        If there is no such format.
    """
    used: dict[LoaderFactory, Loader] = {}
    for file in rollout_files(spec, absolute(base)):
        source = open_source(file)
        kind = find_loader(spec.format, source)
        if kind not in used:
            used[kind] = kind(Request(spec.fields, whole=True))
        loader = used[kind]
        if isinstance(loader, RowLoader):
            for place, item in loader.rows(source):
                yield source.at(place), item
        elif isinstance(loader, TextLoader):
            for row in loader.texts(source):
                yield source.at(row.place), _decoded(row, source)
        else:
            yield from _gathered(loader, source)
        source.must_be_unchanged()


def _gathered(loader: Loader, source: Source) -> Iterator[tuple[str, dict[str, Any]]]:
    for chunk in loader.read(source):
        if len(chunk.records) != len(chunk.places):
            raise source.error(
                "the rows of this format can't be scored: only its numbers are read",
                hint="write JSON Lines (.jsonl), CSV or Parquet; or let the loader give "
                "records where it is asked for whole rows",
            )
        for at, record in enumerate(chunk.records):
            name = chunk.names[at] if chunk.names else source.at(int(chunk.places[at]))
            yield name, dict(record)


def task_key(spec: RolloutsSpec, base: Path) -> str | None:
    """Find the key that holds the task's id in a data set; None for its rows' positions."""
    if spec.fields.task is not None:
        return spec.fields.task
    for _, first in records(spec, base):
        return next((key for key in TASK_KEYS if key in first), None)
    return None


def _decoded(row: Row, source: Source) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(row.text)
    except (msgspec.DecodeError, RecursionError):  # NaN, or what is wrong is said there
        return parse(row, source)
    if not isinstance(value, dict):
        return parse(row, source)
    return value
