"""Which columns state what a rollout used, and what metrics need and say of themselves."""

import inspect
import math

import numpy as np
import pytest

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.ext import TaskRewards
from pytest_evalmetrics.metrics import Pairing, SampleSource


@pytest.fixture
def used(planned):
    """Take what each row used from columns of scores."""

    def column(metric, **scores):
        arrays = {name: np.array(values, float) for name, values in scores.items()}
        return planned().names.bind(metric).target.column(arrays)

    return column


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        ("time_per_task", "latency_s"),
        ("time_per_task", "latency_seconds"),
        ("time_per_task", "duration_s"),
        ("time_per_task", "duration_seconds"),
        ("time_per_task", "elapsed_s"),
        ("time_per_task", "wall_time_s"),
        ("tokens_per_task", "total_tokens"),
        ("cost_per_task", "cost_usd"),
        ("cost_per_task", "total_cost_usd"),
        ("cost_per_task", "cost"),
        ("cost_per_task", "total_cost"),
    ],
)
def test_a_column_of_this_name_states_the_usage(used, metric, name):
    assert used(metric, **{name: [1.5, 2]}).tolist() == [1.5, 2]


@pytest.mark.parametrize(
    "names", [("prompt_tokens", "completion_tokens"), ("input_tokens", "output_tokens")]
)
def test_tokens_of_both_ways_are_added(used, names):
    first, second = names
    columns = {first: [10, 20], second: [1, 2]}
    assert used("tokens_per_task", **columns).tolist() == [11, 22]
    assert used("tokens_per_task", **{first: [10, 20]}) is None


def test_a_row_that_lacks_the_first_column_is_taken_from_the_next(used):
    column = used("cost_per_task", cost_usd=[1, np.nan, np.nan], cost=[7, 8, np.nan])
    np.testing.assert_equal(column, [1, 8, np.nan])


def test_usage_that_no_row_states_is_none(used):
    assert used("cost_per_task", cost=[np.nan, np.nan]) is None
    assert used("cost_per_task", tokens=[1, 2]) is None


# -- what metrics need -----------------------------------------------------------------------

VOTE = {"vote": {"type": "majority_vote", "answer": "said", "k": 3}}


@pytest.mark.parametrize(("estimator", "needed"), [("unbiased", 3), ("first_k", 1)])
def test_a_vote_of_k_rollouts_needs_them_unless_the_first_ones_are_asked(
    planned, estimator, needed
):
    plan = planned(metrics=[VOTE], pass_estimator=estimator)
    assert plan.names.bind("vote").target.samples_needed == needed


class TakesMore:
    """An object that is called with more than the rewards."""

    def __call__(self, rewards, k):
        return rewards[k]


takes_more = TakesMore()


def test_an_object_that_is_called_otherwise_is_named_by_its_class(planned):
    with pytest.raises(MetricError) as refused:
        planned().names.bind(f"{__name__}:takes_more")
    assert refused.value.message.endswith(
        "can't be called with the rewards alone: it is TakesMore(rewards, k), expected "
        "compute(self, task_rewards)"
    )


# -- differences -----------------------------------------------------------------------------


def test_a_median_of_other_tasks_is_computed_from_the_values_of_tasks(planned, table):
    plan = planned(metrics=["median"])
    before = table([[1], [3], [5]])
    now = table([[0], [3], [9]])
    pair = Pairing(plan, now, before, np.ones(3, int)).pair(plan.names.bind("median"))
    # the tasks of the run follow those of the baseline
    first = np.array([[0, 0, 1], [2, 2, 1]])
    second = np.array([[3, 3, 4], [5, 5, 4]])
    assert pair.difference(first, second).tolist() == [1 - 0, 5 - 9]


# -- what is read and what fails -------------------------------------------------------------


def test_the_labels_that_metrics_read_are_fields_and_their_numbers_are_not(planned):
    brier = {"loss": {"type": "brier", "gold": "gold", "score": "p"}}
    plan = planned(metrics=[brier])
    assert plan.categories == ("gold",)


class Root:
    """A metric whose code is not Python's."""

    compute = staticmethod(math.sqrt)


def test_a_metric_that_fails_outside_of_python_is_placed_at_its_class(planned):
    metric = planned().names.bind(f"{__name__}:Root")
    with pytest.raises(MetricError) as refused:
        metric.measure(TaskRewards.from_lists([[1], [0]]))
    assert refused.value.file.endswith("test_usage_columns.py")
    assert refused.value.line == inspect.getsourcelines(Root)[1]


def test_one_rollout_has_no_standard_deviation(planned):
    metric = planned().names.bind("std/reward")
    with pytest.raises(MetricError) as refused:
        metric.measure(TaskRewards.from_lists([[1]]))
    assert "std/reward" in refused.value.message
    assert metric.measure(TaskRewards.from_lists([[1], [0]]))[0] == pytest.approx(
        math.sqrt(0.5)
    )


class AtLeast:
    """The share of tasks of so many rollouts."""

    def __init__(self, least):
        self.least = least

    def compute(self, task_rewards):
        return sum(len(task) >= self.least for task in task_rewards) / len(task_rewards)


@pytest.mark.parametrize(("least", "share"), [(1, 1), (2, 0.5)])
def test_a_metric_of_ones_own_is_made_with_the_arguments_of_the_file(
    reduced, table, least, share
):
    keys = {"type": f"{__name__}:AtLeast", "least": least}
    estimates = reduced(table([[1, 1], [0]]), metrics=[{"share": keys}]).estimates
    assert estimates["share"].value == share


def test_a_game_is_worth_what_the_rated_player_won_of_it_on_either_side(planned, table):
    elo = {"type": "elo", "a": "a", "b": "b", "winner": "won", "of": "us"}
    metric = planned(metrics=[{"rating": elo}]).names.bind("rating")
    labels = {
        "a": ["us", "us", "them", "them", "x", "us"],
        "b": ["them", "x", "us", "us", "them", "x"],
        "won": ["us", "x", "us", "them", "x", "tie"],
    }
    source = SampleSource(table([[1]] * 6, labels=labels), "reward")
    assert source.sample(metric).rewards.worth.tolist() == [1, 0, 1, 0, 0.5, 0.5]


def test_a_key_metric_that_fails_is_placed_at_its_line(reduced, table):
    data = table([[1], [0]], tokens=[3, None])
    places = {("key_metrics", 1): 7}
    with pytest.raises(MetricError) as refused:
        reduced(
            data,
            metrics=["mean_reward"],
            key_metrics=["mean_reward", "std/tokens"],
            line_of=lambda *path: places.get(path, 1),
        )
    assert refused.value.line == 7


def test_tasks_of_a_pair_keep_their_clusters(planned, table):
    plan = planned(cluster="level")
    before = table([[1], [0], [1]], tasks="abc", labels={"level": ["x", "y", "x"]})
    now = table([[1], [0]], tasks="cb", labels={"level": ["x", "y"]})
    pair = Pairing(plan, now, before, np.ones(2, int)).pair(
        plan.names.bind("mean_reward")
    )
    clusters = dict(zip(pair.tasks, pair.clusters.tolist(), strict=True))
    assert set(clusters) == {"b", "c"}
    assert clusters["b"] != clusters["c"]
