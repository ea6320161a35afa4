"""What holds for each built-in metric, against the definition in plain Python."""

from itertools import combinations
from statistics import mean, median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.ext import MetricOptions, TaskRewards
from pytest_evalmetrics.metrics import Names, reduce_agent
from pytest_evalmetrics.metrics.builtin_metrics import ACCEPTED, Median, TokensPerTask, WorstTask


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
    st.lists(st.sampled_from([0.0, 0.25, 1.0, -1.5, 3.0]), max_size=6), min_size=1, max_size=12
).filter(any)
FIRST_K = MetricOptions(pass_estimator="first_k")  # noqa: S106 - the "pass" of pass@k
OPTIONS = st.builds(MetricOptions, st.sampled_from([0.0, 0.25, 1.0]), st.just("first_k"))


def bind(name, options=None):
    return Names(options).bind(name)


def value(name, tasks, options=None):
    return bind(name, options).value(TaskRewards.from_lists(tasks))


@given(TASKS, OPTIONS)
@settings(max_examples=60)
def test_the_vectorised_form_is_the_definition(tasks, options):
    for name in NAMES:
        metric = bind(name, options)
        expected = pytest.approx(plainly(name, tasks, options.pass_threshold), abs=1e-12)
        assert metric.value(TaskRewards.from_lists(tasks)) == expected, name


@given(st.data(), TASKS)
@settings(max_examples=40)
def test_the_order_of_the_tasks_does_not_matter(data, tasks):
    rewards = TaskRewards.from_lists(tasks)
    order = np.array(data.draw(st.permutations(range(len(tasks)))))
    for name in NAMES:
        metric = bind(name, FIRST_K)
        expected = pytest.approx(metric.value(rewards), abs=1e-12)
        assert metric.value(rewards.take(order)) == expected, name


@given(st.data(), TASKS)
@settings(max_examples=40)
def test_nor_does_that_of_the_rollouts_unless_by_the_first_k(data, tasks):
    tasks = [task + [0.5] * 3 if task else task for task in tasks]  # enough of them for k = 3
    shuffled = [data.draw(st.permutations(task)) for task in tasks]
    for name in NAMES:
        metric = bind(name)
        expected = pytest.approx(metric.value(TaskRewards.from_lists(tasks)), abs=1e-12)
        assert metric.value(TaskRewards.from_lists(shuffled)) == expected, name


@given(TASKS)
@settings(max_examples=40)
def test_the_parts_make_the_whole(tasks):
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


FOUR = [[1, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 1]]
REWARDS = st.lists(st.lists(st.floats(-10, 10), min_size=3, max_size=7), min_size=1)


@pytest.mark.parametrize("name", [*NAMES, "time_per_task"])
@pytest.mark.parametrize("options", [MetricOptions(), FIRST_K])
@pytest.mark.parametrize("nothing", [[], [[]], [[], []]])
def test_nothing_is_an_error_and_never_0(name, options, nothing):
    with pytest.raises(MetricError) as caught:
        value(name, nothing, options)
    assert caught.value.message.startswith(f"metric '{name}' is undefined")


def test_first_k_looks_at_the_first_k_and_at_what_there_is():
    names = ["pass@1", "pass@3", "pass^3"]
    assert [value(name, FOUR, FIRST_K) for name in names] == [0.75, 0.75, 0.25]
    # the passing rollout is the second: out of sight of pass@1
    assert [value(name, [[0, 1]], FIRST_K) for name in ("pass@1", "pass@2")] == [0, 1]
    assert value("pass^1", [[1, 0]], FIRST_K) == 1
    # fewer than k, and none
    assert value("pass@5", [[0, 1], [], [0]], FIRST_K) == 0.5
    assert value("pass^5", [[1, 1], [], [0]], FIRST_K) == 0.5
    assert value("max@1", [[-3.0, -1.0], []], FIRST_K) == -3.0


@given(REWARDS, st.integers(1, 3), st.sampled_from([0.3, 1.0]))
def test_unbiased_is_the_mean_over_all_sets_of_k_rollouts(rewards, k, threshold):
    options = MetricOptions(pass_threshold=threshold)
    for form, of_set in (
        ("pass@", lambda s: any(r >= threshold for r in s)),
        ("pass^", lambda s: all(r >= threshold for r in s)),
        ("max@", max),
    ):
        expected = mean(mean(map(of_set, combinations(task, k))) for task in rewards)
        assert value(f"{form}{k}", rewards, options) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", ["pass@3", "pass^3", "max@3"])
def test_too_few_rollouts_are_an_error_that_lists_the_tasks_and_the_ways_out(name):
    with pytest.raises(MetricError) as caught:
        value(name, [[1, 1, 1]] + [[1, 0]] * 11 + [[]])
    text = str(caught.value)
    assert f"{name}' needs 3 rollouts of each task, and 11 of 13 tasks have fewer" in text
    assert "1 (2), 2 (2)" in text
    assert "10 (2) and 1 more" in text
    assert "more rollouts" in text
    assert "smaller k" in text
    assert "pass_estimator: first_k" in text


@given(
    st.lists(
        st.tuples(st.integers(-5, 5).map(float), st.integers(0, 4)), min_size=1, max_size=12
    ).filter(lambda pairs: any(times for _, times in pairs))
)
def test_counting_a_task_is_repeating_it(pairs):
    values, times = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    repeated = [value for value, n in pairs for _ in range(n)]
    assert Median().combine_weighted(values, times) == median(repeated)
    assert WorstTask().combine_weighted(values, times) == min(repeated)


def economics(planned, made, **keys):
    found = reduce_agent(planned(metrics=["mean_reward"], **keys), "agent", made)
    return {k: v for k, v in found.aggregate["agent_metrics"].items() if k in ACCEPTED}


def test_the_mean_is_within_the_task_then_over_the_tasks_that_report(table, planned):
    made = table([[1, 1, 1], [0], [1]], cost_usd=[1, 2, None, 10, None])
    assert economics(planned, made) == {"cost_per_task": (1.5 + 10) / 2}


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"prompt_tokens": [5, 1], "completion_tokens": [2, 1]}, [7, 2]),
        ({"input_tokens": [5, 1], "output_tokens": [2, 1]}, [7, 2]),
        ({"total_tokens": [9, 8]}, [9, 8]),
        # the parts are preferred to the total; a row that lacks one of them says its total
        ({"input_tokens": [5, 1], "output_tokens": [2, np.nan], "total_tokens": [9, 8]}, [7, 8]),
        ({"prompt_tokens": [5, np.nan], "completion_tokens": [2, 1]}, [7, np.nan]),
        ({"prompt_tokens": [5, 1]}, None),
    ],
)
def test_the_accepted_columns(columns, expected):
    found = TokensPerTask().column({k: np.array(v, dtype=float) for k, v in columns.items()})
    if expected is None:
        assert found is None
    else:
        assert found.tolist() == pytest.approx(expected, nan_ok=True)


def test_one_that_is_asked_for_and_not_reported_is_an_error(table, planned):
    with pytest.raises(MetricError) as caught:
        reduce_agent(planned(metrics=["tokens_per_task"]), "agent", table([[1]]))
    assert caught.value.message == "metric 'tokens_per_task': no rollout says what it needs"
    assert "prompt_tokens + completion_tokens, input_tokens + output_tokens, total_tokens" in str(
        caught.value
    )


def test_one_of_a_score_is_an_error(table, planned):
    with pytest.raises(MetricError, match="leave /reward out"):
        reduce_agent(planned(metrics=["cost_per_task/reward"]), "agent", table([[1]], cost=[1]))
