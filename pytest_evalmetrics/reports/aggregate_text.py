"""The entries of ``aggregate_metrics.json`` as text, of which no more is held than it takes."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

import msgspec

from pytest_evalmetrics.reports.handover import leave

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

__all__ = ["write_aggregates"]

_GROUPS: Final = "group_level_metrics"  # the last of an entry, and nearly all of it
_INDENTED: Final = 4 * 2**20  # bytes; nobody reads more, and indenting makes it twice as many
_HELD: Final = 32 * 2**20  # bytes


def write_aggregates(
    benchmark: str,
    aggregates: Iterable[Mapping[str, Any]],
    folder: Path | None = None,
    *,
    held: int = _HELD,
) -> tuple[str, str]:
    """Write the entries of one benchmark."""
    pieces = _pieces(benchmark, aggregates)
    text = bytearray()
    for piece in pieces:
        text += piece
        if folder is not None and len(text) > max(held, _INDENTED):
            return "", leave(itertools.chain([bytes(text)], pieces), folder)
    if len(text) <= _INDENTED:
        indented = msgspec.json.format(b"[" + text + b"]", indent=2)
        return indented[1:-1].strip(b"\n").decode(), ""
    return text.decode(), ""


def _pieces(benchmark: str, aggregates: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    for number, aggregate in enumerate(aggregates):
        groups: Any = aggregate.get(_GROUPS)
        entry = {"benchmark": benchmark, **aggregate}
        if number:
            yield b","
        if not hasattr(groups, "pieces"):
            yield msgspec.json.encode(entry)
            continue
        del entry[_GROUPS]
        yield msgspec.json.encode(entry)[:-1]
        yield b',"%b":[' % _GROUPS.encode()
        for at, piece in enumerate(groups.pieces()):
            if at:
                yield b","
            yield piece
        yield b"]}"
