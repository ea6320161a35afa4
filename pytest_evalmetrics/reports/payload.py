"""A result as builtins: what crosses processes, and what the artifacts are made of."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypedDict

import msgspec

from pytest_evalmetrics.collector import collector_paused
from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.layout import compact
from pytest_evalmetrics.reports.aggregate_text import write_aggregates
from pytest_evalmetrics.reports.handover import leave
from pytest_evalmetrics.reports.html import page_pieces
from pytest_evalmetrics.reports.rollout_lines import rollout_lines
from pytest_evalmetrics.reports.row_scores import row_lines

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_evalmetrics.data import RowScores
    from pytest_evalmetrics.results import BenchmarkResult

__all__ = ["Payload", "payload_of"]


class Payload(TypedDict):
    """One benchmark, as it travels on pytest's report of its item."""

    entry: dict[str, Any]  # its entry of ``report.json``, without the scores of its tasks
    task_scores: list[str]  # those, as JSON text, one per agent
    # its entries of ``aggregate_metrics.json``, as JSON text: tens of megabytes for a large
    # benchmark, so it is made once, and written out without being parsed again
    aggregate: str
    # A file with these instead where they are larger still, see `handover`; else empty
    aggregate_file: str
    # A file with its lines of ``row_scores.jsonl``, see `handover`; empty without scorers
    row_file: str
    row_scores: str  # the lines themselves, where no folder is shared with who writes the artifacts
    # the same of its lines of ``rollouts.jsonl``; empty where nothing was generated
    rollout_file: str
    rollouts: str
    page: list[str]  # what ``report.html`` says of its tasks, as JSON texts, see `PagePieces`
    # what its calls took in this run; for the terminal, because it is another at each run
    usage: dict[str, Any]
    warnings: list[str]  # what the user should know of this run and not of the benchmark


@collector_paused()
def payload_of(
    result: BenchmarkResult,
    task_scores: Mapping[str, Mapping[str, Any]],
    row_scores: RowScores | None = None,
    pictures: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    folder: Path | None = None,
) -> Payload:
    """Turn a result into builtins."""
    agents = tuple(replace(agent, aggregate={}) for agent in result.agents)
    entry: dict[str, Any] = {
        "id": result.id,
        "verdict": str(result.verdict),
        **msgspec.to_builtins(replace(result, agents=agents)),
    }
    for agent in entry["agents"]:
        del agent["aggregate"]
    try:
        aggregate, aggregate_file = write_aggregates(
            result.id,
            (agent.aggregate for agent in result.agents),
            folder,
        )
    except (TypeError, ValueError) as error:
        raise MetricError(
            f"the aggregate metrics of {result.name} can't be written as JSON: {error}",
            hint="let the hook pytest_evalmetrics_compute_metrics return builtins only",
        ) from error
    lines = () if row_scores is None else row_lines(result.id, row_scores)
    rollouts = () if row_scores is None or row_scores.answers is None else rollout_lines(row_scores)
    return {
        "entry": entry,
        "task_scores": [compact(task_scores[a.agent]) for a in result.agents],
        "aggregate": aggregate,
        "aggregate_file": aggregate_file,
        "row_file": leave(lines, folder) if lines and folder is not None else "",
        "row_scores": "" if folder is not None else b"".join(lines).decode(),
        "rollout_file": leave(rollouts, folder) if rollouts and folder is not None else "",
        "rollouts": "" if folder is not None else b"".join(rollouts).decode(),
        "page": page_pieces(pictures),
        "usage": {},
        "warnings": [],
    }
