"""What is known of a benchmark's metrics: ranges, rates, the rollouts they need, directions."""

import math

import pytest

from pytest_evalmetrics.config import declarations
from pytest_evalmetrics.model.metric_facts import (
    STATISTIC_FACTS,
    MetricFacts,
    Range,
)
from pytest_evalmetrics.spec.metric_names import parse

# a judge in numbers, one that should be low, and an open end
SCORED = """\
benchmark:
  name: math
  dataset: d
  scorers:
    - type: remote
      url: http://localhost/score
      body: {}
      scores:
        - {name: ten, parser: {json_path: $.a}, minimum: 1, maximum: 10}
        - {name: unit, parser: {json_path: $.b}, minimum: 0, maximum: 1}
        - {name: slop, parser: {json_path: $.c}, minimum: 0, direction: lower}
        - {name: cost, parser: {json_path: $.d}}
  reward: ten
"""
READ = "benchmark:\n  name: math\n  rollouts: r\n"


@pytest.fixture
def spec(load):
    """Read a benchmark of recorded rollouts, or of another text, with further keys."""

    def read(*keys, text=READ):
        lines = [f"  {key}\n" for key in keys]
        (benchmark,) = load(text + "".join(lines))
        return benchmark.spec

    return read


# -- ranges ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "limits"),
    [
        ("pass@1", Range(0, 1, "a rate from 0 to 1")),
        ("mean_reward", Range(1, 10, "of ten, which is a score from 1 to 10")),
        ("mean/slop", Range(0, math.inf, "of slop, which is a score from 0")),
        ("std/slop", Range(0, math.inf, "a standard deviation, from 0")),
        ("mean/latency_s", Range(0, math.inf, "never below 0")),
        ("mean/cost", Range()),  # of the scorer, which states no range
        ("mean/other", Range()),
        ("package:metric", Range()),
        ("no_such_metric", Range()),
        # no percentile, which is said where it is computed
        ("p100", Range(1, 10, "of ten, which is a score from 1 to 10")),
    ],
)
def test_the_range_of_a_metric_is_what_its_class_or_its_scorer_states(
    spec, metric, limits
):
    assert declarations.range_of(spec(text=SCORED), parse(metric)) == limits


@pytest.mark.parametrize(
    ("fill", "metric", "low", "high"),
    [
        ("0.0", "mean_reward", 0, 10),
        ("20.0", "mean_reward", 1, 20),
        ("5.0", "mean_reward", 1, 10),
        ("exclude", "mean_reward", 1, 10),
        ("20.0", "mean/unit", 0, 1),
    ],
)
def test_a_number_for_missing_rewards_widens_the_range_of_the_reward(
    spec, fill, metric, low, high
):
    scored = spec(f"expect: {{missing_reward: {fill}}}", text=SCORED)
    limits = declarations.range_of(scored, parse(metric))
    assert (limits.low, limits.high) == (low, high)


def test_a_number_for_missing_rewards_does_not_close_an_open_range(spec):
    text = SCORED.replace("reward: ten", "reward: slop")
    scored = spec("expect: {missing_reward: -1.0}", text=text)
    limits = declarations.range_of(scored, parse("mean_reward"))
    assert (limits.low, limits.high) == (-1, math.inf)


def test_the_range_of_a_defined_metric_names_its_type(spec):
    defined = spec("metrics: {m: {type: kappa, gold: g, predicted: p}}")
    limits = declarations.range_of(defined, parse("m"))
    assert limits == Range(-1, 1, "kappa, which is from -1 to 1")


# -- rates -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "may_be"),
    [
        ("pass@1", True),
        ("mean/unit", True),
        ("mean_reward", False),  # from 1 to 10
        ("mean/slop", True),  # the scorer states no upper end
        ("mean/other", True),
        ("mean/cost", False),
        ("mean/latency_s", False),
        ("std/unit", False),
        ("package:metric", True),
        ("/", True),
    ],
)
def test_what_lies_between_0_and_1_is_a_rate_unless_something_else_is_stated(
    spec, metric, may_be
):
    assert declarations.may_be_rate(spec(text=SCORED), metric) is may_be


@pytest.mark.parametrize(("direction", "may_be"), [("lower", False), ("higher", True)])
def test_a_score_that_should_be_low_is_no_rate(spec, direction, may_be):
    gate = f"baseline: {{metrics: {{mean/wait: {{direction: {direction}}}}}}}"
    assert declarations.may_be_rate(spec(gate), "mean/wait") is may_be


