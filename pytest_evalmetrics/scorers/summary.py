"""A score over all rows, as the NeMo Evaluator sums it up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.results import Bin, ScoreSummary

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["summarise"]

_BINS = 10


def summarise(name: str, column: NDArray[np.float64]) -> ScoreSummary:
    """Sum a score up.

    Parameters
    ----------
    name
        The score.
    column
        One number per row, shape (rows,), NaN where it is missing.

    Notes
    -----
    Percentile p lies at rank ``p / 100 * (n + 1) - 1`` of the sorted values, interpolated
    between neighbours and held within them (Hyndman and Fan 1996, definition 6).
    """
    values = np.sort(column[~np.isnan(column)])
    n, missing = len(values), len(column) - len(values)
    if not n:
        return ScoreSummary(name, 0, missing)
    ranks = np.clip(np.arange(10, 101, 10) / 100 * (n + 1) - 1, 0, n - 1)
    percentiles = np.interp(ranks, np.arange(n), values).tolist()
    several = n > 1
    return ScoreSummary(
        name,
        n,
        missing,
        sum=float(values.sum()),
        mean=float(values.mean()),
        min=float(values[0]),
        max=float(values[-1]),
        median=float(np.median(values)),
        std_dev=float(values.std()),
        variance=float(values.var()),
        sample_std_dev=float(values.std(ddof=1)) if several else None,
        sample_variance=float(values.var(ddof=1)) if several else None,
        percentiles={f"p{10 * (i + 1)}": value for i, value in enumerate(percentiles)},
        histogram=_histogram(values),
    )


def _histogram(values: NDArray[np.float64]) -> tuple[Bin, ...]:
    low, high = float(values[0]), float(values[-1])
    width = (high - low) / _BINS
    if low == high or not np.isfinite(width):
        return (Bin(low, high, len(values)),)
    edges = [low + i * width for i in range(_BINS)]
    counts = np.diff(np.append(np.searchsorted(values, edges), len(values))).tolist()
    return tuple(
        Bin(edges[i], edges[i + 1] if i + 1 < _BINS else high, counts[i]) for i in range(_BINS)
    )
