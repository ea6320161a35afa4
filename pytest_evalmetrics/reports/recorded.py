"""What an update recorded: each key metric, what it was and what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.reports.numbers import number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["recorded_count", "recorded_lines"]

_NAMED = 8  # changed metrics of a benchmark; all of them are in the report


def recorded_lines(recorded: Mapping[str, Any]) -> list[str]:
    """Tell what one benchmark recorded; nothing where it recorded nothing."""
    if not recorded:
        return []
    metrics: Mapping[str, Sequence[float | None]] = recorded["metrics"]
    changed = [(name, was, now) for name, (was, now) in metrics.items() if was != now]
    same = [name for name, (was, now) in metrics.items() if was == now]
    lines = [f"{'recorded' if recorded['written'] else 'unchanged'} {recorded['file']}"]
    lines += [f"    {name} {_change(was, now)}" for name, was, now in changed[:_NAMED]]
    if len(changed) > _NAMED:
        lines.append(f"    ... and {len(changed) - _NAMED} more: see report.json")
    if same and recorded["written"]:
        more = f" and {len(same) - _NAMED} more" if len(same) > _NAMED else ""
        lines.append(f"    as before: {', '.join(same[:_NAMED])}{more}")
    return lines


def recorded_count(recorded: Sequence[Mapping[str, Any]]) -> str:
    """Count what all benchmarks recorded; empty where none did."""
    told = [r["written"] for r in recorded if r]
    parts = [(told.count(True), "recorded"), (told.count(False), "unchanged")]
    counted = ", ".join(f"{n} {what}" for n, what in parts if n)
    return f"baselines: {counted}" if counted else ""


def _change(was: float | None, now: float | None) -> str:
    if was is None:
        return f"{number(now)} (new)"
    if now is None:
        return f"{number(was)} -> no longer recorded"
    old, new = number(was), number(now)
    if old == new:  # the difference is in what is usually not shown
        old, new = f"{was:.12g}", f"{now:.12g}"
    return f"{old} -> {new}"
