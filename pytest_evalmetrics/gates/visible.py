"""What a comparison could have seen: the drop that its test finds with 80 % power."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics import stats

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["largest_flip", "visible_drop"]


def visible_drop(interval: stats.StatResult, alpha: float, flip: float = 0.0) -> float:
    """Return the smallest drop seen with 80 % power; NaN where nothing shows the noise.

    Parameters
    ----------
    interval
        The drop with its standard error.
    alpha
        The level of the test.
    flip
        Of the exact test of few flips: the most that one unit moves.

    Notes
    -----
    (t_{1-alpha} + t_{0.8}) SE (Miller 2024, arXiv 2411.00640, section 5). Where only a few tasks
    flip, most of the variance under a drop is that of the flips which it adds, and SE^2 becomes
    SE^2 + drop * flip / units. Without them ten flips of 200 tasks would promise to see half of
    what they do.
    """
    if not interval.se > 0:
        return math.nan
    factor = _factor(interval.df, alpha)
    noise, half = factor * interval.se, factor**2 * flip / interval.units / 2
    return half + math.hypot(half, noise)


def largest_flip(damage: NDArray[np.float64], clusters: NDArray[np.int64] | None) -> float:
    """Return the most that one task, or one cluster of average size, moves."""
    if clusters is None:
        return float(np.abs(damage).max())
    sums = np.bincount(clusters, weights=damage)
    return float(np.abs(sums).max()) * len(sums) / len(damage)


@lru_cache(maxsize=256)
def _factor(df: float, alpha: float) -> float:
    """How many standard errors the test sees with 80 % power."""
    return stats.mde_from_se(1.0, df if df > 0 else math.inf, alpha=alpha)
