"""Means, their standard errors and their intervals; K rollouts of a task are one observation.

Each value is one task's. Tasks that hang together (one repository, one document, one
seed question in five languages) are clustered: then the clusters are what is independent.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pytest_evalmetrics.masks import any_of
from pytest_evalmetrics.stats.inputs import StatsError, cluster_codes, fraction, vector
from pytest_evalmetrics.stats.outcome import Bounds
from pytest_evalmetrics.stats.tails import normal_ppf, t_ppf
from pytest_evalmetrics.sums import mean_of, squares, total

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "MeanSE",
    "clustered_se",
    "clustered_t_interval",
    "design_effect",
    "mean",
    "mean_se",
    "ratio_mean",
    "se_bernoulli",
    "se_clt",
    "t_interval",
    "z_interval",
]

NO_BOUNDS = Bounds(math.nan, math.nan)
FEWEST = 2  # independent units that have a spread
_ROUNDING = 8 * np.finfo(np.float64).eps


class MeanSE(NamedTuple):
    """A mean, and how sure it is.

    Attributes
    ----------
    mean
        The mean; NaN of no values.
    se
        Its standard error; NaN where there are fewer than two independent units.
    df
        Degrees of freedom: the independent units less one, of clusters Satterthwaite's, or
        Welch's.
    units
        The independent units: observations, or clusters.
    """

    mean: float
    se: float
    df: float
    units: int


def mean(x: ArrayLike) -> float:
    """Return the mean of `x`, shape (n,); NaN where n = 0."""
    return _mean(vector(x))


def _mean(values: NDArray[np.float64]) -> float:
    return mean_of(values) if values.size else math.nan


def mean_se(x: ArrayLike, clusters: ArrayLike | Sequence[object] | None = None) -> MeanSE:
    """Return the mean with its standard error, clustered where clusters are given.

    Parameters
    ----------
    x
        One value per task, shape (n,).
    clusters
        One label per task, shape (n,).

    Notes
    -----
    Without clusters: Miller 2024, Adding Error Bars to Evals (arXiv 2411.00640), section 2.
    With clusters: the CR2 estimator of Bell and McCaffrey 2002, which holds for few clusters of
    unequal size; degrees of freedom by Satterthwaite under equicorrelated tasks within a
    cluster (Imbens and Kolesar 2016, Robust Standard Errors in Small Samples, equation 14).
    """
    values = vector(x)
    if clusters is None:
        return MeanSE(_mean(values), _se_clt(values), values.size - 1, values.size)
    codes, units = cluster_codes(clusters, values.size)
    if units < FEWEST:
        return MeanSE(_mean(values), math.nan, units - 1, units)
    rest = _residuals(values)
    sizes = np.bincount(codes, minlength=units).astype(np.float64)
    sums = _cluster_sums(rest, codes, units)
    sums = _unless_rounding(sums, np.abs(values).max() * sizes.max())
    share = sizes / values.size
    se = math.sqrt(total(sums**2 / (1 - share))) / values.size
    whole = squares(rest)
    pairs = float((sizes * (sizes - 1)).sum())
    icc = 0.0
    if pairs and whole > 0:
        icc = (squares(sums) - whole) / pairs / (whole / (values.size - 1))
    variances = sizes + sizes * (sizes - 1) * min(max(icc, 0.0), 1.0)
    return MeanSE(_mean(values), se, _satterthwaite(share, variances), units)


def _satterthwaite(share: NDArray[np.float64], variances: NDArray[np.float64]) -> float:
    """Return tr(M)^2 / tr(M^2) of the covariance M of the adjusted sums of residuals.

    M_gl = a_g a_l ([g = l] v_g - h_g v_l - v_g h_l + h_g h_l V), with h the cluster's share of
    tasks, v its sum's variance, V the sum of these, and a^2 = 1 / (1 - h).
    """
    weight = 1 / (1 - share)
    whole = total(variances)
    across = weight * (2 * share * variances - whole * share**2)
    diagonal = weight * variances - across
    xx, yy, xy = (total(weight * each) for each in (share**2, variances**2, share * variances))
    summed = 2 * xx * yy + whole**2 * xx**2 + 2 * xy**2 - 4 * whole * xx * xy
    summed += total(diagonal**2 - across**2)
    return total(diagonal) ** 2 / summed


def se_clt(x: ArrayLike) -> float:
    """Return the standard error of a mean: sqrt(sum (x_i - mean)^2 / ((n - 1) n)).

    Parameters
    ----------
    x
        One value per task, shape (n,).

    Returns
    -------
    float
        NaN where n < 2; exactly 0 where the values differ by rounding alone.

    Notes
    -----
    Miller 2024, Adding Error Bars to Evals (arXiv 2411.00640), section 2.
    """
    return _se_clt(vector(x))


def _se_clt(values: NDArray[np.float64]) -> float:
    if values.size < FEWEST:
        return math.nan
    rest = _residuals(values)
    return math.sqrt(squares(rest) / (values.size - 1) / values.size)


def se_bernoulli(p: float, n: int) -> float:
    """Return sqrt(p (1 - p) / n), of a share of n (Miller 2024, arXiv 2411.00640, section 2)."""
    if not (0 <= p <= 1 and n > 0):
        raise StatsError(f"p is {p} and n {n}, where a share of at least one is expected")
    return math.sqrt(p * (1 - p) / n)


def clustered_se(
    x: ArrayLike, clusters: ArrayLike | Sequence[object], *, finite: bool = True
) -> float:
    """Return the standard error of a mean over clustered observations.

    Parameters
    ----------
    x
        One value per task, shape (n,).
    clusters
        One label per task, shape (n,).
    finite
        Whether to multiply the variance by G / (G - 1), G the number of clusters. With it,
        clusters of one task give `se_clt`; without it, it is the paper's formula.

    Returns
    -------
    float
        NaN of no values. Of a single cluster 0, as the formula has it: it says nothing,
        which is why `clustered_t_interval` and the tests give NaN there.

    Notes
    -----
    SE^2 = G / (G - 1) / n^2 * sum over clusters of (sum of x_i - mean)^2. Miller 2024
    (arXiv 2411.00640), section 2, without the factor; the factor is that of Cameron and
    Miller 2015, A Practitioner's Guide to Cluster-Robust Inference.
    """
    values = vector(x)
    return _clustered_se(values, *cluster_codes(clusters, values.size), finite=finite)


def _clustered_se(
    values: NDArray[np.float64], codes: NDArray[np.intp], count: int, *, finite: bool
) -> float:
    if count < FEWEST:
        return 0.0 if count else math.nan
    sums = _cluster_sums(_residuals(values), codes, count)
    sums = _unless_rounding(sums, np.abs(values).max() * np.bincount(codes).max())
    factor = count / (count - 1) if finite else 1.0
    return math.sqrt(factor * squares(sums)) / values.size


def _cluster_sums(
    values: NDArray[np.float64], codes: NDArray[np.intp], count: int
) -> NDArray[np.float64]:
    return np.bincount(codes, weights=values, minlength=count).astype(np.float64, copy=False)


def _residuals(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distances from the mean; all 0 where they are rounding alone."""
    return _unless_rounding(values - mean_of(values), np.abs(values).max())


