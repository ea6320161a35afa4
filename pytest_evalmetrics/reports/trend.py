"""The last runs of each key metric, small enough for a row of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["sparkline", "trends"]

_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float]) -> str:
    """Draw values as bars: the lowest is the lowest bar, and equal values are one level."""
    if not values:
        return ""
    low, high = min(values), max(values)
    if high == low:
        return _BARS[3] * len(values)
    steps = [(value - low) / (high - low) * (len(_BARS) - 1) for value in values]
    return "".join(_BARS[int(step + 0.5)] for step in steps)


def trends(
    report: Mapping[str, Any],
) -> Iterator[tuple[Mapping[str, Any], str, str, list[float]]]:
    """Go through the key metrics of which there is more than one run."""
    for entry in report["benchmarks"]:
        runs = report.get("history", {}).get(entry["id"], ())
        gated = {check["name"] for check in entry["checks"] if check["gate"] != "expect"}
        for agent in entry["agents"]:
            several = len(entry["agents"]) > 1
            names = list(agent["key_metrics"])
            telling = [n for n in names if n in gated or not n.startswith("mean/")]
            for name in telling or names:
                points = [run["agents"].get(agent["agent"], {}).get(name) for run in runs]
                values = [point["value"] for point in points if point is not None]
                if len(values) > 1:
                    yield entry, agent["agent"] if several else "", name, values
