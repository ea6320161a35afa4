"""How a score is distributed, before and after: two histograms over the same bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics.masks import all_of
from pytest_evalmetrics.reports.html.columns import coded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    _Column = NDArray[np.float64]

__all__ = ["histogram"]

_BARS = 30
_FEW = 12  # distinct values that get a bar each


def histogram(now: _Column, was: _Column | None) -> dict[str, Any] | None:
    """Count a score's values in bars of equal width, or by value where they are few."""
    sides = [_finite(now), _finite(np.empty(0) if was is None else was)]
    if not len(sides[0]):
        return None
    values = [side for side in sides if len(side)]
    found = coded(values[0] if len(values) == 1 else np.concatenate(values), _FEW)
    if found is not None:
        at, codes = found
        width, n, start = 0.0, len(at), len(sides[0])
        counts = [np.bincount(codes[:start], minlength=n), np.bincount(codes[start:], minlength=n)]
    else:
        low, high = min(float(v.min()) for v in values), max(float(v.max()) for v in values)
        edges = np.linspace(low, high, _BARS + 1)
        if not all_of(np.diff(edges) > 0):  # values that differ by less than floats can split
            return None
        at, width = (edges[:-1] + edges[1:]) / 2, (high - low) / _BARS
        counts = [np.histogram(side, bins=_BARS, range=(low, high))[0] for side in sides]
    return {
        "at": [_short(x) for x in at.tolist()],
        "width": _short(width),
        "now": counts[0].tolist(),
        "was": counts[1].tolist() if len(sides[1]) else None,
        "now_is": _summed_up(sides[0], len(now)),
        "was_is": None if was is None else _summed_up(sides[1], len(was)),
    }


def _finite(column: _Column) -> _Column:
    known = np.isfinite(column)
    return column if all_of(known) else column[known]


def _summed_up(found: _Column, of: int) -> dict[str, Any] | None:
    if not len(found):
        return None
    low, median, high = _quantiles(np.sort(found), (0.1, 0.5, 0.9))
    return {
        "count": len(found),
        "missing": of - len(found),
        "mean": _short(float(found.mean())),
        "p10": _short(low),
        "median": _short(median),
        "p90": _short(high),
        "min": _short(float(found.min())),
        "max": _short(float(found.max())),
    }


def _quantiles(ordered: _Column, shares: tuple[float, ...]) -> list[float]:
    """As `numpy.percentile`, which takes longer for few values than all the rest of a histogram."""
    at = np.multiply(shares, len(ordered) - 1)
    below = at.astype(np.int64)
    low, high = ordered[below], ordered[np.minimum(below + 1, len(ordered) - 1)]
    found: list[float] = (low + (high - low) * (at - below)).tolist()
    return found


def _short(value: float) -> float:
    return float(f"{value:.6g}")
