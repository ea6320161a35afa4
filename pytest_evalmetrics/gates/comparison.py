"""How a metric differs from its baseline, how sure that is, and how many tasks flipped."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from pytest_evalmetrics import stats
from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.gates.ordering import in_order, seed_of
from pytest_evalmetrics.gates.resampling import bootstrap
from pytest_evalmetrics.gates.visible import largest_flip, visible_drop
from pytest_evalmetrics.masks import any_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.data import PairedMetric, TaskRewards
    from pytest_evalmetrics.gates.resampling import WeightedCombine

__all__ = ["LEVEL", "Comparison", "Direction", "compare"]

Direction = Literal["higher", "lower"]

LEVEL = 0.95
_FEW = 20  # non-zero differences: below it the exact distribution, above it Student's t


class Comparison(msgspec.Struct, frozen=True):
    """One metric against its baseline; a positive drop is damage, whatever the direction.

    Attributes
    ----------
    pair
        The metric on both sides, its tasks in an order that does not depend on the input's.
    damage
        Each task's damage, shape (tasks,): of the task's value, or where a metric has none
        for a task, of its mean reward.
    baseline, current
        The metric on these tasks.
    drop
        Mean damage, in the metric's unit; NaN without tasks.
    low, high
        Its two-sided 95 % interval; NaN where there is none.
    se
        Its standard error.
    p
        One-sided, of no damage at all; NaN where nothing can be tested.
    test
        The test's name; empty where there is none.
    units, clustered
        What is independent: tasks, or clusters of them.
    mde
        The smallest drop that the test sees with 80 % power; NaN where it can't be told.
    unseen
        Where all tasks moved alike, which is where the standard error is 0: the upper bound
        on the share of tasks that may do otherwise. Else None.
    span
        The most that a task's value can move: 1 for rates, else what is seen.
    improved
        Whether it is better than the baseline beyond noise.
    draws, seed
        Of a bootstrap: resamples behind `p`, and the seed.
    untested
        Why nothing could be tested.
    """

    pair: PairedMetric
    damage: NDArray[np.float64]
    drop: float
    low: float
    high: float
    se: float
    p: float
    test: str
    units: int
    clustered: bool
    mde: float
    unseen: float | None
    span: float
    improved: bool
    draws: int = 0
    seed: int | None = None
    untested: str = ""

    @property
    def baseline(self) -> float:
        """The metric of the baseline."""
        return self.pair.value_baseline

    @property
    def current(self) -> float:
        """The metric of the run."""
        return self.pair.value_current

    @property
    def tasks(self) -> int:
        """How many tasks are paired."""
        return len(self.pair.tasks)


def compare(
    pair: PairedMetric,
    *,
    direction: Direction,
    alpha: float,
    gate_id: str,
    clusters: NDArray[np.int64] | None = None,
    combine_weighted: WeightedCombine | None = None,
) -> Comparison:
    """Test one metric against its baseline.

    Parameters
    ----------
    pair
        The metric on both sides.
    direction
        Which way is good.
    alpha
        The level at which the caller will judge p.
    gate_id
        Names the gate: with the task ids it seeds the bootstrap, where one is needed.
    clusters
        Each task's cluster, shape (tasks,).
    combine_weighted
        Reduces tasks' values that occur so many times each, where the metric offers that.

    Returns
    -------
    Comparison
        Without a p value where the metric can't be tested, and then with the reason.

    Notes
    -----
    The paired t test on per-task damage by default (Miller 2024, arXiv 2411.00640, section
    4.2). With fewer than 20 tasks that differ, on a lattice, with equal numbers of rollouts,
    the exact sign-flip distribution with mid-p (Fisher 1935), of clusters where there are any.
    A metric that is no mean over tasks: the paired bootstrap over tasks.
    """
    pair, clusters = in_order(pair, clusters)
    sign = 1.0 if direction == "higher" else -1.0
    damage, untested = _damage(pair, sign)
    drop, seed = math.nan, None
    tested = interval = stats.StatResult("", math.nan)
    try:
        if not len(damage) or untested:
            pass
        elif pair.baseline is None or pair.difference is not None:
            drop = sign * (pair.value_baseline - pair.value_current) + 0.0
            seed = seed_of(f"{gate_id}::{pair.name}", pair.tasks)
            tested = interval = bootstrap(
                pair,
                sign,
                alpha=alpha,
                seed=seed,
                level=LEVEL,
                clusters=clusters,
                combine_weighted=combine_weighted,
            )
        else:
            drop = float(damage.mean())
            interval = stats.paired_t(damage, clusters=clusters, alternative="greater", level=LEVEL)
            tested = _exact(pair, damage, clusters) or interval
    except stats.StatsError as error:
        untested = str(error)
    except EvalMetricsError as error:  # a metric that is not defined on a resample
        untested = f"on resampled tasks it is not defined: {error.message}"
    units = interval.units or len(damage)
    unseen = stats.zero_flip_bound(units, alpha) if interval.se == 0 else None
    p = tested.mid_p if tested is not interval else tested.p
    return Comparison(
        pair=pair,
        damage=damage,
        drop=drop,
        low=interval.low,
        high=interval.high,
        se=interval.se,
        p=p,
        test=tested.name,
        units=units,
        clustered=clusters is not None,
        mde=visible_drop(
            interval, alpha, 0.0 if tested is interval else largest_flip(damage, clusters)
        ),
        unseen=unseen,
        span=_span(pair),
        improved=_improved(drop, interval, p if tested is not interval else math.nan),
        draws=tested.draws,
        seed=seed if tested.draws else None,
        untested=untested,
    )


def _exact(
    pair: PairedMetric, damage: NDArray[np.float64], clusters: NDArray[np.int64] | None
) -> stats.StatResult | None:
    """Test by the exact distribution; None where Student's t is to be taken."""
    if not 0 < np.count_nonzero(damage) < _FEW:
        return None
    counts = pair.rewards_baseline.counts, pair.rewards_current.counts
    if any(any_of(c != counts[0][0]) for c in counts):  # equal K on both sides
        return None
    # a cluster's tasks have one sign to flip
    units = damage if clusters is None else np.bincount(clusters, weights=damage)
    if stats.lattice_step(units) is None:
        return None
    found = stats.signflip_exact(units, alternative="greater")
    if clusters is None:
        return found
    return stats.StatResult(f"clustered {found.name}", found.p, mid_p=found.mid_p)


