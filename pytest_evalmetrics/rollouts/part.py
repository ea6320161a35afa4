"""Rows of consecutive chunks as columns that can be pickled, and a check that memory suffices."""

from __future__ import annotations

import math
import struct
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_evalmetrics.data import MISSING
from pytest_evalmetrics.data.content import NO_CONTENT, VERSIONS, join_versions
from pytest_evalmetrics.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskId
    from pytest_evalmetrics.rollouts.loader import Chunk, Request
    from pytest_evalmetrics.rollouts.source import Source

_OFTEN: Final = 32 << 20  # bytes of columns between two looks
_COPIES: Final = 2  # of a table of few columns while it is sorted, and its metrics' own
_MEMORY: Final = Path("/proc/meminfo")
_ADDRESSES: Final = Path("/proc/self/statm")
_GROUP: Final = Path("/sys/fs/cgroup")
_GROUPS: Final = (  # of version 2, and of version 1
    ("", "memory.max", "memory.current", "inactive_file"),
    ("memory/", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
AGENT = "agent"  # where rows name none
NO_SAMPLE = -1  # a row without a sample index
# A row in messages: which of the files, from 0, and its place in it; or what it is called.
Where = tuple[int, int] | str


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
        free, done = self._free(), share()
        needed = round(_COPIES * held / done)
        if free is None or needed - held <= free:
            return
        columns = len(part.scores.keys() | part.usage.keys())
        some = "" if done >= 1 else "some "  # what is still to come is an estimate
        raise DataError(
            f"these rollouts do not fit into memory: {some}{round(part.rows / done):,} rows with "
            f"{columns} columns of numbers need {some}{needed:,} bytes, and {free + held:,} are "
            "free",
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


def _left_in_group(folder: str, limit: str, used: str, given_back: str) -> int | None:
    def read(name: str) -> str:
        return _GROUP.joinpath(folder + name).read_text(encoding="ascii")

    try:
        most, now, stat = int(read(limit)), int(read(used)), read("memory.stat").split()
    except (OSError, ValueError):  # no limit, or no such group
        return None
    counts = dict(zip(stat[::2], stat[1::2], strict=False))
    return max(0, most - now + int(counts.get(given_back, 0)))  # which files may give back


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


class Part:
    """What was read of consecutive rows: builtins and arrays alone, so that it can be pickled.

    A part that is extended by the parts after it, in the order of the files, is what one process
    would have gathered.
    """

    def __init__(self, request: Request) -> None:
        self._by_position = request.by_position
        self.rows = 0
        self.lines = 0
        self.agents: dict[str, int] = {}
        self.tasks: dict[TaskId, int] = {}
        self.agent = array("i")
        self.task = array("q")
        self.sample = array("q")
        self.place = array("q")
        self.scores: dict[str, array[float]] = {}
        self.usage: dict[str, array[float]] = {}
        self.labels: dict[str, tuple[dict[str, int], array[int]]] = {
            name: ({}, array("i")) for name in request.categories
        }
        self.labelled: set[str] = set()
        self.any_agent = self.any_sample = False
        self.fractional: set[str] = set()
        self.not_finite: dict[tuple[str, str], tuple[int, Where]] = {}
        self.not_numbers: dict[tuple[str, bool], Where] = {}
        self.keys: dict[str, None] = {}
        self.names: dict[int, str] = {}
        self.started: dict[int, NDArray[np.float64]] = {}
        self.failures: dict[tuple[str, bool], tuple[int, str]] = {}
        self.notes: dict[str, None] = {}
        self.rewards: dict[str, None] | None = None
        self.content: dict[tuple[str, TaskId], str] = {}
        self.dealt = False
        self.torn: dict[tuple[str, TaskId], None] = {}
        self.positional = request.by_position
        self.ruler: dict[tuple[str, str, str], None] = {}

    def nbytes(self) -> int:
        """Count the bytes of the columns."""
        columns = len(self.scores) + len(self.usage)
        return self.rows * (8 * (columns + 3) + 4 * (1 + len(self.labels)))

    def add(self, chunk: Chunk, source: Source, file: int = 0) -> None:
        """Add the next rows of a file, which is the one of that number."""
        rows = len(chunk.places)
        self.place.frombytes(chunk.places.astype(np.int64).tobytes())
        if not self._by_position:
            _encode(self.tasks, chunk.task, self.task)
        _encode(self.agents, chunk.agent, self.agent, absent=AGENT)
        self.any_agent |= chunk.agent.count(None) < rows
        samples, numbered = chunk.sample, rows - chunk.sample.count(None)
        self.any_sample |= numbered > 0
        if numbered < rows:
            samples = [NO_SAMPLE if sample is None else sample for sample in samples]
        self.sample.frombytes(struct.pack(f"{rows}q", *samples))
        for name, (codes, column) in self.labels.items():
            _encode(codes, chunk.labels.get(name, [None] * rows), column, absent=MISSING)
        self.labelled |= self.labels.keys() & chunk.labels.keys()
        for bad in chunk.not_finite:
            where = chunk.names[bad.place - 1] if chunk.names else (file, bad.place)
            _count(self.not_finite, (bad.score, bad.what), 1, where)
        for name, first in chunk.not_numbers.items():
            self.not_numbers.setdefault((name, False), first)
        for which, place in chunk.other_kinds.items():
            self.not_numbers.setdefault(which, (file, place))
        self.names.update(enumerate(chunk.names, self.rows))
        if chunk.started is not None:
            self.started[self.rows] = chunk.started
        for failure in chunk.failures:
            place = int(chunk.places[failure.row])
            at = self.names.get(self.rows + failure.row) or source.at(place)
            shown = f"{at}: {failure.message}" if failure.message else at
            _count(self.failures, (failure.kind, failure.graded), 1, shown)
        self._merge(chunk, rows)
        for (agent, task), content in chunk.content.items():
            self._identify((AGENT if agent is None else agent, task), content, chunk.versioned)

    def extend(self, other: Part, *, file: int, lines: int) -> None:
        """Add the rows of a part that holds the next rows of a file."""

        def here(where: Where) -> Where:
            return where if isinstance(where, str) else (file, where[1] + lines)

        self.place.frombytes((np.frombuffer(other.place, np.int64) + lines).tobytes())
        self.sample.extend(other.sample)
        _recode(self.tasks, other.tasks, other.task, self.task)
        _recode(self.agents, other.agents, other.agent, self.agent)
        self.any_agent |= other.any_agent
        self.any_sample |= other.any_sample
        for name, (codes, column) in self.labels.items():
            _recode(codes, *other.labels[name], column)
        self.labelled |= other.labelled
        for bad, (count, where) in other.not_finite.items():
            _count(self.not_finite, bad, count, here(where))
        for which, where in other.not_numbers.items():
            self.not_numbers.setdefault(which, here(where))
        self.names.update((row + self.rows, name) for row, name in other.names.items())
        self.started.update((row + self.rows, times) for row, times in other.started.items())
        for kind, (count, shown) in other.failures.items():
            _count(self.failures, kind, count, shown)
        self._merge(other, other.rows)
        for task, content in other.content.items():
            self._identify(task, content)
        self.torn.update(other.torn)

    def _merge(self, other: Chunk | Part, rows: int) -> None:
        """Take over what chunks and parts hold in the same form."""
        self._add_columns(self.scores, other.scores, rows)
        self._add_columns(self.usage, other.usage, rows)
        self.rows += rows
        self.fractional |= other.fractional
        self.keys.update(dict.fromkeys(other.keys))
        self.notes.update(dict.fromkeys(other.notes))
        self.ruler.update(dict.fromkeys(other.ruler))
        if other.rewards is not None:
            self.rewards = {**(self.rewards or {}), **dict.fromkeys(other.rewards)}
        self.dealt |= other.dealt
        self.positional |= other.positional

    def _add_columns(
        self,
        gathered: dict[str, array[float]],
        columns: Mapping[str, NDArray[np.float64] | array[float]],
        rows: int,
    ) -> None:
        for name, column in columns.items():
            if name not in gathered:
                gathered[name] = array("d", _absent(self.rows))
            gathered[name].frombytes(column.tobytes())
        for name in gathered.keys() - columns.keys():
            gathered[name].frombytes(_absent(rows))

    def _identify(self, task: tuple[str, TaskId], content: str, versioned: bool = False) -> None:
        before = self.content.setdefault(task, content)
        if NO_CONTENT in (before, content) or (
            self.dealt and (before != content or VERSIONS in content)
        ):
            self.content[task] = NO_CONTENT
        elif before != content:
            self.content[task] = join_versions(before, content)
        if not versioned and VERSIONS in self.content[task]:
            self.torn[task] = None


def _absent(rows: int) -> bytes:
    return np.full(rows, math.nan).tobytes()


def _count(counted: dict[Any, tuple[int, Any]], what: Any, more: int, where: Any) -> None:
    count, first = counted.get(what, (0, where))
    counted[what] = (count + more, first)


def _encode(
    codes: dict[Any, int], values: Sequence[Any], column: array[int], *, absent: Any = None
) -> None:
    """Append values as codes, those met for the first time as new ones."""
    local = {
        value: codes.setdefault(absent if value is None else value, len(codes))
        for value in dict.fromkeys(values)
    }
    if len(local) == 1:
        column.extend([*local.values()] * len(values))
    else:
        packed = struct.pack(f"{len(values)}{column.typecode}", *map(local.__getitem__, values))
        column.frombytes(packed)


def _recode(
    codes: dict[Any, int], others: dict[Any, int], coded: array[int], column: array[int]
) -> None:
    """Append codes of another part as ours."""
    ours = np.array([codes.setdefault(value, len(codes)) for value in others], column.typecode)
    if len(coded):
        column.frombytes(ours[np.frombuffer(coded, coded.typecode)].tobytes())
