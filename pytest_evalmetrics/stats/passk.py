"""pass@k, pass^k and max@k: what k rollouts would give, from the n that there are."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics.masks import all_of, any_of
from pytest_evalmetrics.stats.inputs import StatsError, integer
from pytest_evalmetrics.sums import mean_of, row_totals

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

__all__ = ["max_at_k", "max_at_k_weights", "mean_pass_hat_k", "pass_at_k", "pass_hat_k"]

_EXACT = 1024  # up to this n the binomials are whole numbers, above it products
_FEW = 64  # up to this n every c is computed once for all benchmarks
_DENSE = 4_000_000  # (n, c) pairs that a table by address may have


def pass_at_k(n: ArrayLike, c: ArrayLike, k: int) -> Any:
    """Return the chance that at least one of k rollouts passes, unbiased.

    Parameters
    ----------
    n
        Rollouts of each task: one number, or an array.
    c
        How many of them passed; broadcasts with `n`.
    k
        At least 1.

    Returns
    -------
    float or ndarray
        1 - C(n - c, k) / C(n, k), of the shape that `n` and `c` broadcast to; 1 where
        n - c < k <= n, NaN where n < k.

    Raises
    ------
    StatsError
        Where a number is not whole, or not 0 <= c <= n.

    Notes
    -----
    Chen et al. 2021, Evaluating Large Language Models Trained on Code (arXiv 2107.03374),
    equation 1. Correctly rounded up to n = 1024; above by their product, in logarithms.
    """
    return _by_table(n, c, k, _pass_at)


def pass_hat_k(n: ArrayLike, c: ArrayLike, k: int) -> Any:
    """Return the chance that all of k rollouts pass, unbiased: C(c, k) / C(n, k).

    Parameters, result and errors as of `pass_at_k`. Yao et al. 2024, tau-bench (arXiv
    2406.12045).
    """
    return _by_table(n, c, k, _pass_hat)


def mean_pass_hat_k(n: ArrayLike, c: ArrayLike, k: int) -> float:
    """Return pass^k, the mean of `pass_hat_k` over tasks; NaN where any task has n < k."""
    values = np.atleast_1d(pass_hat_k(n, c, k))
    return mean_of(values) if values.size else math.nan


def max_at_k_weights(n: int, k: int) -> NDArray[np.float64]:
    """Return what each of n sorted rewards weighs in the expected best of k.

    Parameters
    ----------
    n, k
        Rewards of a task, and how many of them are drawn without replacement.

    Returns
    -------
    ndarray of shape (n,)
        w_i = C(i - 1, k - 1) / C(n, k), the chance that the i-th smallest is the best of
        k; NaN where n < k.

    Notes
    -----
    `pass_at_k` for rewards that are not 0 or 1. Of the C(n, k) ways to draw k, C(i - 1,
    k - 1) hold the i-th smallest and k - 1 of those under it.
    """
    n, k = integer(n, "n"), integer(k, "k", 1)
    if n < k:
        return np.full(n, math.nan)
    ways = math.comb(n, k)
    return np.array([math.comb(i - 1, k - 1) / ways for i in range(1, n + 1)])


def max_at_k(rewards: ArrayLike, k: int) -> Any:
    """Return the expected best of k rewards drawn without replacement.

    Parameters
    ----------
    rewards
        Rewards, shape (..., n): the last axis holds those of one task.
    k
        At least 1.

    Returns
    -------
    float or ndarray
        Shape (...,); NaN where n < k, or where a reward is NaN.
    """
    values = np.asarray(rewards, dtype=np.float64)
    if values.ndim == 0:
        raise StatsError("rewards is a single number, where those of a task are expected")
    k, n = integer(k, "k", 1), values.shape[-1]
    if n < k:
        return np.full(values.shape[:-1], math.nan)[()]
    weighted = np.sort(values, axis=-1) * max_at_k_weights(n, k)
    return row_totals(weighted.reshape(-1, n)).reshape(values.shape[:-1])[()]


def _pass_at(n: int, k: int, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """pass@k of one n >= k for several c."""
    if n > _EXACT:
        return np.array([-math.expm1(log) for log in _log_none(n, k, counts).tolist()])
    ways = math.comb(n, k)
    return np.array([(ways - math.comb(n - c, k)) / ways for c in counts.tolist()])


def _pass_hat(n: int, k: int, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """pass^k of one n >= k for several c."""
    if n > _EXACT:
        return np.array([math.exp(log) for log in _log_none(n, k, n - counts).tolist()])
    ways = math.comb(n, k)
    return np.array([math.comb(c, k) / ways for c in counts.tolist()])


def _log_none(n: int, k: int, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Log of C(n - c, k) / C(n, k): that none of k is among the c."""
    factors = [math.log1p(-k / m) for m in range(n, k, -1)]  # C(n - 1, k) / C(n, k) and so on down
    logs = np.concatenate(([0.0], np.cumsum(factors)))
    return np.where(n - counts < k, -np.inf, logs[np.minimum(counts, n - k)])


def _by_table(
    n: ArrayLike,
    c: ArrayLike,
    k: int,
    estimate: Callable[[int, int, NDArray[np.int64]], NDArray[np.float64]],
) -> Any:
    """Compute each (n, c) that occurs once, and look it up for every task."""
    k = integer(k, "k", 1)
    tries, passes = _whole(n, "n"), _whole(c, "c")
    if tries.shape != passes.shape:
        tries, passes = np.broadcast_arrays(tries, passes)
    if any_of(passes > tries):
        at = int(np.flatnonzero(passes.ravel() > tries.ravel())[0])
        raise StatsError(f"{passes.flat[at]} of {tries.flat[at]} rollouts can't have passed")
    if not tries.size:
        return np.zeros(tries.shape)
    first = int(tries.flat[0])
    if first <= _FEW and all_of(tries == first):
        table = _few(estimate, first, k) if first >= k else np.full(first + 1, math.nan)
        return table[passes]
    width = int(passes.max()) + 1
    keys = tries.astype(np.int64) * width + passes
    found, place = _unique(keys.ravel(), (int(tries.max()) + 1) * width)
    table = np.full(found.size, math.nan)
    ns, cs = np.divmod(found, width)
    for each in np.unique(ns[ns >= k]).tolist():
        table[ns == each] = estimate(each, k, cs[ns == each])
    return table[place].reshape(tries.shape)[()]


@lru_cache(maxsize=256)
def _few(
    estimate: Callable[[int, int, NDArray[np.int64]], NDArray[np.float64]], n: int, k: int
) -> NDArray[np.float64]:
    """Compute each c of one small n, whether it occurs or not."""
    return estimate(n, k, np.arange(n + 1))


def _unique(keys: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """np.unique with its inverse; by address, not by sorting, where `size` allows."""
    if size > _DENSE:
        found, place = np.unique(keys, return_inverse=True)
        return found, place
    seen = np.zeros(size, dtype=np.bool_)
    seen[keys] = True
    found = np.flatnonzero(seen)
    address = np.cumsum(seen) - 1
    return found, address[keys]


def _whole(values: ArrayLike, name: str) -> NDArray[np.int64]:
    given = np.asarray(values)
    if given.dtype.kind not in "iufb":
        raise StatsError(f"{name} holds something that is no number")
    whole = given
    if given.dtype != np.int64:
        with np.errstate(invalid="ignore"):
            whole = given.astype(np.int64)
    if (whole is not given and any_of(whole != given)) or any_of(whole < 0):
        raise StatsError(f"{name} holds a number that is no count")
    return whole
