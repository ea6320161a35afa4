"""Recorded rollouts: files in, one table out.

Whatever the format, a file is turned into columns as it is read; no text of it is kept.
"""

from __future__ import annotations

import gc
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_evalmetrics.rollouts.files import find_files
from pytest_evalmetrics.rollouts.seam import (
    Chunk,
    Loader,
    NotFinite,
    Request,
    loaders,
    register_loader,
)
from pytest_evalmetrics.rollouts.source import Source, open_source
from pytest_evalmetrics.rollouts.table import TableBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.rollouts.seam import LoaderFactory
    from pytest_evalmetrics.spec import RolloutsSpec

__all__ = [
    "Chunk",
    "Loader",
    "NotFinite",
    "Request",
    "Source",
    "load",
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
    with _collector_paused():
        return _load(spec, Path(os.path.abspath(base)), scores, categories)  # noqa: PTH100 - links


def _load(
    spec: RolloutsSpec, base: Path, scores: Sequence[str], categories: Sequence[str]
) -> RolloutTable:
    request = Request(spec.fields, tuple(scores), tuple(categories))
    table = TableBuilder(request)
    used: dict[LoaderFactory, Loader] = {}
    for file in find_files(spec.path, base):
        source = open_source(file)
        kind = _loader(spec.format, source)
        if kind not in used:
            used[kind] = kind(request)  # what it learns from one file helps with the next
        rows = 0
        for chunk in used[kind].read(source):
            table.add(source, chunk)
            rows += len(chunk.places)
        if not rows:
            raise source.error("the file holds no row", hint="did the run that writes it fail?")
    return table.build()


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Keep the cyclic garbage collector from going through millions of short-lived tuples."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _loader(name: str | None, source: Source) -> LoaderFactory:
    if name is not None:
        found: LoaderFactory = loaders.find(name).target
        return found
    from pytest_evalmetrics.rollouts.builtin import BY_CONTENT  # noqa: PLC0415 - imports them all

    return next(kind for kind in BY_CONTENT if kind.recognises(source))
