"""Which files are read in pieces, by several processes or machines, and how large these are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts.finding import find_loader
from pytest_evalmetrics.rollouts.source import Source, open_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_evalmetrics.rollouts.files import RolloutFile

__all__ = ["LARGE", "Piece", "cut", "is_large"]

_MIB: Final = 1 << 20
LARGE: Final = 128 * _MIB  # from here on a second process saves more than its start costs
_PACKED: Final = 4  # times as much text as compressed bytes, about
_SHARD: Final = (8 * _MIB, 64 * _MIB)  # the least and the most bytes of one
_EACH: Final = 12  # shards per worker, so that all of them end at about the same time
_SUFFIXES: Final = (".gz", ".zst")


class Piece(msgspec.Struct, frozen=True):
    """What is read at a time."""

    # some lines of a file, or a whole file that is on another machine, and fetched
    what: Source | RolloutFile
    file: int  # which of the files it is of, from 0

    @property
    def nbytes(self) -> int:
        """Count the bytes that are read."""
        if not isinstance(self.what, Source):
            return self.what.size or 0
        return self.what.size if self.what.span is None else self.what.span[1] - self.what.span[0]


def is_large(files: Sequence[RolloutFile]) -> bool:
    """Whether files are worth several processes."""
    total = 0
    for file in files:
        try:
            size = file.path.stat().st_size if file.url is None else file.size or 0
        except OSError:  # its turn comes
            return False
        total += size * (_PACKED if file.path.suffix in _SUFFIXES else 1)
    return total >= LARGE


def cut(
    files: Sequence[RolloutFile],
    format_: str | None,
    workers: int,
    *,
    size: int | None = None,
    fetches: bool = False,
) -> list[Piece] | None:
    """Cut files into pieces, in their order."""
    try:
        here = {n: open_source(file) for n, file in enumerate(files) if file.url is None}
        if size is None:
            total = sum(here[n].size if n in here else f.size or 0 for n, f in enumerate(files))
            size = min(max(total // (workers * _EACH), _SHARD[0]), _SHARD[1])
        pieces: list[Piece] = []
        for number, file in enumerate(files):
            source = here.get(number)
            if source is None and not (fetches and (file.size or 0) <= size):
                source = _looked_at(file)
            if source is not None and _splits(source, format_):
                pieces += (Piece(shard, number) for shard in _shards(source, size))
            elif file.url is not None and fetches:
                pieces.append(Piece(file, number))
            else:
                return None
    except (DataError, OSError):
        return None
    return pieces


def _looked_at(file: RolloutFile) -> Source | None:
    from pytest_evalmetrics.rollouts.ranges import look  # noqa: PLC0415 - takes an extra

    return look(file)


def _splits(source: Source, format_: str | None) -> bool:
    from pytest_evalmetrics.rollouts.shards import splits  # noqa: PLC0415 - loads msgspec

    return splits(find_loader(format_, source), source)


def _shards(source: Source, size: int) -> Iterator[Source]:
    from pytest_evalmetrics.rollouts.shards import shards_of  # noqa: PLC0415 - loads msgspec

    return shards_of(source, size)
