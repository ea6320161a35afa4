"""Comparisons made by hand: a metric on both sides, and what a comparison may come to."""

import numpy as np
from msgspec.structs import replace

from pytest_evalmetrics.ext import TaskRewards
from pytest_evalmetrics.gates import Gated, Rule, check_regression
from pytest_evalmetrics.gates.comparison import compare
from pytest_evalmetrics.model.rollout_table import PairedMetric


def make_pair(before, after, /, **changed):
    """Pair the mean reward of tasks; one inner sequence per task."""
    sides = TaskRewards.from_lists(before), TaskRewards.from_lists(after)
    means = [np.array([np.mean(task) for task in side]) for side in (before, after)]
    defaults = {
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
    return PairedMetric(**(defaults | changed))


def make_combined(before, after, /, combine=np.median, **changed):
    """Pair a metric that combines the tasks' values, of one rollout each."""
    one, other = np.array(before, dtype=float), np.array(after, dtype=float)
    both = np.concatenate((one, other))
    defaults = {
        "name": "median",
        "value_baseline": float(combine(one)),
        "value_current": float(combine(other)),
        "difference": lambda first, second: (
            combine(both[first]) - combine(both[second])
        ),
        "reduce": lambda rewards: float(combine(rewards.values)),
    }
    return make_pair([[v] for v in one], [[v] for v in other], **(defaults | changed))


def flips(worse, better, same):
    """Tasks of one 0/1 rollout, so many of which flipped."""
    baseline = [1] * worse + [0] * better + [1] * same
    current = [0] * worse + [1] * better + [1] * same
    return make_pair([[v] for v in baseline], [[v] for v in current])


def run(seed, tasks, samples, loss=0.0):
    """Two runs of the same tasks; a loss takes its share of each task's chance to pass."""
    rng = np.random.default_rng(seed)
    chance = rng.beta(0.4, 0.4, (tasks, 1))
    sides = [
        (rng.random((tasks, samples)) < p).astype(float).tolist()
        for p in (chance, chance * (1 - loss))
    ]
    return make_pair(*sides)


def rule(name="practical", **changed):
    defaults = {
        "direction": "higher",
        "alpha": 0.01,
        "warn_alpha": 0.05,
        "max_drop": 0.01,
    }
    return Rule(name=name, **(defaults | changed))


def compared(pair, *, clusters=None, **changed):
    return compare(
        Gated(replace(pair, clusters=clusters), rule(**changed), gate_id="g")
    )


def checked(pair, wanted=None, *, min_coverage=0.9, benchmarks=1, **changed):
    """Judge one metric; what changes is the pair's, or of what is gated."""
    own = set(pair.__struct_fields__)
    pair = replace(pair, **{key: value for key, value in changed.items() if key in own})
    rest = {key: value for key, value in changed.items() if key not in own}
    gated = Gated(pair, wanted or rule(), gate_id="g", **rest)
    (check,) = check_regression(
        [gated], min_coverage=min_coverage, benchmarks=benchmarks
    )
    return check


def several(pairs, rules=None, *, ids=None, clusters=None, **changed):
    """Judge several metrics together; those of one agent have one id."""
    rules, ids = rules or [rule()] * len(pairs), ids or ["g"] * len(pairs)
    gated = [
        Gated(replace(pair, clusters=clusters), wanted, gate_id=gate_id)
        for pair, wanted, gate_id in zip(pairs, rules, ids, strict=True)
    ]
    return check_regression(gated, **changed)
