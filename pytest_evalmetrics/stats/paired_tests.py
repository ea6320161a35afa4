"""Tests of paired differences: of their mean, and of how many are worse.

Each difference is one task's. Tasks that depend on each other are clustered; then the clusters are
what is independent.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from pytest_evalmetrics.stats.basics import StatResult, StatsError, nonzero, vector
from pytest_evalmetrics.stats.distributions import (
    LEAST_P,
    binom_sf,
    log_binom_sf,
    t_log_sf,
    t_ppf,
    t_sf,
)
from pytest_evalmetrics.stats.means import (
    ROUNDING,
    MeanSE,
    largest_size,
    mean_se,
    residuals,
    sums_of_codes,
    t_interval,
)
from pytest_evalmetrics.sums import cubes, squares

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from pytest_evalmetrics.stats.basics import Alternative, Floats, Ints

_SAME = 1e-12  # two means of the same rewards, added in another order
_TIED = 1e-11  # relative: the same sum, but for rounding
# differing tasks, and clusters, from which on t is used, not all signs
_FEW = 20
_FEW_CLUSTERS = 25
_ENUMERATED = 32  # differences whose signs are enumerated: two halves of 65,536 sums


def paired_differences(a: ArrayLike, b: ArrayLike) -> Floats:
    """Return a - b per task, exactly 0 where they differ by rounding alone."""
    first = vector(a, "a")
    second = vector(b, "b")
    gap = first - second
    gap += 0.0  # without -0
    if not gap.size:
        return gap
    # of a million tasks few are so close that their own size has to be looked at
    largest = max(largest_size(first), largest_size(second))
    is_close = (np.abs(gap) <= _SAME * largest) & (gap != 0)
    close = np.flatnonzero(is_close)
    size = np.maximum(np.abs(first[close]), np.abs(second[close]))
    is_rounding = np.abs(gap[close]) <= _SAME * size
    gap[close[is_rounding]] = 0.0
    return gap


# -- the mean --------------------------------------------------------------------------------


def paired_t(
    d: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    alternative: Alternative = "two-sided",
    level: float = 0.95,
) -> StatResult:
    """Test the mean of paired differences against 0, by task or by cluster.

    `level` is the confidence of the two-sided interval. p is NaN if there are fewer than two
    independent units. Where all differences are equal there is no standard error to divide by: all
    0 gives p = 1, another value the p of the sign flip of the units, 2^-units one-sided, for no
    more can be had from them; the interval is NaN in both. Miller 2024 (arXiv 2411.00640), section
    4.2, with Student's t for the normal.
    """
    estimate = mean_se(d, clusters)
    two_sided = alternative == "two-sided"
    if math.isnan(estimate.se):
        tested = StatResult("", math.nan)
    elif estimate.se > 0:
        tested = _t_of(estimate, two_sided=two_sided)
    elif estimate.mean == 0:
        tested = StatResult("", 1.0, statistic=0.0)
    else:
        tested = _all_equal(estimate, two_sided=two_sided)
    name = "paired t"
    if clusters is not None:
        name = "clustered paired t"
    low, high = t_interval(estimate, level)
    return structs.replace(
        tested,
        name=name,
        df=estimate.df,
        se=estimate.se,
        low=low,
        high=high,
        units=estimate.units,
    )


def _t_of(estimate: MeanSE, *, two_sided: bool) -> StatResult:
    """Test a mean by its standard error."""
    t = estimate.mean / estimate.se
    if two_sided:
        p = 2 * t_sf(abs(t), estimate.df)
    else:
        p = t_sf(t, estimate.df)
    log_tail = math.nan
    if p < LEAST_P:
        log_tail = t_log_sf(abs(t), estimate.df)
        if two_sided:
            log_tail += math.log(2)
    return StatResult("", max(p, LEAST_P), statistic=t, log_tail=log_tail)


def _all_equal(estimate: MeanSE, *, two_sided: bool) -> StatResult:
    """Test differences that are all the same, and not 0: by the signs of the units."""
    infinite = math.copysign(math.inf, estimate.mean)
    if not two_sided and estimate.mean < 0:
        return StatResult("", 1.0, statistic=infinite)
    # one of the 2^units signs, or two of them
    log2_p = -estimate.units
    if two_sided:
        log2_p += 1
    p = min(2.0**log2_p, 1.0)
    log_tail = math.nan
    if p < LEAST_P:
        log_tail = log2_p * math.log(2)
    return StatResult("", max(p, LEAST_P), statistic=infinite, log_tail=log_tail)


def mde_factor(df: float, alpha: float) -> float:
    """Return how many standard errors a one-sided t test sees with 80 % power; NaN for no df.

    t_{1-alpha} + t_{0.8}: it spares the noncentral t, and is within 1.2 % of it from df = 9 on.
    """
    if not df > 0:
        return math.nan
    return t_ppf(1 - alpha, df) + t_ppf(0.8, df)


def signflip_exact(
    d: ArrayLike, *, alternative: Alternative = "two-sided"
) -> StatResult:
    """Test up to 32 paired differences against a distribution symmetric about 0.

    `p` is P(T >= t), T the sum over all signs, two-sided its size. Differences that are 0 don't
    count; p = 1 without any other. Fisher 1935, The Design of Experiments, chapter III. Exact to
    rounding: each half's sums are sorted and matched.
    """
    moved = nonzero(vector(d, "d"))
    if moved.size > _ENUMERATED:
        raise StatsError(
            f"{moved.size} differences have too many signs: take the t test"
        )
    two_sided = alternative == "two-sided"
    seen = float(moved.sum())
    if two_sided:
        seen = abs(seen)
    sizes = np.abs(moved)
    half = _signed_sums(sizes[::2])
    other = np.sort(_signed_sums(sizes[1::2]))
    slack = _TIED * max(float(sizes.sum()), abs(seen))
    # how many sums of the other half bring each of this one beyond, or up to, what is seen
    places_beyond = np.searchsorted(other, seen + slack - half, side="right")
    places_reached = np.searchsorted(other, seen - slack - half, side="left")
    ways = 2.0**moved.size
    beyond = float((len(other) - places_beyond).sum()) / ways
    reached = float((places_beyond - places_reached).sum()) / ways
    if two_sided:
        beyond *= 2
        # a sum of 0 is its own mirror
        if seen > slack:
            reached *= 2
    p = min(beyond + reached, 1.0)
    mid_p = min(beyond + reached / 2, 1.0)
    return StatResult("exact sign flip", p, mid_p)


def _signed_sums(sizes: Floats) -> Floats:
    """Return the sums of sizes under all choices of their signs, shape (2^sizes,)."""
    sums: Floats = np.zeros(1)
    for size in sizes.tolist():
        sums = np.concatenate((sums + size, sums - size))
    return sums


def mean_test(d: ArrayLike, clusters: Ints | None, level: float) -> StatResult:
    """Test one-sided for a mean above 0: by all signs where few units differ, else by `paired_t`.

    All signs are taken of fewer than 20 differences, or of 25 clusters, whose sizes skew t for
    longer; then `p` is the mid-p. `clusters` are numbered from 0.
    """
    values = vector(d)
    result = paired_t(values, clusters=clusters, alternative="greater", level=level)
    units = _units_of(values, clusters)
    moved = nonzero(units)
    few = _FEW
    if clusters is not None:
        few = _FEW_CLUSTERS
    if 0 < moved.size < few:
        flipped = signflip_exact(units, alternative="greater")
        name = flipped.name
        if clusters is not None:
            name = f"clustered {flipped.name}"
        return structs.replace(result, p=flipped.mid_p, name=name, mid_p=flipped.mid_p)
    if moved.size and not (moved < 0).any():
        # all worse: a spread among these is no doubt
        return _at_most_of_signs(result, moved.size)
    return result


def _units_of(values: Floats, clusters: Ints | None) -> Floats:
    """Return the difference of each independent unit: a cluster's tasks have one sign."""
    if clusters is None:
        return values
    return sums_of_codes(values, clusters)


