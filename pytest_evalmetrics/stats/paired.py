"""t tests of a difference: paired on tasks, and unpaired."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.stats.inputs import StatsError, alternative_of, vector
from pytest_evalmetrics.stats.means import MeanSE, around, mean_se
from pytest_evalmetrics.stats.outcome import Alternative, StatResult
from pytest_evalmetrics.stats.tails import t_sf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["paired_differences", "paired_t", "se_paired_from_corr", "welch"]

_SAME = 1e-12  # two means of the same rewards, added in another order


def paired_differences(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Return a - b per task, exactly 0 where they differ by rounding alone.

    The same rewards in another order give means that differ in the last digit; such a
    difference is neither a flip nor evidence.

    Parameters
    ----------
    a, b
        One value per task, shape (n,), in the same order of tasks.
    """
    first, second = vector(a, "a"), vector(b, "b")
    if first.size != second.size:
        raise StatsError(f"{first.size} values can't be paired with {second.size}")
    gap = first - second
    gap[np.abs(gap) <= _SAME * np.maximum(np.abs(first), np.abs(second))] = 0.0
    return gap


def paired_t(
    d: ArrayLike,
    *,
    clusters: ArrayLike | Sequence[object] | None = None,
    alternative: str = "two-sided",
    level: float = 0.95,
) -> StatResult:
    """Test the mean of paired differences against 0, by task or by cluster.

    Parameters
    ----------
    d
        One difference per task, shape (n,).
    clusters
        One label per task, shape (n,): the clustered standard error and df = G - 1.
    alternative
        ``greater`` for H1: mean(d) > 0.
    level
        The confidence of the two-sided interval in the result.

    Returns
    -------
    StatResult
        p is NaN where there are fewer than two independent units. Where all differences
        are equal there is no standard error to divide by: all 0 gives p = 1, another
        value the p of the sign flip of the units, 2^-units one-sided, for no more can be
        had from them. The interval is NaN in both.

    Notes
    -----
    Miller 2024, Adding Error Bars to Evals (arXiv 2411.00640), section 4.2, with
    Student's t for the normal.
    """
    side = alternative_of(alternative)
    values = vector(d, "d")
    found = mean_se(values, clusters)
    bounds = around(found, level)
    statistic, p = _t_and_p(found, side, 0.5**found.units)
    return StatResult(
        name="paired t" if clusters is None else "clustered paired t",
        p=p,
        statistic=statistic,
        df=found.df,
        estimate=found.mean,
        se=found.se,
        low=bounds.low,
        high=bounds.high,
        n=values.size,
        units=found.units,
    )


def welch(
    a: ArrayLike, b: ArrayLike, *, alternative: str = "two-sided", level: float = 0.95
) -> StatResult:
    """Test mean(a) - mean(b) against 0, unpaired and with unequal variances (Welch 1947).

    Parameters
    ----------
    a, b
        One value per task, shapes (n,) and (m,).
    alternative
        ``greater`` for H1: mean(a) > mean(b).
    level
        The confidence of the two-sided interval in the result.

    Returns
    -------
    StatResult
        df by Welch and Satterthwaite. p is NaN where a side has fewer than two values;
        where neither side has a spread, equal means give p = 1, others the p of the
        exact permutation test, one over the ways to deal the values to the sides.
    """
    side = alternative_of(alternative)
    one, two = mean_se(vector(a, "a")), mean_se(vector(b, "b"))
    variance = one.se**2 + two.se**2
    df = math.nan
    if variance > 0:
        df = variance**2 / (one.se**4 / one.df + two.se**4 / two.df)
    units = one.units + two.units
    log_ways = math.lgamma(units + 1) - math.lgamma(one.units + 1) - math.lgamma(two.units + 1)
    gap, se = one.mean - two.mean, math.sqrt(variance)
    found = MeanSE(gap, se, df, units)
    statistic, p = _t_and_p(found, side, math.exp(-log_ways))
    bounds = around(found, level)
    return StatResult(
        name="Welch t",
        p=p,
        statistic=statistic,
        df=df,
        estimate=gap,
        se=se,
        low=bounds.low,
        high=bounds.high,
        n=units,
        units=units,
    )


def _t_and_p(found: MeanSE, side: Alternative, floor: float) -> tuple[float, float]:
    """Return t and p; `floor` is the p value where the differences are all alike."""
    if math.isnan(found.se):
        return math.nan, math.nan
    if found.se == 0 and found.mean == 0:
        return 0.0, 1.0
    sign = -1 if side == "less" else 1
    if found.se == 0:
        toward = abs(found.mean) if side == "two-sided" else sign * found.mean
        p = floor if toward > 0 else 1.0
        return math.copysign(math.inf, found.mean), min(1.0, 2 * p) if side == "two-sided" else p
    t = found.mean / found.se
    if side == "two-sided":
        return t, 2 * t_sf(abs(t), found.df)
    return t, t_sf(sign * t, found.df)


def se_paired_from_corr(a: float, b: float, r: float) -> float:
    """Return the standard error of a paired difference from those of its sides.

    Parameters
    ----------
    a, b
        The standard errors of the two means.
    r
        The correlation of the two sides over the tasks.

    Notes
    -----
    sqrt(a^2 + b^2 - 2 r a b): Miller 2024 (arXiv 2411.00640), section 4.2.
    """
    if not (a >= 0 and b >= 0 and -1 <= r <= 1):
        raise StatsError(f"standard errors {a} and {b} with correlation {r} can't be")
    return math.sqrt(max(a * a + b * b - 2 * r * a * b, 0.0))
