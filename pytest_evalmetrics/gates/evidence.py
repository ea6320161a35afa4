"""What a comparison rests on, as builtins: a check's evidence, for messages and reports."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics.gates.comparison import LEVEL
from pytest_evalmetrics.masks import any_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskRewards
    from pytest_evalmetrics.gates.comparison import Comparison
    from pytest_evalmetrics.gates.rules import Rule

__all__ = ["SHOWN", "of_comparison", "of_rule", "plain"]

SHOWN = 10  # tasks that a message names
_LISTED = 100  # tasks that a report lists


def of_rule(rule: Rule) -> dict[str, Any]:
    """Say how a metric is judged.

    Returns
    -------
    dict
        ``rule``, ``direction``, ``alpha``, ``warn_alpha``, ``max_drop``, ``require_mde``,
        ``benchmarks``: how many of the run share ``alpha``.
    """
    return {
        "rule": rule.name,
        "direction": rule.direction,
        "alpha": rule.alpha,
        "warn_alpha": rule.warn_alpha,
        "max_drop": rule.max_drop,
        "require_mde": rule.require_mde,
        "benchmarks": rule.benchmarks,
    }


def of_comparison(
    found: Comparison, *, added: Sequence[object] = (), removed: Sequence[object] = ()
) -> dict[str, Any]:
    """Say what was found, in the metric's unit; what can't be told is None.

    Returns
    -------
    dict
        ``baseline``, ``current``: the metric on the paired tasks. ``drop``, ``drop_low``,
        ``drop_high``, ``level``: mean damage with its two-sided interval. ``se``, ``p``,
        ``test``; ``p_rollouts``: of no change in any task, where that was needed; ``blind``: why no
        drop could be significant; ``proven_tasks``: those worse by their own rollouts, of a
        metric of one task. ``tasks``, ``units`` (what is independent), ``clusters`` (or None).
        ``rollouts_baseline``, ``rollouts_current``: of all paired tasks;
        ``samples_baseline``, ``samples_current``: of one task, [fewest, most].
        ``worse``, ``better``: how many tasks; ``worst_tasks``: the ten worst, each with
        ``task``, ``baseline``, ``current`` (its rewards) and ``drop``. ``mde``: the smallest
        drop seen with 80 % power; ``unseen_flips``: where no task differs, the share that may.
        ``draws``, ``seed``: of a bootstrap. ``improved``. ``excluded``, ``added``,
        ``removed``: tasks that are not compared, counted; ``*_tasks``: the first hundred.
    """
    pair, bootstrapped = found.pair, bool(found.draws)
    unmoved = found.unseen is not None and not any_of(found.damage)
    evidence: dict[str, Any] = {
        "baseline": found.baseline,
        "current": found.current,
        "drop": found.drop,
        "drop_low": found.low,
        "drop_high": found.high,
        "level": LEVEL,
        "se": found.se,
        "p": found.p,
        "test": found.test,
        "p_rollouts": found.p_rollouts,
        "blind": found.blind or None,
        "proven_tasks": [str(task) for task in found.proven[:_LISTED]],
        "tasks": found.tasks,
        "units": found.units,
        "clusters": found.units if found.clustered else None,
        "rollouts_baseline": len(pair.rewards_baseline.values),
        "rollouts_current": len(pair.rewards_current.values),
        "samples_baseline": _samples(pair.rewards_baseline),
        "samples_current": _samples(pair.rewards_current),
        "worse": int((found.damage > 0).sum()),
        "better": int((found.damage < 0).sum()),
        "worst_tasks": _worst(found),
        "mde": found.mde,
        "unseen_flips": found.unseen if unmoved else None,
        "draws": found.draws if bootstrapped else None,
        "seed": str(found.seed) if bootstrapped else None,
        "improved": found.improved,
    }
    for name, tasks in (("excluded", pair.excluded), ("added", added), ("removed", removed)):
        evidence |= {name: len(tasks), f"{name}_tasks": [str(t) for t in tasks[:_LISTED]]}
    return {key: plain(value) for key, value in evidence.items()}


def plain(value: Any) -> Any:
    """Return a number to 14 digits, or None for one that is not finite."""
    if isinstance(value, float):
        # fewer digits than products of vectors agree in, whoever computes them
        return float(f"{value:.14g}") if math.isfinite(value) else None
    return value


def _samples(rewards: TaskRewards) -> list[int] | None:
    counts = rewards.counts
    return [int(counts.min()), int(counts.max())] if len(counts) else None


def _worst(found: Comparison) -> list[dict[str, Any]]:
    pair = found.pair
    return [
        {
            "task": pair.tasks[i],
            "baseline": _rewards(pair.rewards_baseline, i),
            "current": _rewards(pair.rewards_current, i),
            "drop": float(found.damage[i]),
        }
        for i in _largest(found.damage).tolist()
    ]


def _largest(damage: NDArray[np.float64]) -> NDArray[np.intp]:
    """Find the tasks of the largest damage, ties in their order."""
    worse = np.flatnonzero(damage > 0)
    if len(worse) > SHOWN:
        least = np.partition(damage[worse], -SHOWN)[-SHOWN]
        worse = worse[damage[worse] >= least]
    return worse[np.argsort(-damage[worse], kind="stable")][:SHOWN]


def _rewards(rewards: TaskRewards, task: int) -> list[float]:
    found: list[float] = rewards.values[rewards.offsets[task] : rewards.offsets[task + 1]].tolist()
    return found
