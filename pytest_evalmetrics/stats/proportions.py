"""Shares, quantiles and agreement: intervals of k of n, pass@k, quantiles, kappa and alpha."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pytest_evalmetrics.stats.basics import NO_BOUNDS, Bounds, vector
from pytest_evalmetrics.stats.distributions import (
    beta_parts,
    binom_sf,
    falls_to,
    normal_ppf,
    normal_sf,
)
from pytest_evalmetrics.sums import row_totals

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pytest_evalmetrics.stats.basics import Floats

_MOST_STEPS = 100  # of Newton's method; most ends take six
_SETTLED = 1e-15  # relative
_EXACT = 1024  # up to this n the binomials are whole numbers, above it products


def wilson(k: float, n: float, level: float = 0.95) -> Bounds:
    """Return Wilson's score interval of k in n, n > 0, within [0, 1].

    `k` may be a fraction, such as the sum of rewards on [0, 1]. Wilson 1927; Brown, Cai and
    DasGupta 2001, Interval Estimation for a Binomial Proportion.
    """
    z = -normal_ppf((1 - level) / 2)
    square = z * z
    centre = k + square / 2
    half = z * math.sqrt(k * (n - k) / n + square / 4)
    low = 0.0
    high = 1.0
    if k > 0:
        low = max((centre - half) / (n + square), 0.0)
    if k < n:
        high = min((centre + half) / (n + square), 1.0)
    return low, high


@lru_cache(maxsize=4096)
def clopper_pearson(k: float, n: float, level: float = 0.95) -> Bounds:
    """Return the exact interval of k in n, n > 0: each end misses in (1 - level) / 2 at most.

    `k` may be a fraction, such as the sum of rewards on [0, 1]. Clopper and Pearson 1934.
    """
    tail = (1 - level) / 2
    # a sum of shares may be so small that no number is between n less it, and n
    if n - k >= n:
        return 0.0, _upper_bound(0.0, n, tail)
    if k >= n:
        return 1 - _upper_bound(0.0, n, tail), 1.0
    return 1 - _upper_bound(n - k, n, tail), _upper_bound(k, n, tail)


def _upper_bound(k: float, n: float, tail: float) -> float:
    """Return the chance at which k or fewer of n are as rare as `tail`, k < n.

    By Newton's method in the logarithm of that rarity, kept between bounds.
    """
    if k == 0:
        return -math.expm1(math.log(tail) / n)
    log_beta = math.lgamma(k + 1) + math.lgamma(n - k) - math.lgamma(n + 1)
    low = k / n
    high = 1.0
    chance = low + (1 - low) / (n + 1)
    for _ in range(_MOST_STEPS):
        rarity = beta_parts(chance, 1 - chance, k + 1, n - k)[1]
        if rarity > tail:
            low = chance
        else:
            high = chance
        log_density = k * math.log(chance) + (n - k - 1) * math.log1p(-chance)
        last = chance
        if rarity > 0:
            slope = math.exp(log_density - log_beta) / rarity
            chance += math.log(rarity / tail) / slope
        if not low < chance < high:
            chance = (low + high) / 2
        if abs(chance - last) <= _SETTLED * last:
            break
    return chance


def zero_flip_bound(n: int, alpha: float = 0.05, flips: float = 0.0) -> float:
    """Return Clopper and Pearson's upper bound on a chance, after `flips` of n > 0.

    That is 1 - alpha^(1/n) after none. `flips` may be a fraction, such as a sum of losses on
    [0, 1].
    """
    if flips >= n:
        return 1.0
    return _upper_bound(flips, n, alpha)


def paired_score_p(losses: float, gains: float, n: int, margin: float) -> float:
    """Return p of a drop of `margin` or more, of n pairs of which some lost or gained.

    The score test of two paired proportions, which holds near 0 and 1 and with no loss at
    all: Tango 1998, Statistics in Medicine 17, 891. One-sided, against a smaller drop.
    """
    if not 0 < margin < 1:
        return float(margin <= 0)
    # the chance of a gain that is likeliest if the drop is the margin solves
    # a x^2 + b x + c = 0
    a = 2.0 * n
    b = (2 * n - losses + gains) * margin - losses - gains
    c = -gains * margin * (1 - margin)
    gain = (math.sqrt(b * b - 4 * a * c) - b) / (2 * a)
    variance = n * (2 * gain + margin * (1 - margin))
    z = (n * margin - losses + gains) / math.sqrt(variance)
    return normal_sf(z)


def paired_score_upper(losses: float, gains: float, n: int, alpha: float) -> float:
    """Return the one-sided upper end of a drop, of n pairs of which some lost or gained.

    The largest margin that `paired_score_p` does not rule out.
    """
    return falls_to(
        lambda margin: paired_score_p(losses, gains, n, margin), alpha, 0.0, 1.0
    )


def newcombe_upper(
    before: tuple[float, float], now: tuple[float, float], level: float
) -> float:
    """Return the upper end of a drop between two shares, each a count and its n.

    Newcombe 1998, Statistics in Medicine 17, 873, method 10, of Wilson's intervals.
    """
    first = before[0] / before[1]
    second = now[0] / now[1]
    most = wilson(*before, level)[1] - first
    least = second - wilson(*now, level)[0]
    return first - second + math.hypot(most, least)


def pass_m_of_n(n: ArrayLike, c: ArrayLike, m: int, k: int) -> Any:
    """Estimate without bias the chance that at least m of k rollouts pass, if c of n did.

    The upper tail of the hypergeometric distribution: sum over j >= m of C(c, j) C(n - c, k - j) /
    C(n, k), of the shape that the arrays broadcast to; NaN where n < k. Correctly rounded up to n =
    1024; above, for m of 1 (pass@k) and of k (pass^k), by their product, in logarithms.
    """
    tries, passes = np.broadcast_arrays(n, c)
    values = np.full(tries.shape, math.nan)
    for size in np.flatnonzero(np.bincount(tries.ravel())).tolist():
        if size >= k:
            of_size = tries == size
            values[of_size] = _every_count(size, m, k)[passes[of_size]]
    return values[()]


@lru_cache(maxsize=256)
def _every_count(n: int, m: int, k: int) -> Floats:
    """Return the chance that at least m of k pass, where 0 ... n of n do."""
    if n > _EXACT and m in (1, k):
        log_none = _log_chances_of_none(n, k)
        if m == k:
            # all of k pass where none fails
            return np.array([math.exp(log) for log in reversed(log_none)])
        return np.array([-math.expm1(log) for log in log_none])
    ways = math.comb(n, k)
    if m == 1:
        # but for the ways in which none passes
        return np.array([(ways - math.comb(n - c, k)) / ways for c in range(n + 1)])
    return np.array([_ways_to_pass(n, c, m, k) / ways for c in range(n + 1)])


def _log_chances_of_none(n: int, k: int) -> list[float]:
    """Return log of C(n - c, k) / C(n, k), that none of k is among c, for c of 0 ... n.

    Each c multiplies the chance by 1 - k / i, with i from n down.
    """
    factors = [math.log1p(-k / i) for i in range(n, k, -1)]
    possible = np.cumsum(factors).tolist()
    impossible = [-math.inf] * k
    return [0.0, *possible, *impossible]


def _ways_to_pass(n: int, c: int, m: int, k: int) -> int:
    """Count the ways to choose k of n rollouts, c of which pass, with m passes or more."""
    return sum(
        math.comb(c, passes) * math.comb(n - c, k - passes)
        for passes in range(m, k + 1)
    )


def max_at_k(rewards: Floats, k: int) -> Floats:
    """Return the expected best of k rewards drawn without replacement; pass@k for graded rewards.

    `rewards` are those of tasks with n rollouts each, shape (tasks, n). NaN where n < k, or where
    a reward is. Of the C(n, k) ways to draw k, C(i - 1, k - 1) hold the i-th smallest and k - 1 of
    those under it.
    """
    tasks, n = rewards.shape
    if n < k:
        return np.full(tasks, math.nan)
    ways = math.comb(n, k)
    shares = [math.comb(i - 1, k - 1) / ways for i in range(1, n + 1)]
    return row_totals(np.sort(rewards, axis=1) * np.array(shares))


def quantile7(x: ArrayLike, q: float) -> float:
    """Return the q-quantile by definition 7 of Hyndman and Fan 1996, numpy's."""
    return float(np.quantile(vector(x), q))


