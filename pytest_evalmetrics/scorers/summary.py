"""A score over all rows, as the NeMo Evaluator sums it up."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pytest_evalmetrics.results import Agreement, Bin, RubricCount, ScoreSummary
from pytest_evalmetrics.stats import krippendorff_alpha
from pytest_evalmetrics.sums import total

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["About", "summarise", "summarise_all"]

_BINS = 10


@dataclass(frozen=True, slots=True)
class About:
    """What a score stands for, beyond its number.

    Attributes
    ----------
    labels
        Of a rubric, each with its value.
    judges
        The scores that are the several judges' own.
    level
        How these differ: ``nominal`` or ``interval``.
    """

    labels: tuple[tuple[str, float], ...] = ()
    judges: tuple[str, ...] = ()
    level: Literal["nominal", "interval"] = "interval"


def summarise_all(
    names: Sequence[str],
    columns: Mapping[str, NDArray[np.float64]],
    about: Mapping[str, About] | None = None,
) -> tuple[ScoreSummary, ...]:
    """Sum scores up.

    Parameters
    ----------
    names
        Which.
    columns
        By name, shape (rows,), NaN where a score is missing.
    about
        What they stand for.
    """
    found = []
    for name in names:
        summary, known = summarise(name, columns[name]), (about or {}).get(name)
        if known is not None:
            summary = replace(
                summary,
                **_rubric(columns[name], known),
                agreement=_agreement(columns, known) if known.judges else None,
            )
        found.append(summary)
    return tuple(found)


def summarise(name: str, column: NDArray[np.float64]) -> ScoreSummary:
    """Sum a score up.

    Parameters
    ----------
    name
        The score.
    column
        One number per row, shape (rows,), NaN where it is missing.

    Notes
    -----
    Percentile p lies at rank ``p / 100 * (n + 1) - 1`` of the sorted values, interpolated
    between neighbours and held within them (Hyndman and Fan 1996, definition 6).
    """
    values = np.sort(column[~np.isnan(column)])
    n, missing = len(values), len(column) - len(values)
    if not n:
        return ScoreSummary(name, 0, missing)
    ranks = np.clip(np.arange(10, 101, 10) / 100 * (n + 1) - 1, 0, n - 1)
    percentiles = np.interp(ranks, np.arange(n), values).tolist()
    several, whole = n > 1, total(values)
    mean = whole / n
    spread = total((values - mean) ** 2)
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
        sample_std_dev=math.sqrt(spread / (n - 1)) if several else None,
        sample_variance=spread / (n - 1) if several else None,
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
    return tuple(
        Bin(edges[i], edges[i + 1] if i + 1 < _BINS else high, counts[i]) for i in range(_BINS)
    )


def _rubric(column: NDArray[np.float64], about: About) -> dict[str, Any]:
    counted = tuple(
        RubricCount(label, value, int((column == value).sum())) for label, value in about.labels
    )
    most = max((one.count for one in counted), default=0)
    mode = min((one.label for one in counted if one.count == most), default=None) if most else None
    return {"rubric_distribution": counted, "mode_category": mode}


def _agreement(columns: Mapping[str, NDArray[np.float64]], about: About) -> Agreement:
    ratings = np.stack([columns[name] for name in about.judges])
    rows = int((~np.isnan(ratings).any(axis=0)).sum())
    alpha = krippendorff_alpha(ratings, about.level)
    if not np.isnan(alpha):
        return Agreement(alpha, about.level, len(ratings), rows)
    reason = "all their scores are the same" if rows else "no row has a score of each"
    return Agreement(None, about.level, len(ratings), rows, reason)
