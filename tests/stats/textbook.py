"""Textbook statistics, which published cases ask for and no gate needs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pytest_evalmetrics.stats import ratio_mean, signflip_exact
from pytest_evalmetrics.stats.basics import Bounds, StatResult, nonzero, vector
from pytest_evalmetrics.stats.distributions import (
    beta_parts,
    binom_sf,
    falls_to,
    normal_ppf,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pytest_evalmetrics.stats.basics import Alternative, Floats


def _beta_quantile(p: float, a: float, b: float) -> float:
    return falls_to(
        lambda x: -beta_parts(x, 1 - x, a, b)[0], -p, 0.0, 1.0, halvings=200
    )


def beta_interval(k: float, n: float, level: float = 0.95) -> Bounds:
    """Return the equal-tailed interval of Beta(1 + k, 1 + n - k) (Bowyer, arXiv 2503.01747)."""
    tail, a, b = (1 - level) / 2, 1 + k, 1 + n - k
    return _beta_quantile(tail, a, b), _beta_quantile(1 - tail, a, b)


def clopper_pearson(k: int, n: int, level: float = 0.95) -> Bounds:
    """Return the exact interval of k in n, n > 0 (Clopper and Pearson 1934)."""
    tail = (1 - level) / 2
    low = _beta_quantile(tail, k, n - k + 1) if k else 0.0
    return low, _beta_quantile(1 - tail, k + 1, n - k) if k < n else 1.0


def mcnemar_exact(b: int, c: int, *, alternative: Alternative = "two-sided") -> float:
    """Return the exact p of `b` flips one way and `c` the other, for H0: equally likely."""
    if alternative == "greater":
        return binom_sf(b, b + c, 0.5)
    return min(1.0, 2 * binom_sf(max(b, c), b + c, 0.5))


def mcnemar_chi2(b: int, c: int, *, correction: bool = True) -> StatResult:
    """Test the same by chi-squared with one degree of freedom, two-sided.

    Edwards' correction (1948) is left out where b = c, as in R; p = 1 where nothing flipped.
    """
    gap = abs(b - c) - (1 if correction and b != c else 0)
    statistic = gap * gap / max(b + c, 1)
    p = math.erfc(math.sqrt(statistic / 2))
    return StatResult("McNemar chi-squared", p, statistic=statistic, df=1)


def mcnemar_power(n: int, gain: float, loss: float, *, alpha: float = 0.05) -> float:
    """Return the power of the exact test, two-sided: the chance that p <= `alpha`.

    `gain` and `loss` are a task's chances to flip the one way and the other.
    """
    power, flips = 0.0, gain + loss
    for m in range(1, n + 1) if flips else ():
        needed = next(
            (k for k in range(m + 1) if binom_sf(k, m, 0.5) <= alpha / 2), m + 1
        )
        chance = math.comb(n, m) * flips**m * (1 - flips) ** (n - m)
        significant = (binom_sf(needed, m, share / flips) for share in (gain, loss))
        power += chance * sum(significant)
    return min(power, 1.0)


def se_bernoulli(p: float, n: int) -> float:
    """Return sqrt(p (1 - p) / n), of a share of n (Miller 2024, section 2)."""
    return math.sqrt(p * (1 - p) / n)


def se_paired_from_corr(a: float, b: float, r: float) -> float:
    """Return sqrt(a^2 + b^2 - 2 r a b), of a difference of means (Miller 2024, section 4.2)."""
    return math.sqrt(max(a * a + b * b - 2 * r * a * b, 0.0))


def clustered_se(x: ArrayLike, clusters: ArrayLike) -> float:
    """Return the cluster-robust standard error of a mean, 0 of one cluster.

    SE^2 = G / (G - 1) times the sum over G clusters of (sum of x_i - mean)^2 / n^2 (Miller 2024,
    section 2; Cameron and Miller 2015).
    """
    estimate = ratio_mean(x, np.ones(np.shape(x)), clusters)
    return 0.0 if estimate.units == 1 else estimate.se


def design_effect(m: float, icc: float) -> float:
    """Return 1 + (m - 1) icc, the variance's growth by clusters of m (Kish 1965)."""
    return 1 + (m - 1) * icc


def z_interval(estimate: float, se: float, level: float = 0.95) -> Bounds:
    """Return estimate -+ z * se, the normal interval (Miller 2024, section 2)."""
    half = normal_ppf(0.5 + level / 2) * se
    return estimate - half, estimate + half


def bootstrap_ci(
    x: ArrayLike,
    *,
    seed: int,
    method: Literal["percentile", "basic"] = "percentile",
    level: float = 0.95,
    draws: int = 9_999,
) -> Bounds:
    """Return a bootstrap interval of a mean (Davison and Hinkley 1997, chapter 5)."""
    values, rest = vector(x), 1 - level
    rng = np.random.Generator(np.random.PCG64(seed))
    chances = np.full(values.size, 1 / values.size)
    means = rng.multinomial(values.size, chances, size=draws) @ values / values.size
    low, high = np.quantile(means, [rest / 2, 1 - rest / 2]).tolist()
    twice = 2 * float(values.mean())
    return (low, high) if method == "percentile" else (twice - high, twice - low)


def wilcoxon_exact(
    d: ArrayLike, *, alternative: Alternative = "two-sided"
) -> StatResult:
    """Wilcoxon's signed-rank test of up to 32 paired differences (1945), exact with ties too."""
    moved = nonzero(vector(d, "d"))
    _, place, counts = np.unique(np.abs(moved), return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2  # the mean rank of each size
    return signflip_exact(np.sign(moved) * ranks[place], alternative=alternative)


def holm(p: ArrayLike) -> Floats:
    """Return Holm's adjusted p values (1979), in the order given, shape (m,)."""
    values, back = _sorted(p)
    adjusted = np.maximum.accumulate(values * np.arange(values.size, 0, -1))
    return np.minimum(adjusted, 1)[back]


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Return the adjusted p values of Benjamini and Hochberg 1995, in the order given."""
    values, back = _sorted(p)
    scaled = values * values.size / np.arange(1, values.size + 1)
    return np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1)[back]


def _sorted(p: ArrayLike) -> tuple[Floats, NDArray[np.intp]]:
    """Return p values ascending, and the places that put them back in order."""
    values = vector(p, "p")
    order = np.argsort(values, kind="stable")
    return values[order], np.argsort(order, kind="stable")


def mde(
    n: float,
    omega2: float,
    s2a: float = 0.0,
    s2b: float = 0.0,
    *,
    ka: float = 1,
    kb: float = 1,
    alpha: float = 0.05,
    power: float = 0.8,
) -> float:
    """Return the smallest difference of two models that n tasks detect, two-sided.

    `omega2` is the variance over tasks of the difference of the two expected scores, `s2a` and
    `s2b` the mean variances within a task, of `ka` and `kb` rollouts each: Miller 2024 (arXiv
    2411.00640), section 5.
    """
    z = normal_ppf(1 - alpha / 2) + normal_ppf(power)
    return z * math.sqrt((omega2 + s2a / ka + s2b / kb) / n)


def required_n(delta: float, omega2: float, *variances: float, **options: Any) -> int:
    """Return how many tasks it takes to see a difference of `delta`: `mde` solved for n."""
    return math.ceil((mde(1, omega2, *variances, **options) / delta) ** 2)


def variance_ratio_uniform(k: int) -> float:
    """Return (1 + 2 / k) / 3, what k rollouts leave of the variance of one for uniform p."""
    return (1 + 2 / k) / 3