def quantile_interval(x: ArrayLike, q: float, level: float = 0.95) -> Bounds:
    """Return the interval of a quantile between two order statistics, whatever the distribution.

    From the r-th to the s-th smallest value, with r the largest for which P(B < r) is at most (1 -
    level) / 2, s the smallest for which P(B >= s) is, and B binomial (n, q): it covers at least so
    often. Where ties make it a point, it reaches to the next values on both sides. NaN where n is
    too small for the level, or all values are the same. David and Nagaraja 2003, Order Statistics,
    section 7.1; `scipy.stats.quantile_test` gives the same.
    """
    values = np.sort(vector(x))
    tail = (1 - level) / 2
    n = values.size
    ranks = range(1, n + 1)
    # fewer than r successes are more than n - r failures
    low_rank = bisect_right(ranks, tail, key=lambda r: binom_sf(n - r + 1, n, 1 - q))
    high_rank = 1 + bisect_left(ranks, -tail, key=lambda s: -binom_sf(s, n, q))
    if low_rank == 0 or high_rank > n:
        return NO_BOUNDS
    low = float(values[low_rank - 1])
    high = float(values[high_rank - 1])
    if low == high:
        low = max(values[values < low].tolist(), default=low)
        high = min(values[values > high].tolist(), default=high)
    if low < high:
        return low, high
    return NO_BOUNDS


