"""Rollouts read where they lie, by the tasks of a Ray cluster."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.errors import EngineError, EvalMetricsError
from pytest_evalmetrics.rollouts.files import RolloutFile, is_large
from pytest_evalmetrics.rollouts.large import Piece, ShardReader, cut, splits
from pytest_evalmetrics.rollouts.recorded import find_loader
from pytest_evalmetrics.rollouts.source import Source, open_source
from pytest_evalmetrics.rollouts.table import Part, TableBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.engines.ray_engine import Cluster
    from pytest_evalmetrics.rollouts.loader import Request

_TRIES: Final = 5  # of a task whose node is gone
_AHEAD: Final = 3  # tasks per core that are under way: what they give waits in the object store


@dataclass(frozen=True, slots=True)
class Read:
    """What a task gives."""

    source: Source | None = None  # the file; None where it can't be read in shards
    part: Part | None = None  # what was read
    # what is wrong with it; its line is counted from the start of the piece
    error: EvalMetricsError | None = None


def read_on(
    cluster: Cluster,
    files: Sequence[RolloutFile],
    format_: str | None,
    request: Request,
    *,
    always: bool = False,
    size: int | None = None,
) -> RolloutTable | None:
    """Read files by the tasks of a cluster, see `rollouts.Reader`."""
    if not (always or any(file.url for file in files) or is_large(files)):
        return None
    cpus = cluster.cpus()
    pieces = cut(files, format_, cpus, size, fetches=True)
    if pieces is None:
        return None
    cluster.must_have_a_core()
    table = TableBuilder(request)
    rows = dict.fromkeys(range(len(files)), 0)
    lines, last = 0, -1
    for piece, found in _results(cluster, pieces, format_, request, cpus):
        if piece.file != last:
            lines, last = 0, piece.file
        if found.error is not None:
            if found.error.line is not None:
                found.error.line += lines  # read before, of the same file
            raise found.error
        part = found.part
        if found.source is None or part is None:
            return None
        table.extend(found.source, part)
        lines += part.lines
        rows[piece.file] += part.rows
        if isinstance(piece.what, Source):
            piece.what.must_be_unchanged()
    return table.build() if all(rows.values()) else None


def read_piece(what: Source | RolloutFile, format_: str | None, request: Request) -> Read:
    """Read a piece on whatever node this is."""
    try:
        if not isinstance(what, Source):
            return _fetched(what, format_, request)
        if what.url is None and not what.path.exists():
            hint = "place the rollouts where all nodes see them under the same path, or behind URLs"
            message = f"the node {gethostname()} of the Ray cluster has no file {what.path}"
            raise EngineError(message, file=what.shown, hint=hint)
        return Read(what, ShardReader(request).read(what))
    except EvalMetricsError as error:  # a value: Ray would make another class of it
        return Read(error=error)


def _fetched(file: RolloutFile, format_: str | None, request: Request) -> Read:
    """Read a file that is not yet anywhere: the copy is gone when it has been read."""
    from pytest_evalmetrics.rollouts.remote import fetch  # noqa: PLC0415 - takes an extra

    (copy,) = fetch(file.url or "")
    try:
        source = open_source(copy)
        if not splits(find_loader(format_, source), source):
            return Read()
        part = ShardReader(request).read(source)
        return Read(replace(source, path=Path(file.shown)), part)
    finally:
        copy.path.unlink(missing_ok=True)


def _results(
    cluster: Cluster, pieces: Sequence[Piece], format_: str | None, request: Request, cpus: int
) -> Iterator[tuple[Piece, Read]]:
    """Give what the tasks read, in the order of the pieces; some are always under way."""
    task = cluster.ray.remote(num_cpus=1, max_retries=_TRIES, scheduling_strategy="SPREAD")(
        read_piece
    )
    asked = cluster.ray.put(request)
    started = ((piece, task.remote(piece.what, format_, asked)) for piece in pieces)
    pending = deque(islice(started, cpus * _AHEAD))
    while pending:
        piece, ref = pending.popleft()
        found = cluster.get(ref)
        del ref  # the store may forget it
        pending.extend(islice(started, 1))
        yield piece, found
