"""The sample quantile, in one of its nine definitions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.stats.inputs import StatsError, vector

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["quantile7"]


def quantile7(x: ArrayLike, q: float) -> float:
    """Return the q-quantile of `x`, shape (n,), linear between order statistics.

    Definition 7 of Hyndman and Fan 1996, the default of numpy and R; NaN where n = 0.
    """
    if not 0 <= q <= 1:
        raise StatsError(f"q is {q}, where a number from 0 to 1 is expected")
    values = vector(x)
    return float(np.quantile(values, q)) if values.size else math.nan
