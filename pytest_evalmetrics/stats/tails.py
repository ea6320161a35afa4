"""Tails and quantiles of the distributions the tests need, without scipy.

Scalar functions on floats. Their relative error is under 1e-11, far out in the tails and
for a million degrees of freedom too.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

from pytest_evalmetrics.stats.incbeta import (
    beta_fraction,
    beta_pair,
    log_beta_power,
    log_beta_tail,
    log_binom,
)
from pytest_evalmetrics.stats.inputs import StatsError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "beta_cdf",
    "beta_ppf",
    "beta_sf",
    "binom_cdf",
    "binom_pmf",
    "binom_sf",
    "chi2_1_sf",
    "normal_cdf",
    "normal_ppf",
    "normal_sf",
    "t_cdf",
    "t_ppf",
    "t_sf",
]

_NORMAL = NormalDist()
_SQRT2 = math.sqrt(2)
_MEDIAN = 0.5
_SETTLED = 1e-11  # of a step in the log of a quantile
_SQUARABLE = 1e150  # the square of more is no float


def normal_cdf(x: float) -> float:
    """Return P(Z <= x) for a standard normal Z."""
    return 0.5 * math.erfc(-x / _SQRT2)


def normal_sf(x: float) -> float:
    """Return P(Z > x) for a standard normal Z."""
    return 0.5 * math.erfc(x / _SQRT2)


def normal_ppf(p: float) -> float:
    """Return the standard normal quantile (Wichura 1988, AS 241); infinite at 0 and 1."""
    _probability(p)
    if p in (0, 1):
        return -math.inf if p == 0 else math.inf
    return _NORMAL.inv_cdf(p)


def chi2_1_sf(x: float) -> float:
    """Return P(X > x) for chi-squared with one degree of freedom."""
    return 1.0 if x <= 0 else math.erfc(math.sqrt(x / 2))


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b)."""
    if not (a > 0 and b > 0):
        raise StatsError(f"a beta distribution needs a, b > 0; they are {a} and {b}")
    return beta_pair(x, 1 - x, a, b)[0]


def beta_sf(x: float, a: float, b: float) -> float:
    """Return 1 - I_x(a, b), without the cancellation."""
    if not (a > 0 and b > 0):
        raise StatsError(f"a beta distribution needs a, b > 0; they are {a} and {b}")
    return beta_pair(x, 1 - x, a, b)[1]


def beta_ppf(p: float, a: float, b: float) -> float:
    """Return the quantile of Beta(a, b): the x with I_x(a, b) = p."""
    _probability(p)
    if p in (0, 1):
        return float(p)
    mean = a / (a + b)
    if p <= beta_cdf(mean, a, b):
        return _beta_low_quantile(p, a, b, mean)
    x = 1 - _beta_low_quantile(1 - p, b, a, b / (a + b))
    if x >= _MEDIAN or x <= 0:
        return x
    # the digits that a small x lost as a difference from 1: one step of Newton's
    slope = math.exp(log_beta_power(x, 1 - x, a, b)) / (x * (1 - x))
    return x - (1 - p - beta_sf(x, a, b)) / slope


def t_sf(t: float, df: float) -> float:
    """Return P(T > t) for Student's t; df may be a fraction, or infinite."""
    if not df > 0:
        raise StatsError(f"Student's t needs df > 0; it is {df}")
    if math.isnan(t):
        return math.nan
    if math.isinf(df):
        return normal_sf(t)
    tail = 0.5 * _t_parts(abs(t), df)[0]
    return tail if t >= 0 else 1 - tail


def t_cdf(t: float, df: float) -> float:
    """Return P(T <= t) for Student's t; df may be a fraction, or infinite."""
    return t_sf(-t, df)


def t_ppf(p: float, df: float) -> float:
    """Return the quantile of Student's t; df may be a fraction, or infinite."""
    _probability(p)
    if not df > 0:
        raise StatsError(f"Student's t needs df > 0; it is {df}")
    if p in (0, 1):
        return -math.inf if p == 0 else math.inf
    if math.isinf(df):
        return normal_ppf(p)
    if p == _MEDIAN:
        return 0.0
    return -_t_upper_quantile(p, df) if p < _MEDIAN else _t_upper_quantile(1 - p, df)


