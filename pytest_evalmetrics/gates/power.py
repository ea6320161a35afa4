"""The smallest drop that a comparison sees with 80 % power."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics import stats
from pytest_evalmetrics.data import TaskRewards
from pytest_evalmetrics.masks import all_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import PairedMetric

    Floats = NDArray[np.float64]

__all__ = ["detectable_drop", "thinned_drop"]

_STEPS = 24  # halvings of the share that is lost
POWER = 0.8


def detectable_drop(
    pair: PairedMetric,
    sign: float,
    interval: stats.StatResult,
    *,
    alpha: float,
    clusters: NDArray[np.int64] | None = None,
) -> float:
    """Return the smallest drop that the test finds with 80 % power; NaN where none is.

    Parameters
    ----------
    pair
        The metric on both sides.
    sign
        1 where a fall is damage, -1 where a rise is.
    interval
        The drop with its standard error.
    alpha
        The level of the test.
    clusters
        Each task's cluster, shape (tasks,).

    Notes
    -----
    Of rewards with two values each task loses the same share of its good rollouts: that thins
    the current side at random, which adds to the variance of a difference what the loss itself
    brings. Other rewards fall by the same amount. Then drop = (t_{1-alpha} + t_{0.8}) SE(drop)
    (Miller 2024, arXiv 2411.00640, section 5).
    """
    factor = _factor(interval.df, alpha)
    one, other = pair.rewards_baseline.values, pair.rewards_current.values
    low, high = min(one.min(), other.min()), max(one.max(), other.max())
    two_valued = low < high and all(all_of((v == low) | (v == high)) for v in (one, other))
    if not two_valued or pair.baseline is None or pair.difference is not None:
        return factor * interval.se
    good, bad = (high, low) if sign > 0 else (low, high)
    rewards = pair.rewards_current
    passes = np.add.reduceat(rewards.values == good, rewards.offsets[:-1], dtype=np.int64)
    counts = rewards.counts
    most = int(counts.max()) + 1
    kinds, kind = np.unique(counts * most + passes, return_inverse=True)
    values = pair.task_values
    upto = np.minimum(np.arange(int(counts.max()) + 1), (kinds % most)[:, None])
    held = stats.two_valued(  # with 0, 1, ... of its good rollouts left, shape (kinds, most + 1)
        np.broadcast_to((kinds // most)[:, None], upto.shape),
        upto,
        (bad, good),
        None if values is None else lambda v, o: values(TaskRewards(v, o)),
    )
    n = len(counts)
    times = np.bincount(kind).astype(np.float64)
    before = np.bincount(kind, weights=pair.baseline)
    squares, mean = float(pair.baseline @ pair.baseline), float(pair.baseline.mean())

    def lost(share: float) -> tuple[float, float]:
        """Return the drop where such a share is lost, and its standard error."""
        chance = _binomial(kinds % most, held.shape[1], 1 - share)
        after = (chance * held).sum(axis=1)
        extra = float(times @ ((chance * held**2).sum(axis=1) - after**2)) / n
        drop = sign * float(times @ (held[np.arange(len(kinds)), kinds % most] - after)) / n
        if clusters is not None:
            se = stats.mean_se(pair.baseline - after[kind], clusters).se
            return drop, math.hypot(se, math.sqrt(max(extra, 0.0) / n))
        gap = mean - float(times @ after) / n
        spread = (squares - 2 * before @ after + times @ after**2) / n - gap**2
        variance = spread * n / (n - 1) + extra
        return drop, math.sqrt(max(float(variance), 0.0) / n)

    return thinned_drop(lost, factor)


def thinned_drop(lost: Callable[[float], tuple[float, float]], factor: float) -> float:
    """Solve drop = factor * SE over the share that is lost; NaN where losing all is not enough."""
    low, high = 0.0, 1.0
    drop, se = lost(1.0)
    if drop < factor * se:
        return math.nan
    for _ in range(_STEPS):
        middle = (low + high) / 2
        drop, se = lost(middle)
        low, high = (middle, high) if drop < factor * se else (low, middle)
    return float(f"{drop:.6g}")  # what is left is of the processor, not of the rollouts


def _binomial(trials: NDArray[np.int64], width: int, chance: float) -> Floats:
    """Return P(X = j), shape (kinds, width)."""
    j = np.arange(width)
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, width + 1)))))
    rest = np.maximum(trials[:, None] - j, 0)
    ways = np.exp(logs[trials][:, None] - logs[j] - logs[rest])
    found: Floats = np.where(j <= trials[:, None], ways * chance**j * (1 - chance) ** rest, 0.0)
    return found


@lru_cache(maxsize=256)
def _factor(df: float, alpha: float) -> float:
    """How many standard errors the test sees with 80 % power."""
    return stats.mde_from_se(1.0, df if df > 0 else math.inf, alpha=alpha, power=POWER)
