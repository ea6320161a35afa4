"""The numbers that a metric is given, by row, and what its values are made of."""

import math
from functools import partial

import numpy as np
import pytest

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.ext import TaskRewards
from pytest_evalmetrics.metrics import BoundMetric, Pairing, SampleSource
from pytest_evalmetrics.metrics.builtin_metrics import Total
from pytest_evalmetrics.metrics.hook_metrics import added_metrics, chosen_keys
from pytest_evalmetrics.metrics.losses import with_tasks
from pytest_evalmetrics.metrics.metric import place_of
from pytest_evalmetrics.metrics.pairing import _reward_range
from pytest_evalmetrics.metrics.samples import Sample
from pytest_evalmetrics.spec.metric_names import parse


def own(name):
    return f"{__name__}:{name}"


class Agreement:
    """The share of rows whose labels are all alike."""

    columns = ("first", "second", "third")

    def compute(self, rows):
        return float(len(rows))


class Grades:
    """A metric that reads a column of numbers as labels."""

    columns = ("grade",)
    labels = ("grade",)

    def compute(self, rows):
        return float(len(rows))


class Named:
    """A metric with a name of its own."""

    name = "agreed"

    def compute(self, task_rewards):
        return float(len(task_rewards))


AlsoNamed = Named


# -- samples ---------------------------------------------------------------------------------


def test_metrics_of_one_score_share_their_sample(planned, table):
    names = planned().names
    source = SampleSource(table([[1, 0]], tokens=[3, 4]), "reward")
    first = source.sample(names.bind("mean_reward"))
    assert source.sample(names.bind("pass@1")) is first


def test_another_score_has_another_sample(planned, table):
    names = planned().names
    source = SampleSource(table([[1, 0]], tokens=[3, 4]), "reward")
    assert source.sample(names.bind("mean/tokens")).rewards.values.tolist() == [3, 4]
    assert source.sample(names.bind("mean_reward")).rewards.values.tolist() == [1, 0]


def test_a_row_is_worth_1_where_all_its_labels_agree(planned, table):
    labels = {
        "first": ["a", "a", "a"],
        "second": ["a", "b", "a"],
        "third": ["a", "b", "b"],
    }
    metric = planned().names.bind(own("Agreement"))
    sample = SampleSource(table([[1, 1, 1]], labels=labels), "reward").sample(metric)
    assert sample.rewards.worth.tolist() == [1, 0, 0]


def test_numbers_that_are_read_as_labels_are_spelt_as_json_spells_them(planned, table):
    metric = planned().names.bind(own("Grades"))
    data = table([[1, 1, 1, 1]], grade=[5, 2.5, 5, None])
    sample = SampleSource(data, "reward").sample(metric)
    assert sample.rewards.labels == ("2.5", "5")
    assert sample.rewards.columns["grade"].tolist() == [1, 0, 1, -1]
    assert sample.missing == 1


# -- values ----------------------------------------------------------------------------------


def test_a_weighted_sum_counts_each_rollout_as_often_as_it_occurs():
    rewards = TaskRewards.from_lists([[1, 2], [4]])
    assert Total().weighted(rewards, np.array([3.0, 0.0, 2.0])) == 11


def test_a_pair_computes_the_values_of_other_rewards_of_its_tasks(planned, table):
    plan = planned()
    run = table([[1, 1], [0, 1]])
    pairing = Pairing(plan, run, run, np.array([2, 2]))
    pair = pairing.pair(plan.names.bind("mean_reward"))
    other = TaskRewards.from_lists([[0, 1], [1, 1, 1, 0]])
    assert pair.task_values(other).tolist() == [0.5, 0.75]


# -- names and places ------------------------------------------------------------------------


def test_two_names_of_one_class_are_one_metric(planned):
    names = planned().names
    first = names.bind(own("Named"))
    assert str(first.name) == "agreed"
    assert names.bind(own("AlsoNamed")).name == first.name


def test_a_partial_function_is_placed_where_the_function_is_written():
    def measured(scale, rewards):
        return scale * rewards

    _, line = place_of(partial(measured, 2))
    assert line == measured.__code__.co_firstlineno


def test_an_object_is_placed_where_its_class_is_written():
    assert place_of(Named()) == place_of(Named)
    assert place_of(Named)[0].endswith("test_sample_sources.py")


def test_a_metric_of_ours_has_no_place():
    assert place_of(Total) == (None, None)


# -- the way out of a wrong answer -----------------------------------------------------------


def refused(act, *arguments):
    with pytest.raises(MetricError) as refusal:
        act(*arguments)
    return refusal.value


def test_a_number_of_a_hook_that_is_not_defined_is_to_be_left_out(table):
    error = refused(added_metrics, lambda _: [{"own": math.inf}], table([[1]]), {})
    assert error.hint == (
        "leave out what is not defined, or raise an exception that says why"
    )


def test_a_name_of_a_hook_that_is_taken_is_to_be_another(table):
    error = refused(added_metrics, lambda _: [{"own": 1}, {"own": 2}], table([[1]]), {})
    assert error.message.endswith("gave 'own', which there is already")
    assert error.hint == "give it another name: a metric has one meaning"


def test_a_number_that_a_hook_makes_anew_is_to_have_a_name_of_its_own():
    error = refused(chosen_keys, lambda _: {"own": 1}, {"own": 2})
    assert error.hint == "give a number that is made anew a name of its own"


def test_a_score_that_no_rollout_has_is_refused_with_those_that_there_are(
    planned, table
):
    source = SampleSource(table([[1]], tokens=[3]), "reward")
    error = refused(source.sample, planned().names.bind("mean/tokns"))
    assert error.message == (
        "metric 'mean/tokns': no rollout has a score named 'tokns': "
        "did you mean 'tokens'? scores there are: reward, tokens"
    )