def binom_pmf(k: int, n: int, p: float) -> float:
    """Return P(X = k) for X ~ Bin(n, p) (Loader 2000, saddle-point form)."""
    _probability(p)
    if not 0 <= k <= n:
        return 0.0
    return math.exp(log_binom(k, n - k, p, 1 - p))


def binom_sf(k: int, n: int, p: float) -> float:
    """Return P(X >= k) for X ~ Bin(n, p): `k` itself is counted."""
    _probability(p)
    if k <= 0:
        return 1.0
    return 0.0 if k > n else beta_pair(p, 1 - p, k, n - k + 1)[0]


def binom_cdf(k: int, n: int, p: float) -> float:
    """Return P(X <= k) for X ~ Bin(n, p)."""
    _probability(p)
    if k >= n:
        return 1.0
    return 0.0 if k < 0 else beta_pair(p, 1 - p, k + 1, n - k)[1]


def _probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise StatsError(f"p is {p}, where a probability is expected")


def _t_parts(t: float, df: float) -> tuple[float, float]:
    """P(|T| > t) and P(|T| <= t) for t >= 0."""
    ratio = t / math.sqrt(df)
    if ratio > _SQUARABLE:
        return math.exp(_log_t_far(ratio, df)), 1.0
    square = ratio * ratio
    return beta_pair(1 / (1 + square), square / (1 + square), df / 2, 0.5)


def _log_t_far(ratio: float, df: float) -> float:
    """Log P(|T| > ratio sqrt(df)) by its leading term."""
    log_beta = math.lgamma(df / 2) + math.lgamma(0.5) - math.lgamma(df / 2 + 0.5)
    return -df * math.log(ratio) - math.log(df / 2) - log_beta


@lru_cache(maxsize=1024)  # many small benchmarks ask for the same few
def _t_upper_quantile(tail: float, df: float) -> float:
    """Return the t with P(T > t) = tail, for 0 < tail < 1/2.

    Newton in log t on the log of whichever part is the smaller; both are concave there,
    so that the steps settle after at most one jump over the root.
    """
    outer = tail < _MEDIAN / 2
    target = math.log(tail if outer else _MEDIAN - tail)

    def gap_and_slope(log_t: float) -> tuple[float, float]:
        ratio = math.exp(log_t) / math.sqrt(df)
        if ratio > _SQUARABLE:
            return _log_t_far(ratio, df) - math.log(2) - target, -df
        x, y = 1 / (1 + ratio * ratio), ratio * ratio / (1 + ratio * ratio)
        log_density = log_beta_power(x, y, df / 2, 0.5)  # of log |t|
        if outer:
            log_tail = log_beta_tail(x, y, df / 2, 0.5)
            return log_tail - math.log(2) - target, -2 * math.exp(log_density - log_tail)
        within = beta_pair(x, y, df / 2, 0.5)[1]
        return math.log(within / 2) - target, 2 * math.exp(log_density) / within

    return math.exp(_newton(gap_and_slope, math.log(-_NORMAL.inv_cdf(tail))))


def _beta_low_quantile(p: float, a: float, b: float, mean: float) -> float:
    """Return the x below the mean with I_x(a, b) = p: Newton in log x on log I, concave."""
    target = math.log(p)

    def gap_and_slope(log_x: float) -> tuple[float, float]:
        x = math.exp(log_x)
        y = 1 - x
        fraction = beta_fraction(x, y, a, b)
        return log_beta_power(x, y, a, b) - math.log(fraction) - target, fraction / y

    spread = math.sqrt(mean * (1 - mean) / (a + b + 1))
    start = max(mean + spread * _NORMAL.inv_cdf(p), mean / 10)
    return math.exp(_newton(gap_and_slope, math.log(min(start, mean))))


def _newton(gap_and_slope: Callable[[float], tuple[float, float]], start: float) -> float:
    """Newton's root of a monotone concave function."""
    at, last = start, math.inf
    for _ in range(200):
        gap, slope = gap_and_slope(at)
        step = gap / slope
        at -= step
        # near the root a step that is not much smaller than the last is rounding alone
        if (abs(step) <= _SETTLED and abs(step) >= last / 2) or step == 0:
            break
        last = abs(step)
    return at
