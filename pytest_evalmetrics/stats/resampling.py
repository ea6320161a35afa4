"""Quantiles, and the bootstrap of tasks or clusters of tasks: the same input, the same output."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.stats.basics import (
    NO_BOUNDS,
    Bounds,
    StatsError,
    binom_cdf,
    binom_sf,
    fraction,
    vector,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Groups = tuple[NDArray[np.intp], int]  # each task's cluster from 0, and how many there are

Reducer = Callable[["NDArray[np.intp]"], float]
WeightedReducer = Callable[["NDArray[np.float64]"], float]

_MOST_UNITS = 2_048  # that are drawn as index vectors
_CHUNK = 1 << 20  # numbers held at once; part of what makes a seed give the same draws


class TooManyUnitsError(StatsError):
    """Index vectors of so many units are too long, and the estimate takes no weights."""


def quantile7(x: ArrayLike, q: float) -> float:
    """Return the q-quantile by definition 7 of Hyndman and Fan 1996, numpy's; NaN where n = 0."""
    if not 0 <= q <= 1:
        raise StatsError(f"q is {q}, where a number from 0 to 1 is expected")
    values = vector(x)
    return float(np.quantile(values, q)) if values.size else math.nan


def quantile_interval(x: ArrayLike, q: float, level: float = 0.95) -> Bounds:
    """Return the interval of a quantile between two order statistics, whatever the distribution.

    From the r-th to the s-th smallest value, with r the largest for which P(B < r) is at most (1 -
    level) / 2, s the smallest for which P(B >= s) is, and B binomial (n, q): it covers at least so
    often. Where ties make it a point, it reaches to the next values on both sides. NaN where n is
    too small for the level, or all values are the same. David and Nagaraja 2003, Order Statistics,
    section 7.1; `scipy.stats.quantile_test` gives the same.
    """
    values, tail = np.sort(vector(x)), (1 - fraction(level, "level")) / 2
    n, q = values.size, fraction(q, "q")
    ranks = range(1, n + 1)
    low_rank = bisect_right(ranks, tail, key=lambda r: binom_cdf(r - 1, n, q))
    high_rank = 1 + bisect_left(ranks, -tail, key=lambda s: -binom_sf(s, n, q))
    if low_rank == 0 or high_rank > n:
        return NO_BOUNDS
    low, high = float(values[low_rank - 1]), float(values[high_rank - 1])
    if low == high:
        low, high = (
            max(values[values < low].tolist(), default=low),
            min(values[values > high].tolist(), default=high),
        )
    return Bounds(low, high) if low < high else NO_BOUNDS


def seed_of(gate_id: str, task_ids: Iterable[object]) -> int:
    """Return the seed of a gate over given tasks, the same whatever their order.

    Each text is hashed with its length, so that no two lists run together.
    """
    names = [gate_id, *sorted(map(str, task_ids))]
    sizes = np.fromiter(map(len, names), dtype="<i8", count=len(names))
    digest = blake2b(sizes.tobytes(), digest_size=16)
    digest.update("".join(names).encode("utf-8", "surrogatepass"))
    return int.from_bytes(digest.digest(), "little")


def reducer_draws(
    reducer: Reducer,
    n: int,
    groups: Groups | None,
    draws: int,
    rng: np.random.Generator,
    *,
    weighted: WeightedReducer | None = None,
) -> Floats:
    """Return `draws` bootstrap values of any estimate over `n` tasks, or over `groups` of them.

    `reducer` takes the index vector of the drawn tasks, up to 2,048; of more, `weighted` takes how
    often each task was drawn, and without it they are a `TooManyUnitsError`. A value that is not
    finite is a `StatsError`: a p value over the others would be made up.
    """
    count = n if groups is None else groups[1]
    out = np.empty(draws)
    if n <= _MOST_UNITS:
        members: list[NDArray[np.intp]] = []
        if groups is not None:
            order = np.argsort(groups[0], kind="stable")
            members = np.split(order, np.cumsum(np.bincount(groups[0], minlength=count))[:-1])
        rows = max(1, _CHUNK // count)
        for start in range(0, draws, rows):
            shape = (min(rows, draws - start), count)
            picked = rng.integers(0, count, size=shape, dtype=np.int32)
            for row, units in enumerate(picked.astype(np.intp), start):
                tasks = np.concatenate([members[u] for u in units]) if members else units
                out[row] = reducer(tasks)
    elif weighted is not None:
        for draw in range(draws):
            times = np.bincount(rng.integers(0, count, size=count), minlength=count)
            out[draw] = weighted(np.asarray(times if groups is None else times[groups[0]], float))
    else:
        raise TooManyUnitsError(
            f"{n} tasks are too many to resample by index vectors ({_MOST_UNITS} at most):"
            " give a reducer that takes weights, or compare a metric that is a mean over tasks"
        )
    if not np.isfinite(out).all():
        bad = int((~np.isfinite(out)).sum())
        raise StatsError(f"the reducer gave no finite number on {bad} of {draws} resamples")
    return out
