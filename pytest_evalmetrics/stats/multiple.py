"""Adjusted p values where several metrics are judged at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.masks import any_of
from pytest_evalmetrics.stats.inputs import StatsError, vector

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["benjamini_hochberg", "holm"]


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Return Holm's adjusted p values, in the order given, shape (m,).

    p_(i) = max over j <= i of min(1, (m - j + 1) p_(j)): the chance of any false alarm
    among the m stays under alpha, however they hang together (Holm 1979).
    """
    values, order = _sorted(p)
    adjusted = np.maximum.accumulate(values * np.arange(values.size, 0, -1))
    return _back(np.minimum(adjusted, 1), order)


def benjamini_hochberg(p: ArrayLike) -> NDArray[np.float64]:
    """Return the adjusted p values of Benjamini and Hochberg 1995, shape (m,).

    p_(i) = min over j >= i of min(1, m p_(j) / j): they bound the share of false alarms.
    """
    values, order = _sorted(p)
    scaled = values * values.size / np.arange(1, values.size + 1)
    adjusted = np.minimum.accumulate(scaled[::-1])[::-1]
    return _back(np.minimum(adjusted, 1), order)


def _sorted(p: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    values = vector(p, "p")
    if any_of((values < 0) | (values > 1)):
        raise StatsError("p holds a number that is no probability")
    order = np.argsort(values, kind="stable")
    return values[order], order


def _back(values: NDArray[np.float64], order: NDArray[np.intp]) -> NDArray[np.float64]:
    out = np.empty_like(values)
    out[order] = values
    return out
