"""Resampling: the bootstrap of tasks, or of clusters of them."""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.stats.distributions import normal_ppf, normal_sf, t_ppf
from pytest_evalmetrics.stats.proportions import quantile7

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
    groups = np.arange(n) if clusters is None else clusters
    names, codes = np.unique(groups, return_inverse=True)
    units = len(names)
    if n > MOST_TASKS and weighted is not None:
        out = np.empty(draws)
        for draw in range(draws):
            times = np.bincount(rng.integers(0, units, size=units), minlength=units)
            out[draw] = weighted(times[codes].astype(np.float64))
        return out
    picked = rng.integers(0, units, size=(draws, units), dtype=np.int32).astype(np.intp)
    if clusters is None:
        return np.array([reducer(tasks) for tasks in picked])
    members = [np.flatnonzero(codes == unit) for unit in range(units)]
    return np.array(
        [reducer(np.concatenate([members[u] for u in drawn])) for drawn in picked]
    )


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
    below = float((draws < value).mean()) + float((draws == value).mean()) / 2
    least = 0.5 / len(draws)
    bias = normal_ppf(min(max(below, least), 1 - least))
    if left_out is None:
        return _accelerated(draws, normal_ppf(tail), bias=bias, acceleration=0.0)
    units = len(left_out)
    t = t_ppf(1 - tail, units - 1)
    centred = left_out.mean() - left_out
    squares = float((centred**2).sum())
    acceleration = 0.0
    if squares > 0:
        acceleration = float((centred**3).sum()) / (6 * squares**1.5)
    wide = -t * math.sqrt(units / (units - 1))
    low, high = _accelerated(draws, wide, bias=bias, acceleration=acceleration)
    se = math.sqrt((units - 1) / units * squares)
    centre = value - (units - 1) * (float(left_out.mean()) - value)
    return (
        min(low, max(centre - t * se, float(draws.min()))),
        max(high, min(centre + t * se, float(draws.max()))),
    )


def _accelerated(
    draws: Floats, z: float, *, bias: float, acceleration: float
) -> Bounds:
    """Return the quantiles of bootstrap values between -+ z, shifted by bias and skew."""

    def quantile(of: float) -> float:
        shifted = bias + of
        share = normal_sf(-(bias + shifted / (1 - acceleration * shifted)))
        return quantile7(draws, share)

    return quantile(z), quantile(-z)
