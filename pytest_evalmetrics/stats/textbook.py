"""Textbook statistics that no gate needs: exact tests of shares, bounds, sample sizes.

Imported when one of them is asked for.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pytest_evalmetrics.stats.basics import (
    FEWEST,
    NO_BOUNDS,
    Bounds,
    StatResult,
    StatsError,
    alternative_of,
    beta_parts,
    binom_cdf,
    binom_pmf,
    binom_sf,
    cluster_codes,
    fraction,
    integer,
    nonzero,
    normal_ppf,
    one_tail,
    vector,
)
from pytest_evalmetrics.stats.means import convolved_p, mean_se, residuals, unless_rounding
from pytest_evalmetrics.stats.proportions import pass_hat_k, tails
from pytest_evalmetrics.sums import mean_of, squares

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pytest_evalmetrics.stats.basics import Labels

_SLACK = 1 + 1e-7  # R's and scipy's, for outcomes as likely as the one that was seen


def _beta_quantile(p: float, a: float, b: float) -> float:
    low, high = 0.0, float(p > 0)
    while low < (middle := (low + high) / 2) < high:
        reached = p < 1 and beta_parts(middle, 1 - middle, a, b)[0] >= p
        low, high = (low, middle) if reached else (middle, high)
    return high


def beta_interval(
    k: float, n: float, level: float = 0.95, alternative: str = "two-sided"
) -> Bounds:
    """Return the equal-tailed interval of Beta(1 + k, 1 + n - k), with arguments of `wilson`.

    Bowyer et al. 2025 (arXiv 2503.01747).
    """
    low_tail, high_tail = tails(k, n, level, alternative)
    a, b = 1 + k, 1 + n - k
    return Bounds(_beta_quantile(low_tail, a, b), _beta_quantile(1 - high_tail, a, b))


def clopper_pearson(k: int, n: int, level: float = 0.95, alternative: str = "two-sided") -> Bounds:
    """Return the exact interval of Clopper and Pearson 1934; NaN where n = 0."""
    k, n = integer(k, "k"), integer(n, "n")
    low_tail, high_tail = tails(k, n, level, alternative)
    if n == 0:
        return NO_BOUNDS
    low = 0.0 if k == 0 else _beta_quantile(low_tail, k, n - k + 1)
    return Bounds(low, 1.0 if k == n else _beta_quantile(1 - high_tail, k + 1, n - k))


def binom_p(k: int, n: int, p: float = 0.5, alternative: str = "two-sided") -> float:
    """Return the exact binomial test's p value, for H0: the share is p.

    Two-sided it sums the outcomes that are no more likely than k, as R and scipy do.
    """
    k, n = integer(k, "k"), integer(n, "n")
    tails(k, n, 0.5, alternative)
    if alternative != "two-sided":
        return binom_sf(k, n, p) if alternative == "greater" else binom_cdf(k, n, p)
    bar = binom_pmf(k, n, p) * _SLACK
    return min(1.0, math.fsum(q for j in range(n + 1) if (q := binom_pmf(j, n, p)) <= bar))


def mcnemar_exact(b: int, c: int, *, alternative: str = "two-sided") -> StatResult:
    """Test exactly whether `b` flips one way and `c` the other are as likely.

    ``greater`` is for H1: b is the likelier. `mid_p` is that of Fagerland, Lydersen and Laake 2013.
    """
    b, c = integer(b, "b"), integer(c, "c")
    n, side = b + c, alternative_of(alternative)
    point = binom_pmf(b, n, 0.5)
    if side == "two-sided":
        p = min(1.0, 2 * binom_sf(max(b, c), n, 0.5))
        mid = p - point if b != c else 1 - point / 2
    else:
        p = binom_sf(b, n, 0.5) if side == "greater" else binom_cdf(b, n, 0.5)
        mid = p - point / 2
    return StatResult("exact McNemar", p, b, estimate=b - c, n=n, units=n, mid_p=mid)


def mcnemar_chi2(b: int, c: int, *, correction: bool = True) -> StatResult:
    """Test the same by chi-squared with one degree of freedom, two-sided.

    Edwards' correction (1948) is left out where b = c, as in R; p = 1 where nothing flipped.
    """
    b, c = integer(b, "b"), integer(c, "c")
    n, gap = b + c, abs(b - c) - (1 if correction and b != c else 0)
    statistic = gap * gap / n if n else 0.0
    p = math.erfc(math.sqrt(statistic / 2))
    return StatResult("McNemar chi-squared", p, statistic, 1, b - c, n=n, units=n)


def mcnemar_power(
    n: int, gain: float, loss: float, *, alpha: float = 0.05, alternative: str = "two-sided"
) -> float:
    """Return the exact test's power: the chance that p <= `alpha`.

    `gain` and `loss` are a task's chances to flip the one way and the other.
    """
    n, tail, flips = integer(n, "n"), one_tail(alpha, alternative), gain + loss
    if gain < 0 or loss < 0 or flips > 1:
        raise StatsError(f"gain {gain} and loss {loss} are no chances of one task")
    share = (loss if alternative == "less" else gain) / (flips or 1.0)
    power = 0.0
    for m in range(1, n + 1):
        needed = next((k for k in range(m + 1) if binom_sf(k, m, 0.5) <= tail), m + 1)
        power += binom_pmf(m, n, flips) * binom_sf(needed, m, share)
        if alternative == "two-sided":
            power += binom_pmf(m, n, flips) * binom_sf(needed, m, 1 - share)
    return min(power, 1.0)


def mean_pass_hat_k(n: ArrayLike, c: ArrayLike, k: int) -> float:
    """Return pass^k, the mean of `pass_hat_k` over tasks; NaN where any task has n < k."""
    values = np.atleast_1d(pass_hat_k(n, c, k))
    return mean_of(values) if values.size else math.nan


def se_clt(x: ArrayLike) -> float:
    """Return the standard error of a mean (Miller 2024, section 2)."""
    return mean_se(x).se


def se_bernoulli(p: float, n: int) -> float:
    """Return sqrt(p (1 - p) / n), of a share of n (Miller 2024, section 2)."""
    if not (0 <= p <= 1 and n > 0):
        raise StatsError(f"p is {p} and n {n}, where a share of at least one is expected")
    return math.sqrt(p * (1 - p) / n)


def se_paired_from_corr(a: float, b: float, r: float) -> float:
    """Return sqrt(a^2 + b^2 - 2 r a b), of a difference of means (Miller 2024, section 4.2)."""
    if not (a >= 0 and b >= 0 and -1 <= r <= 1):
        raise StatsError(f"standard errors {a} and {b} with correlation {r} can't be")
    return math.sqrt(max(a * a + b * b - 2 * r * a * b, 0.0))


def clustered_se(x: ArrayLike, clusters: Labels, *, finite: bool = True) -> float:
    """Return the cluster-robust standard error of a mean; NaN of no values, 0 of one cluster.

    SE^2 = sum over clusters of (sum of x_i - mean)^2 / n^2 (Miller 2024, section 2), by default
    times G / (G - 1) of G clusters (Cameron and Miller 2015).
    """
    values = vector(x)
    codes, count = cluster_codes(clusters, values.size)
    if count < FEWEST:
        return 0.0 if count else math.nan
    scale = np.abs(values).max() * np.bincount(codes).max()
    sums = np.bincount(codes, weights=residuals(values), minlength=count).astype(np.float64)
    factor = count / (count - 1) if finite else 1.0
    return math.sqrt(factor * squares(unless_rounding(sums, scale))) / values.size


def design_effect(m: float, icc: float) -> float:
    """Return 1 + (m - 1) icc, the variance's growth by clusters of m (Kish 1965)."""
    return 1 + (m - 1) * icc


