"""What fits on the page: what failed comes first, and what is left out is counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["LIMIT", "Fitting", "Size"]

LIMIT = 2_500_000  # bytes of data: with its code the page stays below 3 MB
_ROWS = 700_000  # of these for the overview
_ABOUT = 900_000  # for metrics, checks and distributions
_FULL = 0.99  # of these: nothing more is made that would hardly fit


class Size(msgspec.Struct, frozen=True):
    """How many bytes the parts of a benchmark take."""

    row: int  # its row of the overview, some of its tasks, all that a page may show of them
    brief: int
    tasks: int
    detailed: bool = True  # whether more than the row is to be shown


@dataclass
class Fitting:
    """Which parts of which benchmark the page holds."""

    rows: set[str] = field(default_factory=set)  # the benchmarks that have a row of the overview
    about: dict[str, bytes] = field(default_factory=dict)  # benchmark -> everything but its tasks
    # benchmark -> which of its tasks
    tasks: dict[str, Literal["tasks", "brief"]] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)  # how many benchmarks lack a part

    @classmethod
    def of(
        cls,
        sizes: Sequence[tuple[str, Size]],
        about: Callable[[str], bytes],
        limit: int = LIMIT,
    ) -> Fitting:
        """Choose, from the most telling benchmark to the least."""
        found, left = cls(), limit
        room = _ROWS * limit // LIMIT
        for name, size in sizes:
            if size.row <= room:
                room, left = room - size.row, left - size.row
                found.rows.add(name)
        left -= found._say(sizes, about, _ABOUT * limit // LIMIT)
        for name, size in sizes:
            if name not in found.about or not size.brief:
                continue
            if size.tasks <= left:
                found.tasks[name], left = "tasks", left - size.tasks
            elif size.brief <= left:
                found.tasks[name], left = "brief", left - size.brief
        found.left_out = {
            "rows": len(sizes) - len(found.rows),
            "about": len(found.rows) - len(found.about),
            "tasks": sum(
                1 for n, s in sizes if n in found.about and s.brief and n not in found.tasks
            ),
            "brief": sum(1 for kind in found.tasks.values() if kind == "brief"),
        }
        return found

    def _say(
        self, sizes: Sequence[tuple[str, Size]], about: Callable[[str], bytes], limit: int
    ) -> int:
        """Take what is said of benchmarks but for their tasks; count its bytes."""
        room = limit
        for name, size in sizes:
            if room < (1 - _FULL) * limit:
                break
            if size.detailed and name in self.rows and len(text := about(name)) <= room:
                self.about[name] = text
                room -= len(text)
        return limit - room
