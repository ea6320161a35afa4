"""What fits on the page: what failed comes first, and what is left out is counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["LIMIT", "Fitting", "Size"]

LIMIT = 2_500_000  # bytes of data: with its code the page stays below 3 MB
_ROWS = 700_000  # of these for the overview
_ABOUT = 900_000  # for metrics, checks and distributions


@dataclass(frozen=True, slots=True)
class Size:
    """How many bytes the parts of a benchmark take.

    Attributes
    ----------
    row, about, brief, tasks
        Its row of the overview, everything but its tasks, some of its tasks, all that a page
        may show of them.
    """

    row: int
    about: int
    brief: int
    tasks: int


@dataclass
class Fitting:
    """Which parts of which benchmark the page holds.

    Attributes
    ----------
    rows, about
        The benchmarks that have these parts.
    tasks
        Benchmark -> which of its tasks.
    left_out
        How many benchmarks lack a part.
    """

    rows: set[str] = field(default_factory=set)
    about: set[str] = field(default_factory=set)
    tasks: dict[str, Literal["tasks", "brief"]] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, sizes: Iterable[tuple[str, Size]], limit: int = LIMIT) -> Fitting:
        """Choose, from the most telling benchmark to the least.

        Parameters
        ----------
        sizes
            Each benchmark, the most telling first, and what its parts take.
        limit
            Bytes of all parts together.
        """
        found, left = cls(), limit
        sizes = list(sizes)
        room = _ROWS * limit // LIMIT
        for name, size in sizes:
            if size.row <= room:
                room, left = room - size.row, left - size.row
                found.rows.add(name)
        room = _ABOUT * limit // LIMIT
        for name, size in sizes:
            if name in found.rows and size.about <= room:
                room, left = room - size.about, left - size.about
                found.about.add(name)
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
