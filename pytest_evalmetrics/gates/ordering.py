"""One order of the tasks, whatever order they came in, so that no sum and no draw differs."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from operator import le
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics import stats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import PairedMetric, TaskId

__all__ = ["in_order", "seed_of"]

_CHUNK = 4_096  # ids that are text at the same time


def in_order(
    pair: PairedMetric, clusters: NDArray[np.int64] | None
) -> tuple[PairedMetric, NDArray[np.int64] | None]:
    """Put a pair's tasks in the order of a `RolloutTable`, and number clusters as they appear.

    Whole numbers ascend; where any id is text, all ascend as text.
    """
    order = _order(pair.tasks)
    if order is not None:
        pair = _taken(pair, order)
        clusters = None if clusters is None else clusters[order]
    return pair, None if clusters is None else _numbered(clusters)


def _order(tasks: Sequence[TaskId]) -> NDArray[np.int64] | None:
    """Return the places of the tasks in order; None where they stand in it."""
    keys: Sequence[TaskId] = tasks
    if not set(map(type, tasks)) <= {int}:
        keys = [str(task) for task in tasks]
    if all(map(le, keys, islice(keys, 1, None))):
        return None
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)


def _taken(pair: PairedMetric, order: NDArray[np.int64]) -> PairedMetric:
    difference = pair.difference
    both = np.concatenate((order, order + len(order)))
    return replace(
        pair,
        tasks=tuple(pair.tasks[i] for i in order.tolist()),
        baseline=None if pair.baseline is None else pair.baseline[order],
        current=None if pair.current is None else pair.current[order],
        rewards_baseline=pair.rewards_baseline.take(order),
        rewards_current=pair.rewards_current.take(order),
        difference=None
        if difference is None
        else lambda first, second: difference(both[first], both[second]),
    )


def _numbered(clusters: NDArray[np.int64]) -> NDArray[np.int64]:
    _, first, codes = np.unique(clusters, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[codes]


def seed_of(gate: str, tasks: Sequence[TaskId]) -> int:
    """Return the seed of a gate over tasks in order, from a blake2b of its name and their ids."""
    digest = blake2b(digest_size=16)
    for start in range(0, len(tasks), _CHUNK):
        ids = map(str, tasks[start : start + _CHUNK])
        digest.update("".join([f"{len(t)}:{t}" for t in ids]).encode("utf-8", "surrogatepass"))
    return stats.seed_of(gate, [digest.hexdigest()])
