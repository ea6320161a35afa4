"""Bootstrap tests and intervals over tasks, or over clusters of tasks; deterministic."""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal

import numpy as np

from pytest_evalmetrics.stats.inputs import (
    StatsError,
    alternative_of,
    cluster_codes,
    fraction,
    integer,
    vector,
)
from pytest_evalmetrics.stats.means import FEWEST, NO_BOUNDS
from pytest_evalmetrics.stats.outcome import Bounds, StatResult
from pytest_evalmetrics.stats.quantiles import quantile7
from pytest_evalmetrics.stats.resampling import mean_draws, reducer_draws

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from pytest_evalmetrics.stats.outcome import Alternative
    from pytest_evalmetrics.stats.resampling import Reducer, WeightedReducer

    Draw = Callable[[int, np.random.Generator], NDArray[np.float64]]

__all__ = ["DRAWS", "bootstrap_ci", "paired_bootstrap", "reducer_bootstrap", "seed_of"]

DRAWS = 9_999
_MORE = 10  # times the draws, where p is too near to alpha to tell
_CLOSE = 3  # standard errors of p
_TIE = 1e-12  # of the largest: a replicate that is 0 but for rounding


def seed_of(gate_id: str, task_ids: Iterable[object]) -> int:
    """Return the seed of a gate over given tasks: the same whatever their order.

    A 128-bit blake2b of the gate's id and the sorted texts of the task ids, each with its
    length, so that no two lists run together.
    """
    names = [gate_id, *sorted(map(str, task_ids))]
    sizes = np.fromiter(map(len, names), dtype="<i8", count=len(names))
    digest = blake2b(sizes.tobytes(), digest_size=16)
    digest.update("".join(names).encode("utf-8", "surrogatepass"))
    return int.from_bytes(digest.digest(), "little")


