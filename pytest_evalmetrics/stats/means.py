"""Means over tasks, with their standard errors.

Each value is one task's: K rollouts of a task are one observation. Tasks that depend on each other
(one repository, one document) are clustered; then the clusters are what is independent.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_evalmetrics.stats.basics import NO_BOUNDS, Bounds, vector
from pytest_evalmetrics.stats.distributions import t_ppf
from pytest_evalmetrics.sums import mean_of, squares, total

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pytest_evalmetrics.stats.basics import Floats, Ints

FEWEST = 2  # independent units that have a spread
ROUNDING = 8 * np.finfo(np.float64).eps  # relative


class MeanSE(msgspec.Struct, frozen=True):
    """A mean with its standard error; NaN if there are fewer than two independent units."""

    mean: float
    se: float
    df: float  # the units less one; of clusters Satterthwaite's
    units: int  # independent ones: observations, or clusters


def mean_se(x: ArrayLike, clusters: ArrayLike | None = None) -> MeanSE:
    """Return the mean of `x`, one value per task, with its standard error.

    Without clusters: Miller 2024, Adding Error Bars to Evals (arXiv 2411.00640), section 2. With
    clusters: the CR2 estimator of Bell and McCaffrey 2002, which holds for few clusters of unequal
    size; degrees of freedom by Satterthwaite under equicorrelated tasks within a cluster (Imbens
    and Kolesar 2016, Robust Standard Errors in Small Samples, equation 14).
    """
    values = vector(x)
    mean = math.nan
    if values.size:
        mean = mean_of(values)
    if clusters is not None:
        return _clustered_mean_se(values, mean, codes_of(clusters))
    df = values.size - 1
    se = math.nan
    if values.size >= FEWEST:
        variance = squares(residuals(values)) / df
        se = math.sqrt(variance / values.size)
    return MeanSE(mean, se, df, values.size)


def _clustered_mean_se(values: Floats, mean: float, codes: Ints) -> MeanSE:
    units = int(codes.max()) + 1
    if units < FEWEST:
        return MeanSE(mean, math.nan, units - 1, units)
    rest = residuals(values)
    sizes = np.bincount(codes).astype(np.float64)
    scale = float(np.abs(values).max() * sizes.max())
    sums = _unless_rounding(sums_of_codes(rest, codes), scale)
    share = sizes / values.size
    se = math.sqrt(total(sums**2 / (1 - share))) / values.size
    correlation = _correlation_within(rest, sums, sizes)
    variances = sizes + sizes * (sizes - 1) * correlation
    return MeanSE(mean, se, _satterthwaite(share, variances), units)


def _correlation_within(rest: Floats, sums: Floats, sizes: Floats) -> float:
    """Return how tasks of one cluster correlate, from 0 to 1.

    The mean product of the residuals of two tasks of a cluster, over their variance.
    """
    squared = squares(rest)
    pairs = float((sizes * (sizes - 1)).sum())
    if not pairs or not squared > 0:
        return 0.0
    product = (squares(sums) - squared) / pairs
    variance = squared / (rest.size - 1)
    return min(max(product / variance, 0.0), 1.0)


def _satterthwaite(share: Floats, variances: Floats) -> float:
    """Return tr(M)^2 / tr(M^2) of the covariance M of the adjusted sums of residuals.

    M_gl = a_g a_l ([g = l] v_g - h_g v_l - v_g h_l + h_g h_l V), with h the cluster's share of
    tasks, v its sum's variance, V the sum of these, and a^2 = 1 / (1 - h).
    """
    weight = 1 / (1 - share)
    whole = total(variances)
    across = weight * (2 * share * variances - whole * share**2)
    diagonal = weight * variances - across
    xx = total(weight * share**2)
    yy = total(weight * variances**2)
    xy = total(weight * share * variances)
    summed = 2 * xx * yy + whole**2 * xx**2 + 2 * xy**2 - 4 * whole * xx * xy
    summed += total(diagonal**2 - across**2)
    return total(diagonal) ** 2 / summed


def ratio_mean(
    sums: ArrayLike, counts: ArrayLike, clusters: ArrayLike | None = None
) -> MeanSE:
    """Return a mean pooled over tasks, of their sums and counts, with its standard error by task.

    R = sum y / sum m. Linearised, with e_i = y_i - R m_i: SE^2 = G / (G - 1) * sum over units of
    (sum of e)^2 / (sum m)^2. Cochran 1977, Sampling Techniques, chapter 6, for an infinite
    population. With equal counts it is `mean_se` of the tasks' means. Counts are above 0.
    """
    tops = vector(sums, "sums")
    bottoms = vector(counts, "counts")
    rollouts = total(bottoms)
    ratio = total(tops) / rollouts
    errors: Floats = tops - ratio * bottoms
    largest = 1
    if clusters is not None:
        codes = codes_of(clusters)
        errors = sums_of_codes(errors, codes)
        largest = int(np.bincount(codes).max())
    units = errors.size
    errors = _unless_rounding(errors, float(np.abs(tops).max() * largest))
    se = math.nan
    if units >= FEWEST:
        squared = units / (units - 1) * squares(errors)
        se = math.sqrt(squared) / rollouts
    return MeanSE(ratio, se, units - 1, units)


def trimmed_mean(x: ArrayLike, share: float = 0.1) -> MeanSE:
    """Return the mean without a share of the values at either end, at least one each.

    NaN of fewer than three values. The standard error is Yuen's, by the winsorised
    variance: Yuen 1974, Biometrika 61, 165.
    """
    values = np.sort(vector(x))
    n = values.size
    cut = max(int(share * n), 1)
    kept = n - 2 * cut
    if kept < 1:
        return MeanSE(math.nan, math.nan, kept - 1, n)
    middle = values[cut : n - cut]
    winsorised = np.clip(values, middle[0], middle[-1])
    variance = squares(residuals(winsorised)) / (n - 1)
    se = math.sqrt(n * variance) / kept
    return MeanSE(mean_of(middle), se, kept - 1, n)


def t_interval(estimate: MeanSE, level: float) -> Bounds:
    """Return mean -+ t * se; NaN where the standard error is 0 or unknown."""
    if not estimate.se > 0:
        return NO_BOUNDS
    half = t_ppf(0.5 + level / 2, estimate.df) * estimate.se
    return estimate.mean - half, estimate.mean + half


# -- clusters, and rounding ----------------------------------------------------------------


def codes_of(clusters: ArrayLike) -> Ints:
    """Return the number of each task's cluster, from 0."""
    given = np.asarray(clusters)
    if _are_codes(given):
        return given
    _, codes = np.unique(given, return_inverse=True)
    return codes


def _are_codes(clusters: Ints) -> bool:
    """Check whether clusters are numbered from 0 without a gap: sorting takes longer."""
    if clusters.dtype.kind != "i" or not clusters.size or clusters.min() != 0:
        return False
    if clusters.max() >= clusters.size:
        return False
    return bool(np.bincount(clusters).all())


def sums_of_codes(values: Floats, codes: Ints) -> Floats:
    """Return the sum of each cluster's values; clusters are numbered from 0."""
    return np.bincount(codes, weights=values).astype(np.float64, copy=False)


def residuals(values: Floats) -> Floats:
    """Return the distances from the mean; all 0 where they are rounding alone."""
    return _unless_rounding(values - mean_of(values), largest_size(values))


def largest_size(values: Floats) -> float:
    """Return the largest size of a value, without a copy of all sizes."""
    return max(float(values.max()), -float(values.min()))


def _unless_rounding(rest: Floats, scale: float) -> Floats:
    """Return `rest`, or zeros where all of it is rounding: no standard error."""
    if largest_size(rest) > ROUNDING * scale:
        return rest
    return np.zeros_like(rest)
