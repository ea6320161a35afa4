"""Agreement of raters beyond chance, and means that a few labels correct."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from pytest_evalmetrics.stats.basics import FEWEST, cluster_codes, vector
from pytest_evalmetrics.stats.means import MeanSE
from pytest_evalmetrics.sums import squares

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def krippendorff_alpha(
    ratings: ArrayLike, level: Literal["nominal", "interval"] = "nominal"
) -> float:
    """Return Krippendorff's alpha of ratings, shape (raters, units), NaN where a rater gave none.

    1 - D_o / D_e over the units that were rated at least twice; NaN where there is none, or all
    ratings are the same. Interval ratings differ by the square of their distance. K. Krippendorff,
    *Content Analysis*, 2nd ed. 2004, chapter 11.
    """
    table = np.asarray(ratings, dtype=np.float64)
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
    """Return Cohen's kappa of two raters of the same units: 1 for full agreement, 0 for chance.

    NaN where both give one and the same rating to all. J. Cohen, "A coefficient of agreement for
    nominal scales", 1960; "Weighted kappa", 1968, whose squared weights are those of the ratings'
    values.
    """
    one, other = vector(a, "a"), vector(b, "b")
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


def ppi_mean(predicted: ArrayLike, labels: ArrayLike, clusters: ArrayLike) -> tuple[MeanSE, float]:
    """Return the mean of what labels would be, by a judge's predictions, and the weight of these.

    `labels` is NaN where a row, shape (rows,), has none; which ones have has to be chance.
    `clusters` are the rows' tasks: rows of one task are not independent. NaN with fewer than two
    labelled tasks.

    ``w mean(f of unlabelled) + mean(y - w f of labelled)``, w from 0 (the labels alone) to 1 the
    one of least variance: PPI++, Angelopoulos, Duchi and Zrnic 2023 (arXiv 2311.01453), example
    6.1. Half a squared range over the squared number of labels is added to the variance, as labels
    that all agree with the judge do not show that it never errs (the idea of Agresti and Coull
    1998).
    """
    f, y = vector(predicted), np.asarray(labels, dtype=np.float64)
    known = ~np.isnan(y)
    codes, units = cluster_codes(clusters, len(f))
    labelled = len(np.unique(codes[known]))
    if labelled < FEWEST:
        return MeanSE(math.nan, math.nan, labelled - 1, labelled), math.nan
    n, rest = int(known.sum()), int((~known).sum())
    weight, variance = 0.0, float(f.var())
    if rest and variance:
        best = np.cov(y[known], f[known])[0, 1] / ((1 + n / rest) * variance)
        weight = float(np.clip(best, 0, 1))
    corrections = y[known] - weight * f[known]
    influence = np.empty(len(f))
    influence[known] = (corrections - corrections.mean()) / n
    mean = float(corrections.mean())
    if rest:
        others = f[~known].mean()
        influence[~known] = weight * (f[~known] - others) / rest
        mean += weight * float(others)
    spread = squares(np.bincount(codes, influence).astype(np.float64)) * units / (units - 1)
    spread += 0.5 * (float(np.ptp(np.concatenate([f, y[known]]))) / labelled) ** 2
    return MeanSE(mean, math.sqrt(spread), labelled - 1, labelled), weight
