"""Bootstrap replicates, in the cheapest form that the data allow.

======================================  =============================================
the units (tasks or clusters)           a replicate is
======================================  =============================================
at most 64 distinct                     multinomial counts of them @ their values
at most 2,048                           an index vector; made a block at a time
more, the estimate a mean               the same over 2,048 random blocks of units
more, any estimate that takes weights   how often each unit was drawn
more, any other estimate                refused
======================================  =============================================

The first two are exact; the blocks' standard error is within 4 % of the exact one's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.masks import all_of
from pytest_evalmetrics.stats.inputs import StatsError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Groups = tuple[NDArray[np.intp], int]

__all__ = ["Reducer", "TooManyUnitsError", "WeightedReducer", "mean_draws", "reducer_draws"]

Reducer = Callable[["NDArray[np.intp]"], float]
WeightedReducer = Callable[["NDArray[np.float64]"], float]

_DISTINCT = 64
_BLOCKS = 2_048
_CHUNK = 1 << 20  # numbers held at once; part of what makes a seed give the same draws
_LOOK = 4_096  # units looked at before all are sorted


class TooManyUnitsError(StatsError):
    """More units than index vectors are affordable for, and the estimate is no mean."""


def mean_draws(
    values: Floats,
    groups: Groups | None,
    draws: int,
    rng: np.random.Generator,
) -> Floats:
    """Return `draws` bootstrap means of `values`, shape (draws,).

    Parameters
    ----------
    values
        One value per task, shape (n,).
    groups
        Each task's cluster from 0, shape (n,), and the number of clusters: then clusters
        are drawn, and a mean is the drawn tasks' sum over their number.
    draws
        How many.
    rng
        The random numbers.
    """
    units = values.astype(np.complex128)  # a unit's sum, and its size as the imaginary part
    if groups is None:
        units += 1j
    else:
        codes, count = groups
        units = np.empty(count, dtype=np.complex128)
        units.real = np.bincount(codes, weights=values, minlength=count)
        units.imag = np.bincount(codes, minlength=count)
    found = _few_distinct(units)
    if found is not None:
        return _by_counts(*found, draws, rng)
    return _by_index(units if units.size <= _BLOCKS else _blocks(units, rng), draws, rng)


def _few_distinct(units: NDArray[np.complex128]) -> tuple[NDArray[np.complex128], Floats] | None:
    """Return the distinct units and their shares, where there are few."""
    if np.unique(units[:_LOOK]).size > _DISTINCT:
        return None
    distinct, counts = np.unique(units, return_counts=True)
    return (distinct, counts.astype(np.float64)) if distinct.size <= _DISTINCT else None


def _by_counts(
    distinct: NDArray[np.complex128], counts: Floats, draws: int, rng: np.random.Generator
) -> Floats:
    size = int(counts.sum())
    out = np.empty(draws)
    rows = _CHUNK // distinct.size
    for start in range(0, draws, rows):
        drawn = rng.multinomial(size, counts / size, size=min(rows, draws - start))
        out[start : start + rows] = (drawn @ distinct.real) / (drawn @ distinct.imag)
    return out


def _by_index(units: NDArray[np.complex128], draws: int, rng: np.random.Generator) -> Floats:
    sums, sizes = units.real.copy(), units.imag.copy()
    even = all_of(sizes == sizes[0])
    out = np.empty(draws)
    for start, picked in _index_chunks(units.size, draws, rng):
        top = sums.take(picked).sum(axis=1)
        bottom = sizes[0] * units.size if even else sizes.take(picked).sum(axis=1)
        out[start : start + len(picked)] = top / bottom
    return out


def _index_chunks(
    size: int, draws: int, rng: np.random.Generator
) -> Iterator[tuple[int, NDArray[np.int32]]]:
    rows = max(1, _CHUNK // size)
    for start in range(0, draws, rows):
        shape = (min(rows, draws - start), size)
        yield start, rng.integers(0, size, size=shape, dtype=np.int32)


def _blocks(units: NDArray[np.complex128], rng: np.random.Generator) -> NDArray[np.complex128]:
    """Return the sums of units dealt at random to as many blocks as can be drawn from."""
    starts = np.linspace(0, units.size, _BLOCKS, endpoint=False).astype(np.intp)
    return np.add.reduceat(rng.permutation(units), starts)


def reducer_draws(
    reducer: Reducer | None,
    n: int,
    groups: Groups | None,
    draws: int,
    rng: np.random.Generator,
    *,
    weighted: WeightedReducer | None = None,
) -> Floats:
    """Return `draws` bootstrap values of any estimate, shape (draws,).

    Parameters
    ----------
    reducer
        Index vector of the drawn tasks -> estimate.
    n
        Tasks.
    groups, draws, rng
        As of `mean_draws`.
    weighted
        How often each task was drawn, shape (n,) -> estimate.

    Raises
    ------
    TooManyUnitsError
        Where n > 2,048 and there is no `weighted`.
    StatsError
        Where a value is not finite: a p value over the others would be made up.
    """
    count = n if groups is None else groups[1]
    if reducer is not None and n <= _BLOCKS:
        out = _by_task_index(reducer, n, groups, draws, rng)
    elif weighted is not None:
        out = np.empty(draws)
        for draw in range(draws):
            times = np.bincount(rng.integers(0, count, size=count), minlength=count)
            out[draw] = weighted(np.asarray(times if groups is None else times[groups[0]], float))
    else:
        raise TooManyUnitsError(
            f"{n} tasks are too many to resample by index vectors ({_BLOCKS} at most):"
            " give a reducer that takes weights, or compare a metric that is a mean over tasks"
        )
    if not all_of(np.isfinite(out)):
        bad = int((~np.isfinite(out)).sum())
        raise StatsError(f"the reducer gave no finite number on {bad} of {draws} resamples")
    return out


def _by_task_index(
    reducer: Reducer,
    n: int,
    groups: Groups | None,
    draws: int,
    rng: np.random.Generator,
) -> Floats:
    out = np.full(draws, math.nan)
    members: list[NDArray[np.intp]] = []
    if groups is not None:
        codes, n = groups
        order = np.argsort(codes, kind="stable")
        members = np.split(order, np.cumsum(np.bincount(codes, minlength=n))[:-1])
    for start, picked in _index_chunks(n, draws, rng):
        for row, units in enumerate(picked.astype(np.intp), start):
            tasks = np.concatenate([members[u] for u in units]) if members else units
            out[row] = reducer(tasks)
    return out