def test_a_reward_that_should_be_low_may_be_a_rate(spec):
    low = spec("baseline: {metrics: {mean_reward: {direction: lower}}}")
    assert declarations.may_be_rate(low, "mean_reward")
    costs = spec("reward: cost_usd")
    assert not declarations.may_be_rate(costs, "mean_reward")


# -- passes and intervals --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "counts"),
    [
        ("pass@1", True),
        ("pass_rate", True),
        ("mean_reward", False),
        ("pass@1/other", False),
        ("package:metric", False),
        ("/", False),
    ],
)
def test_which_metrics_count_the_rollouts_whose_reward_passes(spec, metric, counts):
    assert declarations.counts_passes(spec(), metric) is counts


@pytest.mark.parametrize(
    ("metric", "has"),
    [
        ("mean/other", True),
        ("median/other", False),
        ("mean_reward", True),
        ("package:metric", True),
    ],
)
def test_a_metric_has_an_interval_unless_its_class_says_otherwise(spec, metric, has):
    assert declarations.has_interval(spec(), parse(metric)) is has


# -- the rollouts that a metric needs --------------------------------------------------------


ASKED = """\
benchmark:
  name: math
  dataset: d
  model: {url: http://localhost/v1, name: m}
  prompt_template: "{{ q }}"
  scorers: [{type: exact_match, reference: "{{ a }}"}]
  reward: exact-match
"""


@pytest.mark.parametrize(
    ("text", "keys", "given", "setting"),
    [
        (READ, ["num_samples: 2"], 2, "num_samples: 2"),
        (READ, ["expect: {rollouts: 2}"], 2, "expect: {rollouts: 2}"),
        (ASKED, ["num_samples: 3"], 3, "num_samples: 3"),
        (ASKED, [], 1, "num_samples, which is 1 by default"),
        (
            ASKED,
            ["num_samples: {min: 2, max: 8, stop: early}"],
            2,
            "num_samples: {min: 2}",
        ),
    ],
)
def test_a_metric_lacks_rollouts_where_the_file_asks_for_fewer(
    spec, text, keys, given, setting
):
    shortage = declarations.shortage_of(spec(*keys, text=text), parse("pass@4"))
    assert shortage == declarations.Shortage(needed=4, given=given, setting=setting)


@pytest.mark.parametrize(
    "keys",
    [
        ["num_samples: 4"],
        ["num_samples: 2", "expect: {rollouts: any}"],
        ["expect: {rollouts: '>= 2'}"],
        ["num_samples: 2", "pass_estimator: first_k"],
        [],
    ],
)
def test_a_metric_has_enough_rollouts_where_the_file_asks_for_them_or_for_any(
    spec, keys
):
    assert declarations.shortage_of(spec(*keys), parse("pass@4")) is None


# -- which way is better ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "direction"),
    [
        ("mean_reward", "higher"),
        ("pass@1", "higher"),
        ("mean/slop", "lower"),
        ("pass_rate/slop", None),  # more rollouts that reach a loss are not better
        ("mean/unit", None),
        ("mean/latency_s", "lower"),
        ("mean/cost", None),  # of the scorer, which says nothing
        ("std/unit", None),
        ("package:metric", None),
        ("/", None),
    ],
)
def test_the_direction_is_that_of_the_class_or_of_the_score(spec, metric, direction):
    assert declarations.direction_when_read(spec(text=SCORED), metric) == direction


@pytest.mark.parametrize(
    ("metric", "direction"),
    [("mean/wer", "lower"), ("pass_rate/wer", None), ("mean/f1", "higher")],
)
def test_files_of_rollouts_may_declare_the_direction_of_a_score(
    spec, metric, direction
):
    name = parse(metric)
    facts = STATISTIC_FACTS["mean"]
    if metric.startswith("pass"):
        facts = MetricFacts(direction="higher", counts_passes=True)
    of_files = {"wer": "lower", "f1": "higher"}
    assert declarations.direction_of(spec(), name, facts, of_files) == direction


@pytest.mark.parametrize(("declared", "direction"), [("lower", None), (None, "higher")])
def test_the_reward_is_to_rise_unless_its_files_say_otherwise(
    spec, declared, direction
):
    facts = MetricFacts(direction="as_score")
    of_files = {} if declared is None else {"reward": declared}
    read = spec()
    said = declarations.direction_of(read, parse("mean_reward"), facts, of_files)
    assert said == direction


