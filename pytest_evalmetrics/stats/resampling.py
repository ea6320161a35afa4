"""Resampling: the bootstrap of tasks, or of clusters of them."""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.stats.distributions import normal_ppf, normal_sf, t_ppf
from pytest_evalmetrics.stats.proportions import quantile7
from pytest_evalmetrics.sums import cubes

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pytest_evalmetrics.stats.basics import Bounds, Floats, Ints

MOST_TASKS = 2_048  # for draws as index vectors


def seed_of(name: str, key: str) -> int:
    """Return a seed from a name and a key, which later versions must not change."""
    # so that the two don't run together
    sizes = np.array([len(name), len(key)], dtype="<i8")
    text = (name + key).encode("utf-8", "surrogatepass")
    digest = blake2b(sizes.tobytes() + text, digest_size=16).digest()
    return int.from_bytes(digest, "little")


def reducer_draws(
    reducer: Callable[[NDArray[np.intp]], float],
    n: int,
    clusters: Ints | None,
    draws: int,
    rng: np.random.Generator,
    *,
    weighted: Callable[[Floats], float] | None = None,
) -> Floats:
    """Return `draws` bootstrap values of an estimate over `n` tasks, or over clusters of them."""
    codes: NDArray[np.intp] = np.arange(n)
    if clusters is not None:
        _, codes = np.unique(clusters, return_inverse=True)
    units = int(codes.max()) + 1
    values = np.empty(draws)
    if n > MOST_TASKS and weighted is not None:
        for draw in range(draws):
            drawn = rng.integers(0, units, size=units)
            times = np.bincount(drawn, minlength=units)
            values[draw] = weighted(times[codes].astype(np.float64))
        return values
    picked = rng.integers(0, units, size=(draws, units), dtype=np.int32).astype(np.intp)
    if clusters is None:
        for draw, tasks in enumerate(picked):
            values[draw] = reducer(tasks)
        return values
    members = [np.flatnonzero(codes == unit) for unit in range(units)]
    for draw, drawn in enumerate(picked):
        tasks_of_draw = [members[unit] for unit in drawn]
        values[draw] = reducer(np.concatenate(tasks_of_draw))
    return values


def bootstrap_interval(
    draws: Floats, value: float, left_out: Floats | None, level: float
) -> Bounds:
    """Return the interval of an estimate, within its bootstrap values.

    Parameters
    ----------
    draws
        Bootstrap values, shape (draws,).
    value
        The estimate.
    left_out
        The estimate without each independent unit, shape (units,); None if unknown.
    level
        Of the two-sided interval.

    Notes
    -----
    The wider of two, at each end: the bias-corrected and accelerated bootstrap (Efron
    1987, Journal of the American Statistical Association 82, 171) with quantiles of
    Student's t (Hesterberg 2015, The American Statistician 69, 371), and the jackknife
    less its bias (Tukey 1958). The first knows the skew and the second the bias of few
    units; neither alone covers a macro F1 with rare classes.
    """
    tail = (1 - level) / 2
    share_below = float((draws < value).mean()) + float((draws == value).mean()) / 2
    least = 0.5 / len(draws)
    bias = normal_ppf(min(max(share_below, least), 1 - least))
    if left_out is None:
        return _accelerated(draws, normal_ppf(tail), bias=bias, acceleration=0.0)
    units = len(left_out)
    mean_left_out = float(left_out.mean())
    influence = mean_left_out - left_out
    squares = float((influence**2).sum())
    acceleration = 0.0
    if squares > 0:
        acceleration = cubes(influence) / (6 * squares**1.5)
    t = t_ppf(1 - tail, units - 1)
    z = -t * math.sqrt(units / (units - 1))
    low, high = _accelerated(draws, z, bias=bias, acceleration=acceleration)
    # the jackknife, within the bootstrap values
    se = math.sqrt((units - 1) / units * squares)
    unbiased = value - (units - 1) * (mean_left_out - value)
    jackknife_low = max(unbiased - t * se, float(draws.min()))
    jackknife_high = min(unbiased + t * se, float(draws.max()))
    return min(low, jackknife_low), max(high, jackknife_high)


def _accelerated(
    draws: Floats, z: float, *, bias: float, acceleration: float
) -> Bounds:
    """Return the quantiles of bootstrap values between -+ z, shifted by bias and skew."""
    ends = []
    for normal in (z, -z):
        shifted = bias + normal
        corrected = bias + shifted / (1 - acceleration * shifted)
        share = normal_sf(-corrected)
        ends.append(quantile7(draws, share))
    return ends[0], ends[1]
