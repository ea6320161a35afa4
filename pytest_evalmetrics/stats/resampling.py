"""Resampling: the bootstrap of tasks, or of clusters of them."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pytest_evalmetrics.stats.basics import Floats, Ints

MOST_TASKS = 2_048  # for draws as index vectors


def seed_of(name: str, key: str) -> int:
    """Return a seed from a name and a key, which later versions must not change."""
    sizes = np.array(
        [len(name), len(key)], dtype="<i8"
    )  # so that the two don't run together
    text = (name + key).encode("utf-8", "surrogatepass")
    return int.from_bytes(
        blake2b(sizes.tobytes() + text, digest_size=16).digest(), "little"
    )


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
