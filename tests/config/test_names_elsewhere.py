"""A key that another tool's files have is reported with the key that means the same here."""

import pytest

from pytest_evalmetrics.errors import ConfigError

FILE = "benchmark:\n  name: math\n  rollouts: r.jsonl\n"

# where a key is written, ours, and those of other tools that mean the same
SAME_MEANING = [
    ("benchmark", "'model' or 'prompt_template'", "generate generation"),
    ("benchmark", "'model' or 'target'", "generator provider providers"),
    ("benchmark", "'model'", "llm"),
    ("benchmark", "'prompt_template'", "prompt prompts"),
    ("benchmark", "'dataset'", "tests test_cases"),
    ("benchmark", "'dataset' or 'rollouts'", "data"),
    ("benchmark", "'rollouts' or 'dataset'", "file files"),
    ("benchmark", "'rollouts'", "results"),
    ("benchmark", "'scorers'", "assert assertions evaluators graders"),
    ("benchmark", "'num_samples'", "repeat num_repeats epochs trials attempts"),
    ("benchmark", "'thresholds' or 'baseline'", "gate gates"),
    ("benchmark", "'baseline'", "regression"),
    ("benchmark", "'breakdown'", "group_by slices Group-By GROUP_BY"),
    ("benchmark.baseline", "'max_drop'", "tolerance max_regression"),
    ("benchmark.baseline", "'direction'", "better"),
    ("benchmark.params", "'parallelism'", "concurrency max_concurrency"),
    ("benchmark.params", "'limit_samples'", "limit max_samples"),
    ("benchmark.rollouts.fields", "'task'", "id question_id"),
    ("benchmark.rollouts.fields", "'sample'", "attempt trial epoch"),
    ("benchmark.rollouts.fields", "'reward' or 'scores'", "score"),
    ("benchmark.rollouts.fields", "'reward'", "grade correct passed"),
    ("benchmark.rollouts.fields", "'prompt'", "question input"),
    ("benchmark.rollouts.fields", "'answer'", "output response completion prediction"),
    ("benchmark.rollouts.fields", "'reason'", "explanation feedback"),
]
PLACES = {
    "benchmark": "  KEY: x\n",
    "benchmark.baseline": "  baseline: {KEY: x}\n",
    "benchmark.params": "  params: {KEY: x}\n",
    "benchmark.rollouts.fields": "  rollouts: {path: r.jsonl, fields: {KEY: x}}\n",
}


def said_of(load, place, key):
    """Give what is said of a key at a place."""
    text = "benchmark:\n  name: math\n"
    if "rollouts" not in place:
        text += "  rollouts: r.jsonl\n"
    with pytest.raises(ConfigError) as refused:
        load(text + PLACES[place].replace("KEY", key))
    (problem,) = refused.value.problems
    assert problem.path == place
    return problem.message


@pytest.mark.parametrize(
    ("place", "ours", "theirs"),
    [(place, ours, key) for place, ours, keys in SAME_MEANING for key in keys.split()],
)
def test_keys_of_other_tools_are_reported_with_ours(load, place, ours, theirs):
    said = said_of(load, place, theirs)
    assert said.startswith(f"unknown key {theirs!r}: did you mean {ours}? keys here: ")


@pytest.mark.parametrize(
    ("key", "instead"),
    [
        ("repeats", "did you mean 'num_samples'? it is a key of `behaviour:` too"),
        ("runs", "did you mean 'rollouts'? it is a key of `baseline:` too"),
        ("path", "it is a key of `dataset:` or `rollouts:`"),
        ("judges", "it is a key of `scorers:`"),
    ],
)
def test_a_key_that_belongs_below_another_is_reported_with_both(load, key, instead):
    assert said_of(load, "benchmark", key) == f"unknown key {key!r}: {instead}"


OF_THE_GATE = (
    "say it of the gate: `baseline: {direction: lower}`, or of one metric "
    "`baseline: {metrics: {mean/latency: {direction: lower}}}`"
)
NO_COUNTERPART = {
    "metric": (
        "did you mean 'metrics'? what gives rows their scores is written under "
        "scorers:, as `- type: tool_call_accuracy`"
    ),
    "metric_params": (
        "write them beside the type of a scorer, as "
        "`- {type: trajectory_evaluation, judge: ..., trajectory_used_tools: ...}`"
    ),
    "higher_is_better": OF_THE_GATE,
    "lower_is_better": OF_THE_GATE,
}


@pytest.mark.parametrize(("key", "instead"), NO_COUNTERPART.items())
def test_a_key_without_a_counterpart_is_reported_with_what_to_write(load, key, instead):
    assert said_of(load, "benchmark", key) == f"unknown key {key!r}: {instead}"


@pytest.mark.parametrize("key", ["expected", "reference", "ground_truth"])
def test_what_is_expected_is_no_field_of_rollouts(load, key):
    assert said_of(load, "benchmark.rollouts.fields", key) == (
        f"unknown key {key!r}: rollouts have their rewards; to score answers by what is "
        "expected, write `dataset:` and `scorers:`"
    )


def test_a_key_is_suggested_only_where_it_is_valid(refusals):
    ((message,),) = refusals([FILE + "  expect: {tests: 3}\n"])
    assert (
        "unknown key 'tests': did you mean 'tasks'? keys here: max_missing" in message
    )
