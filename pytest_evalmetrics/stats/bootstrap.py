"""Bootstrap intervals of a mean over tasks, or over clusters of tasks; deterministic."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Literal

import numpy as np

from pytest_evalmetrics.stats.inputs import (
    StatsError,
    cluster_codes,
    fraction,
    integer,
    vector,
)
from pytest_evalmetrics.stats.means import FEWEST, NO_BOUNDS
from pytest_evalmetrics.stats.outcome import Bounds
from pytest_evalmetrics.stats.quantiles import quantile7
from pytest_evalmetrics.stats.resampling import mean_draws

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["DRAWS", "bootstrap_ci", "seed_of"]

DRAWS = 9_999


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
    level
        The confidence.
    draws
        How many resamples.
    clusters
        One label per task, shape (n,): then whole clusters are drawn.

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


def _percentiles(found: NDArray[np.float64], level: float) -> Bounds:
    if np.ptp(found) == 0:
        return NO_BOUNDS
    return Bounds(quantile7(found, (1 - level) / 2), quantile7(found, (1 + level) / 2))