def z_interval(estimate: float, se: float, level: float = 0.95) -> Bounds:
    """Return estimate -+ z * se, the normal interval (Miller 2024, section 2)."""
    half = normal_ppf(0.5 + fraction(level, "level") / 2) * se
    return Bounds(estimate - half, estimate + half)


def bootstrap_ci(
    x: ArrayLike,
    *,
    seed: int,
    method: Literal["percentile", "basic"] = "percentile",
    level: float = 0.95,
    draws: int = 9_999,
) -> Bounds:
    """Return a bootstrap interval of a mean; NaN where all replicates are alike.

    Davison and Hinkley 1997, chapter 5.
    """
    values, rest = vector(x), 1 - fraction(level, "level")
    if method not in ("percentile", "basic"):
        raise StatsError(f"method is {method!r}, where percentile or basic is expected")
    if values.size < FEWEST or np.ptp(values) == 0:
        return NO_BOUNDS
    rng = np.random.Generator(np.random.PCG64(seed))
    shape = integer(draws, "draws", 1)
    times = rng.multinomial(values.size, np.full(values.size, 1 / values.size), size=shape)
    low, high = np.quantile(times @ values / values.size, [rest / 2, 1 - rest / 2]).tolist()
    twice = 2 * float(values.mean())
    return Bounds(low, high) if method == "percentile" else Bounds(twice - high, twice - low)


