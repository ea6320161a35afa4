"""What the statistics give back: an interval's ends, and what a test found."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import msgspec

__all__ = ["Alternative", "Bounds", "StatResult"]

Alternative = Literal["two-sided", "greater", "less"]


class Bounds(NamedTuple):
    """The two ends of an interval.

    Attributes
    ----------
    low, high
        In the unit of the estimate; NaN where the data can't give an interval.
    """

    low: float
    high: float


class StatResult(msgspec.Struct, frozen=True):
    """What a test found. NaN where a field means nothing for the test.

    Attributes
    ----------
    name
        The test, as a person would call it: ``paired t``, ``exact sign flip``.
    p
        The p value for the alternative that was asked for.
    statistic
        The test statistic.
    df
        Its degrees of freedom.
    estimate
        What was tested against 0: a mean, or a difference.
    se
        The estimate's standard error.
    low, high
        The estimate's two-sided interval, whatever the alternative.
    n
        Observations: differences, discordant pairs, tasks.
    units
        What was treated as independent: clusters where there are any, else `n`.
    mid_p
        The mid-p value of an exact test: P(T > t) + P(T = t) / 2.
    draws
        Resamples behind `p`; 0 where no random number was drawn.
    """

    name: str
    p: float
    statistic: float = math.nan
    df: float = math.nan
    estimate: float = math.nan
    se: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    units: int = 0
    mid_p: float = math.nan
    draws: int = 0
