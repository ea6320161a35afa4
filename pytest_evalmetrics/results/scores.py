"""Scores summed up over all rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Agreement", "Bin", "RubricCount", "ScoreSummary"]


@dataclass(frozen=True, slots=True)
class Bin:
    """A bar of a histogram: how many values from the lower bound on, below the upper one."""

    lower_bound: float
    upper_bound: float
    count: int


@dataclass(frozen=True, slots=True)
class RubricCount:
    """How many rows a judge gave a label of its rubric."""

    label: str
    value: float
    count: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far several judges agree on a score.

    Attributes
    ----------
    alpha
        Krippendorff's: 1 is full agreement, 0 what chance gives; None where it is undefined,
        with the `reason`.
    level
        ``nominal`` for labels, ``interval`` for numbers.
    judges, rows
        How many judged, and how many rows all of them scored.
    """

    alpha: float | None
    level: str
    judges: int
    rows: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ScoreSummary:
    """What a scorer gave, over all rows; None where nothing can be said.

    Attributes
    ----------
    name
        The score.
    count, nan_count
        Rows with it and without.
    sum, mean, min, max, median
        Over the rows with it.
    std_dev, variance
        Divided by n.
    sample_std_dev, sample_variance
        Divided by n - 1.
    percentiles
        ``p10`` ... ``p100``.
    histogram
        Ten bars of equal width; the last one holds its upper bound too.
    rubric_distribution, mode_category
        Of a rubric how many rows have each label, and the most frequent one: of several the
        first by name.
    agreement
        Of several judges.
    """

    name: str
    count: int
    nan_count: int
    sum: float | None = None
    mean: float | None = None
    min: float | None = None
    max: float | None = None
    median: float | None = None
    std_dev: float | None = None
    variance: float | None = None
    sample_std_dev: float | None = None
    sample_variance: float | None = None
    percentiles: Mapping[str, float] | None = None
    histogram: tuple[Bin, ...] = ()
    rubric_distribution: tuple[RubricCount, ...] = ()
    mode_category: str | None = None
    agreement: Agreement | None = None
