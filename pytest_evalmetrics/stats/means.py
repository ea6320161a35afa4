"""Means over tasks, and tests of paired differences.

Each value is one task's: K rollouts of a task are one observation. Tasks that depend on each other
(one repository, one document) are clustered; then the clusters are what is independent.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.stats.basics import (
    NO_BOUNDS,
    Bounds,
    StatResult,
    StatsError,
    nonzero,
    vector,
)
from pytest_evalmetrics.stats.distributions import (
    LEAST_P,
    binom_sf,
    log_binom_sf,
    t_log_sf,
    t_ppf,
    t_sf,
)
from pytest_evalmetrics.stats.proportions import clopper_pearson
from pytest_evalmetrics.sums import mean_of, squares, total

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from pytest_evalmetrics.stats.basics import Alternative, Floats, Ints

FEWEST = 2  # independent units that have a spread
_ROUNDING = 8 * np.finfo(np.float64).eps
_SAME = 1e-12  # two means of the same rewards, added in another order
_TIED = 1e-11  # relative: the same sum, but for rounding
# differing tasks, and clusters, from which on t is used, not all signs
_FEW = 20
_FEW_CLUSTERS = 25
_MIDDLE = (0.25, 0.75)  # rates of units that are not skewed much
_FEW_FOR_SKEW = 20  # clusters, whose spread hardly shows how skewed they are
_ENUMERATED = 32  # differences whose signs are enumerated: two halves of 65,536 sums


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
    mean = mean_of(values) if values.size else math.nan
    if clusters is None:
        df = values.size - 1
        se = math.nan
        if values.size >= FEWEST:
            se = math.sqrt(squares(_residuals(values)) / df / values.size)
        return MeanSE(mean, se, df, values.size)
    codes = np.unique(np.asarray(clusters), return_inverse=True)[1]
    units = int(codes.max()) + 1
    if units < FEWEST:
        return MeanSE(mean, math.nan, units - 1, units)
    rest = _residuals(values)
    sizes = np.bincount(codes, minlength=units).astype(np.float64)
    sums = _unless_rounding(
        sums_of_codes(rest, codes), np.abs(values).max() * sizes.max()
    )
    share = sizes / values.size
    se = math.sqrt(total(sums**2 / (1 - share))) / values.size
    whole = squares(rest)
    pairs = float((sizes * (sizes - 1)).sum())
    icc = 0.0
    if pairs and whole > 0:
        icc = (squares(sums) - whole) / pairs / (whole / (values.size - 1))
    variances = sizes + sizes * (sizes - 1) * min(max(icc, 0.0), 1.0)
    return MeanSE(mean, se, _satterthwaite(share, variances), units)


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


def sums_of_codes(values: Floats, codes: Ints) -> Floats:
    """Return the sum of each cluster's values; clusters are numbered from 0."""
    return np.bincount(codes, weights=values).astype(np.float64, copy=False)


def _residuals(values: Floats) -> Floats:
    """Return the distances from the mean; all 0 where they are rounding alone."""
    return _unless_rounding(values - mean_of(values), np.abs(values).max())


def _unless_rounding(rest: Floats, scale: float) -> Floats:
    """Return `rest`, or zeros where all of it is rounding: no standard error."""
    return rest if np.abs(rest).max() > _ROUNDING * scale else np.zeros_like(rest)


def t_interval(estimate: MeanSE, level: float) -> Bounds:
    """Return mean -+ t * se; NaN where the standard error is 0 or unknown."""
    if not estimate.se > 0:
        return NO_BOUNDS
    half = t_ppf(0.5 + level / 2, estimate.df) * estimate.se
    return estimate.mean - half, estimate.mean + half


