"""Metrics of a user's module, looked up and computed without a run."""

import json
from pathlib import Path

import numpy as np
import pytest

from pytest_evalmetrics.errors import MetricError, RegistryError
from pytest_evalmetrics.metrics import SampleSource, reduce_agent
from pytest_evalmetrics.model.rollout_notes import SliceWithoutRewards, UndefinedSlice
from pytest_evalmetrics.model.rollout_table import STATED_ERROR
from pytest_evalmetrics.model.run_notes import ReplacedBuiltin
from pytest_evalmetrics.registry import Scope


def own(name):
    return f"{__name__}:{name}"


class Best:
    """The best reward of all, by lists."""

    def compute(self, task_rewards):
        return max(map(max, task_rewards))


class Named:
    name = "best_of_all"

    def compute(self, task_rewards):
        return max(map(max, task_rewards))


class Twin:
    name = "best_of_all"

    def compute(self, _task_rewards):
        return 1.0


class Median:
    name = "median"

    def compute(self, _task_rewards):
        return 0.5


class WithOptions:
    def __init__(self, options):
        self.options = options

    def compute(self, _task_rewards):
        return self.options.pass_threshold


class Vectorised:
    def task_values(self, rewards):
        return rewards.counts / 4


class Columns:
    """A mean of a number where a label says so."""

    columns = ("kind", "tokens")

    def compute(self, rows):
        chosen = [
            tokens
            for row in rows
            for kind, tokens in zip(row["kind"], row["tokens"], strict=True)
            if kind == "a"
        ]
        return sum(chosen) / len(chosen)


class TakesMore:
    def compute(self, rewards, k):
        return rewards[k]


class TakesNothing:
    def compute(self):
        return 1.0


class Fails:
    def compute(self, _task_rewards):
        return json.loads("nonsense")


class FailsInDraws:
    combines_draws = True

    def task_values(self, rewards):
        return rewards.counts / 1

    def combine(self, values):
        if values.ndim > 1:
            raise ValueError("too many")
        return float(values.mean())


class NotCallable:
    compute = 3


class Empty:
    pass


class IsAsync:
    async def compute(self, _task_rewards):
        return 1.0


class NeedsMore:
    def __init__(self, k):
        self.k = k

    def compute(self, _task_rewards):
        return 1.0


def half(_task_rewards):
    return 0.5


def takes_nothing():
    return 1.0


number = 3


# -- which name a metric has -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "name"),
    [("Best", "Best"), ("Named", "best_of_all"), ("half", "half")],
)
def test_a_metric_is_called_by_its_own_name_or_by_that_of_its_attribute(
    planned, written, name
):
    assert str(planned().names.bind(own(written))) == name


def test_a_metric_is_the_same_under_both_of_its_names(planned):
    names = planned().names
    written = names.bind(own("Named"))
    assert names.bind("best_of_all").target is written.target


def test_two_metrics_of_one_name_are_refused(planned):
    names = planned().names
    names.bind(own("Named"))
    with pytest.raises(RegistryError) as refused:
        names.bind(own("Twin"))
    message = refused.value.message
    assert message.startswith(
        f"{own('Twin')!r} calls itself 'best_of_all', and so does "
    )
    assert ".Named (" in message
    assert refused.value.hint == "give it another `name`"


def test_a_metric_in_place_of_a_built_in_one_is_noted(planned):
    with Scope(Path()) as scope:
        planned().names.bind(own("Median"))
    assert list(scope.notes) == [ReplacedBuiltin("median", own("Median"))]


def test_a_metric_that_the_file_defines_may_not_have_the_name_of_another(planned):
    defined = {"median": {"type": "majority_vote", "answer": "said", "k": 3}}
    with pytest.raises(RegistryError) as refused:
        planned(metrics=[defined])
    assert refused.value.message.startswith(
        "'median' is the name of a metric already: "
    )
    assert refused.value.hint == "give the one that is defined here another name"


# -- what a metric may be --------------------------------------------------------------------


