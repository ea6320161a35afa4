"""Intervals and tests for a share: k of n."""

from __future__ import annotations

import math

from pytest_evalmetrics.stats.inputs import StatsError, alternative_of, fraction, integer
from pytest_evalmetrics.stats.outcome import Bounds
from pytest_evalmetrics.stats.tails import beta_ppf, binom_cdf, binom_pmf, binom_sf, normal_ppf

__all__ = ["beta_interval", "binom_p", "clopper_pearson", "wilson"]

_SLACK = 1 + 1e-7  # R's and scipy's, for outcomes as likely as the one that was seen


def wilson(k: float, n: float, level: float = 0.95, alternative: str = "two-sided") -> Bounds:
    """Return Wilson's score interval.

    Parameters
    ----------
    k
        Successes; may be a fraction, such as the sum of rewards on [0, 1].
    n
        Trials.
    level
        Its confidence.
    alternative
        ``greater`` gives a lower bound alone, ``less`` an upper one.

    Returns
    -------
    Bounds
        Within [0, 1]; NaN where n = 0.

    Notes
    -----
    Wilson 1927; Brown, Cai and DasGupta 2001, Interval Estimation for a Binomial
    Proportion.
    """
    _share(k, n)
    low_tail, high_tail = _tails(level, alternative)
    if n == 0:
        return Bounds(math.nan, math.nan)
    low = 0.0 if low_tail == 0 or k == 0 else _wilson_end(k, n, normal_ppf(low_tail))
    high = 1.0 if high_tail == 0 or k == n else _wilson_end(k, n, -normal_ppf(high_tail))
    return Bounds(max(low, 0.0), min(high, 1.0))


def _wilson_end(k: float, n: float, z: float) -> float:
    """Return the lower end for z < 0, the upper one for z > 0."""
    square = z * z
    return (k + square / 2 + z * math.sqrt(k * (n - k) / n + square / 4)) / (n + square)


def beta_interval(
    k: float, n: float, level: float = 0.95, alternative: str = "two-sided"
) -> Bounds:
    """Return the equal-tailed interval of Beta(1 + k, 1 + n - k).

    The posterior of a share under a uniform prior: Bowyer et al. 2025 (arXiv 2503.01747).
    Parameters as of `wilson`; k may be a fraction, and n = 0 gives the prior's.
    """
    _share(k, n)
    low_tail, high_tail = _tails(level, alternative)
    a, b = 1 + k, 1 + n - k
    return Bounds(beta_ppf(low_tail, a, b), beta_ppf(1 - high_tail, a, b))


def clopper_pearson(k: int, n: int, level: float = 0.95, alternative: str = "two-sided") -> Bounds:
    """Return the exact interval of Clopper and Pearson 1934, by beta quantiles.

    Parameters as of `wilson`, but whole numbers; NaN where n = 0.
    """
    k, n = integer(k, "k"), integer(n, "n")
    _share(k, n)
    low_tail, high_tail = _tails(level, alternative)
    if n == 0:
        return Bounds(math.nan, math.nan)
    low = 0.0 if k == 0 else beta_ppf(low_tail, k, n - k + 1)
    high = 1.0 if k == n else beta_ppf(1 - high_tail, k + 1, n - k)
    return Bounds(low, high)


def binom_p(k: int, n: int, p: float = 0.5, alternative: str = "two-sided") -> float:
    """Return the exact binomial test's p value, for H0: the share is p.

    Two-sided it sums the outcomes that are no more likely than k, as R and scipy do.
    """
    k, n = integer(k, "k"), integer(n, "n")
    _share(k, n)
    side = alternative_of(alternative)
    if side == "greater":
        return binom_sf(k, n, p)
    if side == "less":
        return binom_cdf(k, n, p)
    if k > p * n:
        k, p = n - k, 1 - p
    if k == p * n:
        return 1.0
    bar = binom_pmf(k, n, p) * _SLACK
    low, high = math.ceil(p * n), n + 1  # the first outcome above the mean that is under the bar
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if binom_pmf(middle, n, p) <= bar else (middle + 1, high)
    return min(1.0, binom_cdf(k, n, p) + binom_sf(low, n, p))


def _share(k: float, n: float) -> None:
    if not (0 <= k <= n and math.isfinite(n)):
        raise StatsError(f"{k} of {n} is no share")


def _tails(level: float, alternative: str) -> tuple[float, float]:
    """Return what is left out below and above."""
    rest = 1 - fraction(level, "level")
    side = alternative_of(alternative)
    if side == "two-sided":
        return rest / 2, rest / 2
    return (rest, 0.0) if side == "greater" else (0.0, rest)
