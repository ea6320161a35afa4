"""The number of earlier runs that a run is held against."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.history.run import Point, Run

__all__ = ["Anchor", "Anchors"]

_MEDIAN = "median-of-last-"


@dataclass(frozen=True, slots=True)
class Anchor:
    """The number to hold a metric against."""

    value: float | None  # it; None where no earlier run has one
    told: str  # what it is: ``the best of 7 runs, of 2026-05-04 (1a2b3c4)``; or why there is none
    runs: int = 0  # how many runs it is taken from


@dataclass(frozen=True, slots=True)
class Anchors:
    """The earlier runs of one benchmark."""

    against: str  # ``best`` or ``median-of-last-5``
    runs: Sequence[Run]  # its runs, the oldest first
    file: str  # the history as messages name it
    # how near the numbers of tasks have to be: what rests on half of them is another number
    min_coverage: float

    @property
    def usable(self) -> list[Run]:
        """The runs that count: passed, complete, and no older than the last accepted change."""
        found: list[Run] = []
        for run in self.runs:
            if run["usable"]:
                found = [run] if run["starts"] else [*found, run]
        return found

    @property
    def agents(self) -> tuple[str, ...]:
        """Whose numbers the last run has."""
        usable = self.usable
        return tuple(usable[-1]["agents"]) if usable else ()

    def anchor(self, agent: str, metric: str, tasks: int, *, higher_is_better: bool) -> Anchor:
        """Find the number for one metric."""
        usable = self.usable
        found = [
            (run, point) for run in usable if (point := _point(run, agent, metric)) is not None
        ]
        if not found:
            lacking = f"that counts and has {metric}" if usable else "that counts"
            return Anchor(None, f"{self.file} holds no run of this benchmark {lacking} yet")
        alike = [(run, p) for run, p in found if self._comparable(p["tasks"], tasks)]
        if not alike:
            return Anchor(
                None,
                f"the runs in {self.file} rest on another number of tasks: "
                f"{found[-1][1]['tasks']}, and now {tasks}",
            )
        if self.against == "best":
            choose = max if higher_is_better else min
            run, point = choose(alike, key=lambda pair: pair[1]["value"])
            of = "the only run" if len(alike) == 1 else f"the best of {len(alike)} runs"
            return Anchor(point["value"], f"{of}, of {_when(run)}", len(alike))
        last = alike[-int(self.against.removeprefix(_MEDIAN)) :]
        of = "the only run" if len(last) == 1 else f"the median of the last {len(last)} runs"
        return Anchor(median(p["value"] for _, p in last), of, len(last))

    def _comparable(self, before: int, now: int) -> bool:
        return min(before, now) >= self.min_coverage * max(before, now)


def _point(run: Run, agent: str, metric: str) -> Point | None:
    agents = run["agents"]
    if agent not in agents and len(agents) == 1:  # it may have been renamed
        agent = next(iter(agents))
    return agents.get(agent, {}).get(metric)


def _when(run: Run) -> str:
    day = run["time"][:10]
    return f"{day} ({run['commit'][:7]})" if run["commit"] else day