def value_of(planned, table, name, rewards=((1.0, 0.0), (0.5,)), **keys):
    names = planned(**keys).names
    metric = names.bind(own(name))
    return metric.value(SampleSource(table(rewards), "reward").sample(metric).rewards)


@pytest.mark.parametrize(
    ("name", "value"), [("Best", 1.0), ("half", 0.5), ("Vectorised", 0.375)]
)
def test_a_class_a_function_and_a_vectorised_form_are_metrics(
    planned, table, name, value
):
    assert value_of(planned, table, name) == value


def test_a_class_may_ask_for_the_options_of_the_benchmark(planned, table):
    assert value_of(planned, table, "WithOptions", pass_threshold=0.25) == 0.25


EXPECTED = "expected compute(self, task_rewards)"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (
            "TakesMore",
            f"can't be called with the rewards alone: it is compute(rewards, k), {EXPECTED}",
        ),
        (
            "takes_nothing",
            f"can't be called with the rewards alone: it is takes_nothing(), {EXPECTED}",
        ),
        ("NotCallable", "has no compute(self, task_rewards)"),
        ("Empty", "has no compute(self, task_rewards)"),
        ("number", "has no compute(self, task_rewards)"),
        ("IsAsync", "is async: a metric is a plain function of numbers"),
    ],
)
def test_what_is_no_metric_is_refused(planned, name, why):
    with pytest.raises(MetricError) as refused:
        planned().names.bind(own(name))
    assert refused.value.message == f"metric {own(name)!r} {why}"


def test_the_file_of_what_is_no_metric_is_named(planned):
    with pytest.raises(MetricError) as refused:
        planned().names.bind(own("Empty"))
    assert refused.value.file.endswith("test_own_metrics.py")
    assert refused.value.line > 1


def test_a_class_that_needs_more_than_the_file_gives_is_refused(planned):
    with pytest.raises(MetricError) as refused:
        planned().names.bind(own("NeedsMore"))
    assert f"metric {own('NeedsMore')!r} failed in __init__: TypeError: " in (
        refused.value.message
    )


# -- a metric that fails ---------------------------------------------------------------------


def test_a_metric_that_fails_in_a_library_names_its_own_last_line(planned, table):
    with pytest.raises(MetricError) as refused:
        value_of(planned, table, "Fails")
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    assert refused.value.file.endswith("test_own_metrics.py")
    assert lines[refused.value.line - 1].strip() == 'return json.loads("nonsense")'
    assert refused.value.message.startswith(
        "metric 'Fails' failed in compute: JSONDecodeError: "
    )
    assert refused.value.hint == (
        "a metric that fails is never skipped: fix it, or remove it from the benchmark"
    )


def test_a_metric_that_fails_on_many_draws_names_the_method(planned, table):
    metric = planned().names.bind(own("FailsInDraws"))
    rewards = SampleSource(table([[1], [0]]), "reward").sample(metric).rewards
    parts = metric.parts(rewards)
    with pytest.raises(MetricError, match="failed in combine: ValueError: too many"):
        parts.combine_draws(np.ones((3, 2)))


# -- columns of rows -------------------------------------------------------------------------

LABELS = {"kind": ["a", "b", "a"]}


def test_a_metric_of_ones_own_reads_numbers_as_numbers_and_words_as_labels(
    planned, table
):
    metric = planned().names.bind(own("Columns"))
    data = table([[1, 1], [1]], labels=LABELS, tokens=[10, 20, 30])
    sample = SampleSource(data, "reward").sample(metric)
    assert metric.value(sample.rewards) == 20
    assert sample.score == ""


def test_a_row_of_ones_own_metric_is_worth_its_last_number(planned, table):
    metric = planned().names.bind(own("Columns"))
    data = table([[1, 1], [1]], labels=LABELS, tokens=[10, 20, 30])
    rows = SampleSource(data, "reward").sample(metric).rewards
    assert rows.worth.tolist() == [10, 20, 30]


