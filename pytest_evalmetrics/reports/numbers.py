"""How numbers and texts are written for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.layout import visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_evalmetrics.results import Estimate

__all__ = ["false_alarms", "interval", "number", "table"]


def number(value: float | None) -> str:
    """Write a number in at most six significant digits, whole ones without a point."""
    if value is None:
        return ""
    if value == int(value) and abs(value) < 1e15:  # noqa: PLR2004 - beyond it floats skip integers
        return str(int(value))
    return f"{value:.4f}" if 0.001 <= abs(value) < 100 else f"{value:.6g}"  # noqa: PLR2004 - a shape


def false_alarms(benchmarks: Sequence[Mapping[str, Any]]) -> str:
    """Tell how many benchmarks are expected to fail by chance; empty where none is tested."""
    levels = []
    for entry in benchmarks:
        tested = [e for c in entry["checks"] if (e := c.get("evidence", {})).get("p") is not None]
        tested = [e for e in tested if e.get("rule") in ("practical", "statistical")]
        if tested:
            levels.append(max(e["alpha"] / e.get("benchmarks", 1) for e in tested))
    if not levels:
        return ""
    count = f"{len(levels)} benchmarks are" if len(levels) > 1 else "1 benchmark is"
    red = -math.expm1(sum(math.log1p(-level) for level in levels))
    return (
        f"{count} tested: without any change up to {sum(levels):.2g} are expected to fail by "
        f"chance, and at most {100 * red:.2g} % of such runs are red"
    )


def interval(estimate: Estimate | None) -> str:
    """Write an estimate's interval as ``[low, high]``."""
    if estimate is None or estimate.interval is None:
        return ""
    return f"[{number(estimate.interval.low)}, {number(estimate.interval.high)}]"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Align rows below a header; columns without any content are left out."""
    used = [i for i in range(len(header)) if any(row[i] for row in rows)]
    lines = [[header[i] for i in used], *([visible(row[i]) for i in used] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(used))]
    return [
        "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