def skewed_rate_interval(
    estimate: MeanSE, errors: ArrayLike, clusters: ArrayLike | None, level: float
) -> Bounds:
    """Return the interval of a rate near 0 or 1, or of few clusters.

    Clopper and Pearson's of as many independent tries as have the rate's standard
    error, fewer for what is not known of this error: Korn and Graubard 1998, Survey
    Methodology 24, 193. Its degrees of freedom are those of a variance of units with
    the kurtosis that they show. `errors` are each task's, shape (tasks,).
    """
    rest = vector(errors, "errors")
    tasks = rest.size
    if clusters is not None:
        _, codes = np.unique(np.asarray(clusters), return_inverse=True)
        rest = sums_of_codes(rest, codes)
    units = rest.size
    spread = float((rest**2).mean())
    kurtosis = float((rest**4).mean()) / spread**2 if spread > 0 else 1.0
    df = estimate.df
    if kurtosis > 1:
        df = min(df, max(2 * units / (kurtosis - 1), 2.0))
    tail = 0.5 + level / 2
    rate = min(max(estimate.mean, 0.0), 1.0)
    tries = rate * (1 - rate) / estimate.se**2
    tries *= (t_ppf(tail, tasks - 1) / t_ppf(tail, df)) ** 2
    if clusters is not None:
        tries = min(tries, tasks)
        is_skewed = not _MIDDLE[0] <= rate <= _MIDDLE[1]
        if is_skewed and units < _FEW_FOR_SKEW:
            tries /= 2
    tries = max(tries, units)
    return clopper_pearson(rate * tries, tries, level)


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
        codes = np.unique(np.asarray(clusters), return_inverse=True)[1]
        errors = sums_of_codes(errors, codes)
        largest = int(np.bincount(codes).max())
    units = errors.size
    errors = _unless_rounding(errors, np.abs(tops).max() * largest)
    se = math.nan
    if units >= FEWEST:
        se = math.sqrt(units / (units - 1) * squares(errors)) / rollouts
    return MeanSE(ratio, se, units - 1, units)


def paired_differences(a: ArrayLike, b: ArrayLike) -> Floats:
    """Return a - b per task, exactly 0 where they differ by rounding alone."""
    first = vector(a, "a")
    second = vector(b, "b")
    gap = first - second
    gap[np.abs(gap) <= _SAME * np.maximum(np.abs(first), np.abs(second))] = 0.0
    return gap


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
    mean, se, df, units = structs.astuple(estimate)
    both = alternative == "two-sided"
    log_tail = math.nan
    if math.isnan(se):
        statistic = p = math.nan
    elif se > 0:
        statistic = mean / se
        p = 2 * t_sf(abs(statistic), df) if both else t_sf(statistic, df)
        if p < LEAST_P:
            log_tail = t_log_sf(abs(statistic), df) + (math.log(2) if both else 0.0)
    elif mean == 0:
        statistic, p = 0.0, 1.0
    else:
        statistic = math.copysign(math.inf, mean)
        p = 0.5**units if both or mean > 0 else 1.0
        p = min(1.0, 2 * p) if both else p
        if p < LEAST_P:
            log_tail = (1 - units if both else -units) * math.log(2)
    name = "paired t" if clusters is None else "clustered paired t"
    low, high = t_interval(estimate, level)
    return StatResult(
        name,
        p if math.isnan(p) else max(p, LEAST_P),
        statistic=statistic,
        df=df,
        se=se,
        low=low,
        high=high,
        units=units,
        log_tail=log_tail,
    )


def mde_factor(df: float, alpha: float) -> float:
    """Return how many standard errors a one-sided t test sees with 80 % power; NaN for no df.

    t_{1-alpha} + t_{0.8}: it spares the noncentral t, and is within 1.2 % of it from df = 9 on.
    """
    return t_ppf(1 - alpha, df) + t_ppf(0.8, df) if df > 0 else math.nan


def signflip_exact(
    d: ArrayLike, *, alternative: Alternative = "two-sided"
) -> StatResult:
    """Test up to 32 paired differences against a distribution symmetric about 0.

    `p` is P(T >= t), T the sum over all signs, two-sided its size. Differences that are 0 don't
    count; p = 1 without any other. Fisher 1935, The Design of Experiments, chapter III. Exact to
    rounding: each half's sums are sorted and matched.
    """
    moved = nonzero(vector(d, "d"))
    both = alternative == "two-sided"
    if moved.size > _ENUMERATED:
        raise StatsError(
            f"{moved.size} differences have too many signs: take the t test"
        )
    seen = abs(float(moved.sum())) if both else float(moved.sum())
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
    if both:
        beyond *= 2
        reached *= 2 if seen > slack else 1
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
    # a cluster's tasks have one sign to flip
    units = values if clusters is None else sums_of_codes(values, clusters)
    moved = nonzero(units)
    if 0 < moved.size < (_FEW if clusters is None else _FEW_CLUSTERS):
        flipped = signflip_exact(units, alternative="greater")
        name = flipped.name if clusters is None else f"clustered {flipped.name}"
        return structs.replace(result, p=flipped.mid_p, name=name, mid_p=flipped.mid_p)
    if moved.size and not (moved < 0).any():
        # all worse: a spread among these is no doubt
        return _at_most_of_signs(result, moved.size)
    return result


