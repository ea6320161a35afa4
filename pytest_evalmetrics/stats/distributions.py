"""Tails and quantiles of the normal, Student's t, beta and binomial distributions.

Scalar functions on floats, without scipy. Their relative error is under 1e-11, far out in the tails
and for a million degrees of freedom too.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

from pytest_evalmetrics.stats.basics import StatsError

if TYPE_CHECKING:
    from collections.abc import Callable

_NORMAL = NormalDist()
_LOG_2PI = math.log(2 * math.pi)
_MEDIAN = 0.5
_SETTLED = 1e-11  # of a step in the log of a quantile
_TINY = 1e-300  # replaces a zero in Lentz's method
_EPS = 4e-16
_ROUNDS = 200_000  # of the continued fraction; it needs about sqrt(max(a, b))
_STIRLING_FROM = 16.0
_FAR = 30.0  # standard deviations, from which on the normal tail is a series
_NEWTON = 50
LEAST_P = 1e-300  # of a p value as a number; its logarithm has no such end
_LOG_LEAST = math.log(LEAST_P)


def falls_to(
    falling: Callable[[float], float],
    goal: float,
    low: float,
    high: float,
    halvings: int = 42,
) -> float:
    """Return where a falling function reaches a value between `low` and `high`.

    As precise as so many halvings of the range, in about ten calls of a smooth function
    and at most twice as many as there would be halvings. The ends are never asked for.
    """
    precision = (high - low) / 2**halvings
    left = newest = before = _Place(low)
    right = _Place(high)
    for calls in range(2 * halvings):
        if right.x - left.x <= precision:
            break
        other = right if newest is left else left
        share = 0.5
        if calls < halvings:
            share = _share_of_way(newest, other, before, precision)
        x = newest.x + share * (other.x - newest.x)
        newest = _Place(x, falling(x) - goal)
        if newest.above > 0:
            before = left
            left = newest
        else:
            before = right
            right = newest
    return right.x


class _Place(NamedTuple):
    """Where a function is how far above a goal; NaN where it was not asked for."""

    x: float
    above: float = math.nan


def _share_of_way(
    newest: _Place, other: _Place, before: _Place, precision: float
) -> float:
    """Return how far from the newest place to the other one to go for a goal between them.

    By the inverse parabola through both and through the place that the newest one
    replaced, where it is known to rise or fall alone; else half of the way (Chandrupatla
    1997, Advances in Engineering Software 28, 145).
    """
    if not math.isfinite(before.above - other.above):
        return 0.5
    width = other.x - newest.x
    # the paper's xi and phi: how far newest is on the way from other to before
    of_way = -width / (before.x - other.x)
    of_fall = (newest.above - other.above) / (before.above - other.above)
    if of_fall**2 >= of_way:
        return 0.5
    if (1 - of_fall) ** 2 >= 1 - of_way:
        return 0.5
    to_other = newest.above / (other.above - newest.above)
    to_before = newest.above / (before.above - newest.above)
    by_secant = to_other * before.above / (other.above - before.above)
    bend = to_before * other.above / (before.above - other.above)
    share = by_secant + bend * (before.x - newest.x) / width
    least = precision / 2 / abs(width)
    return min(max(share, least), 1 - least)


def normal_sf(x: float) -> float:
    """Return P(Z > x) for a standard normal Z."""
    return 0.5 * math.erfc(x / math.sqrt(2))


def normal_ppf(p: float) -> float:
    """Return the standard normal quantile (Wichura 1988, AS 241); infinite at 0 and 1."""
    if p == 0:
        return -math.inf
    if p == 1:
        return math.inf
    return _NORMAL.inv_cdf(p)


def normal_log_sf(x: float) -> float:
    """Return log P(Z > x) for a standard normal Z, without underflow."""
    if x < _FAR:
        return math.log(normal_sf(x))
    square = x * x
    inverse = 1 / square
    series = -inverse + 3 * inverse**2 - 15 * inverse**3
    return -square / 2 - math.log(x) - _LOG_2PI / 2 + math.log1p(series)


def normal_isf_of_log(log_p: float) -> float:
    """Return the x with log P(Z > x) = `log_p`, by Newton's method far out."""
    if log_p > _LOG_LEAST:
        return -normal_ppf(math.exp(log_p))
    if math.isinf(log_p):
        return math.inf
    x = math.sqrt(-2 * log_p)
    for _ in range(_NEWTON):
        # the density over the tail is x + 1/x there
        step = (normal_log_sf(x) - log_p) / (x + 1 / x)
        x += step
        if abs(step) <= _SETTLED * x:
            break
    return x


