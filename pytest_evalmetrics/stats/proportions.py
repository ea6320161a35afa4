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
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    # n, k, several c -> the chance for each c
    Estimator = Callable[[int, int, NDArray[np.int64]], NDArray[np.float64]]

_EXACT = 1024  # up to this n the binomials are whole numbers, above it products


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
    """Return the upper bound 1 - alpha^(1/n) on the chance to flip, after none in n.

    Clopper and Pearson's one-sided bound at 0 of n; 1 where n = 0.
    """
    n = integer(n, "n")
    return -math.expm1(math.log(fraction(alpha, "alpha")) / n) if n else 1.0


def _check_share(k: float, n: float) -> None:
    if not (0 <= k <= n and math.isfinite(n)):
        raise StatsError(f"{k} of {n} is no share")


def tails(k: float, n: float, level: float, alternative: str) -> tuple[float, float]:
    """Check the arguments of an interval; return what it leaves out below and above."""
    _check_share(k, n)
    rest = 1 - fraction(level, "level")
    side = alternative_of(alternative)
    if side == "two-sided":
        return rest / 2, rest / 2
    return (rest, 0.0) if side == "greater" else (0.0, rest)


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


def pass_m_of_n(n: ArrayLike, c: ArrayLike, m: int, k: int) -> Any:
    """Return the chance that at least m of k rollouts pass, unbiased.

    Arguments and result as of `pass_at_k`, which it is for m = 1; the upper tail of the
    hypergeometric distribution, sum over j >= m of C(c, j) C(n - c, k - j) / C(n, k).
    """
    return _by_table(n, c, k, _at_least(integer(m, "m", 1)))


@lru_cache(maxsize=64)
def _at_least(m: int) -> Estimator:
    def estimate(n: int, k: int, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        ways = math.comb(n, k)
        tails = (
            sum(math.comb(c, j) * math.comb(n - c, k - j) for j in range(m, k + 1))
            for c in counts.tolist()
        )
        return np.array([tail / ways for tail in tails])

    return estimate


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
    """Compute each c of an n once, and look it up for every task."""
    k = integer(k, "k", 1)
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
            values[of_size] = _every_count(estimate, size, k)[passes[of_size]]
    return values[()]


@lru_cache(maxsize=256)
def _every_count(estimate: Estimator, n: int, k: int) -> NDArray[np.float64]:
    return estimate(n, k, np.arange(n + 1))


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