def _at_most_of_signs(result: StatResult, units: int) -> StatResult:
    """Return a result whose p is at most that of all units being worse, 2^-units.

    Where t is less sure, its interval may hold 0, which is less than any mean of losses.
    """
    log_p = -units * math.log(2)
    log_p_of_t = result.log_tail
    if math.isnan(log_p_of_t):
        log_p_of_t = math.log(result.p)
    if not result.se > 0 or log_p_of_t <= log_p:
        return result
    p = 0.5**units
    log_tail = math.nan
    if p < LEAST_P:
        p = LEAST_P
        log_tail = log_p
    low = max(result.low, 0.0)
    return structs.replace(result, name="sign test", p=p, low=low, log_tail=log_tail)


def sign_test(d: ArrayLike, clusters: Ints | None = None) -> StatResult:
    """Test one-sided whether more units got worse, d > 0, than better.

    P(Bin(n, 1/2) >= worse) over the n units that moved; 1 where none did. It holds
    for any statistic that swapping the two sides of a unit leaves equally likely.
    Conover 1999, Practical Nonparametric Statistics, section 3.4.
    """
    moved = nonzero(_units_of(vector(d), clusters))
    worse = int((moved > 0).sum())
    p = binom_sf(worse, moved.size, 0.5)
    log_tail = math.nan
    if p < LEAST_P:
        log_tail = log_binom_sf(worse, moved.size, 0.5)
    return StatResult("sign test", max(p, LEAST_P), units=moved.size, log_tail=log_tail)


