"""Shares: intervals of k of n, and pass@k."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics.stats.basics import (
    NO_BOUNDS,
    Bounds,
    StatsError,
    alternative_of,
    fraction,
    integer,
    normal_ppf,
)
from pytest_evalmetrics.sums import row_totals

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

_EXACT = 1024  # up to this n the binomials are whole numbers, above it products


def wilson(k: float, n: float, level: float = 0.95, alternative: str = "two-sided") -> Bounds:
    """Return Wilson's score interval of k in n, within [0, 1]; NaN where n = 0.

    `k` may be a fraction, such as the sum of rewards on [0, 1]. ``greater`` gives a lower bound
    alone, ``less`` an upper one. Wilson 1927; Brown, Cai and DasGupta 2001, Interval Estimation for
    a Binomial Proportion.
    """
    low_tail, high_tail = tails(k, n, level, alternative)
    if n == 0:
        return NO_BOUNDS

    def end(z: float) -> float:
        square = z * z
        return (k + square / 2 + z * math.sqrt(k * (n - k) / n + square / 4)) / (n + square)

    low = 0.0 if low_tail == 0 or k == 0 else end(normal_ppf(low_tail))
    high = 1.0 if high_tail == 0 or k == n else end(-normal_ppf(high_tail))
    return Bounds(max(low, 0.0), min(high, 1.0))


def zero_flip_bound(n: int, alpha: float = 0.05) -> float:
    """Return Clopper and Pearson's upper bound 1 - alpha^(1/n) on a chance, after 0 of n."""
    n = integer(n, "n")
    return -math.expm1(math.log(fraction(alpha, "alpha")) / n) if n else 1.0


def tails(k: float, n: float, level: float, alternative: str) -> tuple[float, float]:
    """Check the arguments of an interval; return what it leaves out below and above."""
    if not (0 <= k <= n and math.isfinite(n)):
        raise StatsError(f"{k} of {n} is no share")
    rest = 1 - fraction(level, "level")
    side = alternative_of(alternative)
    if side == "two-sided":
        return rest / 2, rest / 2
    return (rest, 0.0) if side == "greater" else (0.0, rest)


def pass_at_k(n: ArrayLike, c: ArrayLike, k: int) -> Any:
    """Return the chance that at least one of k of n rollouts passes, c of which did, unbiased.

    1 - C(n - c, k) / C(n, k), of the shape that the arrays broadcast to; NaN where n < k. Chen et
    al. 2021 (arXiv 2107.03374), equation 1. Correctly rounded up to n = 1024; above by their
    product, in logarithms.
    """
    return _by_table(n, c, 1, integer(k, "k", 1))


def pass_hat_k(n: ArrayLike, c: ArrayLike, k: int) -> Any:
    """Return the chance that all of k rollouts pass, unbiased, C(c, k) / C(n, k).

    Yao et al. 2024, tau-bench (arXiv 2406.12045).
    """
    return _by_table(n, c, integer(k, "k", 1), k)


def pass_m_of_n(n: ArrayLike, c: ArrayLike, m: int, k: int) -> Any:
    """Return the chance that at least m of k rollouts pass, unbiased, as of `pass_at_k`.

    The upper tail of the hypergeometric distribution: sum over j >= m of C(c, j) C(n - c, k - j) /
    C(n, k).
    """
    return _by_table(n, c, integer(m, "m", 1), integer(k, "k", 1))


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


def _by_table(n: ArrayLike, c: ArrayLike, m: int, k: int) -> Any:
    """Compute each c of an n once, and look it up for every task."""
    tries, passes = _counts(n, "n"), _counts(c, "c")
    if tries.shape != passes.shape:
        tries, passes = np.broadcast_arrays(tries, passes)
    if (passes > tries).any():
        at = int(np.flatnonzero(passes.ravel() > tries.ravel())[0])
        raise StatsError(f"{passes.flat[at]} of {tries.flat[at]} rollouts can't have passed")
    sizes = np.flatnonzero(np.bincount(tries.ravel())).tolist()
    values = np.full(tries.shape, math.nan)
    for size in sizes:
        if size >= k:
            of_size = tries == size if len(sizes) > 1 else ...
            values[of_size] = _every_count(size, m, k)[passes[of_size]]
    return values[()]


@lru_cache(maxsize=256)
def _every_count(n: int, m: int, k: int) -> Floats:
    """Return the chance that at least m of k pass, where 0 ... n of n do."""
    if n > _EXACT and m in (1, k):
        # log of C(n - c, k) / C(n, k), that none of k is among the c: C(n - 1, k) / C(n, k), ...
        factors = [math.log1p(-k / i) for i in range(n, k, -1)]
        none = [0.0, *np.cumsum(factors).tolist(), *[-math.inf] * k]
        of_all = [math.exp(log) for log in reversed(none)]
        return np.array(of_all if m == k else [-math.expm1(log) for log in none])
    ways = math.comb(n, k)
    if m == 1:
        return np.array([(ways - math.comb(n - c, k)) / ways for c in range(n + 1)])
    tails = (
        sum(math.comb(c, j) * math.comb(n - c, k - j) for j in range(m, k + 1))
        for c in range(n + 1)
    )
    return np.array([tail / ways for tail in tails])


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
