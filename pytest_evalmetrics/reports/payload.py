"""A result as builtins: what crosses processes, and what the artifacts are made of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict

import msgspec

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.layout import compact
from pytest_evalmetrics.reports.row_scores import row_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.data import RowScores
    from pytest_evalmetrics.results import BenchmarkResult

__all__ = ["Payload", "payload_of"]

_INDENTED = 4 * 2**20  # bytes; nobody reads more, and indenting makes it twice as many


class Payload(TypedDict):
    """One benchmark, as it travels on pytest's report of its item.

    Attributes
    ----------
    entry
        Its entry of ``report.json``, without the scores of its tasks.
    task_scores
        Those, as JSON text, one per agent.
    aggregate
        Its entries of ``aggregate_metrics.json``, as JSON text: tens of megabytes for a
        large benchmark, so it is made once, and written out without being parsed again.
    row_scores
        Its lines of ``row_scores.jsonl``; empty without scorers.
    usage
        What its calls took in this run; for the terminal, because it is another at each run.
    warnings
        What the user should know of this run and not of the benchmark.
    """

    entry: dict[str, Any]
    task_scores: list[str]
    aggregate: str
    row_scores: str
    usage: dict[str, Any]
    warnings: list[str]


def payload_of(
    result: BenchmarkResult,
    task_scores: Mapping[str, Mapping[str, Any]],
    row_scores: RowScores | None = None,
) -> Payload:
    """Turn a result into builtins.

    Parameters
    ----------
    result
        The result.
    task_scores
        By agent and task: the scores of each rollout that gated metrics rest on.
    row_scores
        What scorers gave to each row.

    Raises
    ------
    MetricError
        If a hook added something that JSON can't hold.
    """
    agents = tuple(replace(agent, aggregate={}) for agent in result.agents)
    entry: dict[str, Any] = {
        "id": result.id,
        "verdict": str(result.verdict),
        **msgspec.to_builtins(replace(result, agents=agents)),
    }
    for agent in entry["agents"]:
        del agent["aggregate"]
    try:
        text = msgspec.json.encode(
            [{"benchmark": result.id, **agent.aggregate} for agent in result.agents]
        )
    except (TypeError, ValueError) as error:
        raise MetricError(
            f"the aggregate metrics of {result.name} can't be written as JSON: {error}",
            hint="let the hook pytest_evalmetrics_compute_metrics return builtins only",
        ) from error
    if len(text) <= _INDENTED:
        text = msgspec.json.format(text, indent=2)
    return {
        "entry": entry,
        "task_scores": [compact(task_scores[a.agent]) for a in result.agents],
        "aggregate": text[1:-1].strip(b"\n").decode(),
        "row_scores": "" if row_scores is None else row_lines(result.id, row_scores),
        "usage": {},
        "warnings": [],
    }
