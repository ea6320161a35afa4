"""Addresses on the run's page: of a benchmark, and of a task in it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from pytest_evalmetrics.model.results import BenchmarkResult

_KEPT = ":@[],=!"  # readable, and nothing else in a fragment


def of_benchmark(name: str) -> str:
    """Return the part of the page's address that opens a benchmark, by its id."""
    return f"#/{quote(name, safe=_KEPT)}"


def of_task(result: BenchmarkResult, agent: str, task: str) -> str:
    """Return the part of the page's address that opens a task of an agent."""
    agents = [one.agent for one in result.agents]
    place = 0
    if agent in agents:
        place = agents.index(agent)
    return f"{of_benchmark(result.id)}/a{place}/{quote(task, safe=_KEPT)}"