def test_a_row_without_any_of_the_columns_is_left_out(planned, table):
    metric = planned().names.bind(own("Columns"))
    labels = {"kind": ["a", "(missing)", "a"]}
    data = table([[1, 1], [1]], labels=labels, tokens=[10, 20, None])
    sample = SampleSource(data, "reward").sample(metric)
    assert metric.value(sample.rewards) == 10
    assert sample.missing == 2


@pytest.mark.parametrize(
    ("columns", "what"),
    [
        ({"labels": LABELS}, "a label 'tokens': columns there are: kind, reward"),
        ({"tokens": [1, 2, 3]}, "a label 'kind': columns there are: reward, tokens"),
    ],
)
def test_a_column_that_no_rollout_has_is_refused(planned, table, columns, what):
    metric = planned().names.bind(own("Columns"))
    with pytest.raises(MetricError) as refused:
        SampleSource(table([[1, 1], [1]], **columns), "reward").sample(metric)
    assert refused.value.message == f"metric 'Columns': no rollout has {what}"


def test_a_metric_of_several_columns_is_of_no_score(planned, table):
    metric = planned().names.bind(f"{own('Columns')}/tokens")
    with pytest.raises(MetricError) as refused:
        SampleSource(table([[1]], tokens=[1]), "reward").sample(metric)
    assert refused.value.message.endswith("Columns is of no score: leave /tokens out")


# -- what the rows have to hold --------------------------------------------------------------


def test_rows_must_have_the_scores_that_listed_metrics_name(planned):
    plan = planned(
        metrics=["mean_reward", "mean/tokens", "pass@1/acc"],
        thresholds={"mean/wer": "<= 1"},
    )
    assert plan.scores == ("reward", "tokens", "acc")


def test_rows_need_no_reward_where_no_metric_reads_it(planned):
    share = {"share": {"type": "share", "of": "said", "label": "yes"}}
    assert planned(metrics=[share]).scores == ()


def test_a_threshold_on_the_reward_needs_it(planned):
    plan = planned(metrics=["mean/tokens"], thresholds={"pass@1": ">= 0"})
    assert plan.scores == ("reward", "tokens")


def test_the_scores_of_a_reference_are_in_no_row(planned):
    plan = planned(
        metrics=["mean_reward/over_reference"], reference={"rollouts": "pinned.jsonl"}
    )
    assert plan.scores == ("reward",)


def test_fields_of_groups_are_kept_as_labels(planned):
    plan = planned(
        metrics=["mean_reward", "pass@1[lang=de]"],
        key_metrics=["pass@1[kind=a]"],
        thresholds={"pass@1[size=s]": ">= 0"},
        breakdown=["level"],
        cluster="repo",
        sample={"tasks": 3, "by": "split"},
    )
    assert plan.categories == ("level", "repo", "lang", "kind", "size", "split")


def test_the_columns_of_metrics_are_those_of_the_table(planned, table):
    stated = {f"{STATED_ERROR}acc": [0.1]}
    data = table([[1]], labels={"lang": ["de"]}, acc=[1], tokens=[5], **stated)
    columns = planned().columns(["mean/acc[lang=de]", "nonsense"], data)
    assert columns == ("acc", f"{STATED_ERROR}acc", "lang")


def test_a_metric_over_rows_has_its_own_columns(planned, table):
    data = table([[1, 1], [1]], labels=LABELS, tokens=[10, 20, 30], acc=[1, 1, 1])
    assert planned().columns([own("Columns")], data) == ("tokens", "kind")


def test_a_number_of_a_hook_states_nothing(planned):
    assert planned().facts_of("own_number") is None
    assert planned().facts_of("mean_reward").direction is not None


# -- slices ----------------------------------------------------------------------------------


def test_a_slice_without_any_reward_is_noted(reduced, table):
    notes = []
    data = table([[1, 0], [None, None]], labels={"level": ["e", "e", "h", "h"]})
    result = reduced(
        data,
        metrics=["mean_reward"],
        breakdown=["level"],
        notes=notes,
        expect={"max_missing": 0.5},
    )
    assert notes == [SliceWithoutRewards("level", "h", 2)]
    assert "mean_reward[level=e]" in result.estimates
    assert "mean_reward[level=h]" not in result.estimates


