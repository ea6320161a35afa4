"""Comparisons made by hand: a metric on both sides, and what a comparison may come to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics.data import PairedMetric
from pytest_evalmetrics.ext import TaskRewards
from pytest_evalmetrics.gates import Gated, Rule, check_regression
from pytest_evalmetrics.gates.comparison import Comparison, compare

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.ext import Check

    Rewards = Sequence[Sequence[float]]


def make_pair(before: Rewards, after: Rewards, /, **changed: Any) -> PairedMetric:
    """Pair the mean reward of tasks; one inner sequence per task."""
    sides = TaskRewards.from_lists(before), TaskRewards.from_lists(after)
    means = [np.array([np.mean(task) for task in side]) for side in (before, after)]
    known: dict[str, Any] = {
        "name": "mean_reward",
        "tasks": tuple(range(len(before))),
        "baseline": means[0],
        "current": means[1],
        "value_baseline": float(means[0].mean()) if len(before) else float("nan"),
        "value_current": float(means[1].mean()) if len(after) else float("nan"),
        "rewards_baseline": sides[0],
        "rewards_current": sides[1],
        "bounded": True,
    }
    return PairedMetric(**(known | changed))


def make_combined(
    before: Sequence[float],
    after: Sequence[float],
    /,
    combine: Callable[[NDArray[np.float64]], float] = np.median,
    **changed: Any,
) -> PairedMetric:
    """Pair a metric that combines the tasks' values, of one rollout each."""
    one, other = np.array(before, dtype=float), np.array(after, dtype=float)
    both = np.concatenate((one, other))
    known: dict[str, Any] = {
        "name": "median",
        "value_baseline": float(combine(one)),
        "value_current": float(combine(other)),
        "difference": lambda first, second: combine(both[first]) - combine(both[second]),
        "reduce": lambda rewards: float(combine(rewards.values)),
    }
    return make_pair([[v] for v in one], [[v] for v in other], **(known | changed))


def flips(worse: int, better: int, same: int) -> PairedMetric:
    """Tasks of one 0/1 rollout, so many of which flipped."""
    baseline = [1] * worse + [0] * better + [1] * same
    current = [0] * worse + [1] * better + [1] * same
    return make_pair([[v] for v in baseline], [[v] for v in current])


def run(seed: int, tasks: int, samples: int, loss: float = 0.0) -> PairedMetric:
    """Two runs of the same tasks; a loss takes its share of each task's chance to pass."""
    rng = np.random.default_rng(seed)
    chance = rng.beta(0.4, 0.4, (tasks, 1))
    sides = [
        (rng.random((tasks, samples)) < p).astype(float).tolist()
        for p in (chance, chance * (1 - loss))
    ]
    return make_pair(*sides)


def rule(name: str = "practical", **changed: Any) -> Rule:
    known = {"direction": "higher", "alpha": 0.01, "warn_alpha": 0.05, "max_drop": 0.01}
    return Rule(name=name, **(known | changed))


def compared(pair: PairedMetric, **changed: Any) -> Comparison:
    return compare(pair, **({"direction": "higher", "alpha": 0.01, "gate_id": "g"} | changed))


def checked(
    pair: PairedMetric, asked: Rule | None = None, *, min_coverage: float = 0.9, **changed: Any
) -> Check:
    """Judge one metric."""
    gated = Gated(pair, asked or rule(), gate_id="g", **changed)
    (check,) = check_regression([gated], min_coverage=min_coverage)
    return check
