"""The history's file, read again: what is broken in it is told, and stays as it is."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pytest_evalmetrics.errors import BaselineError
from pytest_evalmetrics.history.run import SCHEMA_VERSION, Run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["History", "read_history"]

_NAMED = 3  # broken lines


@dataclass(frozen=True, slots=True)
class History:
    """What a history holds."""

    # by benchmark: its runs in the order of the file, the oldest first
    runs: Mapping[str, Sequence[Run]] = field(default_factory=dict)
    broken: tuple[str, ...] = ()  # ``file:line: why`` of each line that is none

    def notes(self) -> list[str]:
        """Tell of the broken lines, the first of them by their place."""
        told = [f"history: {line}; the line is left out" for line in self.broken[:_NAMED]]
        more = len(self.broken) - _NAMED
        return told + ([f"history: and {more} more broken lines"] if more > 0 else [])


def read_history(path: Path, shown: str) -> History:
    """Read a history."""
    try:
        stat = path.stat()
        return _read(os.fspath(path), shown, stat.st_mtime_ns, stat.st_size)
    except FileNotFoundError:
        return History()
    except OSError as error:
        raise BaselineError(
            f"this history can't be read: {error.strerror or error}",
            file=shown,
            hint="name a file that --evalmetrics-history writes",
        ) from error


@lru_cache(maxsize=2)  # the benchmarks of a run mostly share one
def _read(path: str, shown: str, _changed: int, _size: int) -> History:
    decoder = msgspec.json.Decoder(Run)
    runs: dict[str, list[Run]] = {}
    broken = []
    for number, line in enumerate(Path(path).read_bytes().split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            found = decoder.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            broken.append(f"{shown}:{number}: this is no run: {error}")
            continue
        if found["schema_version"] != SCHEMA_VERSION:
            broken.append(
                f"{shown}:{number}: this run has the schema version {found['schema_version']}, "
                f"and {SCHEMA_VERSION} is known"
            )
            continue
        runs.setdefault(found["benchmark"], []).append(found)
    return History(runs, tuple(broken))
