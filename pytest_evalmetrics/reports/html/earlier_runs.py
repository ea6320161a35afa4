"""The last runs of a benchmark, for the page's lines over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.reports.trend import trends

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["history_of"]

_RUNS, _METRICS = 60, 8


def history_of(entry: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Tell the telling metrics of the last runs."""
    runs = runs[-_RUNS:]
    told = {"benchmarks": [entry], "history": {entry["id"]: runs}}
    lines = []
    for _, shown, metric, _ in trends(told):
        agent = shown or entry["agents"][0]["agent"]
        points = [run["agents"].get(agent, {}).get(metric) for run in runs]
        values = [None if point is None else point["value"] for point in points]
        lines.append({"agent": shown, "metric": metric, "values": values})
    if not lines:
        return {}
    return {
        "runs": [{key: run.get(key) for key in ("time", "commit", "verdict")} for run in runs],
        "lines": lines[:_METRICS],
    }
