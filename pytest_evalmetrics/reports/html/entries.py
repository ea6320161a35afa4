"""A benchmark's entry of the report, as the page shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.reports.html.earlier_runs import history_of
from pytest_evalmetrics.reports.html.metrics import checks_of
from pytest_evalmetrics.reports.recorded import recorded_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["about", "in_order", "overview"]

_SEVERITY = {"FAIL": 0, "INCONCLUSIVE": 1, "WARN": 2, "PASS": 3}
_METRICS, _CHECKS, _NOTES, _FILES = 200, 400, 50, 100
_CUT = 2_000  # characters of a text
_TOLD = 300


def in_order(entries: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Put what failed first, and what was known to fail behind what was not."""
    return sorted(entries, key=lambda e: (e["xfail"], _SEVERITY[e["verdict"]], e["id"]))


def overview(entry: Mapping[str, Any], metrics: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Sum a benchmark up in one row: its verdict, its telling metric, why it failed."""
    telling = sorted(
        metrics,
        key=lambda m: (_SEVERITY.get(m["verdict"], 4), not m["key"], m["name"].startswith("mean/")),
    )
    failing = [c for c in entry["checks"] if c["verdict"] == entry["verdict"] != "PASS"]
    return {
        "id": entry["id"],
        "name": entry["name"],
        "file": entry["file"],
        "verdict": entry["verdict"],
        "xfail": entry["xfail"],
        "agents": len(entry["agents"]),
        "tasks": sum(a["tasks"] for a in entry["agents"]),
        "rollouts": sum(a["rollouts"] for a in entry["agents"]),
        "missing": sum(a["missing"] for a in entry["agents"]),
        "metric": telling[0] if telling else None,
        "reason": _first_reason(entry, failing)[:_TOLD],
        "reasons": len(failing),
    }


def _first_reason(entry: Mapping[str, Any], failing: Sequence[Mapping[str, Any]]) -> str:
    if not failing:
        return ""
    several = len(entry["agents"]) > 1 and failing[0]["agent"]
    return f"{failing[0]['agent']}: {failing[0]['reason']}" if several else failing[0]["reason"]


def about(
    entry: Mapping[str, Any],
    metrics: Sequence[Mapping[str, Any]],
    runs: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Tell everything of a benchmark except its tasks."""
    return {
        "description": entry["description"][:_CUT],
        "line": entry["line"],
        "agents": [
            {k: agent[k] for k in ("agent", "tasks", "rollouts", "missing")}
            for agent in entry["agents"]
        ],
        "metrics": metrics[:_METRICS],
        "more_metrics": max(0, len(metrics) - _METRICS),
        "checks": checks_of(entry)[:_CHECKS],
        "notes": [
            note[:_CUT]
            for note in [*(f"changed: {c}" for c in entry.get("changes", ())), *entry["notes"]][
                :_NOTES
            ]
        ],
        "failures": [_failures(found) for found in entry["failed_rows"]],
        "sources": entry["sources"][:_FILES],
        "more_sources": max(0, len(entry["sources"]) - _FILES),
        "history": history_of(entry, runs),
        "judges": entry.get("judges", ()),
        "judge_checks": entry.get("judge_checks", ()),
        "agreements": [
            {"agent": agent["agent"], "score": score["name"], **score["agreement"]}
            for agent in entry["agents"]
            for score in agent["scores"]
            if score.get("agreement")
        ],
        "recorded": recorded_lines(entry["recorded"]),
    }


def _failures(found: Mapping[str, Any]) -> dict[str, Any]:
    """Tell the rows that a scorer could not score, by kind; of each kind those that are known."""
    return {
        "scorer": found["scorer"],
        "scores": found["scores"],
        "count": found["count"],
        "kinds": [
            {
                "kind": kind,
                "count": count,
                "rows": [
                    {"row": f["row"], "reason": f["reason"][:_CUT], "hint": f["hint"][:_CUT]}
                    for f in _first_of(found, kind)
                ],
            }
            for kind, count in found["kinds"].items()
        ],
    }


def _first_of(found: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    """Return the rows of a kind that are known: a rare kind may have an example only."""
    first = [f for f in found["first"] if f["kind"] == kind]
    return first or [e for k, e in found.get("examples", {}).items() if k == kind]
