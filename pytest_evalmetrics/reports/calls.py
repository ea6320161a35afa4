"""One line about the calls of a run: what they were, and what they took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.layout import many

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["calls_line"]


def calls_line(usage: Iterable[Mapping[str, Any]]) -> list[str]:
    """Sum up what all benchmarks used."""
    found = [u for u in usage if u]
    if not found:
        return []

    def total(key: str) -> int:
        return sum(u[key] for u in found)

    parts = [f"{total('calls')} answered"]
    if total("from_journal"):
        parts[0] += f" ({total('from_journal')} by the journal)"
    if total("failed"):
        parts.append(f"{total('failed')} failed")
    parts.append(f"{many(total('requests'), 'request')} sent")
    if total("total_tokens"):
        parts.append(many(total("total_tokens"), "token"))
    costs = [u["cost_now"] for u in found]
    if all(cost is not None for cost in costs):
        parts.append(f"cost {sum(costs):.4g}")
    return [f"calls: {', '.join(parts)}"]
