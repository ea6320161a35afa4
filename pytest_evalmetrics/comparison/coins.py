"""Tasks, or clusters of them, that pass or fail as one: each shows as much as one coin."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics import stats
from pytest_evalmetrics.comparison.collapses import losable_of, tasks_with_room
from pytest_evalmetrics.comparison.independence import may_be_copies
from pytest_evalmetrics.model.comparison import Coins

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.comparison.inputs import TaskDamage
    from pytest_evalmetrics.model.comparison import Floats, Ints

_CHANCES = tuple(step / 200 for step in range(1, 200))  # of a coin
# of the range: a cluster whose mean is nearer to an end passes, or fails, as one
_NEAR_THE_END = 0.25
_HALF = 0.5


def coins_of(damage: TaskDamage) -> Coins | None:
    """Return what may be coins: tasks whose rollouts are copies, or clusters that are one.

    None where a task has rollouts that differ, or a cluster passes in part on any side.
    """
    if damage.clusters is None:
        if not may_be_copies(damage.pair):
            return None
        return Coins(count=damage.units, up=tasks_with_room(damage))
    before, now = _room_of_clusters(damage, damage.clusters)
    if not (_is_at_an_end(before).all() and _is_at_an_end(now).all()):
        return None
    up = np.count_nonzero(before > _HALF)
    return Coins(count=damage.units, up=int(up))


def _is_at_an_end(room: Floats) -> NDArray[np.bool_]:
    return np.abs(room - _HALF) > _HALF - _NEAR_THE_END


def _room_of_clusters(damage: TaskDamage, clusters: Ints) -> tuple[Floats, Floats]:
    """Return the share of the range that each cluster could lose, before and now.

    Two arrays of shape (clusters,).
    """
    losable = losable_of(damage)
    largest = losable.range
    if largest is None:
        largest = float(losable.amounts.max(initial=0.0))
    if not largest > 0:
        return np.full(damage.units, _HALF), np.full(damage.units, _HALF)
    sizes = np.bincount(clusters) * largest
    before = np.bincount(clusters, losable.amounts) / sizes
    lost = np.bincount(clusters, damage.values) / sizes
    return before, before - lost


def chance_of_coins(tasks: int, *, lost: int, least: float = 0.0) -> float:
    """Return how often so many of the tasks pass if each is one coin, and then none does.

    It is the most for any chance of a coin above `least`, the same in the baseline and in
    the run. Coins of different chances do so no more often (Hoeffding 1956, Annals of
    Mathematical Statistics 27).
    """
    most = -math.inf
    for up in _CHANCES:
        if up >= least:
            of_baseline = stats.log_binom_sf(lost, tasks, up)
            of_run = tasks * math.log1p(-up)
            most = max(most, of_baseline + of_run)
    return math.exp(most)