def shift_of_skew(x: ArrayLike, t: float) -> float:
    """Return by how many standard errors an upper end of a skewed mean is beyond t.

    A few large values that a sample happens to lack would make both its mean and its
    error too small; 0 where the skew is on the other side. Johnson 1978, Journal of the
    American Statistical Association 73, 536.
    """
    rest = residuals(vector(x))
    n = rest.size
    largest = float(np.abs(rest).max(initial=0.0))
    if not largest > 0:
        return 0.0
    # by a power of two, which rounds nothing: the powers of tiny values underflow
    scaled = np.ldexp(rest, -math.frexp(largest)[1])
    variance = squares(scaled) / n
    skew: float = max(cubes(scaled) / n / variance**1.5, 0.0)
    correction = (1 + 2 * t * t) / (6 * math.sqrt(n))
    return skew * correction


# -- the mean of differences that are clipped from above ---------------------------------------


def winsorised_t(
    d: ArrayLike, clusters: Ints | None = None, *, level: float = 0.95
) -> StatResult:
    """Test one-sided for a mean above 0 by the largest t of all milder differences.

    A larger difference never makes p larger: t is that of min(d, c) with the c that
    makes it largest, so one extreme difference can't hide the others in its variance.
    Clipping only the side that counts as evidence costs that side alone: of unchanged
    tasks, normal to lognormal(2) and t(1.5), 0.3 to 1.3 % have p < .01 (20 to 1,000
    tasks). Winsorising: Tukey and McLaughlin 1963, Sankhya A 25. Of clusters only the
    ends at Fibonacci's ranks are tried. `d` has 20 values or more.

    `low` is the lower end of the interval of the clipped mean with such a `level`, and
    so of the mean, which is no smaller.
    """
    values = vector(d)
    if clusters is not None:
        return _winsorised_clusters(values, clusters, level)
    return _of_clipped(_with_largest_t(np.sort(values)), level)


def _with_largest_t(ordered: Floats) -> MeanSE:
    """Return the mean of min(d, c) with the c, between two values, that makes t largest."""
    n = len(ordered)
    clipped = np.arange(n)  # the values above c, as many as there may be
    sums = np.cumsum(ordered)[::-1]
    squares_below = np.cumsum(ordered**2)[::-1]
    ends = _best_ends(ordered[::-1], sums, squares_below)
    means = (sums + clipped * ends) / n
    spread = squares_below + clipped * ends**2 - n * means**2
    has_spread = spread > ROUNDING * squares_below
    spread[~has_spread] = 1.0
    se = np.sqrt(spread / (n - 1) / n)
    t = means / se
    t[~has_spread] = -math.inf
    at = int(t.argmax())
    return MeanSE(float(means[at]), float(se[at]), df=n - 1, units=n)


def _best_ends(descending: Floats, sums: Floats, squares_below: Floats) -> Floats:
    """Return where to clip the values above each one, so that t is largest.

    At the value itself, or between it and the next larger one: there t is largest where
    the end is the sum of the squares below it, by the sum of the values below it.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.where(sums > 0, squares_below / sums, descending)
    above = np.append(np.inf, descending[:-1])
    is_between = (best >= descending) & (best <= above)
    return np.where(is_between, best, descending)


def _winsorised_clusters(values: Floats, clusters: Ints, level: float) -> StatResult:
    ordered = np.sort(values)[::-1]
    best = _of_clipped(mean_se(values, clusters), level)
    for rank in _fibonacci_ranks(len(ordered) // 2):
        clipped = mean_se(np.minimum(values, ordered[rank]), clusters)
        if clipped.se > 0:
            tested = _of_clipped(clipped, level)
            best = min(best, tested, key=lambda result: result.p)
    return best


def _fibonacci_ranks(end: int) -> Iterator[int]:
    """Yield 1, 2, 3, 5, 8 ... below an end."""
    rank = 1
    last = 1
    while rank < end:
        yield rank
        following = rank + last
        last = rank
        rank = following


def _of_clipped(clipped: MeanSE, level: float) -> StatResult:
    t = clipped.mean / clipped.se
    p = t_sf(t, clipped.df)
    log_tail = math.nan
    if p < LEAST_P:
        log_tail = t_log_sf(t, clipped.df)
    low, _ = t_interval(clipped, level)
    return StatResult(
        "winsorised paired t",
        max(p, LEAST_P),
        statistic=t,
        df=clipped.df,
        low=low,
        units=clipped.units,
        log_tail=log_tail,
    )
