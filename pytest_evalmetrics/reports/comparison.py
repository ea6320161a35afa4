"""A comparison with the baseline, told: how much, how sure, and which tasks flipped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.layout import many
from pytest_evalmetrics.reports.numbers import number, table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_evalmetrics.results import Check

__all__ = ["better_way", "comparison_details", "comparison_table"]

_LISTED = 10  # tasks that a line names


def comparison_table(checks: Sequence[Check]) -> list[str]:
    """One line per gated metric: both sides, the change, and what it rests on."""
    header = (
        "verdict",
        "agent",
        "metric",
        "baseline",
        "now",
        "change",
        "95% interval",
        "p",
        "tasks",
        "worse",
        "better",
        "direction",
        "expected",
    )
    return table(header, [_row(c) for c in checks])


def better_way(evidence: Mapping[str, Any]) -> str:
    """Say which way is better: ``higher is better``; empty where nothing is compared."""
    direction = evidence.get("direction")
    return f"{direction} is better" if direction else ""


def comparison_details(evidence: Mapping[str, Any]) -> list[str]:
    """Say which tasks flipped, on what the test rests, and what it could have seen."""
    lines = []
    worst = evidence.get("worst_tasks") or []
    if worst:
        flips = ", ".join(
            f"{t['task']} ({_rewards(t['baseline'])} -> {_rewards(t['current'])})" for t in worst
        )
        hidden = evidence["worse"] - len(worst)
        lines.append(f"worse: task {flips}" + (f" and {hidden} more" if hidden > 0 else ""))
    if evidence.get("test"):
        clustered = f" in {many(evidence['units'], 'cluster')}" if _clustered(evidence) else ""
        lines.append(
            f"{evidence['test']} over {many(evidence['tasks'], 'task')}{clustered}, "
            f"{many(evidence['rollouts_baseline'], 'rollout')} before and "
            f"{evidence['rollouts_current']} now{_adjusted(evidence)}"
        )
    if evidence.get("mde"):
        lines.append(f"80 % power to see a loss of {number(evidence['mde'])} or more")
    if evidence.get("unseen_flips"):
        lines.append(
            f"no task differs; up to {evidence['unseen_flips']:.1%} of the tasks may flip unseen"
        )
    for key, what in (("added", "only in this run"), ("removed", "only in the baseline")):
        if evidence.get(key):
            named = _listed(evidence[f"{key}_tasks"], evidence[key])
            lines.append(f"{many(evidence[key], 'task', 'is')} {what}: {named}")
    if evidence.get("excluded_tasks"):
        named = _listed(evidence["excluded_tasks"], len(evidence["excluded_tasks"]))
        lines.append(f"without a value on one side, and left out: task {named}")
    return lines


def _row(check: Check) -> tuple[str, ...]:
    found = check.evidence
    drop = found.get("drop")
    change = None if drop is None else -drop if found.get("direction") != "lower" else drop
    bounds = _change_bounds(found)
    return (
        str(check.verdict),
        check.agent,
        check.name,
        number(found.get("baseline")),
        number(found.get("current", check.value)),
        "" if change is None else _signed(change),
        "" if bounds is None else f"[{_signed(bounds[0])}, {_signed(bounds[1])}]",
        _p(found),
        str(found.get("tasks", "")),
        str(found.get("worse", "")),
        str(found.get("better", "")),
        better_way(found),
        check.bound,
    )


def _change_bounds(found: Mapping[str, Any]) -> tuple[float, float] | None:
    low, high = found.get("drop_low"), found.get("drop_high")
    if low is None or high is None:
        return None
    return (low, high) if found.get("direction") == "lower" else (-high, -low)


def _signed(value: float) -> str:
    text = number(value)
    return text if value <= 0 else f"+{text}"


def _rewards(rewards: Sequence[float]) -> str:
    return " ".join(number(r) for r in rewards[:8]) + (" ..." if len(rewards) > 8 else "")  # noqa: PLR2004 - a line


def _clustered(evidence: Mapping[str, Any]) -> bool:
    return bool(evidence.get("units")) and evidence["units"] != evidence["tasks"]


def _adjusted(evidence: Mapping[str, Any]) -> str:
    p, adjusted = evidence.get("p"), evidence.get("p_adjusted")
    if p is None or adjusted is None or adjusted <= p * 1.0000001:
        return ""
    return f"; p = {adjusted:.2g} adjusted for the other metrics"


def _p(evidence: Mapping[str, Any]) -> str:
    p = evidence.get("p_adjusted", evidence.get("p"))
    return "" if p is None else f"{p:.2g}"


def _listed(tasks: Sequence[object], of: int) -> str:
    more = f" and {of - _LISTED} more" if of > _LISTED else ""
    return ", ".join(map(str, tasks[:_LISTED])) + more
