"""The regularised incomplete beta function, which Student's t and the binomial rest on.

The power x^a (1 - x)^b / B(a, b) in front of it is Loader's: a difference of three large
log-gammas would leave only nine digits of it.
"""

from __future__ import annotations

import math

from pytest_evalmetrics.stats.inputs import StatsError

__all__ = ["beta_fraction", "beta_pair", "log_beta_power", "log_beta_tail", "log_binom"]

_LOG_2PI = math.log(2 * math.pi)
_TINY = 1e-300  # what Lentz's method puts for a zero
_EPS = 4e-16
_ROUNDS = 200_000  # of the continued fraction; it needs about sqrt(max(a, b))
_STIRLING_FROM = 16.0


def beta_pair(x: float, y: float, a: float, b: float) -> tuple[float, float]:
    """I_x(a, b) and its complement, where y = 1 - x is known better than by subtracting."""
    if x <= 0 or y <= 0:
        return (0.0, 1.0) if x <= 0 else (1.0, 0.0)
    if x * (a + b + 2) < a + 1:
        low = min(math.exp(log_beta_tail(x, y, a, b)), 1.0)
        return low, 1 - low
    high = min(math.exp(log_beta_tail(y, x, b, a)), 1.0)
    return 1 - high, high


def log_beta_tail(x: float, y: float, a: float, b: float) -> float:
    """Log I_x(a, b); meant for x up to about the mean a / (a + b)."""
    return log_beta_power(x, y, a, b) - math.log(beta_fraction(x, y, a, b))


def log_beta_power(x: float, y: float, a: float, b: float) -> float:
    """Log of x^a y^b / B(a, b)."""
    return math.log(a) + math.log(b / (a + b)) + log_binom(a, b, x, y)


def log_binom(a: float, b: float, x: float, y: float) -> float:
    """Log of C(a + b, a) x^a y^b for real a, b >= 0 (Loader 2000; R's dbinom_raw)."""
    n = a + b
    if a == 0 or b == 0:
        power = b * _log_1m(x, y) if a == 0 else a * _log_1m(y, x)
        return power if n else 0.0
    if x <= 0 or y <= 0:
        return -math.inf
    series = _stirling_rest(n) - _stirling_rest(a) - _stirling_rest(b)
    deviance = _deviance(a, n * x) + _deviance(b, n * y)
    return series - deviance - 0.5 * (_LOG_2PI + math.log(a) + math.log(b / n))


def _log_1m(x: float, y: float) -> float:
    """log(1 - x), where y = 1 - x is known too."""
    if y <= 0:
        return -math.inf
    return math.log1p(-x) if x < y else math.log(y)


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


def beta_fraction(x: float, y: float, a: float, b: float) -> float:
    """Return x^a y^b / (B(a, b) I_x(a, b)): DiDonato and Morris 1992, TOMS 708.

    Lentz's method on their continued fraction, which takes y as it is known, not as 1 - x.
    """
    c = value = _away(a * (a * y - b * x + 1) / (a + 1))
    d = 0.0
    for m in range(1, _ROUNDS):
        down = a + 2 * m - 1
        over = (a + m - 1) / down * ((a + b + m - 1) / down) * m * (b - m) * x * x
        under = m + m * (b - m) * x / down
        under += (a + m) * (a * y - b * x + 1 + m * (1 + y)) / (a + 2 * m + 1)
        d = 1 / _away(under + over * d)
        c = _away(under + over / c)
        step = d * c
        value *= step
        if abs(step - 1) <= _EPS:
            return value
    raise StatsError(f"the incomplete beta function did not converge at x={x}, a={a}, b={b}")


def _away(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