def p_of_log(log_p: float) -> float:
    """Return a p value from its logarithm: at least 1e-300, and NaN for NaN."""
    if math.isnan(log_p):
        return math.nan
    return max(math.exp(log_p), LEAST_P)


def t_log_sf(t: float, df: float) -> float:
    """Return log P(T > t) for Student's t, without underflow."""
    if math.isinf(df) and not math.isnan(t):
        return normal_log_sf(t)
    tail = t_sf(t, df)
    if not t > 0 or tail > LEAST_P:
        return math.log(tail)
    ratio = t / math.sqrt(df)
    square = ratio * ratio  # a power would not overflow to infinity
    if math.isinf(square):
        return -math.inf
    x = 1 / (1 + square)
    y = square / (1 + square)
    # half of the incomplete beta function is the tail on one side
    return _log_beta_tail(x, y, df / 2, 0.5) - math.log(2)


def t_sf(t: float, df: float) -> float:
    """Return P(T > t) for Student's t; df may be a fraction, or infinite."""
    if math.isnan(t):
        return math.nan
    if math.isinf(df):
        return normal_sf(t)
    ratio = abs(t) / math.sqrt(df)
    square = ratio * ratio
    tail = 0.0
    if not math.isinf(square):
        x = 1 / (1 + square)
        y = square / (1 + square)
        both_tails, _ = beta_parts(x, y, df / 2, 0.5)
        tail = 0.5 * both_tails
    if t >= 0:
        return tail
    return 1 - tail


def t_ppf(p: float, df: float) -> float:
    """Return the quantile of Student's t; df may be a fraction, or infinite."""
    if p in (0, 1) or math.isinf(df):
        return normal_ppf(p)
    if p == _MEDIAN:
        return 0.0
    if p < _MEDIAN:
        return -_t_upper_quantile(p, df)
    return _t_upper_quantile(1 - p, df)


def binom_sf(k: int, n: int, p: float) -> float:
    """Return P(X >= k) for X ~ Bin(n, p): `k` itself is counted."""
    if k <= 0:
        return 1.0
    if k > n:
        return 0.0
    tail, _ = beta_parts(p, 1 - p, k, n - k + 1)
    return tail


def log_binom_sf(k: int, n: int, p: float) -> float:
    """Return log P(X >= k) for X ~ Bin(n, p), without underflow."""
    if k > n:
        return -math.inf
    if k <= n * p:
        # about one half or more, where the fraction below does not converge
        return math.log(binom_sf(k, n, p))
    return _log_beta_tail(p, 1 - p, float(k), float(n - k + 1))


@lru_cache(maxsize=1024)  # many small benchmarks ask for the same few
def _t_upper_quantile(tail: float, df: float) -> float:
    """Return the t with P(T > t) = tail, for 0 < tail < 1/2, by Newton's method in log t."""
    # near the median, what lies between it and t is more precise than the tail
    is_outer = tail < _MEDIAN / 2
    target = math.log(_MEDIAN - tail)
    if is_outer:
        target = math.log(tail)
    log_t = math.log(-_NORMAL.inv_cdf(tail))
    last = math.inf
    for _ in range(200):
        ratio = math.exp(log_t) / math.sqrt(df)
        square = ratio * ratio
        x = 1 / (1 + square)
        y = square / (1 + square)
        log_density = _log_beta_power(x, y, df / 2, 0.5)  # of log |t|
        if is_outer:
            log_tail = log_density - math.log(_beta_fraction(x, y, df / 2, 0.5))
            gap = log_tail - math.log(2) - target
            slope = -2 * math.exp(log_density - log_tail)
        else:
            within = beta_parts(x, y, df / 2, 0.5)[1]
            gap = math.log(within / 2) - target
            slope = 2 * math.exp(log_density) / within
        step = gap / slope
        log_t -= step
        # near the root a step that is not much smaller than the last is rounding alone
        if (abs(step) <= _SETTLED and abs(step) >= last / 2) or step == 0:
            break
        last = abs(step)
    return math.exp(log_t)