def test_the_declared_directions_become_settings_of_the_baseline(spec):
    read = spec(
        "metrics: [mean/wer, mean/f1, mean/other]",
        "baseline: {alpha: 0.02, metrics: {mean/f1: {max_drop: 0.1}}}",
    )
    facts = dict.fromkeys(read.gated, STATISTIC_FACTS["mean"])
    directions = {"wer": "lower", "f1": "higher"}
    completed = declarations.with_directions(read, facts.get, directions)
    settings = completed.baseline.metrics
    assert {text: gate.direction for text, gate in settings.items()} == {
        "mean/wer": "lower",
        "mean/f1": "higher",
    }
    assert settings["mean/f1"].max_drop == 0.1
    assert completed.baseline.alpha == 0.02


def test_a_direction_that_the_file_gives_stays(spec):
    read = spec("baseline: {metrics: {mean/wer: {direction: higher}}}")
    facts = {"mean/wer": STATISTIC_FACTS["mean"]}
    completed = declarations.with_directions(read, facts.get, {"wer": "lower"})
    assert completed.baseline.metrics["mean/wer"].direction == "higher"


def test_without_a_baseline_there_is_nothing_to_complete(spec):
    read = spec("metrics: [mean/wer]")
    assert declarations.with_directions(read, {}.get, {}) is read


def undeclared(read, facts, directions=None, scores=("wer", "f1", "reward")):
    return list(
        declarations.undeclared_when_loaded(read, facts.get, directions or {}, scores)
    )


def test_metrics_without_a_direction_are_asked_about_together(spec):
    read = spec("metrics: [mean/wer, mean/f1, mean_reward]", "baseline: true")
    facts = dict.fromkeys(("mean/wer", "mean/f1"), STATISTIC_FACTS["mean"])
    (question,) = undeclared(read, facts)
    assert question.metrics == ("mean/wer", "mean/f1")
    assert question.path == ("baseline",)
    assert question.score == ""
    assert not question.by_class


def test_a_metric_with_settings_is_asked_about_where_they_are(spec):
    read = spec("baseline: {metrics: {mean/wer: {max_drop: 0.1}}}")
    (question,) = undeclared(read, {"mean/wer": STATISTIC_FACTS["mean"]})
    assert question.path == ("baseline", "metrics", "mean/wer")


def test_a_metric_of_a_score_that_the_rollouts_lack_is_not_asked_about(spec):
    read = spec("metrics: [mean/wer, mean/lost]", "baseline: true")
    facts = dict.fromkeys(("mean/wer", "mean/lost"), STATISTIC_FACTS["mean"])
    (question,) = undeclared(read, facts)
    assert question.metrics == ("mean/wer",)


def test_a_metric_that_files_declare_is_not_asked_about(spec):
    read = spec("metrics: [mean/wer]", "baseline: true")
    facts = {"mean/wer": STATISTIC_FACTS["mean"]}
    assert undeclared(read, facts, {"wer": "lower"}) == []


def test_passes_of_a_loss_and_metrics_of_ones_own_are_asked_about_by_themselves(spec):
    read = spec(
        "metrics: [pass_rate/wer, own:metric, mean/f1]",
        "baseline: true",
    )
    facts = {
        "pass_rate/wer": MetricFacts(direction="higher", counts_passes=True),
        "own:metric": MetricFacts(),
        "mean/f1": STATISTIC_FACTS["mean"],
    }
    of_loss, of_none, of_class = undeclared(read, facts, {"wer": "lower"})
    assert of_loss.metrics == ("pass_rate/wer",)
    assert of_loss.score == "wer"
    assert of_none.metrics == ("mean/f1",)
    assert of_class.metrics == ("own:metric",)
    assert of_class.by_class


QUESTIONS = {
    declarations.Undeclared(("mean/f1",), ("baseline",)): (
        "nothing says which way is better for mean/f1: write `baseline: {metrics: "
        "{mean/f1: {direction: higher}}}`, or `direction: lower` where less is better"
    ),
    declarations.Undeclared(("a", "a b"), ("baseline",), by_class=True): (
        "nothing says which way is better for a, a b: write `baseline: {metrics: "
        '{a: {direction: higher}, "a b": {direction: higher}}}`, or `direction: lower` '
        'where less is better; or state `direction = "higher"`, or "lower", in its class'
    ),
    declarations.Undeclared(("pass@1/wer",), ("baseline",), score="wer"): (
        "nothing says which way is better for pass@1/wer, because lower is declared to be "
        "better for wer: write `baseline: {metrics: {pass@1/wer: {direction: lower}}}`, "
        "or `direction: higher`"
    ),
}


@pytest.mark.parametrize(("question", "message"), QUESTIONS.items())
def test_a_question_shows_what_can_be_pasted_into_the_file(question, message):
    assert question.message == message