def paired_bootstrap(
    d: ArrayLike,
    *,
    seed: int,
    clusters: ArrayLike | Sequence[object] | None = None,
    alternative: str = "two-sided",
    alpha: float = 0.01,
    level: float = 0.95,
    draws: int = DRAWS,
) -> StatResult:
    """Test the mean of paired differences against 0 by resampling tasks, or clusters.

    Parameters
    ----------
    d
        One difference per task, shape (n,).
    seed
        Of PCG64; see `seed_of`.
    clusters
        One label per task, shape (n,): then whole clusters are drawn.
    alternative
        ``greater`` for H1: mean(d) > 0.
    alpha
        The level at which the caller will judge p: ten times as many draws are made
        where abs(p - alpha) < 3 sqrt(p (1 - p) / B).
    level
        The confidence of the two-sided percentile interval in the result.
    draws
        B.

    Returns
    -------
    StatResult
        p = (1 + #{D* <= 0}) / (B + 1) for ``greater``; NaN where there are fewer than two
        units. `draws` is the B that p rests on. Where all replicates are alike p is that
        of the sign flip of the units, 2^-units, if it is the larger, and the interval NaN.

    Notes
    -----
    Efron and Tibshirani 1993, An Introduction to the Bootstrap, chapter 13; the 1 is
    that of Davison and Hinkley 1997, Bootstrap Methods and their Application, chapter 4.
    How replicates are made at each size is told in `resampling`.
    """
    values = vector(d, "d")
    groups = None if clusters is None else cluster_codes(clusters, values.size)
    units = values.size if groups is None else groups[1]
    estimate = float(values.mean()) if values.size else math.nan

    def draw(count: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return mean_draws(values, groups, count, rng)

    return _test(
        draw,
        estimate,
        (values.size, units),
        seed=seed,
        alternative=alternative,
        alpha=alpha,
        level=level,
        draws=draws,
    )


def reducer_bootstrap(
    reducer: Reducer | None,
    n: int,
    *,
    seed: int,
    weighted: WeightedReducer | None = None,
    clusters: ArrayLike | Sequence[object] | None = None,
    alternative: str = "two-sided",
    alpha: float = 0.01,
    level: float = 0.95,
    draws: int = DRAWS,
) -> StatResult:
    """Test any difference of two sides against 0 by resampling tasks, or clusters.

    Parameters
    ----------
    reducer
        Takes the indices of the drawn tasks, shape (m,), and returns the difference; one
        index vector serves both sides, so that the pairs stay pairs. None where only
        `weighted` is offered.
    n
        Tasks.
    seed, clusters, alternative, alpha, level, draws
        As of `paired_bootstrap`.
    weighted
        Takes how often each task was drawn, shape (n,), and returns the difference. Used
        where n > 2,048; a replicate then costs a pass over the n tasks.

    Returns
    -------
    StatResult
        As of `paired_bootstrap`.

    Raises
    ------
    TooManyUnitsError
        Where n > 2,048 and no `weighted` is given.
    StatsError
        Where a replicate is not finite.
    """
    n = integer(n, "n")
    groups = None if clusters is None else cluster_codes(clusters, n)
    units = n if groups is None else groups[1]
    estimate = math.nan
    if n and reducer is not None:
        estimate = float(reducer(np.arange(n)))
    elif n and weighted is not None:
        estimate = float(weighted(np.ones(n)))

    def draw(count: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return reducer_draws(reducer, n, groups, count, rng, weighted=weighted)

    return _test(
        draw,
        estimate,
        (n, units),
        seed=seed,
        alternative=alternative,
        alpha=alpha,
        level=level,
        draws=draws,
    )


def bootstrap_ci(
    x: ArrayLike,
    *,
    seed: int,
    method: Literal["percentile", "basic"] = "percentile",
    level: float = 0.95,
    draws: int = DRAWS,
    clusters: ArrayLike | Sequence[object] | None = None,
) -> Bounds:
    """Return a bootstrap interval of a mean.

    Parameters
    ----------
    x
        One value per task, shape (n,).
    seed
        Of PCG64.
    method
        ``percentile``: the quantiles of the replicates; ``basic``: twice the mean less
        them (Davison and Hinkley 1997, chapter 5).
    level, draws, clusters
        As of `paired_bootstrap`.

    Returns
    -------
    Bounds
        NaN where there are fewer than two units, or where all replicates are alike.
    """
    if method not in ("percentile", "basic"):
        raise StatsError(f"method is {method!r}, where percentile or basic is expected")
    values = vector(x)
    groups = None if clusters is None else cluster_codes(clusters, values.size)
    fraction(level, "level")
    if (values.size if groups is None else groups[1]) < FEWEST:
        return NO_BOUNDS
    rng = np.random.Generator(np.random.PCG64(seed))
    low, high = _percentiles(mean_draws(values, groups, integer(draws, "draws", 1), rng), level)
    if method == "percentile":
        return Bounds(low, high)
    twice = 2 * float(values.mean())
    return Bounds(twice - high, twice - low)


def _test(
    draw: Draw,
    estimate: float,
    sizes: tuple[int, int],
    *,
    seed: int,
    alternative: str,
    alpha: float,
    level: float,
    draws: int,
) -> StatResult:
    side = alternative_of(alternative)
    fraction(alpha, "alpha")
    fraction(level, "level")
    draws = integer(draws, "draws", 1)
    n, units = sizes
    if units < FEWEST:
        return StatResult("paired bootstrap", math.nan, estimate=estimate, n=n, units=units)
    found = draw(draws, np.random.Generator(np.random.PCG64(seed)))
    p = _p_value(found, side)
    if abs(p - alpha) < _CLOSE * math.sqrt(p * (1 - p) / draws):
        found = draw(_MORE * draws, np.random.Generator(np.random.PCG64(seed)))
        p = _p_value(found, side)
    if np.ptp(found) == 0 and estimate != 0:
        p = max(p, min(1.0, 0.5**units * (2 if side == "two-sided" else 1)))
    low, high = _percentiles(found, level)
    return StatResult(
        name="paired bootstrap" if n == units else "clustered paired bootstrap",
        p=p,
        estimate=estimate,
        se=float(found.std(ddof=1)) if found.size > 1 else math.nan,
        low=low,
        high=high,
        n=n,
        units=units,
        draws=found.size,
    )


def _p_value(found: NDArray[np.float64], side: Alternative) -> float:
    slack = _TIE * float(np.abs(found).max())
    not_above = (1 + int((found <= slack).sum())) / (found.size + 1)
    not_below = (1 + int((found >= -slack).sum())) / (found.size + 1)
    if side == "two-sided":
        return min(1.0, 2 * min(not_above, not_below))
    return not_above if side == "greater" else not_below


def _percentiles(found: NDArray[np.float64], level: float) -> Bounds:
    if np.ptp(found) == 0:
        return NO_BOUNDS
    return Bounds(quantile7(found, (1 - level) / 2), quantile7(found, (1 + level) / 2))