def krippendorff_alpha(
    ratings: ArrayLike, level: Literal["nominal", "interval"] = "nominal"
) -> float:
    """Return Krippendorff's alpha of ratings, shape (raters, units), NaN where a rater gave none.

    1 - D_o / D_e over the units that were rated at least twice; NaN if there is none, or all
    ratings are the same. Interval ratings differ by the square of their distance. K. Krippendorff,
    *Content Analysis*, 2nd ed. 2004, chapter 11.
    """
    table = np.asarray(ratings, dtype=np.float64)
    rated = (~np.isnan(table)).sum(axis=0)
    is_pairable = rated > 1
    table = table[:, is_pairable]
    times = rated[is_pairable]
    n = int(times.sum())
    if not n:
        return math.nan
    if level == "interval":
        within, whole = _squared_disagreements(table)
    else:
        within, whole = _unlike_pairs(table)
    if not whole:
        return math.nan
    observed = float((within / (times - 1)).sum()) / n
    expected = whole / (n * (n - 1))
    return 1 - observed / expected


def _squared_disagreements(table: Floats) -> tuple[Floats, float]:
    """Sum the squared distances of all pairs of ratings: within units, and of all."""
    is_rated = ~np.isnan(table)
    times = is_rated.sum(axis=0)
    n = int(times.sum())
    # squares of large numbers would lose digits
    table = table - table[is_rated].mean()
    rest = table - np.nanmean(table, axis=0)
    within = 2 * times * np.nansum(rest**2, axis=0)
    return within, 2 * n * float((table[is_rated] ** 2).sum())


def _unlike_pairs(table: Floats) -> tuple[Floats, float]:
    """Count the pairs of ratings that differ: within units, and of all."""
    units = table.T
    is_rated = ~np.isnan(units)
    times = is_rated.sum(axis=1)
    n = int(times.sum())
    values, codes = np.unique(units[is_rated], return_inverse=True)
    counts = np.zeros((len(units), len(values)))
    np.add.at(counts, (np.nonzero(is_rated)[0], codes), 1)
    within = times**2 - (counts**2).sum(axis=1)
    return within, float(n**2 - (counts.sum(axis=0) ** 2).sum())


def cohen_kappa(
    a: ArrayLike, b: ArrayLike, weights: Literal["none", "quadratic"] = "none"
) -> float:
    """Return Cohen's kappa of two raters of the same units: 1 for full agreement, 0 for chance.

    NaN where both give one and the same rating to all. J. Cohen, "A coefficient of agreement for
    nominal scales", 1960; "Weighted kappa", 1968, whose squared weights are those of the ratings'
    values.
    """
    one = vector(a, "a")
    other = vector(b, "b")
    observed: float
    expected: float
    if weights == "quadratic":
        observed = float(((one - other) ** 2).mean())
        expected = float(one.var() + other.var() + (one.mean() - other.mean()) ** 2)
    else:
        labels = np.unique(np.concatenate((one, other)))
        times_one = np.bincount(np.searchsorted(labels, one), minlength=len(labels))
        times_other = np.bincount(np.searchsorted(labels, other), minlength=len(labels))
        # in integers, so that agreement by chance is exactly 0
        observed = int((one != other).sum()) * len(one)
        expected = len(one) ** 2 - int(times_one @ times_other)
    if not expected > 0:
        return math.nan
    return 1 - observed / expected
