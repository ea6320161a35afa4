"""The baseline's file: made for reading in a pull request, the same bytes for the same run.

Key metrics first, then one line per task with its scores, then where it all came from.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics.data import RolloutTable
from pytest_evalmetrics.errors import BaselineError, did_you_mean
from pytest_evalmetrics.layout import one_per_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from pytest_evalmetrics.results import AgentResult

__all__ = [
    "SCHEMA_VERSION",
    "agent_document",
    "document",
    "from_report",
    "parse",
    "render",
    "tables",
    "values",
]

SCHEMA_VERSION = 1


def agent_document(
    result: AgentResult, table: RolloutTable, columns: Sequence[str]
) -> dict[str, Any]:
    """Describe one agent's run.

    Parameters
    ----------
    result
        What was computed.
    table
        The agent's rollouts.
    columns
        The scores to keep of each rollout: those that gated metrics are computed from.
    """
    bounds = table.offsets.tolist()
    kept = {name: _plain(table.scores[name]) for name in columns}
    return {
        "key_metrics": {
            name: _estimate(result, name, value) for name, value in result.key_metrics.items()
        },
        "tasks": {
            str(task): {name: column[start:stop] for name, column in kept.items()}
            for task, (start, stop) in zip(table.tasks, pairwise(bounds), strict=True)
        },
    }


def document(
    benchmark: str, agents: Mapping[str, dict[str, Any]], provenance: Mapping[str, Any]
) -> dict[str, Any]:
    """Put the whole baseline together."""
    return {
        "schema_version": SCHEMA_VERSION,
        "benchmark": benchmark,
        "agents": dict(agents),
        "provenance": dict(provenance),
    }


def render(doc: Mapping[str, Any]) -> str:
    """Write a baseline as text: indented, but a metric, and a task, on one line."""
    agents = ",\n".join(
        f"    {json.dumps(agent, ensure_ascii=False)}: {{\n"
        f'      "key_metrics": {one_per_line(found["key_metrics"], 6)},\n'
        f'      "tasks": {one_per_line(found["tasks"], 6)}\n'
        "    }"
        for agent, found in doc["agents"].items()
    )
    head = {k: doc[k] for k in ("schema_version", "benchmark")}
    head_lines = one_per_line(head, 0).removesuffix("\n}")
    provenance = json.dumps(doc["provenance"], indent=2, ensure_ascii=False)
    return (
        f'{head_lines},\n  "agents": {{\n{agents}\n  }},\n'
        f'  "provenance": {provenance.replace(chr(10), chr(10) + "  ")}\n}}\n'
    )


def parse(text: str, *, file: str) -> dict[str, Any]:
    """Read a baseline's text.

    Raises
    ------
    BaselineError
        If it is no baseline, or one of a version that is not known.
    """
    try:
        doc = json.loads(text)
    except ValueError as error:
        conflict = "<<<<<<<" in text
        raise BaselineError(
            "this baseline holds the marks of a merge conflict"
            if conflict
            else f"this baseline is no JSON: {error}",
            file=file,
            line=getattr(error, "lineno", None),
            hint="take it from version control again, or record a new one with --snapshot-update",
        ) from error
    if not isinstance(doc, dict) or not isinstance(doc.get("agents"), dict):
        raise BaselineError(
            "this is no baseline: it has no agents",
            file=file,
            hint="record a new one with --snapshot-update",
        )
    if doc.get("schema_version") != SCHEMA_VERSION:
        raise BaselineError(
            f"this baseline has the schema version {doc.get('schema_version')!r}, and "
            f"{SCHEMA_VERSION} is known",
            file=file,
            hint="record a new one with --snapshot-update, or use the version that wrote it",
        )
    return doc


def from_report(path: Path, benchmark: str) -> dict[str, Any]:
    """Take one benchmark's run out of a ``report.json``, as a baseline.

    Raises
    ------
    BaselineError
        If the report can't be read, or does not hold the benchmark.
    """
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
        found = [e for e in report["benchmarks"] if e["name"] == benchmark]
        names = [e["name"] for e in report["benchmarks"]]
    except FileNotFoundError as error:
        raise BaselineError(
            "there is no such report to compare with",
            file=str(path),
            hint="name the report.json of an earlier run, relative to the benchmark file",
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BaselineError(
            f"this is no report of an earlier run: {error}", file=str(path)
        ) from error
    if len(found) != 1:
        why = "holds several benchmarks" if found else "holds no benchmark"
        raise BaselineError(
            f"the report {why} named {benchmark!r}: " + did_you_mean(benchmark, names),
            file=str(path),
            hint="give each benchmark a name of its own",
        )
    agents = {
        agent["agent"]: {
            "key_metrics": {name: {"value": value} for name, value in agent["key_metrics"].items()},
            "tasks": agent["task_scores"],
        }
        for agent in found[0]["agents"]
    }
    return document(benchmark, agents, {})


def tables(doc: Mapping[str, Any], *, file: str) -> dict[str, RolloutTable]:
    """Turn a baseline into one table of rollouts per agent; task ids are text.

    Raises
    ------
    BaselineError
        If a task's scores are no lists of numbers of one length.
    """
    return {agent: _table(agent, found, file) for agent, found in doc["agents"].items()}


def values(doc: Mapping[str, Any], agent: str) -> dict[str, float]:
    """Return an agent's recorded key metrics, by name."""
    found = doc["agents"].get(agent, {}).get("key_metrics", {})
    return {name: float(metric["value"]) for name, metric in found.items()}


