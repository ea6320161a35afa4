"""The metrics of a benchmark for the page: each with its interval, baseline and bounds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.reports.comparison import better_way, comparison_details
from pytest_evalmetrics.results import Verdict, worst

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["checks_of", "metrics_of"]

_BOUND = re.compile(r"(>=|<=) (\S+)")
_CUT = 2_000  # characters of a text


def metrics_of(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List a benchmark's metrics, the gated ones first."""
    rows = [_metric(a["agent"], e, a["key_metrics"]) for a in entry["agents"] for e in _known(a)]
    by_name = {(row["agent"], row["name"]): row for row in rows}
    alone = entry["agents"][0]["agent"] if len(entry["agents"]) == 1 else ""
    for check in entry["checks"]:
        if check["gate"] not in ("threshold", "baseline"):
            continue
        row = by_name.get((check["agent"] or alone, check["name"]))
        if row is not None:
            _add_check(row, check)
    return sorted(rows, key=lambda row: (not row["verdict"], not row["key"]))


def checks_of(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List what was asserted, in the order of the gates, with what it rests on in words."""
    return [
        {
            **{key: check[key] for key in ("gate", "name", "agent", "verdict", "value", "bound")},
            "reason": check["reason"][:_CUT],
            "hint": check["hint"][:_CUT],
            "line": check["line"] or entry["line"],
            "details": [line[:_CUT] for line in comparison_details(check["evidence"])],
        }
        for check in entry["checks"]
    ]


def _known(agent: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the estimates, under the names that they are listed by, each once."""
    yield from {id(e): e for e in agent["estimates"].values()}.values()
    for name in agent["key_metrics"].keys() - {e["name"] for e in agent["estimates"].values()}:
        yield {"name": name, "value": agent["key_metrics"][name], "interval": None, "tasks": None}


def _metric(agent: str, estimate: Mapping[str, Any], keys: Mapping[str, Any]) -> dict[str, Any]:
    interval = estimate["interval"] or {}
    return {
        "agent": agent,
        "name": estimate["name"],
        "key": estimate["name"] in keys,
        "value": estimate["value"],
        "low": interval.get("low"),
        "high": interval.get("high"),
        "level": interval.get("level"),
        "method": interval.get("method", ""),
        "unsure": estimate.get("reason", ""),
        "tasks": estimate["tasks"],
        "verdict": "",
        "bounds": [],
        "limits": [],
        "baseline": None,
        "change": None,
        "less": False,
        "p": None,
    }


def _add_check(row: dict[str, Any], check: Mapping[str, Any]) -> None:
    verdicts = [Verdict(v) for v in (row["verdict"], check["verdict"]) if v]
    row["verdict"] = str(worst(verdicts))
    found = check["evidence"]
    if check["bound"]:
        row["bounds"].append(", ".join(filter(None, (check["bound"], better_way(found)))))
    if check["gate"] == "threshold":
        row["limits"] += [
            {"side": side, "at": float(at)} for side, at in _BOUND.findall(check["bound"])
        ]
        return
    row["baseline"] = found.get("baseline")
    row["p"] = found.get("p_adjusted", found.get("p"))
    allowed, less = found.get("allowed_drop"), found.get("direction") == "lower"
    if allowed is not None and row["baseline"] is not None:
        at = row["baseline"] + (allowed if less else -allowed)
        row["limits"].append({"side": "<=" if less else ">=", "at": at})
    row["less"] = less
    row["change"] = _change(found)


def _change(found: Mapping[str, Any]) -> Sequence[float | None] | None:
    drop, low, high = (found.get(key) for key in ("drop", "drop_low", "drop_high"))
    if drop is None:
        return None
    if found.get("direction") == "lower":
        return drop, low, high
    return -drop, None if high is None else -high, None if low is None else -low
