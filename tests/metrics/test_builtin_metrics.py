"""What holds for each built-in metric, against the definition in plain Python."""

import re
from itertools import combinations
from statistics import mean, median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.ext import MetricOptions, TaskRewards
from pytest_evalmetrics.metrics import Names


def plainly(name, tasks, threshold):
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
    st.lists(st.sampled_from([0.0, 0.25, 1.0, -1.5, 3.0]), max_size=6),
    min_size=1,
    max_size=12,
).filter(any)
FIRST_K = MetricOptions(pass_estimator="first_k")  # noqa: S106 - the "pass" of pass@k
OPTIONS = st.builds(
    MetricOptions, st.sampled_from([0.0, 0.25, 1.0]), st.just("first_k")
)


def bind(name, options=None):
    return Names(options or MetricOptions()).bind(name)


def value(name, tasks, options=None):
    return bind(name, options).value(TaskRewards.from_lists(tasks))


@given(st.data(), TASKS, OPTIONS)
@settings(max_examples=30)
def test_the_vectorised_form_is_the_definition_in_any_order(data, tasks, options):
    rewards = TaskRewards.from_lists(tasks)
    order = np.array(data.draw(st.permutations(range(len(tasks)))))
    for name in NAMES:
        metric = bind(name, options)
        expected = pytest.approx(
            plainly(name, tasks, options.pass_threshold), abs=1e-12
        )
        assert metric.value(rewards) == expected, name
        assert metric.value(rewards.take(order)) == expected, name


@given(TASKS)
@settings(max_examples=25)
def test_the_parts_make_the_whole(tasks):
    rewards = TaskRewards.from_lists(tasks)
    for name in NAMES:
        metric = bind(name, FIRST_K)
        parts = metric.parts(rewards)
        assert parts is not None
        assert parts.value() == metric.value(rewards), name
        assert np.isnan(parts.values).tolist() == [not task for task in tasks], name
        if parts.combine is None and (parts.bottoms[parts.held] == 1).all():
            mean_of_parts = pytest.approx(parts.values[parts.held].mean(), abs=1e-12)
            assert metric.value(rewards) == mean_of_parts, name


TOKENS = {"tokens_per_task": 4.5}
SOME = [2, 2, None, None]
REWARDS = st.lists(st.lists(st.floats(-10, 10), min_size=3, max_size=7), min_size=1)


@pytest.mark.parametrize("name", [*NAMES, "time_per_task", "mean/reward"])
def test_nothing_is_an_error_and_never_0(name):
    for options in (MetricOptions(), FIRST_K):
        for nothing in ([], [[]], [[], []]):
            with pytest.raises(
                MetricError, match=f"^metric '{re.escape(name)}' is undefined"
            ):
                value(name, nothing, options)


@settings(max_examples=30)
@given(REWARDS, st.integers(1, 3), st.sampled_from([0.3, 1.0]))
def test_unbiased_is_the_mean_over_all_sets_of_k_rollouts(rewards, k, threshold):
    options = MetricOptions(pass_threshold=threshold)
    for form, of_set in (
        ("pass@", lambda s: any(r >= threshold for r in s)),
        ("pass^", lambda s: all(r >= threshold for r in s)),
        ("max@", max),
    ):
        expected = mean(mean(map(of_set, combinations(task, k))) for task in rewards)
        assert value(f"{form}{k}", rewards, options) == pytest.approx(
            expected, abs=1e-9
        )


def test_too_few_rollouts_are_an_error_that_lists_the_tasks_and_the_ways_out():
    for name in ("pass@3", "pass^3", "max@3"):
        with pytest.raises(MetricError) as caught:
            value(name, [[1, 1, 1]] + [[1, 0]] * 11 + [[]])
        text = str(caught.value)
        assert (
            f"{name}' needs 3 rollouts of each task, and 11 of 13 tasks have fewer"
            in text
        )
        for part in ("1 (2), 2 (2)", "10 (2) and 1 more", "more rollouts", "smaller k"):
            assert part in text
        assert "pass_estimator: first_k" in text


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(st.integers(-5, 5).map(float), st.integers(0, 4)),
        min_size=1,
        max_size=12,
    ).filter(lambda pairs: any(times for _, times in pairs))
)
def test_counting_a_task_is_repeating_it(pairs):
    values, times = (
        np.array(column, dtype=float) for column in zip(*pairs, strict=True)
    )
    repeated = [value for value, n in pairs for _ in range(n)]
    for name, of_all in (("median", median), ("worst_task", min)):
        assert bind(name).target.combine_weighted(values, times) == of_all(repeated)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        # within the task, then over the tasks that report
        ({"cost_usd": [1, 3, None, None]}, {"cost_per_task": 2}),
        ({"cost_usd": [1, 2, 10, None]}, {"cost_per_task": (1.5 + 10) / 2}),
        ({"prompt_tokens": [5, 5, 1, 1], "completion_tokens": [2, 2, 1, 1]}, TOKENS),
        ({"input_tokens": [5, 5, 1, 1], "output_tokens": [2, 2, 1, 1]}, TOKENS),
        ({"total_tokens": [7, 7, 2, 2]}, TOKENS),
        # the parts are preferred to the total; a row that lacks one of them says its total
        (
            {
                "input_tokens": [5] * 4,
                "output_tokens": SOME,
                "total_tokens": [9, 9, 2, 2],
            },
            TOKENS,
        ),
        ({"prompt_tokens": SOME, "completion_tokens": [5] * 4}, {"tokens_per_task": 7}),
        ({"prompt_tokens": [5, 5, 1, 1]}, {}),
    ],
)
def test_what_a_task_takes(table, reduced, columns, expected):
    rollouts = table([[1, 1], [1, 1]], **columns)
    metrics = reduced(rollouts, metrics=["mean_reward"]).aggregate["agent_metrics"]
    assert {k: v for k, v in metrics.items() if k.endswith("_per_task")} == expected


def test_one_that_is_asked_for_and_not_reported_is_an_error(table, reduced):
    with pytest.raises(MetricError) as caught:
        reduced(table([[1]]), metrics=["tokens_per_task"])
    assert (
        caught.value.message
        == "metric 'tokens_per_task': no rollout says what it needs"
    )
    columns = (
        "prompt_tokens + completion_tokens, input_tokens + output_tokens, total_tokens"
    )
    assert columns in str(caught.value)
    with pytest.raises(MetricError, match="leave /reward out"):
        reduced(table([[1]], cost=[1]), metrics=["cost_per_task/reward"])


def test_a_sum_that_is_one_but_for_rounding_passes_at_one():
    almost_one = 0.9999999999999999  # ten times 0.1, added one by one
    rewards = TaskRewards.from_lists([[almost_one, 1.0], [1 - 1e-6, 1.0]])
    for name, expected in (("pass@1", 0.75), ("pass_rate", 0.75), ("pass^2", 0.5)):
        assert bind(name, MetricOptions()).value(rewards) == expected