# The regularised incomplete beta function, which Student's t and the binomial rest on. The
# power in front of it is Loader's: a difference of three large log-gammas would leave only
# nine digits of it.


def beta_parts(x: float, y: float, a: float, b: float) -> tuple[float, float]:
    """Compute I_x(a, b) and its complement; y is 1 - x, without the error of a subtraction."""
    if x <= 0:
        return 0.0, 1.0
    if y <= 0:
        return 1.0, 0.0
    # the fraction converges fast on one side of the mean
    if x * (a + b + 2) < a + 1:
        low = min(math.exp(_log_beta_tail(x, y, a, b)), 1.0)
        return low, 1 - low
    high = min(math.exp(_log_beta_tail(y, x, b, a)), 1.0)
    return 1 - high, high


def _log_beta_tail(x: float, y: float, a: float, b: float) -> float:
    """Return log I_x(a, b), for an x below the mean of the distribution."""
    return _log_beta_power(x, y, a, b) - math.log(_beta_fraction(x, y, a, b))


def _log_beta_power(x: float, y: float, a: float, b: float) -> float:
    """Log of x^a y^b / B(a, b), none of them 0 (Loader 2000; R's dbinom_raw)."""
    n = a + b
    log_a = math.log(a)
    log_share = math.log(b / n)
    series = _stirling_rest(n) - _stirling_rest(a) - _stirling_rest(b)
    deviance = _deviance(a, n * x) + _deviance(b, n * y)
    log_binom = series - deviance - 0.5 * (_LOG_2PI + log_a + log_share)
    return log_a + log_share + log_binom


def _stirling_rest(n: float) -> float:
    """Log n! less Stirling's formula."""
    if n < _STIRLING_FROM:
        return math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n - 0.5 * _LOG_2PI
    nn = n * n
    inner = 1 / 1680 - (1 / 1188 - (691 / 360360 - 1 / 156 / nn) / nn) / nn
    return (1 / 12 - (1 / 360 - (1 / 1260 - inner / nn) / nn) / nn) / n


def _deviance(x: float, mean: float) -> float:
    """Return x log(x / mean) + mean - x, without cancellation where x is near the mean."""
    gap = x - mean
    if abs(gap) >= 0.1 * (x + mean):
        return x * math.log(x / mean) - gap
    # with v = gap / (x + mean): log(x / mean) = 2 atanh v = 2 (v + v^3/3 + v^5/5 + ...)
    v = gap / (x + mean)
    total = gap * v
    term = 2 * x * v
    for odd in range(3, 1000, 2):
        term *= v * v
        larger = total + term / odd
        if larger == total:
            break
        total = larger
    return total


def _beta_fraction(x: float, y: float, a: float, b: float) -> float:
    """Return x^a y^b / (B(a, b) I_x(a, b)): DiDonato and Morris 1992, TOMS 708.

    Lentz's method on their continued fraction, which takes y as it is known, not as 1 - x.
    """
    first = a * y - b * x + 1
    value = _away(a * first / (a + 1))
    c = value
    d = 0.0
    for m in range(1, _ROUNDS):
        last = a + 2 * m - 1
        numerator = (a + m - 1) / last * ((a + b + m - 1) / last)
        numerator = numerator * m * (b - m) * x * x
        denominator = m + m * (b - m) * x / last
        denominator += (a + m) * (first + m * (1 + y)) / (a + 2 * m + 1)
        d = 1 / _away(denominator + numerator * d)
        c = _away(denominator + numerator / c)
        step = d * c
        value *= step
        if abs(step - 1) <= _EPS:
            return value
    raise StatsError(
        f"the incomplete beta function did not converge at x={x}, a={a}, b={b}"
    )


def _away(value: float) -> float:
    """Replace what is almost 0 by a number that can be divided by."""
    if abs(value) > _TINY:
        return value
    return _TINY
