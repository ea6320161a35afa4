"""Files as shards that can be read each on its own, by any process, and put together again.

`map_shard` and `merge` are pure functions of what can be pickled: they fit a pool of
processes, Dask or Ray alike. ``merge`` of all shards is the table that one process would
have read, to the byte.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.collector import collector_paused
from pytest_evalmetrics.rollouts.json_array import JsonArray
from pytest_evalmetrics.rollouts.json_lines import JsonLines
from pytest_evalmetrics.rollouts.part import Part
from pytest_evalmetrics.rollouts.table import TableBuilder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.rollouts.seam import LoaderFactory, Request
    from pytest_evalmetrics.rollouts.source import Source

__all__ = ["ShardReader", "map_shard", "merge", "shards_of", "splits"]

_PEEKED: Final = 1 << 16  # bytes in which the end of a line is looked for at a time


def splits(kind: LoaderFactory, source: Source) -> bool:
    """Whether a file that this loader is to read can be read in shards: it is one of ours."""
    return kind is (JsonArray if JsonArray.recognises(source) else JsonLines)


def shards_of(source: Source, size: int) -> Iterator[Source]:
    """Cut a file into shards.

    Parameters
    ----------
    source
        The file, one that `splits`.
    size
        Bytes that a shard should have; a file that is compressed or no JSON Lines is one shard.

    Yields
    ------
    Source
        The same file with a span: whole lines, in their order.
    """
    if source.url is not None:
        from pytest_evalmetrics.rollouts.ranges import line_ends  # noqa: PLC0415 - takes an extra

        yield from (replace(source, span=span) for span in pairwise([0, *line_ends(source, size)]))
        return
    if JsonArray.recognises(source) or source.packed or source.size <= size:
        yield source
        return
    with source.path.open("rb") as file:
        start = 0
        while start < source.size:
            file.seek(min(start + size, source.size) - 1)
            stop = file.tell()
            while more := file.read(_PEEKED):
                found = more.find(b"\n")
                if found >= 0:
                    stop += found + 1
                    break
                stop += len(more)
            yield replace(source, span=(start, stop))
            start = stop


class ShardReader:
    """Reads shards in the order of the files; what it learns from one helps with the next.

    Parameters
    ----------
    request
        What the benchmark wants.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._lines = JsonLines(request)
        self._array = JsonArray(request)

    def read(self, shard: Source) -> Part:
        """Read one shard.

        Raises
        ------
        DataError
            If something is wrong with it; the lines of the message are counted from its start.
        """
        part = Part(self._request)
        loader = self._array if JsonArray.recognises(shard) else self._lines
        with collector_paused():
            for chunk in loader.read(shard):
                part.add(chunk, shard)
        part.lines = self._lines.lines
        return part


def map_shard(shard: Source, request: Request) -> Part:
    """Read one shard, see `ShardReader.read`."""
    return ShardReader(request).read(shard)


def merge(request: Request, shards: Sequence[Source], parts: Iterable[Part]) -> RolloutTable:
    """Put shards together.

    Parameters
    ----------
    request
        What the benchmark wants.
    shards
        The shards, in the order of the files and of the spans in each.
    parts
        What was read of each.

    Raises
    ------
    DataError
        As of `TableBuilder.build`.
    """
    table = TableBuilder(request)
    for shard, part in zip(shards, parts, strict=True):
        table.extend(shard, part)
    return table.build()
