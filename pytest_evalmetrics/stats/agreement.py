"""Agreement of raters, beyond what chance alone would give."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from pytest_evalmetrics.stats.basics import StatsError, vector

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def krippendorff_alpha(
    ratings: ArrayLike, level: Literal["nominal", "interval"] = "nominal"
) -> float:
    """Return Krippendorff's alpha of several raters: 1 for full agreement, 0 for chance.

    Parameters
    ----------
    ratings
        Shape (raters, units), NaN where a rater rated nothing.
    level
        ``nominal``: ratings are the same or not. ``interval``: they differ by the square of
        their distance.

    Returns
    -------
    float
        NaN where no unit was rated twice, or where all ratings are the same.

    Notes
    -----
    1 - D_o / D_e over the units that were rated at least twice. Source: K. Krippendorff,
    *Content Analysis*, 2nd ed. 2004, chapter 11.
    """
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2 or np.isinf(table).any():  # noqa: PLR2004 - raters and units
        raise StatsError("ratings have to be finite or NaN, of shape (raters, units)")
    rated = (~np.isnan(table)).sum(axis=0)
    table, times = table[:, rated > 1], rated[rated > 1]
    pooled = table[~np.isnan(table)]
    n = len(pooled)
    if not n:
        return math.nan
    if level == "interval":
        pooled_mean = pooled.mean()
        table = table - pooled_mean  # squares of large numbers would lose digits
        within = 2 * times * np.nansum((table - np.nanmean(table, axis=0)) ** 2, axis=0)
        expected = 2 * n * float(((pooled - pooled_mean) ** 2).sum())
    else:
        units = table.T
        _, codes = np.unique(units[~np.isnan(units)], return_inverse=True)
        counts = np.zeros((len(units), codes.max() + 1))
        np.add.at(counts, (np.nonzero(~np.isnan(units))[0], codes), 1)
        within = times**2 - (counts**2).sum(axis=1)
        expected = float(n**2 - (counts.sum(axis=0) ** 2).sum())
    if not expected:
        return math.nan
    observed = float((within / (times - 1)).sum()) / n
    return 1 - observed / (expected / (n * (n - 1)))


def cohen_kappa(
    a: ArrayLike, b: ArrayLike, weights: Literal["none", "quadratic"] = "none"
) -> float:
    """Return Cohen's kappa of two raters: 1 for full agreement, 0 for chance.

    Parameters
    ----------
    a, b
        Their ratings of the same units, shape (units,).
    weights
        ``none``: ratings are the same or not. ``quadratic``: they differ by the square of
        their distance.

    Returns
    -------
    float
        NaN where both give one and the same rating to all.

    Notes
    -----
    Sources: J. Cohen, "A coefficient of agreement for nominal scales", 1960; J. Cohen,
    "Weighted kappa", 1968, whose squared weights are those of the ratings' values here.
    """
    one, other = vector(a, "a"), vector(b, "b")
    if len(one) != len(other) or not len(one):
        raise StatsError(f"a has {len(one)} ratings and b {len(other)}, expected as many, from 1")
    if weights == "quadratic":
        observed = float(((one - other) ** 2).mean())
        expected = float(one.var() + other.var() + (one.mean() - other.mean()) ** 2)
    else:
        labels = np.unique(np.concatenate((one, other)))
        counts = [
            np.bincount(np.searchsorted(labels, x), minlength=len(labels)) for x in (one, other)
        ]
        # in whole numbers, so that what chance gives is 0 and not a hair below
        observed = int((one != other).sum()) * len(one)
        expected = len(one) ** 2 - int(counts[0] @ counts[1])
    return 1 - observed / expected if expected > 0 else math.nan