def _unless_rounding(rest: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Return `rest`, or zeros where all of it is what adding numbers of `scale` rounds off.

    An error of 1e-17 would pass for a standard error, and any difference for significant.
    """
    return rest if np.abs(rest).max() > _ROUNDING * scale else np.zeros_like(rest)


def t_interval(x: ArrayLike, level: float = 0.95) -> Bounds:
    """Return the t interval of a mean over tasks, df = n - 1.

    Parameters
    ----------
    x
        One value per task, shape (n,).
    level
        Its confidence.

    Returns
    -------
    Bounds
        NaN where n < 2, or where all values are equal: data without a spread give no
        interval, least of all one of no width.
    """
    return around(mean_se(x), level)


def clustered_t_interval(
    x: ArrayLike, clusters: ArrayLike | Sequence[object], level: float = 0.95
) -> Bounds:
    """Return the t interval of a mean over clustered tasks, df = clusters - 1.

    NaN where there are fewer than two clusters, or where there is no spread.
    """
    return around(mean_se(x, clusters), level)


def around(found: MeanSE, level: float) -> Bounds:
    """Return mean -+ t * se; NaN where the standard error is 0 or unknown."""
    quantile = 0.5 + fraction(level, "level") / 2
    if not found.se > 0:
        return NO_BOUNDS
    half = t_ppf(quantile, found.df) * found.se
    return Bounds(found.mean - half, found.mean + half)


def z_interval(estimate: float, se: float, level: float = 0.95) -> Bounds:
    """Return estimate -+ z * se, the normal interval (Miller 2024, section 2)."""
    half = normal_ppf(0.5 + fraction(level, "level") / 2) * se
    return Bounds(estimate - half, estimate + half)


def ratio_mean(
    sums: ArrayLike, counts: ArrayLike, clusters: ArrayLike | Sequence[object] | None = None
) -> MeanSE:
    """Return a mean pooled over tasks of unequal size, its standard error by task.

    Parameters
    ----------
    sums
        Each task's sum over its rollouts, shape (n,).
    counts
        Each task's number of rollouts, shape (n,).
    clusters
        One label per task, shape (n,), where tasks hang together.

    Notes
    -----
    R = sum y / sum m. Linearised, with e_i = y_i - R m_i: SE^2 = G / (G - 1) *
    sum over units of (sum of e)^2 / (sum m)^2. Cochran 1977, Sampling Techniques, chapter
    6, for an infinite population. With equal counts it is `mean_se` of the tasks' means.
    """
    tops, bottoms = vector(sums, "sums"), vector(counts, "counts")
    if tops.size != bottoms.size:
        raise StatsError(f"{tops.size} sums for {bottoms.size} counts")
    if any_of(bottoms < 0):
        raise StatsError("counts holds a negative number")
    rollouts = total(bottoms)
    if rollouts == 0:
        return MeanSE(math.nan, math.nan, -1, 0)
    ratio = total(tops) / rollouts
    errors: NDArray[np.float64] = tops - ratio * bottoms
    units, largest = tops.size, 1
    if clusters is not None:
        codes, units = cluster_codes(clusters, tops.size)
        errors = _cluster_sums(errors, codes, units)
        largest = int(np.bincount(codes).max())
    errors = _unless_rounding(errors, np.abs(tops).max() * largest)
    se = math.nan
    if units >= FEWEST:
        se = math.sqrt(units / (units - 1) * squares(errors)) / rollouts
    return MeanSE(ratio, se, units - 1, units)


def design_effect(m: float, icc: float) -> float:
    """Return 1 + (m - 1) icc, the variance's growth by clusters of m (Kish 1965)."""
    return 1 + (m - 1) * icc
