"""Rollouts of many megabytes: read in shards by all the cores there are."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts.memory import Room
from pytest_evalmetrics.rollouts.processes import processes
from pytest_evalmetrics.rollouts.seam import find_loader
from pytest_evalmetrics.rollouts.source import open_source
from pytest_evalmetrics.rollouts.table import TableBuilder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.rollouts.files import RolloutFile
    from pytest_evalmetrics.rollouts.seam import Request
    from pytest_evalmetrics.rollouts.source import Source

__all__ = ["is_large", "read_large"]

_MIB: Final = 1 << 20
LARGE: Final = 128 * _MIB  # from here on a second process saves more than its start costs
_PACKED: Final = 4  # times as much text as compressed bytes, about
_SHARD: Final = (8 * _MIB, 64 * _MIB)  # the least and the most bytes of one
_EACH: Final = 12  # shards per process, so that all of them end at about the same time
_SUFFIXES: Final = (".gz", ".zst")


def is_large(files: Sequence[RolloutFile]) -> bool:
    """Whether files are worth several processes."""
    total = 0
    for file in files:
        try:
            size = file.path.stat().st_size
        except OSError:  # its turn comes
            return False
        total += size * (_PACKED if file.path.suffix in _SUFFIXES else 1)
    return total >= LARGE


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
        The files.
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
    from pytest_evalmetrics.rollouts import shards  # noqa: PLC0415 - loads msgspec
    from pytest_evalmetrics.rollouts.sharing import BrokenShard, read_shared  # noqa: PLC0415

    count = processes() if count is None else count
    if count < 2:  # noqa: PLR2004 - this one and another
        return None
    least, most = _SHARD
    try:
        sources = [open_source(file) for file in files]
        if not all(_splits(source, format_) for source in sources):
            return None
        total = sum(source.size for source in sources)
        size = min(max(total // (count * _EACH), least), most) if size is None else size
        plan = [(s, shard) for s in sources for shard in shards.shards_of(s, size)]
    except (DataError, OSError):
        return None
    if len(plan) < 2:  # noqa: PLR2004
        return None
    table = TableBuilder(request)
    room = Room()
    rows = dict.fromkeys((id(source) for source in sources), 0)
    done = 0
    try:
        with closing(read_shared(request, [s for _, s in plan], min(count, len(plan)))) as parts:
            for (source, shard), part in zip(plan, parts, strict=True):
                table.extend(source, part)
                rows[id(source)] += part.rows
                done += shard.size if shard.span is None else shard.span[1] - shard.span[0]
                room.check(table.part, done / total)
    except BrokenShard:
        return None
    return table.build() if all(rows.values()) else None


def _splits(source: Source, format_: str | None) -> bool:
    from pytest_evalmetrics.rollouts.shards import splits  # noqa: PLC0415 - loads msgspec

    return splits(find_loader(format_, source), source)
