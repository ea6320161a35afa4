"""McNemar's test: two shares on the same tasks, from the tasks that flipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.stats.inputs import StatsError, alternative_of, fraction, integer
from pytest_evalmetrics.stats.outcome import StatResult
from pytest_evalmetrics.stats.tails import binom_cdf, binom_pmf, binom_sf, chi2_1_sf

if TYPE_CHECKING:
    from pytest_evalmetrics.stats.outcome import Alternative

__all__ = ["mcnemar_chi2", "mcnemar_exact", "mcnemar_power"]

_NEGLIGIBLE = 1e-15  # the chance of a count of flips that is left out of the power


def mcnemar_exact(b: int, c: int, *, alternative: str = "two-sided") -> StatResult:
    """Test whether flips one way are as likely as the other, exactly.

    Parameters
    ----------
    b, c
        How many tasks flipped the one way and the other.
    alternative
        ``greater`` for H1: b is the likelier; its p is P(Bin(b + c, 1/2) >= b).

    Returns
    -------
    StatResult
        With `mid_p` (Fagerland, Lydersen and Laake 2013); p = 1 where nothing flipped.
        `statistic` is b, `estimate` b - c.
    """
    b, c = integer(b, "b"), integer(c, "c")
    side = alternative_of(alternative)
    p = _exact_p(b, b + c, side)
    point = binom_pmf(b, b + c, 0.5)
    mid = p - point / 2
    if side == "two-sided":
        mid = p - point if b != c else 1 - point / 2
    return StatResult("exact McNemar", p, b, estimate=b - c, n=b + c, units=b + c, mid_p=mid)


def _exact_p(b: int, n: int, side: Alternative) -> float:
    if side == "greater":
        return binom_sf(b, n, 0.5)
    if side == "less":
        return binom_cdf(b, n, 0.5)
    return min(1.0, 2 * binom_sf(max(b, n - b), n, 0.5))


def mcnemar_chi2(b: int, c: int, *, correction: bool = True) -> StatResult:
    """Test the same by chi-squared with one degree of freedom, two-sided.

    (abs(b - c) - 1)^2 / (b + c) with Edwards' correction (1948), which is left out where
    b = c, as in R; p = 1 where nothing flipped. For few flips take `mcnemar_exact`.
    """
    b, c = integer(b, "b"), integer(c, "c")
    gap = abs(b - c) - (1 if correction and b != c else 0)
    statistic = gap * gap / (b + c) if b + c else 0.0
    p = chi2_1_sf(statistic)
    return StatResult(
        "McNemar chi-squared", p, statistic, df=1, estimate=b - c, n=b + c, units=b + c
    )


def mcnemar_power(
    n: int, gain: float, loss: float, *, alpha: float = 0.05, alternative: str = "two-sided"
) -> float:
    """Return the exact test's power.

    Parameters
    ----------
    n
        Tasks.
    gain, loss
        A task's chance to flip the one way, and the other; ``greater`` looks for gains.
    alpha
        The level at which the test rejects, p <= alpha.
    alternative
        As of `mcnemar_exact`; two-sided counts a rejection to either side.

    Notes
    -----
    Sum over m of P(Bin(n, gain + loss) = m) P(the test rejects | m flips).
    """
    n = integer(n, "n")
    side = alternative_of(alternative)
    fraction(alpha, "alpha")
    flips = gain + loss
    if gain < 0 or loss < 0 or flips > 1:
        raise StatsError(f"gain {gain} and loss {loss} are no chances of one task")
    if flips == 0:
        return 0.0
    if side == "less":
        gain, loss = loss, gain
    share = gain / flips
    power, needed = 0.0, 0
    for m in range(1, n + 1):
        # the fewest flips one way that reject grows by one at most from m - 1 to m
        while needed <= m and _exact_p(needed, m, "greater") > _one_tail(alpha, side):
            needed += 1
        weight = binom_pmf(m, n, flips)
        if weight > _NEGLIGIBLE and needed <= m:
            power += weight * binom_sf(needed, m, share)
            if side == "two-sided":
                power += weight * binom_sf(needed, m, 1 - share)
    return min(power, 1.0)


def _one_tail(alpha: float, side: Alternative) -> float:
    return alpha / 2 if side == "two-sided" else alpha