def _improved(drop: float, interval: stats.StatResult, exact: float) -> bool:
    """Whether the one-sided p of an improvement is below what the interval leaves out."""
    tail = (1 - LEVEL) / 2
    if not drop < 0:
        return False
    if not math.isnan(exact):
        return 1 - exact < tail
    if math.isnan(interval.high):  # all tasks moved alike
        return interval.se == 0 and 0.5**interval.units < tail
    return interval.high < 0


def _damage(pair: PairedMetric, sign: float) -> tuple[NDArray[np.float64], str]:
    """Return each task's damage; zeros and the reason where a value is no finite number."""
    if pair.baseline is not None and pair.current is not None:
        sides = pair.baseline, pair.current
    else:
        sides = _means(pair.rewards_baseline), _means(pair.rewards_current)
    try:
        damage = stats.paired_differences(*sides)
    except stats.StatsError as error:
        return np.zeros(len(pair.tasks)), str(error)
    damage *= sign
    damage += 0.0  # no -0
    return damage, ""


def _means(rewards: TaskRewards) -> NDArray[np.float64]:
    sums = np.add.reduceat(np.append(rewards.values, 0.0), rewards.offsets[:-1])
    means: NDArray[np.float64] = np.where(rewards.counts > 0, sums, 0.0) / np.maximum(
        rewards.counts, 1
    )
    return means


def _span(pair: PairedMetric) -> float:
    if pair.bounded:
        return 1.0
    sides = [side for side in (pair.baseline, pair.current) if side is not None and len(side)]
    sides = sides or [r.values for r in (pair.rewards_baseline, pair.rewards_current)]
    filled = [side for side in sides if len(side)]
    if not filled:
        return math.nan
    return float(max(s.max() for s in filled) - min(s.min() for s in filled))
