"""Shares: intervals and exact tests of k of n, McNemar's tests, and pass@k."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics.stats.basics import (
    NO_BOUNDS,
    Bounds,
    StatResult,
    StatsError,
    alternative_of,
    fraction,
    integer,
    one_tail,
)
from pytest_evalmetrics.stats.distributions import (
    beta_ppf,
    binom_cdf,
    binom_pmf,
    binom_sf,
    normal_ppf,
)
from pytest_evalmetrics.sums import mean_of, row_totals

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    # n, k, several c -> the chance for each c
    Estimator = Callable[[int, int, NDArray[np.int64]], NDArray[np.float64]]

_SLACK = 1 + 1e-7  # R's and scipy's, for outcomes as likely as the one that was seen
_NEGLIGIBLE = 1e-15  # the chance of a count of flips that is left out of the power
_EXACT = 1024  # up to this n the binomials are whole numbers, above it products
_FEW = 64  # up to this n every c is computed once for all benchmarks
_DENSE = 4_000_000  # (n, c) pairs that a table by address may have


def wilson(k: float, n: float, level: float = 0.95, alternative: str = "two-sided") -> Bounds:
    """Return Wilson's score interval, within [0, 1]; NaN where n = 0.

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

    Notes
    -----
    Wilson 1927; Brown, Cai and DasGupta 2001, Interval Estimation for a Binomial
    Proportion.
    """
    low_tail, high_tail = _tails(k, n, level, alternative)
    if n == 0:
        return NO_BOUNDS

    def end(z: float) -> float:
        square = z * z
        return (k + square / 2 + z * math.sqrt(k * (n - k) / n + square / 4)) / (n + square)

    low = 0.0 if low_tail == 0 or k == 0 else end(normal_ppf(low_tail))
    high = 1.0 if high_tail == 0 or k == n else end(-normal_ppf(high_tail))
    return Bounds(max(low, 0.0), min(high, 1.0))


def beta_interval(
    k: float, n: float, level: float = 0.95, alternative: str = "two-sided"
) -> Bounds:
    """Return the equal-tailed interval of Beta(1 + k, 1 + n - k).

    The posterior of a share under a uniform prior: Bowyer et al. 2025 (arXiv 2503.01747).
    Parameters as of `wilson`; k may be a fraction, and n = 0 gives the prior's.
    """
    low_tail, high_tail = _tails(k, n, level, alternative)
    a, b = 1 + k, 1 + n - k
    return Bounds(beta_ppf(low_tail, a, b), beta_ppf(1 - high_tail, a, b))


def clopper_pearson(k: int, n: int, level: float = 0.95, alternative: str = "two-sided") -> Bounds:
    """Return the exact interval of Clopper and Pearson 1934, by beta quantiles.

    Parameters as of `wilson`, but whole numbers; NaN where n = 0.
    """
    k, n = integer(k, "k"), integer(n, "n")
    low_tail, high_tail = _tails(k, n, level, alternative)
    if n == 0:
        return NO_BOUNDS
    low = 0.0 if k == 0 else beta_ppf(low_tail, k, n - k + 1)
    high = 1.0 if k == n else beta_ppf(1 - high_tail, k + 1, n - k)
    return Bounds(low, high)


def zero_flip_bound(n: int, alpha: float = 0.05) -> float:
    """Return the upper bound 1 - alpha^(1/n) on the chance to flip, after none in n.

    Clopper and Pearson's one-sided bound at 0 of n; 1 where n = 0.
    """
    n = integer(n, "n")
    return -math.expm1(math.log(fraction(alpha, "alpha")) / n) if n else 1.0


def binom_p(k: int, n: int, p: float = 0.5, alternative: str = "two-sided") -> float:
    """Return the exact binomial test's p value, for H0: the share is p.

    Two-sided it sums the outcomes that are no more likely than k, as R and scipy do.
    """
    k, n = integer(k, "k"), integer(n, "n")
    _check_share(k, n)
    side = alternative_of(alternative)
    if side != "two-sided":
        return binom_sf(k, n, p) if side == "greater" else binom_cdf(k, n, p)
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


def _check_share(k: float, n: float) -> None:
    if not (0 <= k <= n and math.isfinite(n)):
        raise StatsError(f"{k} of {n} is no share")


def _tails(k: float, n: float, level: float, alternative: str) -> tuple[float, float]:
    """Check the arguments of an interval; return what it leaves out below and above."""
    _check_share(k, n)
    rest = 1 - fraction(level, "level")
    side = alternative_of(alternative)
    if side == "two-sided":
        return rest / 2, rest / 2
    return (rest, 0.0) if side == "greater" else (0.0, rest)


def mcnemar_exact(b: int, c: int, *, alternative: str = "two-sided") -> StatResult:
    """Test exactly whether flips one way are as likely as the other.

    `b` and `c` tasks flipped the one way and the other. ``greater`` is for H1: b is the likelier;
    its p is P(Bin(b + c, 1/2) >= b), `mid_p` that of Fagerland, Lydersen and Laake 2013. p = 1
    where nothing flipped. `statistic` is b, `estimate` b - c.
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

    (abs(b - c) - 1)^2 / (b + c) with Edwards' correction (1948), which is left out where
    b = c, as in R; p = 1 where nothing flipped. For few flips take `mcnemar_exact`.
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

    `gain` and `loss` are a task's chances to flip the one way and the other; ``greater`` looks for
    gains, two-sided counts a rejection to either side. The sum over m of
    P(Bin(n, gain + loss) = m) P(the test rejects | m flips).
    """
    n = integer(n, "n")
    tail = one_tail(alpha, alternative)
    flips = gain + loss
    if gain < 0 or loss < 0 or flips > 1:
        raise StatsError(f"gain {gain} and loss {loss} are no chances of one task")
    if flips == 0:
        return 0.0
    if alternative == "less":
        gain, loss = loss, gain
    share = gain / flips
    power, needed = 0.0, 0
    for m in range(1, n + 1):
        # the fewest flips one way that reject grows by one at most from m - 1 to m
        while needed <= m and binom_sf(needed, m, 0.5) > tail:
            needed += 1
        weight = binom_pmf(m, n, flips)
        if weight > _NEGLIGIBLE and needed <= m:
            power += weight * binom_sf(needed, m, share)
            if alternative == "two-sided":
                power += weight * binom_sf(needed, m, 1 - share)
    return min(power, 1.0)


def pass_at_k(n: ArrayLike, c: ArrayLike, k: int) -> Any:
    """Return the chance that at least one of k rollouts passes, unbiased.

    `n` rollouts of each task, `c` of which passed: numbers, or arrays that broadcast. The result is
    1 - C(n - c, k) / C(n, k), of the shape that they broadcast to; 1 where n - c < k <= n, NaN
    where n < k.

    Chen et al. 2021, Evaluating Large Language Models Trained on Code (arXiv 2107.03374),
    equation 1. Correctly rounded up to n = 1024; above by their product, in logarithms.
    """
    return _by_table(n, c, k, _pass_at)


def pass_hat_k(n: ArrayLike, c: ArrayLike, k: int) -> Any:
    """Return the chance that all of k rollouts pass, unbiased: C(c, k) / C(n, k).

    Arguments and result as of `pass_at_k`. Yao et al. 2024, tau-bench (arXiv
    2406.12045).
    """
    return _by_table(n, c, k, _pass_hat)


def mean_pass_hat_k(n: ArrayLike, c: ArrayLike, k: int) -> float:
    """Return pass^k, the mean of `pass_hat_k` over tasks; NaN where any task has n < k."""
    values = np.atleast_1d(pass_hat_k(n, c, k))
    return mean_of(values) if values.size else math.nan


def max_at_k(rewards: ArrayLike, k: int) -> Any:
    """Return the expected best of k rewards drawn without replacement; pass@k for graded rewards.

    The last axis of `rewards` holds those of one task; NaN where n < k, or where one is NaN. Of the
    C(n, k) ways to draw k, C(i - 1, k - 1) hold the i-th smallest and k - 1 of those under it.
    """
    values = np.asarray(rewards, dtype=np.float64)
    if values.ndim == 0:
        raise StatsError("rewards is a single number, where those of a task are expected")
    k, n = integer(k, "k", 1), values.shape[-1]
    if n < k:
        return np.full(values.shape[:-1], math.nan)[()]
    ways = math.comb(n, k)
    weights = np.array([math.comb(i - 1, k - 1) / ways for i in range(1, n + 1)])
    weighted = np.sort(values, axis=-1) * weights
    return row_totals(weighted.reshape(-1, n)).reshape(values.shape[:-1])[()]


def _pass_at(n: int, k: int, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    if n > _EXACT:
        return np.array([-math.expm1(log) for log in _log_none(n, k, counts).tolist()])
    ways = math.comb(n, k)
    return np.array([(ways - math.comb(n - c, k)) / ways for c in counts.tolist()])


def _pass_hat(n: int, k: int, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    if n > _EXACT:
        return np.array([math.exp(log) for log in _log_none(n, k, n - counts).tolist()])
    ways = math.comb(n, k)
    return np.array([math.comb(c, k) / ways for c in counts.tolist()])


def _log_none(n: int, k: int, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Log of C(n - c, k) / C(n, k): that none of k is among the c."""
    factors = [math.log1p(-k / m) for m in range(n, k, -1)]  # C(n - 1, k) / C(n, k) and so on down
    logs = np.concatenate(([0.0], np.cumsum(factors)))
    return np.where(n - counts < k, -np.inf, logs[np.minimum(counts, n - k)])


