"""What holds for each built-in metric, against the definition in plain Python."""

from __future__ import annotations

from statistics import mean, median
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_evalmetrics.data import TaskRewards
from pytest_evalmetrics.metrics.lookup import Names
from pytest_evalmetrics.metrics.protocol import MetricOptions
from pytest_evalmetrics.registry import metrics

if TYPE_CHECKING:
    from pytest_evalmetrics.metrics.lookup import BoundMetric


def plainly(name: str, tasks: list[list[float]], threshold: float) -> float:
    """Compute a metric as one would explain it; pass@k and the like by the first k."""
    tasks = [task for task in tasks if task]
    passing = [[reward >= threshold for reward in task] for task in tasks]
    k = int(name[-1]) if name[-1].isdigit() else 0
    return {
        "mean_reward": lambda: mean(mean(task) for task in tasks),
        "avg": lambda: mean(mean(task) for task in tasks),
        "median": lambda: median(mean(task) for task in tasks),
        "worst_task": lambda: min(mean(task) for task in tasks),
        "pass_rate": lambda: mean(p for task in passing for p in task),
        "pass@": lambda: mean(any(task[:k]) for task in passing),
        "pass^": lambda: mean(all(task[:k]) for task in passing),
        "max@": lambda: mean(max(task[:k]) for task in tasks),
    }[name[:-1] if k else name]()


NAMES = ["mean_reward", "avg", "median", "worst_task", "pass_rate"]
NAMES += ["pass@1", "pass@3", "pass^1", "pass^3", "max@1", "max@3"]
TASKS = st.lists(
    st.lists(st.sampled_from([0.0, 0.25, 1.0, -1.5, 3.0]), max_size=6), min_size=1, max_size=12
).filter(any)
FIRST_K = MetricOptions(pass_estimator="first_k")  # noqa: S106 - the "pass" of pass@k
OPTIONS = st.builds(MetricOptions, st.sampled_from([0.0, 0.25, 1.0]), st.just("first_k"))


def bind(name: str, options: MetricOptions = None) -> BoundMetric:
    return Names(options).bind(name)


def test_the_list_of_built_in_metrics_is_the_documented_one() -> None:
    assert {
        "mean_reward", "avg", "pass_rate", "pass@{k}", "pass^{k}", "max@{k}", "median",
        "worst_task", "time_per_task", "tokens_per_task", "cost_per_task",
    } <= set(metrics.names())  # fmt: skip


@given(TASKS, OPTIONS)
@settings(max_examples=60)
def test_the_vectorised_form_is_the_definition(
    tasks: list[list[float]], options: MetricOptions
) -> None:
    for name in NAMES:
        metric = bind(name, options)
        expected = pytest.approx(plainly(name, tasks, options.pass_threshold), abs=1e-12)
        assert metric.value(TaskRewards.from_lists(tasks)) == expected, name
        assert metric.target.compute(tasks) == expected, name


@given(st.data(), TASKS)
@settings(max_examples=40)
def test_the_order_of_the_tasks_does_not_matter(
    data: st.DataObject, tasks: list[list[float]]
) -> None:
    rewards = TaskRewards.from_lists(tasks)
    order = np.array(data.draw(st.permutations(range(len(tasks)))))
    for name in NAMES:
        metric = bind(name, FIRST_K)
        expected = pytest.approx(metric.value(rewards), abs=1e-12)
        assert metric.value(rewards.take(order)) == expected, name


@given(st.data(), TASKS)
@settings(max_examples=40)
def test_nor_does_that_of_the_rollouts_unless_by_the_first_k(
    data: st.DataObject, tasks: list[list[float]]
) -> None:
    tasks = [task + [0.5] * 3 if task else task for task in tasks]  # enough of them for k = 3
    shuffled = [data.draw(st.permutations(task)) for task in tasks]
    for name in NAMES:
        metric = bind(name)
        expected = pytest.approx(metric.value(TaskRewards.from_lists(tasks)), abs=1e-12)
        assert metric.value(TaskRewards.from_lists(shuffled)) == expected, name


@given(TASKS)
@settings(max_examples=40)
def test_the_parts_make_the_whole(tasks: list[list[float]]) -> None:
    rewards = TaskRewards.from_lists(tasks)
    for name in NAMES:
        metric = bind(name, FIRST_K)
        parts = metric.parts(rewards)
        assert parts is not None
        assert parts.value() == metric.value(rewards), name
        assert np.isnan(parts.values).tolist() == [not task for task in tasks], name
        if parts.additive:
            mean_of_parts = pytest.approx(parts.values[parts.held].mean(), abs=1e-12)
            assert metric.value(rewards) == mean_of_parts, name


@pytest.mark.parametrize("name", NAMES)
def test_rates_say_that_they_are_rates(name: str) -> None:
    assert bind(name).bounded is name.startswith("pass")