def test_an_undefined_metric_is_an_error_with_its_reason(planned):
    metric = planned().names.bind("mean_reward")
    error = refused(metric.measure, TaskRewards.from_lists([[], []]))
    assert error.message == (
        "metric 'mean_reward' is undefined: there is no rollout with a number to compute it from"
    )
    assert error.hint == "an undefined metric is an error, never 0"


def test_pairs_of_metrics_of_different_scores_are_of_their_own_numbers(planned, table):
    plan = planned()
    run = table([[1], [0]], tokens=[3, 4])
    before = table([[0], [0]], tokens=[5, 6])
    pairing = Pairing(plan, run, before, np.array([1, 1]))
    rewards = pairing.pair(plan.names.bind("mean_reward"))
    tokens = pairing.pair(plan.names.bind("mean/tokens"))
    again = pairing.pair(plan.names.bind("pass@1"))
    assert (rewards.value_baseline, rewards.value_current) == (0, 0.5)
    assert (tokens.value_baseline, tokens.value_current) == (5.5, 3.5)
    assert (again.value_baseline, again.value_current) == (0, 0.5)


class Endless:
    """A metric that returns no finite number."""

    def compute(self, _task_rewards):
        return math.inf


def test_a_metric_that_is_not_finite_should_raise_where_it_is_not_defined(planned):
    metric = planned().names.bind(own("Endless"))
    error = refused(metric.measure, TaskRewards.from_lists([[1], [0]]))
    assert "returned inf, where a finite number is expected" in error.message
    assert error.hint == (
        "where the metric is not defined, raise an exception that says why"
    )


def test_a_metric_is_estimated_under_the_name_that_it_gives_itself(reduced, table):
    estimates = reduced(table([[1], [0]]), metrics=[own("Named")]).estimates
    assert estimates["agreed"].value == 2
    assert estimates[own("Named")] is estimates["agreed"]


@pytest.mark.parametrize("name", ["pass@3", "pass^3", "max@3"])
def test_a_metric_of_k_rollouts_names_itself(planned, name):
    assert planned().names.bind(name).target.name == name


def test_a_breakdown_by_a_field_that_no_rollout_has_is_refused(table):
    error = refused(SampleSource(table([[1]]), "reward").rows_by_label, "level")
    assert error.message == "breakdown 'level': no rollout has that field"
    assert error.hint == (
        "name a field of the rows, such as difficulty or metadata.difficulty"
    )


class Words:
    """A metric that returns a text."""

    def __init__(self, text):
        self.text = text

    def compute(self, _task_rewards):
        return self.text


# with its quotes a text of 78 letters has 80 characters
@pytest.mark.parametrize(
    ("text", "shown"),
    [("x" * 78, f"'{'x' * 78}'"), ("x" * 79, f"'{'x' * 79}...")],
)
def test_what_a_metric_returns_is_shown_up_to_80_characters(text, shown):
    metric = BoundMetric(parse("words"), Words(text))
    error = refused(metric.measure, TaskRewards.from_lists([[1], [0]]))
    assert f"returned {shown} (str), where" in error.message


def test_the_interval_of_rewards_that_are_all_alike_has_its_level(reduced, table):
    data = table([[1]] * 8)
    interval = reduced(data, metrics=["pass@1"]).estimates["pass@1"].interval
    assert (interval.method, interval.level) == ("clopper-pearson", 0.95)


# -- what a user's metric is made with -------------------------------------------------------


class Threshold:
    """A metric that keeps the options of its benchmark."""

    def __init__(self, options):
        self.options = options

    def compute(self, task_rewards):
        return float(len(task_rewards))


def test_a_metric_of_ones_own_has_the_options_of_its_benchmark(planned):
    first = planned(pass_threshold=0.25).names.bind(own("Threshold"))
    second = planned(pass_threshold=0.75).names.bind(own("Threshold"))
    assert first.target.options.pass_threshold == 0.25
    assert second.target.options.pass_threshold == 0.75


# -- lost tasks ------------------------------------------------------------------------------


def sample(clusters=None):
    """Two tasks, of two rollouts and of one."""
    rewards = TaskRewards.from_lists([[1, 0], [1]])
    return Sample(rewards, ("a", "b"), clusters, "reward", 0)


def test_lost_tasks_have_as_many_rollouts_as_any_other_has():
    more = with_tasks(sample(), ("c", "d"), 0.5)
    assert more.tasks == ("a", "b", "c", "d")
    assert more.rewards.to_lists() == [[1, 0], [1], [0.5, 0.5], [0.5, 0.5]]
    assert more.clusters is None


def test_each_lost_task_is_a_cluster_of_its_own():
    more = with_tasks(sample(np.array([0, 3])), ("c", "d"), 0.0)
    assert more.clusters.tolist() == [0, 3, 4, 5]


def test_without_lost_tasks_a_sample_stays():
    whole = sample()
    assert with_tasks(whole, (), 0.0) is whole


@pytest.mark.parametrize(
    ("now", "before", "ends"),
    [
        ([0.5, 0.75], [0.25], (0, 1)),
        ([0, 1], [0.5], (0, 1)),
        ([-1, 0.5], [0.25], (-1, 0.5)),
        ([0.5], [3, 2], (0.5, 3)),
        ([], [], (0, 1)),
    ],
)
def test_missing_rewards_lie_in_0_to_1_or_between_those_that_there_are(
    now, before, ends
):
    found = _reward_range(
        TaskRewards.from_lists([now]), TaskRewards.from_lists([before])
    )
    assert found == ends
