"""Sums to the same last bit with every version of NumPy and every processor, and bars for sums.

All versions add a stretch of up to 8192 neighbouring numbers in one order. Longer ones, and
products of vectors, are added in an order of the version's or of the processor's: an unchanged
run would then leave other files.

In any order, a sum of 0.1 ten times is not 1 to the last bit: `reaches` compares it with a bar.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, overload

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STRETCH = 8192
TOLERANCE = 1e-9  # of a bar, and at least this much


@overload
def reaches(value: float, bar: float) -> bool: ...
@overload
def reaches(value: NDArray[np.float64], bar: float) -> NDArray[np.bool_]: ...
def reaches(value: float | NDArray[np.float64], bar: float) -> bool | NDArray[np.bool_]:
    """Check that a number, or each of an array, is at least `bar`, but for rounding errors."""
    return value >= bar - _slack(bar)


@overload
def stays_within(value: float, bar: float) -> bool: ...
@overload
def stays_within(value: NDArray[np.float64], bar: float) -> NDArray[np.bool_]: ...
def stays_within(
    value: float | NDArray[np.float64], bar: float
) -> bool | NDArray[np.bool_]:
    """Check that a number, or each of an array, is at most `bar`, but for rounding errors."""
    return value <= bar + _slack(bar)


def short_of(bar: float) -> float:
    """Return a number that does not reach a bar, close to it."""
    return bar - 2 * _slack(bar)


def _slack(bar: float) -> float:
    return TOLERANCE * max(1.0, abs(bar))


def total(values: NDArray[np.float64]) -> float:
    """Sum a vector; what does not fit into a float is an infinity."""
    if len(values) <= _STRETCH:
        return float(np.ascontiguousarray(values).sum())
    whole = len(values) // _STRETCH * _STRETCH
    stretches = np.ascontiguousarray(values[:whole]).reshape(-1, _STRETCH)
    parts = [*stretches.sum(axis=1).tolist(), total(values[whole:])]
    try:
        return math.fsum(parts)
    except (OverflowError, ValueError):  # too large, or infinities of both signs
        return float(np.add.accumulate(parts)[-1])


def mean_of(values: NDArray[np.float64]) -> float:
    """Average a vector that is not empty."""
    return total(values) / len(values)


def squares(values: NDArray[np.float64]) -> float:
    """Sum the squares of a vector."""
    return total(values * values)


def cubes(values: NDArray[np.float64]) -> float:
    """Sum the cubes of a vector, whose power function differs between versions of NumPy."""
    return total(values * values * values)


def fourth_powers(values: NDArray[np.float64]) -> float:
    """Sum the fourth powers of a vector, see `cubes`."""
    return squares(values * values)


def logarithms(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithms of a vector, which NumPy computes as the processor allows."""
    return np.array([math.log(value) for value in values.tolist()], dtype=np.float64)


def row_totals(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum each row of a matrix, shape (rows,)."""
    if block.shape[1] <= _STRETCH:
        totals: NDArray[np.float64] = np.ascontiguousarray(block).sum(axis=1)
        return totals
    return np.array([total(row) for row in block], dtype=np.float64)
