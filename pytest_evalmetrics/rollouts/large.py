"""Rollouts of many megabytes: read in shards by all the cores there are."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pytest_evalmetrics.helpers.count import processes
from pytest_evalmetrics.rollouts.cutting import cut
from pytest_evalmetrics.rollouts.memory import Room
from pytest_evalmetrics.rollouts.source import Source
from pytest_evalmetrics.rollouts.table import TableBuilder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.rollouts.files import RolloutFile
    from pytest_evalmetrics.rollouts.seam import Request

__all__ = ["read_large"]


def read_large(
    files: Sequence[RolloutFile],
    format_: str | None,
    request: Request,
    *,
    count: int | None = None,
    size: int | None = None,
) -> RolloutTable | None:
    """Read files by several processes.

    Parameters
    ----------
    files
        The files, here or on other machines.
    format_
        The loader's name; None where it is recognised.
    request
        What the benchmark wants.
    count
        How many processes, this one included; as many as there may be if None.
    size
        Bytes of a shard; chosen so that every process has some if None.

    Returns
    -------
    RolloutTable or None
        What one process would read; None where one has to: there is but one core, a
        format can't be read in shards, or something is wrong with a file. What it is, a
        reader tells that goes through everything in order.

    Raises
    ------
    DataError
        If the memory is too small, or the rows do not make a table.
    """
    from pytest_evalmetrics.rollouts.sharing import (  # noqa: PLC0415 - loads msgspec
        BrokenShard,
        read_shared,
    )

    count = processes() if count is None else count
    if count < 2:  # noqa: PLR2004 - this one and another
        return None
    pieces = cut(files, format_, count, size=size) or []
    shards = [piece.what for piece in pieces if isinstance(piece.what, Source)]
    if len(shards) < 2:  # noqa: PLR2004
        return None
    table = TableBuilder(request)
    room = Room()
    rows = dict.fromkeys(range(len(files)), 0)
    done, total = 0, sum(piece.nbytes for piece in pieces)
    try:
        with closing(read_shared(request, shards, min(count, len(shards)))) as parts:
            for piece, shard, part in zip(pieces, shards, parts, strict=True):
                table.extend(shard, part)
                rows[piece.file] += part.rows
                done += piece.nbytes
                room.check(table.part, lambda: done / total)  # noqa: B023 - called at once
                shard.must_be_unchanged()
    except BrokenShard:
        return None
    return table.build() if all(rows.values()) else None
