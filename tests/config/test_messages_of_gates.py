"""What a benchmark file's baseline is refused for, in whole sentences."""

from pathlib import Path

import pytest

from pytest_evalmetrics.errors import ConfigError
from pytest_evalmetrics.spec import Benchmark
from pytest_evalmetrics.spec.offered_scorers import keys_of_type

BENCHMARK = "benchmark:\n  name: a\n  rollouts: runs.jsonl\n"


def messages(load, keys):
    with pytest.raises(ConfigError) as error:
        load(BENCHMARK + keys)
    return [problem.message for problem in error.value.problems]


@pytest.mark.parametrize("rule", ["absolute", "relative", "noninferior"])
def test_a_rule_about_the_size_of_a_drop_needs_one(load, rule):
    keys = f"  baseline: {{rule: {rule}}}\n"
    assert messages(load, keys) == [f"the rule {rule} needs a max_drop"]


def test_a_rule_over_tasks_is_refused_with_a_history_of_numbers(load):
    keys = "  baseline: {against: best, rule: statistical}\n"
    assert messages(load, keys) == [
        (
            "the rule statistical compares task by task, and a history holds numbers alone: with "
            "against: best use one of exact, absolute, "
            "relative, noninferior"
        )
    ]


def test_the_default_rule_is_named_as_such(load):
    keys = "  baseline: {against: best}\n"
    assert messages(load, keys) == [
        (
            "the rule practical, the default, compares task by task, and a history holds "
            "numbers alone: with against: best use one of exact, absolute, "
            "relative, noninferior"
        )
    ]


def test_what_is_listed_twice_is_named(load):
    keys = "  metrics: [pass_rate, mean_reward, pass_rate]\n"
    assert messages(load, keys) == ["'pass_rate' is listed twice"]


def test_of_several_the_first_by_name_is_named(load):
    keys = "  breakdown: [b, a, b, a]\n"
    assert messages(load, keys) == ["'a' is listed twice"]


def test_a_wrong_number_of_rollouts_is_told_what_is_right(load):
    keys = "  expect: {rollouts: some}\n"
    (message,) = messages(load, keys)
    assert message.startswith("expected a whole number from 1, '>= 2' or any, found")


def test_a_rule_of_your_own_keeps_its_options(load):
    (benchmark,) = load(
        BENCHMARK + "  baseline: {rule: {name: my_rules:Rounded, digits: 2}}\n"
    )
    rule = benchmark.spec.baseline.rule
    assert (rule.name, rule.options) == ("my_rules:Rounded", {"digits": 2})


def test_a_scorer_without_a_type_is_told_the_types(load):
    text = "benchmark:\n  name: a\n  dataset: rows.jsonl\n  scorers: [{url: x}]\n"
    with pytest.raises(ConfigError) as error:
        load(text)
    (problem, *_) = error.value.problems
    assert problem.message.startswith("'type' is missing: ")
    assert problem.message.endswith(", or one of your own")


def test_a_benchmark_without_lines_is_at_the_first_one(load):
    (benchmark,) = load(BENCHMARK)
    made = Benchmark(benchmark.spec, Path("a.py"), {})
    assert made.line_of("thresholds", "pass@1") == 1


def test_scorers_have_to_be_offered_before_their_keys_are_read(monkeypatch):
    offered = "pytest_evalmetrics.spec.offered_scorers._Offered.find"
    monkeypatch.setattr(offered, None)
    with pytest.raises(RuntimeError, match="the built-in scorers are not imported"):
        keys_of_type("remote")


def test_a_threshold_that_is_no_number_is_shown_the_forms(load):
    (message,) = messages(load, "  thresholds: {mean_reward: high}\n")
    forms = "'>= 0.7', '<= 2000' or {min: 0.7}"
    assert message.startswith(f"expected {forms}, found the text")
