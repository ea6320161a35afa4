"""Intervals of means of skewed tasks: rates near 0 or 1, and values with a long tail.

Where few large values happen to be drawn, both the mean and its standard error are too
small, and Student's interval misses the mean on one side in up to a sixth of samples. No
interval of a mean holds whatever the distribution is: Bahadur and Savage 1956, Annals of
Mathematical Statistics 27, 1115. These use the skew and the kurtosis that the values
show, and, of positive values, what their logarithms say about values that were not drawn.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.stats.basics import vector
from pytest_evalmetrics.stats.distributions import t_ppf
from pytest_evalmetrics.stats.means import codes_of, sums_of_codes, t_interval
from pytest_evalmetrics.stats.proportions import clopper_pearson
from pytest_evalmetrics.sums import (
    cubes,
    fourth_powers,
    logarithms,
    mean_of,
    squares,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pytest_evalmetrics.stats.basics import Bounds, Floats
    from pytest_evalmetrics.stats.means import MeanSE

_FEWEST = 10  # units whose skew says more than chance does
_LEAST_DF = 2.0
_NO_SKEW = 1e-9  # below it the transformation is the identity, but for rounding
_NORMAL_SKEW = 1.5  # standard errors that the skew of normal logarithms may be below 0
_MOST_LOG_SD = 1.5  # beyond it the mean is that of a few values
_MOST_LOG = 700.0  # of a number that has an exponential
_MIDDLE = (0.25, 0.75)  # rates of units that are not skewed much
_LEAST_SQUARE = 1e-290  # of a tiny error: below it, digits underflow
_FEW_FOR_SKEW = 20  # clusters, whose spread hardly shows how skewed they are


def skewed_rate_interval(
    estimate: MeanSE, errors: ArrayLike, clusters: ArrayLike | None, level: float
) -> Bounds:
    """Return the interval of a rate near 0 or 1, or of few clusters.

    Clopper and Pearson's of as many independent tries as have the rate's standard
    error, fewer for what is not known of this error: Korn and Graubard 1998, Survey
    Methodology 24, 193. Its degrees of freedom are those of a variance of units with
    the kurtosis that they show. `errors` are each task's, shape (tasks,).
    """
    units = vector(errors, "errors")
    tasks = units.size
    if clusters is not None:
        units = sums_of_codes(units, codes_of(clusters))
    df = _df_of_variance(estimate.df, _kurtosis_about_0(units), units.size)
    quantile = 0.5 + level / 2
    rate = min(max(estimate.mean, 0.0), 1.0)
    square = estimate.se**2
    if square > _LEAST_SQUARE:
        tries = rate * (1 - rate) / square
    else:
        tries = rate / estimate.se * ((1 - rate) / estimate.se)
    tries *= (t_ppf(quantile, tasks - 1) / t_ppf(quantile, df)) ** 2
    if clusters is not None:
        tries = min(tries, tasks)
        is_skewed = not _MIDDLE[0] <= rate <= _MIDDLE[1]
        if is_skewed and units.size < _FEW_FOR_SKEW:
            tries /= 2
    tries = max(tries, units.size)
    return clopper_pearson(rate * tries, tries, level)


def _kurtosis_about_0(errors: Floats) -> float:
    """Return the fourth moment of errors in their variance; 1 without spread."""
    largest = float(np.abs(errors).max(initial=0.0))
    if not largest > 0:
        return 1.0
    # by a power of two, which rounds nothing: the powers of tiny errors underflow
    scaled = np.ldexp(errors, -math.frexp(largest)[1])
    variance = squares(scaled) / scaled.size
    return fourth_powers(scaled) / scaled.size / variance**2


def _df_of_variance(df: float, kurtosis: float, units: int) -> float:
    """Return the degrees of freedom of a variance of units with a kurtosis, at most `df`."""
    if kurtosis <= 1:
        return df
    return min(df, max(2 * units / (kurtosis - 1), _LEAST_DF))


def skewed_mean_interval(
    estimate: MeanSE,
    errors: ArrayLike,
    level: float,
    *,
    clusters: ArrayLike | None = None,
    values: ArrayLike | None = None,
) -> Bounds:
    """Return Student's interval of a mean, wider towards its long tail.

    Parameters
    ----------
    estimate
        The mean with its standard error.
    errors
        Each task's distance from the mean, shape (tasks,).
    level
        Of the two-sided interval.
    clusters
        The cluster of each task, shape (tasks,); None for independent tasks.
    values
        The values whose plain mean it is, shape (tasks,); None if it is no such mean.

    Returns
    -------
    The ends. Towards the tail the end is the widest of Student's, of Hall's, and, if the
    values may be lognormal, of Cox's.

    Notes
    -----
    Hall 1992, Journal of the Royal Statistical Society B 54, 221; with a quantile of
    Student's t whose degrees of freedom are those of a variance of units with their
    kurtosis. Cox's interval: Zhou and Gao 1997, Statistics in Medicine 16, 783.
    """
    low, high = t_interval(estimate, level)
    if not estimate.se > 0:
        return low, high
    units = vector(errors, "errors")
    if clusters is not None:
        units = sums_of_codes(units, codes_of(clusters))
    if units.size < _FEWEST:
        return low, high
    shape = _shape_of(units)
    if abs(shape.skew) < _NO_SKEW:
        return low, high
    # what follows is about a long tail of large values
    sign = math.copysign(1.0, shape.skew)
    mirrored = structs.replace(estimate, mean=sign * estimate.mean)
    end = _hall_upper(mirrored, abs(shape.skew), shape.kurtosis, units.size, level)
    if values is not None and clusters is None:
        end = max(end, _lognormal_upper(sign * vector(values, "values"), level))
    if sign > 0:
        return low, max(high, end)
    return min(low, -end), high


class _Shape(msgspec.Struct, frozen=True):
    """The third and fourth moments about the mean, in standard deviations."""

    skew: float
    kurtosis: float


def _shape_of(values: Floats) -> _Shape:
    """Return the skew and the kurtosis of values; 0 and 1 where they are all alike."""
    rest = values - mean_of(values)
    largest = float(np.abs(rest).max())
    if not largest > 0:
        return _Shape(skew=0.0, kurtosis=1.0)
    # fourth powers of large numbers would overflow
    rest /= largest
    variance = squares(rest) / rest.size
    skew = cubes(rest) / rest.size / variance**1.5
    kurtosis = fourth_powers(rest) / rest.size / variance**2
    return _Shape(skew=skew, kurtosis=kurtosis)


def _hall_upper(
    estimate: MeanSE, skew: float, kurtosis: float, units: int, level: float
) -> float:
    """Return the upper end of Hall's transformation, of units that are skewed to the right.

    With W the distance of the mean from the truth in standard deviations and G the skew,
    W + G W^2 / 3 + G^2 W^3 / 27 + G / (6 n) has hardly any skew left. Its inverse is
    3 / G * (cbrt(1 + G (y - G / (6 n))) - 1).
    """
    # the skew of few values is smaller than that of their distribution
    skew *= math.sqrt(units * (units - 1)) / (units - 2)
    df = _df_of_variance(estimate.df, kurtosis, units)
    least = -t_ppf(0.5 + level / 2, df) / math.sqrt(units)
    inner = 1 + skew * (least - skew / (6 * units))
    distance = 3 / skew * (math.cbrt(inner) - 1)
    standard_deviation = estimate.se * math.sqrt(units)
    return estimate.mean - distance * standard_deviation


def _lognormal_upper(values: Floats, level: float) -> float:
    """Return the upper end of the mean of values that may be lognormal; -inf of others."""
    if not values.min() > 0:
        return -math.inf
    logs = logarithms(values)
    n = logs.size
    middle = mean_of(logs)
    variance = squares(logs - middle) / (n - 1)
    error_of_skew = math.sqrt(6 / n)
    is_skewed_left = _shape_of(logs).skew < -_NORMAL_SKEW * error_of_skew
    if is_skewed_left or variance > _MOST_LOG_SD**2:
        return -math.inf
    # the logarithm of a lognormal distribution's mean, and its standard error
    log_mean = middle + variance / 2
    error = math.sqrt(variance / n + variance**2 / (2 * (n - 1)))
    log_end = log_mean + t_ppf(0.5 + level / 2, n - 1) * error
    if log_end > _MOST_LOG:
        return -math.inf
    return math.exp(log_end)