def test_a_slice_of_which_a_metric_is_undefined_is_noted(reduced, table):
    notes = []
    kappa = {"kappa": {"type": "kappa", "gold": "g", "predicted": "p"}}
    labels = {"level": list("eeeehh"), "g": list("aabbaa"), "p": list("abbbaa")}
    data = table([[1]] * 6, labels=labels)
    result = reduced(data, metrics=[kappa], breakdown=["level"], notes=notes)
    assert "kappa[level=e]" in result.estimates
    (note,) = notes
    assert isinstance(note, UndefinedSlice)
    assert "kappa[level=h]" in note.words


def test_a_slice_of_a_mean_has_an_interval_and_one_of_a_median_has_a_reason(
    reduced, table
):
    labels = {"level": list("eeeehhhh")}
    data = table([[1], [0], [0.5], [1]] * 2, labels=labels)
    estimates = reduced(
        data, metrics=["mean_reward", "median"], breakdown=["level"]
    ).estimates
    assert estimates["mean_reward[level=e]"].interval is not None
    median = estimates["median[level=e]"]
    assert median.value == 0.75
    assert median.interval is None
    assert median.reason == "of a breakdown; gate it, and its interval is computed"
    assert (median.tasks, median.rollouts, median.score) == (4, 4, "reward")


def test_a_hundred_slices_are_estimated_and_all_are_computed(reduced, table):
    labels = {"level": [f"l{at:03}" for at in range(120)]}
    result = reduced(
        table([[1]] * 120, labels=labels), metrics=["mean_reward"], breakdown=["level"]
    )
    name = "mean_reward[level="
    estimated = [key for key in result.estimates if key.startswith(name)]
    computed = [
        key for key in result.aggregate["agent_metrics"] if key.startswith(name)
    ]
    assert len(estimated) == 100
    assert len(computed) == 120


# -- numbers of hooks ------------------------------------------------------------------------


def with_hook(planned, table, numbers, keys=None, **asked):
    plan = planned(metrics=["mean_reward"], **asked)
    chosen = None if keys is None else (lambda _metrics: keys)
    return reduce_agent(
        plan,
        "agent",
        table([[1, 0], [1, 1]]),
        compute_metrics=lambda _tasks: [numbers],
        key_metrics=chosen,
    )


def test_a_hooks_mean_is_a_key_metric_and_its_other_numbers_are_not(planned, table):
    result = with_hook(planned, table, {"mean/own": 3, "other": 4, "word": "x"})
    assert list(result.key_metrics) == ["mean/reward", "mean_reward", "mean/own"]
    estimate = result.estimates["mean/own"]
    assert estimate.by_hook
    assert estimate.value == 3.0
    assert (estimate.tasks, estimate.rollouts) == (2, 4)
    assert estimate.reason == "computed by a hook"
    assert result.aggregate["agent_metrics"]["word"] == "x"


def test_a_hook_may_choose_the_key_metrics_and_their_values(planned, table):
    result = with_hook(planned, table, {}, {"mean_reward": 0.75, "own": 7.0})
    assert result.key_metrics == {"mean_reward": 0.75, "own": 7.0}
    assert result.estimates["own"].by_hook


def test_a_threshold_on_what_a_hook_says_in_words_is_refused(planned, table):
    with pytest.raises(MetricError) as refused:
        with_hook(planned, table, {"word": "x"}, thresholds={"word": ">= 0"})
    assert refused.value.message == (
        "'word' is computed by a hook and is not a number: it is only reported"
    )


def test_an_unknown_metric_beside_hooks_is_guessed_among_their_numbers(planned, table):
    with pytest.raises(RegistryError) as refused:
        with_hook(planned, table, {"accuracy": 1}, thresholds={"acuracy": ">= 0"})
    assert refused.value.hint.startswith("did you mean 'accuracy'?")