def _by_table(n: ArrayLike, c: ArrayLike, k: int, estimate: Estimator) -> Any:
    """Compute each (n, c) that occurs once, and look it up for every task."""
    k = integer(k, "k", 1)
    tries, passes = _counts(n, "n"), _counts(c, "c")
    if tries.shape != passes.shape:
        tries, passes = np.broadcast_arrays(tries, passes)
    if (passes > tries).any():
        at = int(np.flatnonzero(passes.ravel() > tries.ravel())[0])
        raise StatsError(f"{passes.flat[at]} of {tries.flat[at]} rollouts can't have passed")
    if not tries.size:
        return np.zeros(tries.shape)
    first = int(tries.flat[0])
    if first <= _FEW and (tries == first).all():
        table = _every_count(estimate, first, k) if first >= k else np.full(first + 1, math.nan)
        return table[passes]
    width = int(passes.max()) + 1
    keys, place = _unique((tries * width + passes).ravel(), (int(tries.max()) + 1) * width)
    table = np.full(keys.size, math.nan)
    ns, cs = np.divmod(keys, width)
    for each in np.unique(ns[ns >= k]).tolist():
        table[ns == each] = estimate(each, k, cs[ns == each])
    return table[place].reshape(tries.shape)[()]


@lru_cache(maxsize=256)
def _every_count(estimate: Estimator, n: int, k: int) -> NDArray[np.float64]:
    return estimate(n, k, np.arange(n + 1))


def _unique(keys: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """np.unique with its inverse; by address, which is five times as fast, where `size` allows."""
    if size > _DENSE:
        unique, place = np.unique(keys, return_inverse=True)
        return unique, place
    seen = np.zeros(size, dtype=np.bool_)
    seen[keys] = True
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[keys]


def _counts(values: ArrayLike, name: str) -> NDArray[np.int64]:
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "iufb":
        raise StatsError(f"{name} holds something that is no number")
    whole = numbers
    if numbers.dtype != np.int64:
        with np.errstate(invalid="ignore"):
            whole = numbers.astype(np.int64)
    if (whole is not numbers and (whole != numbers).any()) or (whole < 0).any():
        raise StatsError(f"{name} holds a number that is no count")
    return whole
