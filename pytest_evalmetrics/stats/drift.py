"""Drift over the history: a shift of the level between runs, and a slow ratchet of baselines.

Shifts are found by the change-point model of Hawkins, Qiu and Kang 2003 (Journal of Quality
Technology 35, 355): after each run the standardized CUSUM of all runs, the largest t statistic of
any split into earlier and later ones, is held against a limit that an unchanged system exceeds
once in 200 runs, whatever its level and its noise, neither of which has to be known. After a shift
the runs count from it on.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_evalmetrics.stats.distributions import t_ppf, t_sf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


_FEWEST = 8  # runs
_LEAST = 3  # runs on each side of a shift
_UNSURE = 6.0  # twice the log likelihood that a split may lack to be one where the shift began
_UPPER = 1.28  # standard errors of the autocorrelation, for a shift to be seen
_SURE = 3.0  # the same, for one that runs that resemble each other can't make
_MOST_ALIKE = 0.95
_EQUAL = 1e-12  # relative: equal but for rounding


class Shift(msgspec.Struct, frozen=True):
    """A shift of the level, by places of runs."""

    start: int  # of the level before
    first: int  # the earliest run that may have been the first of the new level
    at: int  # the likeliest
    last: int  # the latest
    # whether even runs that resemble each other as much as these may can't make it
    is_sure: bool = True


def limit(runs: int, metrics: int = 1) -> float:
    """Return the t statistic that an unchanged system exceeds once in 200 runs, as simulated."""
    alone = 3.1 + 8 / (runs - 4.5)
    if metrics <= 1:
        return alone
    # Of several metrics each has its share of the tail, and less (the power is simulated too),
    # because there are more splits to choose from further out.
    df = runs - 2
    tail = t_sf(alone, df) / metrics**1.15
    return -t_ppf(tail, df)


def levels(values: Sequence[float], metrics: int = 1) -> list[int]:
    """Return the starts of the levels in a sequence of values of one of `metrics` metrics."""
    numbers = np.asarray(values, dtype=np.float64)
    starts = [0]
    for end in range(1, len(numbers) + 1):
        part = numbers[starts[-1] : end]
        if len(part) < _FEWEST or _are_alike(part):
            continue
        cut = _LEAST + int(_rest(part).argmin())
        if _exceeds_limit(part, cut, metrics, upper=_UPPER):
            starts.append(starts[-1] + cut)
    return starts


def _are_alike(part: NDArray[np.float64]) -> bool:
    return bool(np.ptp(part) <= _EQUAL * np.abs(part).max())


def _exceeds_limit(
    part: NDArray[np.float64], cut: int, metrics: int, *, upper: float
) -> bool:
    """Check whether a split is more than chance, with autocorrelation at such a limit."""
    rest = float(_rest(part)[cut - _LEAST])
    whole = float(((part - part.mean()) ** 2).sum())
    squared_t = (whole / rest - 1) * (len(part) - 2)
    squared_limit = limit(len(part), metrics) ** 2
    if squared_t <= squared_limit:
        return False
    return squared_t > squared_limit * _inflation(part, cut, upper)


def last_shift(values: Sequence[float], metrics: int = 1) -> Shift | None:
    """Find the last shift of the level in a sequence of values, see `levels`."""
    starts = levels(values, metrics)
    if len(starts) < 2:
        return None
    before = starts[-2]
    # by all runs, those since it was seen too
    part = np.asarray(values, dtype=np.float64)[before:]
    rest = _rest(part)
    near = np.flatnonzero(rest <= rest.min() * math.exp(_UNSURE / len(part)))
    likeliest = _LEAST + int(rest.argmin())
    return Shift(
        start=before,
        first=before + _LEAST + int(near[0]),
        at=before + likeliest,
        last=before + _LEAST + int(near[-1]),
        is_sure=_exceeds_limit(part, likeliest, metrics, upper=_SURE),
    )


def _inflation(part: NDArray[np.float64], cut: int, upper: float) -> float:
    """Return how much autocorrelation inflates the squared t of a split into two levels.

    (1 + r) / (1 - r) of a first-order autoregression. r is that of what the two levels
    leave, less its bias in short series (Kendall 1954), at an upper limit of so many
    standard errors: a shift has to be more than runs that resemble each other can make.
    """
    n = len(part)
    first = part[:cut] - part[:cut].mean()
    second = part[cut:] - part[cut:].mean()
    rest = np.concatenate((first, second))
    r = 0.0
    if rest.any():
        r = float(rest[1:] @ rest[:-1]) / float(rest @ rest)
    unbiased = r + 2 * (1 + 3 * r) / n
    error = math.sqrt(max(1 - unbiased * unbiased, 0.0) / n)
    most = min(max(unbiased + upper * error, 0.0), _MOST_ALIKE)
    return (1 + most) / (1 - most)


def _rest(part: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of squares that each split into two levels leaves."""
    n = len(part)
    centred = part - part.mean()
    cut = np.arange(_LEAST, n - _LEAST + 1)
    cusum = np.cumsum(centred)[cut - 1]
    whole = float(centred @ centred)
    between = cusum**2 * n / (cut * (n - cut))
    return np.asarray(np.maximum(whole - between, _EQUAL * whole))