def wilcoxon_exact(d: ArrayLike, *, alternative: str = "two-sided") -> StatResult:
    """Wilcoxon's signed-rank test of paired differences (1945), exact with ties too."""
    values = vector(d, "d")
    moved = nonzero(values)
    _, place, counts = np.unique(np.abs(moved), return_inverse=True, return_counts=True)
    doubled = 2 * np.cumsum(counts) - counts + 1  # twice the mean rank of each size
    ranks = np.where(moved > 0, 1, -1) * doubled[place]
    p, mid = convolved_p(ranks, alternative_of(alternative))
    positive = float(ranks[ranks > 0].sum()) / 2
    return StatResult("Wilcoxon", p, positive, n=values.size, units=moved.size, mid_p=mid)


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Return Holm's adjusted p values (1979), in the order given, shape (m,)."""
    values, back = _sorted(p)
    adjusted = np.maximum.accumulate(values * np.arange(values.size, 0, -1))
    return np.minimum(adjusted, 1)[back]


def benjamini_hochberg(p: ArrayLike) -> NDArray[np.float64]:
    """Return the adjusted p values of Benjamini and Hochberg 1995, in the order given."""
    values, back = _sorted(p)
    scaled = values * values.size / np.arange(1, values.size + 1)
    return np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1)[back]


def _sorted(p: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return p values ascending, and the places that put them back in order."""
    values = vector(p, "p")
    if ((values < 0) | (values > 1)).any():
        raise StatsError("p holds a number that is no probability")
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
    alternative: str = "two-sided",
) -> float:
    """Return the smallest detectable difference of two models on n tasks.

    `omega2` is the variance over tasks of the difference of the two expected scores, `s2a` and
    `s2b` the mean variances within a task, of `ka` and `kb` rollouts each: Miller 2024 (arXiv
    2411.00640), section 5.
    """
    if not (n > 0 and min(omega2, s2a, s2b) >= 0 and ka > 0 and kb > 0):
        raise StatsError("without a task or a rollout, or with a variance under 0, it can't be")
    z = normal_ppf(1 - one_tail(alpha, alternative)) + normal_ppf(fraction(power, "power"))
    return z * math.sqrt((omega2 + s2a / ka + s2b / kb) / n)


def required_n(delta: float, omega2: float, *variances: float, **options: Any) -> int:
    """Return how many tasks it takes to see a difference of `delta`: `mde` solved for n."""
    if delta == 0 or not math.isfinite(delta):
        raise StatsError(f"delta is {delta}, where a difference is expected")
    return math.ceil((mde(1, omega2, *variances, **options) / delta) ** 2)


def variance_ratio_uniform(k: int) -> float:
    """Return (1 + 2 / k) / 3, what k rollouts leave of the variance of one for uniform p."""
    return (1 + 2 / integer(k, "k", 1)) / 3
