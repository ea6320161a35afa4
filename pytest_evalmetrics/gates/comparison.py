"""How a metric differs from its baseline, how sure that is, and which tasks flipped."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pytest_evalmetrics import stats

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import PairedMetric, TaskRewards

__all__ = ["Comparison", "Direction", "compare"]

Direction = Literal["higher", "lower"]

_FEW = 20  # non-zero differences: below it the exact distribution, above it Student's t
_WORST = 10  # tasks that a message names
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Comparison:
    """One metric against its baseline; a positive drop is damage, whatever the direction.

    Attributes
    ----------
    baseline
        The metric of the baseline, on the tasks of both sides.
    drop
        Mean damage, in the metric's unit.
    low, high
        Its two-sided 95 % interval; NaN where there is none.
    se
        Its standard error.
    p
        One-sided, of no damage at all; NaN where nothing can be tested.
    test
        The test's name.
    tasks, units
        Paired tasks, and what of them is independent (clusters where there are any).
    worse, better
        How many tasks got worse and better.
    mde
        The smallest drop that the test sees with 80 % power.
    evidence
        All of it and the flipped tasks, as builtins, for the reports.
    """

    baseline: float
    drop: float
    low: float
    high: float
    se: float
    p: float
    test: str
    tasks: int
    units: int
    worse: int
    better: int
    mde: float
    evidence: dict[str, Any]


def compare(
    pair: PairedMetric,
    *,
    direction: Direction,
    alpha: float,
    seed: Callable[[], int],
    clusters: NDArray[np.int64] | None = None,
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
    seed
        Makes the seed of the bootstrap, where one is needed.
    clusters
        Each task's cluster, shape (tasks,).

    Notes
    -----
    The paired t test on per-task damage by default (Miller 2024, arXiv 2411.00640, section
    4.2). With fewer than 20 tasks that differ, on a lattice, with equal numbers of rollouts,
    the exact sign-flip distribution with mid-p (Fisher 1935). A metric that is no mean over
    tasks: the paired bootstrap over tasks.
    """
    sign = 1.0 if direction == "higher" else -1.0
    n = len(pair.tasks)
    if pair.baseline is None or pair.current is None or pair.difference is not None:
        result = _bootstrap(pair, sign, alpha, seed(), clusters)
        damage = _task_damage(pair, sign)
        drop, p, interval = sign * (pair.value_baseline - pair.value_current), result.p, result
    else:
        damage = sign * stats.paired_differences(pair.baseline, pair.current)
        interval = stats.paired_t(damage, clusters=clusters, alternative="greater")
        result, p = interval, interval.p
        if clusters is None and _is_exact(pair, damage):
            result = stats.signflip_exact(damage, alternative="greater")
            p = result.mid_p
        drop = float(damage.mean()) if n else math.nan
    moved = np.flatnonzero(damage)
    worst = moved[np.argsort(-damage[moved], kind="stable")]
    worse, better = int((damage > 0).sum()), int((damage < 0).sum())
    mde = stats.mde_from_se(interval.se, interval.df if interval.df > 0 else math.inf, alpha=alpha)
    evidence: dict[str, Any] = {
        "baseline": pair.value_baseline,
        "current": pair.value_current,
        "drop": drop,
        "drop_low": interval.low,
        "drop_high": interval.high,
        "se": interval.se,
        "p": p,
        "test": result.name,
        "tasks": n,
        "units": interval.units,
        "rollouts_baseline": len(pair.rewards_baseline.values),
        "rollouts_current": len(pair.rewards_current.values),
        "worse": worse,
        "better": better,
        "worst_tasks": [_task(pair, i) for i in worst[:_WORST].tolist() if damage[i] > 0],
        "mde": mde,
        "excluded_tasks": list(pair.excluded),
    }
    if not len(moved) and n:  # nothing flipped: say how much could have, never a zero width
        evidence["unseen_flips"] = stats.zero_flip_bound(n, alpha)
    if result.draws:
        evidence |= {"draws": result.draws, "seed": str(seed()), "numpy": np.__version__}
    return Comparison(
        baseline=pair.value_baseline,
        drop=drop,
        low=interval.low,
        high=interval.high,
        se=interval.se,
        p=p,
        test=result.name,
        tasks=n,
        units=interval.units,
        worse=worse,
        better=better,
        mde=mde,
        evidence={k: _finite(v) for k, v in evidence.items()},
    )


def _is_exact(pair: PairedMetric, damage: NDArray[np.float64]) -> bool:
    moved = damage[damage != 0]
    if not 0 < len(moved) < _FEW:
        return False
    counts = pair.rewards_baseline.counts, pair.rewards_current.counts
    if any((c != counts[0][:1]).any() for c in counts):  # equal K on both sides
        return False
    return stats.lattice_step(moved) is not None


def _bootstrap(
    pair: PairedMetric,
    sign: float,
    alpha: float,
    seed: int,
    clusters: NDArray[np.int64] | None,
) -> stats.StatResult:
    difference = pair.difference
    if difference is None:
        raise AssertionError("a metric that is no mean over tasks offers its difference")
    return stats.reducer_bootstrap(
        lambda tasks: sign * difference(tasks),
        len(pair.tasks),
        seed=seed,
        clusters=clusters,
        alternative="greater",
        alpha=alpha,
    )


def _task_damage(pair: PairedMetric, sign: float) -> NDArray[np.float64]:
    """Damage of each task where a metric is no mean over tasks: of the task's mean reward."""
    baseline, current = (_means(r) for r in (pair.rewards_baseline, pair.rewards_current))
    return sign * stats.paired_differences(baseline, current)


def _means(rewards: TaskRewards) -> NDArray[np.float64]:
    sums = np.add.reduceat(np.append(rewards.values, 0.0), rewards.offsets[:-1])
    means: NDArray[np.float64] = np.where(rewards.counts > 0, sums, 0.0) / np.maximum(
        rewards.counts, 1
    )
    return means


def _task(pair: PairedMetric, i: int) -> dict[str, Any]:
    def rewards(side: Any) -> list[float]:
        found: list[float] = side.values[side.offsets[i] : side.offsets[i + 1]].tolist()
        return found

    return {
        "task": pair.tasks[i],
        "baseline": rewards(pair.rewards_baseline),
        "current": rewards(pair.rewards_current),
    }


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
