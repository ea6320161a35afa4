"""The paired bootstrap of a metric that is no mean over tasks.

==========================================  ===========================================
the metric, and its n tasks                 a replicate is
==========================================  ===========================================
weighted, few distinct pairs of values      multinomial counts of these pairs
any, n <= 2,048                             an index vector, the same for both sides
weighted, n > 2,048                         how often each task was drawn
any other                                   refused
==========================================  ===========================================
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics import stats
from pytest_evalmetrics.masks import all_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import PairedMetric

    Floats = NDArray[np.float64]
    # how many replicates, and random numbers -> how often each unit was drawn, one by one
    Draws = Callable[[int, np.random.Generator], Iterator[Floats]]

__all__ = ["WeightedCombine", "bootstrap"]

WeightedCombine = Callable[["NDArray[np.float64]", "NDArray[np.float64]"], float]

_NAME = "paired bootstrap"
_MOST = 2_048  # tasks drawn by index, and distinct pairs drawn by count
_FEW = 64  # distinct pairs: counts are then cheaper than an index vector of any length
_LOOK = 4_096  # tasks looked at before all are sorted
_DRAWS, _TENFOLD = 9_999, 10
_LARGE, _LARGE_DRAWS = 20_000, 1_999  # tasks drawn one by one: a replicate takes milliseconds
_CLOSE = 3  # standard errors of p
_TIE = 1e-12  # of the largest: a replicate that is 0 but for rounding
_FEWEST = 2  # units that have a spread


def bootstrap(
    pair: PairedMetric,
    sign: float,
    *,
    alpha: float,
    seed: int,
    level: float = 0.95,
    clusters: NDArray[np.int64] | None = None,
    combine_weighted: WeightedCombine | None = None,
) -> stats.StatResult:
    """Test the damage of one metric by resampling tasks, or clusters of tasks.

    Parameters
    ----------
    pair
        The metric on both sides; offers its difference.
    sign
        1 where a fall is damage, -1 where a rise is.
    alpha
        The level at which p will be judged: with ten times the draws where p is near it.
    seed
        Of PCG64.
    level
        The confidence of the two-sided interval.
    clusters
        Each task's cluster, from 0, shape (tasks,).
    combine_weighted
        Reduces the tasks' values that occur so many times each; None if not offered.

    Raises
    ------
    StatsError
        If there are too many tasks for a metric without a weighted form, or a replicate is
        not finite.
    EvalMetricsError
        If the metric fails on a resample.

    Notes
    -----
    p = (1 + #{D* <= 0}) / (B + 1), and the percentile interval (Efron and Tibshirani 1993,
    chapter 13). To draw n tasks of which many have the same two values is to draw the counts
    of these pairs of values from a multinomial distribution. More than 20,000 tasks whose
    values differ are drawn 1,999 times, not 9,999.
    """
    n = len(pair.tasks)
    units = n if clusters is None else int(clusters.max()) + 1
    if _same(pair):  # then each replicate is 0
        return stats.StatResult(_NAME, 1.0, estimate=0.0, se=0.0, n=n, units=units)
    if units < _FEWEST:
        return stats.StatResult(_NAME, math.nan, n=n, units=units)
    if pair.baseline is not None and pair.current is not None and combine_weighted is not None:
        sides = pair.baseline, pair.current
        found = _few_distinct(*sides, most=_FEW if n <= _MOST else _MOST)
        if found is not None and clusters is None:
            baseline, current, counts = found
            damage = _weighted_damage(baseline, current, combine_weighted, sign)
            return _test(damage, _by_count(counts), (alpha, level, seed), (n, n))
        if n > _MOST:
            damage = _weighted_damage(*sides, combine_weighted, sign)
            draws = _LARGE_DRAWS if n > _LARGE else _DRAWS
            by_unit = _by_unit(clusters, units)
            return _test(damage, by_unit, (alpha, level, seed), (n, units), draws)
    difference = pair.difference
    if difference is None:
        raise AssertionError("a metric that is no mean over tasks offers its difference")
    if n > _MOST:
        raise stats.TooManyUnitsError(
            f"it is no mean over tasks and has no weighted form, and {n} tasks are too many to "
            f"resample it ({_MOST} at most)"
        )
    return stats.reducer_bootstrap(
        lambda tasks: sign * difference(tasks),
        n,
        seed=seed,
        clusters=clusters,
        alternative="greater",
        alpha=alpha,
        level=level,
    )


def _same(pair: PairedMetric) -> bool:
    """Whether both sides hold the same numbers."""
    if pair.baseline is not None and pair.current is not None:
        return np.array_equal(pair.baseline, pair.current)
    one, other = pair.rewards_baseline, pair.rewards_current
    return np.array_equal(one.values, other.values) and np.array_equal(one.offsets, other.offsets)


def _few_distinct(
    baseline: Floats, current: Floats, *, most: int
) -> tuple[Floats, Floats, NDArray[np.int64]] | None:
    """Return the distinct pairs of values, and how often each occurs; None if there are many."""
    pairs = np.empty(len(baseline), dtype=np.complex128)
    pairs.real, pairs.imag = baseline, current
    if np.unique(pairs[:_LOOK]).size > most:
        return None
    distinct, counts = np.unique(pairs, return_counts=True)
    return (distinct.real.copy(), distinct.imag.copy(), counts) if distinct.size <= most else None


def _weighted_damage(
    baseline: Floats, current: Floats, combine: WeightedCombine, sign: float
) -> Callable[[Floats], float]:
    orders = np.argsort(baseline, kind="stable"), np.argsort(current, kind="stable")
    one, other = baseline[orders[0]], current[orders[1]]  # a metric sorts what is sorted faster

    def damage(times: Floats) -> float:
        return sign * (combine(one, times[orders[0]]) - combine(other, times[orders[1]]))

    return damage


def _by_count(counts: NDArray[np.int64]) -> Draws:
    """Draw how often each distinct pair occurs among as many tasks."""
    size = int(counts.sum())

    def draws(count: int, rng: np.random.Generator) -> Iterator[Floats]:
        rows = max(1, (1 << 20) // len(counts))
        for start in range(0, count, rows):
            shape = min(rows, count - start)
            yield from rng.multinomial(size, counts / size, size=shape).astype(np.float64)

    return draws


def _by_unit(clusters: NDArray[np.int64] | None, units: int) -> Draws:
    """Draw how often each task occurs, by task or by whole clusters."""

    def draws(count: int, rng: np.random.Generator) -> Iterator[Floats]:
        for _ in range(count):
            drawn = rng.integers(0, units, size=units, dtype=np.int32)
            times = np.bincount(drawn, minlength=units).astype(np.float64)
            yield times if clusters is None else times[clusters]

    return draws


def _test(
    damage: Callable[[Floats], float],
    draw: Draws,
    settings: tuple[float, float, int],
    sizes: tuple[int, int],
    draws: int = _DRAWS,
) -> stats.StatResult:
    alpha, level, seed = settings
    n, units = sizes

    def replicates(count: int) -> Floats:
        rng = np.random.Generator(np.random.PCG64(seed))
        found = np.fromiter(map(damage, draw(count, rng)), dtype=np.float64, count=count)
        if not all_of(np.isfinite(found)):
            raise stats.StatsError("the metric is no finite number on some resamples")
        return found

    found = replicates(draws)
    p = _p_value(found)
    if draws == _DRAWS and abs(p - alpha) < _CLOSE * math.sqrt(p * (1 - p) / draws):
        found = replicates(_TENFOLD * draws)
        p = _p_value(found)
    spread = float(np.ptp(found))
    if spread == 0 and found[0] != 0:
        p = max(p, 0.5**units)  # all alike: no more than a sign flip of the units tells
    tail = (1 - level) / 2
    bounds = [stats.quantile7(found, q) if spread else math.nan for q in (tail, 1 - tail)]
    return stats.StatResult(
        name=_NAME if n == units else f"clustered {_NAME}",
        p=p,
        se=float(found.std(ddof=1)),
        low=bounds[0],
        high=bounds[1],
        n=n,
        units=units,
        draws=found.size,
    )


def _p_value(found: Floats) -> float:
    slack = _TIE * float(np.abs(found).max())
    return (1 + int((found <= slack).sum())) / (found.size + 1)
