"""Summaries of a score over all rows, as the NeMo Evaluator computes them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from pytest_evalmetrics.records import record
from pytest_evalmetrics.results import Agreement, Bin, RubricCount, ScoreSummary
from pytest_evalmetrics.stats import krippendorff_alpha
from pytest_evalmetrics.sums import total

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BINS = 10


@record
class About:
    """The meaning of a score, beyond its number."""

    labels: tuple[tuple[str, float], ...] = ()  # of a rubric, each with its value
    judges: tuple[str, ...] = ()  # the scores that are the several judges' own
    level: Literal["nominal", "interval"] = "interval"  # how the judges' scores differ


def summarise_all(
    names: Sequence[str],
    columns: Mapping[str, NDArray[np.float64]],
    about: Mapping[str, About] | None = None,
) -> tuple[ScoreSummary, ...]:
    """Summarise scores; columns have shape (rows,), NaN where a score is missing."""
    summaries = []
    for name in names:
        meaning = (about or {}).get(name, About())
        counts = tuple(
            RubricCount(label, value, int((columns[name] == value).sum()))
            for label, value in meaning.labels
        )
        most = max((each.count for each in counts), default=0)
        summary = replace(
            summarise(name, columns[name]),
            rubric_distribution=counts,
            mode_category=min(c.label for c in counts if c.count == most) if most else None,
            agreement=_agreement(columns, meaning) if meaning.judges else None,
        )
        summaries.append(summary)
    return tuple(summaries)


def summarise(name: str, column: NDArray[np.float64]) -> ScoreSummary:
    """Summarise a score: one number per row, shape (rows,), NaN where it is missing.

    Percentile p lies at rank ``p / 100 * (n + 1) - 1`` of the sorted values, interpolated
    between neighbours and held within them (Hyndman and Fan 1996, definition 6).
    """
    values = np.sort(column[~np.isnan(column)])
    n, missing = len(values), len(column) - len(values)
    if not n:
        return ScoreSummary(name, 0, missing)
    ranks = np.clip(np.arange(10, 101, 10) / 100 * (n + 1) - 1, 0, n - 1)
    percentiles = np.interp(ranks, np.arange(n), values).tolist()
    whole = total(values)
    mean = whole / n
    spread = total((values - mean) ** 2)
    sample_variance = spread / (n - 1) if n > 1 else None
    return ScoreSummary(
        name,
        n,
        missing,
        sum=whole,
        mean=mean,
        min=float(values[0]),
        max=float(values[-1]),
        median=float(np.median(values)),
        std_dev=math.sqrt(spread / n),
        variance=spread / n,
        sample_std_dev=None if sample_variance is None else math.sqrt(sample_variance),
        sample_variance=sample_variance,
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
    return tuple(map(Bin, edges, [*edges[1:], high], counts))


def _agreement(columns: Mapping[str, NDArray[np.float64]], about: About) -> Agreement:
    ratings = np.stack([columns[name] for name in about.judges])
    rows = int((~np.isnan(ratings).any(axis=0)).sum())
    alpha = krippendorff_alpha(ratings, about.level)
    if not np.isnan(alpha):
        return Agreement(alpha, about.level, len(ratings), rows)
    reason = "all their scores are the same" if rows else "no row has a score of each"
    return Agreement(None, about.level, len(ratings), rows, reason)
