"""The sample quantile, in one of its nine definitions, and an interval for the median."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.stats.inputs import StatsError, fraction, vector
from pytest_evalmetrics.stats.outcome import Bounds
from pytest_evalmetrics.stats.tails import binom_cdf

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["median_interval", "quantile7"]


def quantile7(x: ArrayLike, q: float) -> float:
    """Return the q-quantile of `x`, shape (n,), linear between order statistics.

    Definition 7 of Hyndman and Fan 1996, the default of numpy and R; NaN where n = 0.
    """
    if not 0 <= q <= 1:
        raise StatsError(f"q is {q}, where a number from 0 to 1 is expected")
    values = vector(x)
    return float(np.quantile(values, q)) if values.size else math.nan


def median_interval(x: ArrayLike, level: float = 0.95) -> Bounds:
    """Return the interval of a median between two order statistics, whatever the distribution.

    Parameters
    ----------
    x
        Independent values, shape (n,).
    level
        Its confidence; covers at least so often.

    Returns
    -------
    Bounds
        Where ties make it a point, it reaches to the next values on both sides. NaN where n is
        too small for the level (below 6 for 95 %), or where all values are the same.

    Notes
    -----
    From the r-th smallest to the r-th largest value, with r the largest for which
    P(B < r) <= (1 - level) / 2, B binomial (n, 1/2). David and Nagaraja 2003, Order Statistics,
    section 7.1; `scipy.stats.quantile_test` gives the same.
    """
    values, tail = np.sort(vector(x)), (1 - fraction(level, "level")) / 2
    n = values.size
    low, high = 0, n // 2 + 1  # P(B < low) is at most the tail, P(B < high) above it
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if binom_cdf(middle - 1, n, 0.5) <= tail else (low, middle)
    if low == 0:
        return Bounds(math.nan, math.nan)
    ends = float(values[low - 1]), float(values[n - low])
    if ends[0] == ends[1]:
        below, above = values[values < ends[0]], values[values > ends[1]]
        ends = (
            float(below[-1]) if below.size else ends[0],
            float(above[0]) if above.size else ends[1],
        )
    return Bounds(*ends) if ends[0] < ends[1] else Bounds(math.nan, math.nan)
