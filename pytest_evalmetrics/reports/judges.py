"""A line on what the judges of a benchmark took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.layout import many

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["judge_lines"]


def judge_lines(judges: Sequence[dict[str, Any]]) -> list[str]:
    """Tell what judges took, in one line; none where nothing was asked."""
    by_model: dict[str, list[dict[str, Any]]] = {}
    for one in judges:
        if one["calls"]:
            by_model.setdefault(one["model"], []).append(one)
    return [f"judges: {'; '.join(_one(*item) for item in by_model.items())}"] if by_model else []


def _one(model: str, uses: Sequence[dict[str, Any]]) -> str:
    parts = [f"{model}: {many(sum(u['calls'] for u in uses), 'answer')}"]
    tokens = sum(u["total_tokens"] for u in uses)
    if tokens:
        parts.append(many(tokens, "token"))
    costs = [u["cost"] for u in uses]
    if all(cost is not None for cost in costs):
        parts.append(f"cost {sum(costs):.4g}")
    slowest = max(u["latency_s"]["p95"] for u in uses)
    parts.append(f"95 % within {slowest:.2g} s")
    return ", ".join(parts)
