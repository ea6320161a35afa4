"""How much memory is free, so that rollouts without room are refused before it is full."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

_MEMORY: Final = Path("/proc/meminfo")
_CONTAINER: Final = Path("/sys/fs/cgroup")


class _Limit(msgspec.Struct, frozen=True):
    """The files that state the limit of a container, and what it uses of it."""

    most: str
    used: str
    stat: str
    #: The entry of `stat` for the pages of files, which may be given back.
    given_back: str


_LIMITS: Final = (
    # of version 2 of control groups
    _Limit("memory.max", "memory.current", "memory.stat", "inactive_file"),
    # of version 1
    _Limit(
        "memory/memory.limit_in_bytes",
        "memory/memory.usage_in_bytes",
        "memory/memory.stat",
        "total_inactive_file",
    ),
)


def free_memory() -> int | None:
    """Count the bytes that may still be taken, by the machine and by a container's limit."""
    free = _of_machine()
    if free is None:
        return None
    for limit in _LIMITS:
        left = _of_container(limit)
        if left is not None:
            free = min(free, left)
    return free


def _of_machine() -> int | None:
    try:
        lines = _MEMORY.read_text(encoding="ascii").splitlines()
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        return None
    return None


def _of_container(limit: _Limit) -> int | None:
    try:
        most = int(_text(limit.most))
        used = int(_text(limit.used))
        stat = dict(line.split() for line in _text(limit.stat).splitlines())
        given_back = int(stat.get(limit.given_back, 0))
    except (OSError, ValueError):  # no limit, or no such group
        return None
    return max(0, most - used + given_back)


def _text(name: str) -> str:
    return _CONTAINER.joinpath(name).read_text(encoding="ascii")
