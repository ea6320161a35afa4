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
_GROUP: Final = Path("/sys/fs/cgroup")


class Room:
    """Looks now and then whether there is enough memory.

    Parameters
    ----------
    free
        Tells how many bytes are free; None where that is not known.
    """

    def __init__(self, free: Callable[[], int | None] | None = None) -> None:
        self._free = available if free is None else free
        self._next = _OFTEN

    def check(self, part: Part, share: float = 1.0) -> None:
        """Look, if much was read since the last time.

        Parameters
        ----------
        part
            What was read so far.
        share
            What share of everything that is, by the bytes of the files.

        Raises
        ------
        DataError
            If what is still to come will not find room.
        """
        held = part.nbytes()
        if held < self._next:
            return
        self._next = held + _OFTEN
        free = self._free()
        rows = round(part.rows / share)
        needed = round(_COPIES * held / share)
        if free is None or needed - held <= free:
            return
        columns = len(part.scores.keys() | part.usage.keys())
        raise DataError(
            f"these rollouts do not fit into memory: {rows:,} rows with {columns} columns of "
            f"numbers need {needed:,} bytes, and {free + held:,} are free",
            hint="split the benchmark into several, or run it where there is more memory",
        )


def available() -> int | None:
    """Count the bytes that may still be taken, by the machine and by a container's limit.

    Returns
    -------
    int or None
        None where the system does not tell.
    """
    try:
        lines = _MEMORY.read_text(encoding="ascii").splitlines()
        free = next(int(x.split()[1]) for x in lines if x.startswith("MemAvailable:")) * 1024
    except (OSError, ValueError, StopIteration, IndexError):
        return None
    limit = _left_in_group()
    return free if limit is None else min(free, limit)


def _left_in_group() -> int | None:
    try:
        limit = int(_GROUP.joinpath("memory.max").read_text(encoding="ascii"))
        used = int(_GROUP.joinpath("memory.current").read_text(encoding="ascii"))
        stat = _GROUP.joinpath("memory.stat").read_text(encoding="ascii").split()
    except (OSError, ValueError):  # no limit, or no such group
        return None
    counts = dict(zip(stat[::2], stat[1::2], strict=False))
    files = int(counts.get("inactive_file", 0))  # given back when somebody needs the room
    return max(0, limit - used + files)
