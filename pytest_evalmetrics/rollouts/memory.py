"""Whether the columns of a run will find room, known before the memory is full."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_evalmetrics.rollouts.part import Part

__all__ = ["Room", "available"]

_OFTEN: Final = 32 << 20  # bytes of columns between two looks
_COPIES: Final = 2  # of a table of few columns while it is sorted, and its metrics' own
_MEMORY: Final = Path("/proc/meminfo")
_ADDRESSES: Final = Path("/proc/self/statm")
_GROUP: Final = Path("/sys/fs/cgroup")
_GROUPS: Final = (  # of version 2, and of version 1
    (_GROUP, "memory.max", "memory.current", "inactive_file"),
    (
        _GROUP / "memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
)


class Room:
    """Looks now and then whether there is enough memory."""

    def __init__(self, free: Callable[[], int | None] | None = None) -> None:
        self._free = available if free is None else free
        self._next = _OFTEN

    def check(self, part: Part, share: Callable[[], float]) -> None:
        """Look, if much was read since the last time."""
        held = part.nbytes()
        if held < self._next:
            return
        self._next = held + _OFTEN
        free = self._free()
        done = share()
        rows = round(part.rows / done)
        needed = round(_COPIES * held / done)
        if free is None or needed - held <= free:
            return
        columns = len(part.scores.keys() | part.usage.keys())
        some = "" if done >= 1 else "some "  # what is still to come is an estimate
        raise DataError(
            f"these rollouts do not fit into memory: {some}{rows:,} rows with {columns} columns "
            f"of numbers need {some}{needed:,} bytes, and {free + held:,} are free",
            hint="split the benchmark into several, or run it where there is more memory",
        )


def available() -> int | None:
    """Count the bytes that may still be taken, by the machine and by a container's limit."""
    try:
        lines = _MEMORY.read_text(encoding="ascii").splitlines()
        free = next(int(x.split()[1]) for x in lines if x.startswith("MemAvailable:")) * 1024
    except (OSError, ValueError, StopIteration, IndexError):
        return None
    limits = [_left_of_addresses(), *(_left_in_group(*names) for names in _GROUPS)]
    return min([free, *(left for left in limits if left is not None)])


def _left_in_group(folder: Path, limit: str, used: str, given_back: str) -> int | None:
    try:
        most = int(folder.joinpath(limit).read_text(encoding="ascii"))
        now = int(folder.joinpath(used).read_text(encoding="ascii"))
        stat = folder.joinpath("memory.stat").read_text(encoding="ascii").split()
    except (OSError, ValueError):  # no limit, or no such group
        return None
    counts = dict(zip(stat[::2], stat[1::2], strict=False))
    files = int(counts.get(given_back, 0))  # when somebody needs the room
    return max(0, most - now + files)


def _left_of_addresses() -> int | None:
    """Count what `ulimit -v` leaves."""
    try:
        import resource  # noqa: PLC0415 - not on Windows

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most == resource.RLIM_INFINITY:
            return None
        pages = int(_ADDRESSES.read_text(encoding="ascii").split()[0])
        return max(0, most - pages * resource.getpagesize())
    except (ImportError, OSError, ValueError, IndexError):
        return None
