"""Recorded rollouts: files in, one table out.

Whatever the format, a file is turned into columns as it is read; no text of it is kept.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_evalmetrics.collector import collector_paused
from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.rollouts.files import find_files
from pytest_evalmetrics.rollouts.seam import (
    Chunk,
    Failure,
    Loader,
    NotFinite,
    Request,
    TextLoader,
    find_loader,
    loaders,
    register_loader,
)
from pytest_evalmetrics.rollouts.source import Source, open_source
from pytest_evalmetrics.rollouts.table import TableBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.rollouts.files import RolloutFile
    from pytest_evalmetrics.rollouts.seam import LoaderFactory
    from pytest_evalmetrics.spec import RolloutsSpec

__all__ = [
    "Chunk",
    "Failure",
    "Loader",
    "NotFinite",
    "Request",
    "Source",
    "TextLoader",
    "load",
    "load_dataset",
    "loaders",
    "register_loader",
]


def load(
    spec: RolloutsSpec,
    base: Path,
    *,
    scores: Sequence[str],
    categories: Sequence[str] = (),
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
    return _load(spec, base, Request(spec.fields, tuple(scores), tuple(categories)))


def load_dataset(
    spec: RolloutsSpec,
    base: Path,
    *,
    scores: Sequence[str] = (),
    categories: Sequence[str] = (),
) -> RolloutTable:
    """Read the numbers and the labels of a data set; each row is a task with one rollout.

    A task's id is what ``fields.task`` names, else the row's ``id`` or ``task_id``, else its
    position. Parameters and errors as of `load`.
    """
    from pytest_evalmetrics.rollouts.records import task_key  # noqa: PLC0415 - loads msgspec

    key = task_key(spec, base)
    fields = spec.fields if key is None else replace(spec.fields, task=key)
    by_position = key is None
    return _load(spec, base, Request(fields, tuple(scores), tuple(categories), by_position))


def _load(spec: RolloutsSpec, base: Path, request: Request) -> RolloutTable:
    with collector_paused():
        return _read(spec, Path(os.path.abspath(base)), request)  # noqa: PTH100 - links


def _read(spec: RolloutsSpec, base: Path, request: Request) -> RolloutTable:
    table = TableBuilder(request)
    used: dict[LoaderFactory, Loader] = {}
    for file in _files(spec, base):
        source = open_source(file)
        kind = find_loader(spec.format, source)
        if kind not in used:
            used[kind] = kind(request)  # what it learns from one file helps with the next
        rows = 0
        with _in_words(source):
            for chunk in used[kind].read(source):
                table.add(source, chunk)
                rows += len(chunk.places)
        if not rows:
            raise source.error("the file holds no row", hint="did the run that writes it fail?")
    return table.build()


def _files(spec: RolloutsSpec, base: Path) -> list[RolloutFile]:
    def takes(folder: Path) -> bool:
        from pytest_evalmetrics.rollouts import harbor  # noqa: PLC0415 - only for a folder

        return spec.format == "harbor" or (spec.format is None and harbor.is_trials_folder(folder))

    files = find_files(spec.path, base, takes=takes)
    if all(file.path.name != "result.json" for file in files):
        return files
    from pytest_evalmetrics.rollouts import harbor  # noqa: PLC0415 - a job's result, it seems

    return harbor.jobs_as_folders(files)


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
