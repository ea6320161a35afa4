"""Comparisons made by hand: a metric on both sides."""

from importlib import import_module
from pkgutil import iter_modules

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from pytest_evalmetrics.comparison import ComparisonInput, compare
from pytest_evalmetrics.model.comparison import PairedMetric, RuleName, RuleSettings
from pytest_evalmetrics.model.rollout_table import TaskRewards
from pytest_evalmetrics.model.verdicts import Direction


def make_pair(before, after, /, **changed):
    """Pair the mean reward of tasks; one inner sequence per task."""
    means_before = np.array([np.mean(task) for task in before])
    means_after = np.array([np.mean(task) for task in after])
    defaults = {
        "name": "mean_reward",
        "tasks": tuple(range(len(before))),
        "baseline": means_before,
        "current": means_after,
        "value_baseline": float(means_before.mean()) if len(before) else float("nan"),
        "value_current": float(means_after.mean()) if len(after) else float("nan"),
        "rewards_baseline": TaskRewards.from_lists(before),
        "rewards_current": TaskRewards.from_lists(after),
        "bounded": True,
    }
    return PairedMetric(**(defaults | changed))


def make_combined(before, after, /, combine=np.median, **changed):
    """Pair a metric that combines the tasks' values, of one rollout each."""
    one = np.array(before, dtype=float)
    other = np.array(after, dtype=float)
    both = np.concatenate((one, other))

    def combined(choices):
        if combine is np.median:  # of all choices at once: a test draws thousands
            return np.median(both[choices], axis=-1)
        return np.array([combine(values) for values in both[choices]])

    def difference(first, second):
        return combined(first) - combined(second)

    defaults = {
        "name": "median",
        "value_baseline": float(combine(one)),
        "value_current": float(combine(other)),
        "difference": difference,
        "reduce": lambda rewards: float(combine(rewards.values)),
    }
    rows_before = [[value] for value in one]
    rows_after = [[value] for value in other]
    return make_pair(rows_before, rows_after, **(defaults | changed))


def worst_task(before, after):
    """Pair the lowest mean reward of all tasks."""
    return make_pair(
        before,
        after,
        name="worst_task",
        extreme="lowest",
        value_baseline=min(np.mean(task) for task in before),
        value_current=min(np.mean(task) for task in after),
    )


def flips(worse, better, same):
    """Tasks of one 0/1 rollout, so many of which flipped."""
    baseline = [1] * worse + [0] * better + [1] * same
    current = [0] * worse + [1] * better + [1] * same
    return make_pair([[value] for value in baseline], [[value] for value in current])


def run(seed, tasks, samples, loss=0.0):
    """Two runs of the same tasks; a loss takes its share of each task's chance to pass."""
    rng = np.random.default_rng(seed)
    chance = rng.beta(0.4, 0.4, (tasks, 1))
    before = (rng.random((tasks, samples)) < chance).astype(float)
    after = (rng.random((tasks, samples)) < chance * (1 - loss)).astype(float)
    return make_pair(before.tolist(), after.tolist())


def rule(name="practical", *, direction="higher", **changed):
    """The settings of a rule, with the defaults of a benchmark."""
    defaults = {"alpha": 0.01, "warn_alpha": 0.05, "max_drop": 0.01}
    return RuleSettings(
        rule=RuleName(name), direction=Direction(direction), **(defaults | changed)
    )


def compared(
    pair,
    *,
    clusters=None,
    runs=None,
    stated=None,
    sharing=1,
    run_noise=None,
    is_rate=False,
    shares_error=False,
    **changed,
):
    """Compare a metric by a rule that is practical but for what is changed."""
    return compare(
        ComparisonInput(
            pair=pair if clusters is None else replace(pair, clusters=clusters),
            rule=rule(**changed),
            gate_id="g",
            runs=runs,
            stated=stated,
            sharing=sharing,
            run_noise=run_noise,
            is_rate=is_rate,
            shares_error=shares_error,
        )
    )


def records_of(package):
    """Return the record classes that the modules of a package define."""
    found = []
    for module in iter_modules(import_module(package).__path__, f"{package}."):
        values = vars(import_module(module.name)).values()
        found += [
            value
            for value in values
            if isinstance(value, type)
            and issubclass(value, Struct)
            and value.__module__ == module.name
        ]
    return found
