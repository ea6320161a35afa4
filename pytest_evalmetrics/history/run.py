"""One line of the history: what a benchmark came to in one run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.history.origin import Origin

__all__ = ["SCHEMA_VERSION", "Point", "Run", "run_of"]

SCHEMA_VERSION = 1
_FAILING = ("FAIL", "INCONCLUSIVE")


class Point(TypedDict):
    """A key metric in one run; its interval is left out where there is none."""

    value: float
    low: NotRequired[float]
    high: NotRequired[float]
    tasks: int
    rollouts: int


class Run(TypedDict):
    """One benchmark in one run."""

    schema_version: int  # of this form
    benchmark: str  # the pytest item
    time: str  # when it ended, in UTC
    # of what it judged, and the page of the CI system's job; None where it is not known
    commit: str | None
    branch: str | None
    url: str | None
    verdict: str  # what came out
    usable: bool  # whether a later run may be held against it: every gate held, and over all rows
    starts: bool  # A change was accepted with ``--snapshot-update``: what is older counts no more
    agents: dict[str, dict[str, Point]]  # by agent and name: the key metrics


def run_of(entry: Mapping[str, Any], origin: Origin, time: str, *, starts: bool) -> Run:
    """Make the line of one benchmark."""
    usable = entry["verdict"] not in _FAILING and not entry["xfail"] and not entry["partial"]
    return {
        "schema_version": SCHEMA_VERSION,
        "benchmark": entry["id"],
        "time": time,
        "commit": origin.commit,
        "branch": origin.branch,
        "url": origin.url,
        "verdict": entry["verdict"],
        "usable": usable,
        "starts": starts and usable,
        "agents": {agent["agent"]: dict(_points(entry, agent)) for agent in entry["agents"]},
    }


def _points(entry: Mapping[str, Any], agent: Mapping[str, Any]) -> Any:
    """Yield the key metrics, and those that a baseline gates."""
    gated = [check["name"] for check in entry["checks"] if check["gate"] == "baseline"]
    for name in dict.fromkeys((*agent["key_metrics"], *gated)):
        found = agent["estimates"].get(name)
        if found is None:
            continue
        point: Point = {
            "value": found["value"],
            "tasks": found["tasks"],
            "rollouts": found["rollouts"],
        }
        if found["interval"] is not None:
            point["low"], point["high"] = found["interval"]["low"], found["interval"]["high"]
        yield name, point
