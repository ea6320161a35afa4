"""Rows as they are written, whole, one at a time: what scorers look at."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_evalmetrics.rollouts.files import find_files
from pytest_evalmetrics.rollouts.parse import parse
from pytest_evalmetrics.rollouts.seam import Request, RowLoader, TextLoader, find_loader
from pytest_evalmetrics.rollouts.source import open_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.rollouts.source import Row, Source
    from pytest_evalmetrics.spec import RolloutsSpec

__all__ = ["records", "task_key"]

_TASK_KEYS = ("id", "task_id", "_ng_task_index")


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
        ``file:line`` as the user would write it, and the row. One is held at a time.

    Raises
    ------
    DataError
        If a file can't be read or is broken, or its format has no rows of its own.
    RegistryError
        If there is no such format.
    """
    for file in find_files(spec.path, Path(os.path.abspath(base))):  # noqa: PTH100 - links
        source = open_source(file)
        loader = find_loader(spec.format, source)(Request(spec.fields))
        if isinstance(loader, RowLoader):
            for place, item in loader.rows(source):
                yield source.at(place), item
            continue
        if not isinstance(loader, TextLoader):
            raise source.error(
                "the rows of this format can't be scored: only its numbers are read",
                hint="write JSON Lines (.jsonl), CSV or Parquet",
            )
        for row in loader.texts(source):
            yield source.at(row.place), _decoded(row, source)


def task_key(spec: RolloutsSpec, base: Path) -> str | None:
    """Find the key that holds the task's id in a data set; None for its rows' positions."""
    if spec.fields.task is not None:
        return spec.fields.task
    for _, first in records(spec, base):
        return next((key for key in _TASK_KEYS if key in first), None)
    return None


def _decoded(row: Row, source: Source) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(row.text)
    except (msgspec.DecodeError, RecursionError):  # NaN, or what is wrong is said there
        return parse(row, source)
    if not isinstance(value, dict):
        return parse(row, source)
    return value