def _table(agent: str, found: Mapping[str, Any], file: str) -> RolloutTable:
    try:
        tasks = list(found["tasks"])
        scores: dict[str, list[float]] = {}
        counts = []
        for place, task in enumerate(tasks):
            row = found["tasks"][task]
            lengths = {len(column) for column in row.values()}
            if len(lengths) > 1 or (place and row.keys() != scores.keys()):
                raise BaselineError(
                    f"task {task!r} of {agent} has scores of different lengths or names",
                    file=file,
                    hint="a baseline is not written by hand: record it with --snapshot-update",
                )
            counts.append(lengths.pop() if lengths else 0)
            for name, column in row.items():
                scores.setdefault(name, []).extend(column)
        columns = {name: np.array(column, dtype=np.float64) for name, column in scores.items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BaselineError(
            f"this baseline can't be read for {agent}: {error}",
            file=file,
            hint="a baseline is not written by hand: record it with --snapshot-update",
        ) from error
    rows = sum(counts)
    return RolloutTable(
        agents=(agent,),
        agent=np.zeros(rows, dtype=np.int32),
        tasks=tuple(tasks),
        task=np.repeat(np.arange(len(tasks)), counts),
        sample=np.concatenate([np.arange(n) for n in counts]) if counts else np.arange(0),
        scores=columns,
    )


def _estimate(result: AgentResult, name: str, value: float) -> dict[str, Any]:
    estimate = result.estimates.get(name)
    found: dict[str, Any] = {"value": _number(value)}
    if estimate is not None:
        found |= {"tasks": estimate.tasks, "rollouts": estimate.rollouts}
        if estimate.interval is not None:
            interval = estimate.interval
            found["interval"] = [_number(interval.low), _number(interval.high)]
    return found


def _plain(column: NDArray[np.float64]) -> list[float | int | None]:
    """Write a column of whole numbers as such, and a missing value as null."""
    absent = np.isnan(column)
    whole = bool((np.trunc(column) == column)[~absent].all()) and not absent.all()
    safe = np.where(absent, 0.0, column)
    plain: list[float | int | None] = (safe.astype(np.int64) if whole else safe).tolist()
    for row in np.flatnonzero(absent).tolist():
        plain[row] = None
    return plain


def _number(value: float) -> float | int | None:
    if value != value:  # noqa: PLR0124 - NaN
        return None
    return int(value) if value == int(value) and abs(value) < 2**53 else value