def sign_test(d: ArrayLike, clusters: Ints | None = None) -> StatResult:
    """Test one-sided whether more units got worse, d > 0, than better.

    P(Bin(n, 1/2) >= worse) over the n units that moved; 1 where none did. It holds
    for any statistic that swapping the two sides of a unit leaves equally likely.
    Conover 1999, Practical Nonparametric Statistics, section 3.4.
    """
    values = vector(d)
    moved = nonzero(values if clusters is None else sums_of_codes(values, clusters))
    worse = int((moved > 0).sum())
    p = binom_sf(worse, moved.size, 0.5)
    log_tail = math.nan
    if p < LEAST_P:
        log_tail = log_binom_sf(worse, moved.size, 0.5)
    return StatResult("sign test", max(p, LEAST_P), units=moved.size, log_tail=log_tail)


def _at_most_of_signs(result: StatResult, units: int) -> StatResult:
    """Return a result whose p is at most that of all units being worse, 2^-units."""
    p = 0.5**units
    if p > LEAST_P:
        return structs.replace(result, p=min(result.p, p))
    log_p = -units * math.log(2)
    log_tail = min(log_p, result.log_tail)
    return structs.replace(result, p=LEAST_P, log_tail=log_tail)


def shift_of_skew(x: ArrayLike, t: float) -> float:
    """Return by how many standard errors an upper end of a skewed mean is beyond t.

    A few large values that a sample happens to lack would make both its mean and its
    error too small; 0 where the skew is on the other side. Johnson 1978, Journal of the
    American Statistical Association 73, 536.
    """
    rest = _residuals(vector(x))
    spread = squares(rest) / rest.size
    if not spread > 0:
        return 0.0
    skew = total(rest**3) / rest.size / spread**1.5
    return float(max(skew, 0.0) * (1 + 2 * t * t) / (6 * math.sqrt(rest.size)))


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
    variance = squares(_residuals(winsorised)) / (n - 1)
    se = math.sqrt(n * variance) / kept
    return MeanSE(mean_of(middle), se, kept - 1, n)


def winsorised_t(d: ArrayLike, clusters: Ints | None = None) -> StatResult:
    """Test one-sided for a mean above 0 by the largest t of all milder differences.

    A larger difference never makes p larger: t is that of min(d, c) with the c that
    makes it largest, so one extreme difference can't hide the others in its variance.
    Clipping only the side that counts as evidence costs that side alone: of unchanged
    tasks, normal to lognormal(2) and t(1.5), 0.3 to 1.3 % have p < .01 (20 to 1,000
    tasks). Winsorising: Tukey and McLaughlin 1963, Sankhya A 25. Of clusters only the
    ends at Fibonacci's ranks are tried. `d` has 20 values or more.
    """
    values = vector(d)
    if clusters is not None:
        return _winsorised_clusters(values, clusters)
    t = float(_largest_t(np.sort(values)))
    return _of_t(t, values.size - 1, values.size)


def _largest_t(ordered: Floats) -> float:
    """Return the largest t of min(d, c) over c, with its maximum between two values."""
    n = len(ordered)
    clipped = np.arange(n)  # the values above c, as many as there may be
    sums = np.cumsum(ordered)[::-1]
    squares_below = np.cumsum(ordered**2)[::-1]
    ends = ordered[::-1]
    # between two values, t is largest where c = sum of squares / sum of those below
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.where(sums > 0, squares_below / sums, ends)
    above = np.append(np.inf, ends[:-1])
    is_between = (best >= ends) & (best <= above) & (clipped > 0)
    ends = np.where(is_between, best, ends)
    means = (sums + clipped * ends) / n
    spread = squares_below + clipped * ends**2 - n * means**2
    is_spread = spread > _ROUNDING * squares_below
    se = np.sqrt(np.where(is_spread, spread, 1.0) / (n - 1) / n)
    return float(np.where(is_spread, means / se, -math.inf).max())


def _winsorised_clusters(values: Floats, clusters: Ints) -> StatResult:
    ordered = np.sort(values)[::-1]
    plain = mean_se(values, clusters)
    best = _of_t(plain.mean / plain.se, plain.df, plain.units)
    for rank in _fibonacci_ranks(len(ordered) // 2):
        clipped = mean_se(np.minimum(values, ordered[rank]), clusters)
        if clipped.se > 0:
            tested = _of_t(clipped.mean / clipped.se, clipped.df, clipped.units)
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


def _of_t(t: float, df: float, units: int) -> StatResult:
    p = t_sf(t, df)
    return StatResult(
        "winsorised paired t",
        max(p, LEAST_P),
        statistic=t,
        df=df,
        units=units,
        log_tail=t_log_sf(t, df) if p < LEAST_P else math.nan,
    )
