"""Shared by all statistics: results, and checks of arguments."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

Alternative = Literal["two-sided", "greater"]
_DENOMINATOR = 10_000  # of a difference over the smallest one
_STEPS = 1_000_000  # in the largest difference
_ZERO = 1e-12  # of the largest: rounding, no difference
_SAME_STEP = 1e-11  # relative: a multiple, but for rounding


class StatsError(ValueError):
    """The arguments are outside the statistic's domain."""


# the ends of an interval, in the unit of the estimate; NaN for none
Bounds: TypeAlias = tuple[float, float]
NO_BOUNDS: Bounds = math.nan, math.nan


class StatResult(msgspec.Struct, frozen=True):
    """Result of a test. A field that has no meaning for the test is NaN."""

    name: str  # as a person calls the test: paired t, exact sign flip
    # for the alternative that was asked for; never below `LEAST_P`
    p: float
    mid_p: float = math.nan  # of an exact test: P(T > t) + P(T = t) / 2
    statistic: float = math.nan
    df: float = math.nan
    se: float = math.nan
    low: float = math.nan  # the two-sided interval, whatever the alternative
    high: float = math.nan
    units: int = 0  # independent observations: clusters if there are any
    log_tail: float = math.nan  # log p, where p itself is `LEAST_P`


def vector(x: ArrayLike, name: str = "x") -> Floats:
    """Return `x` as an array of finite floats, or raise `StatsError`."""
    values = np.asarray(x, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        first = f"the first, {values[bad[0]]}, at index {bad[0]}"
        raise StatsError(f"{name} holds {bad.size} values that are not finite, {first}")
    return values


def nonzero(values: Floats) -> Floats:
    """Drop the differences that are 0, or rounding."""
    size = np.abs(values)
    moved: Floats = values[size > _ZERO * size.max(initial=0.0)]
    return moved


def lattice_step(d: ArrayLike) -> float | None:
    """Return the largest step of which all of `d` are multiples, or None."""
    # Each difference over the smallest is a fraction with a small denominator.
    sizes = np.unique(np.abs(nonzero(vector(d, "d"))), return_counts=True)[0]
    if not sizes.size:
        return None
    smallest, largest = float(sizes[0]), float(sizes[-1])
    common = 1
    for ratio in (sizes / smallest).tolist():
        near = Fraction(ratio).limit_denominator(_DENOMINATOR)
        if abs(float(near) - ratio) > _SAME_STEP * ratio:
            return None
        common = math.lcm(common, near.denominator)
        if common * largest / smallest > _STEPS:
            return None
    return smallest / common
