"""Keys that contradict each other, or whose value means nothing, and what is said of them."""

import pytest

from pytest_evalmetrics.errors import ConfigError

A_PATH = (
    "a path, or {all: [PATH, PATH]}, {any: [PATH, PATH]} or {attempts: [PATH, PATH]}"
)
WITHOUT_TASKS = "exact, absolute, relative, noninferior"
RULES = "exact, absolute, relative, statistical, practical, noninferior"
SEVERAL = "num_samples; or judge_repeats of a judge, beside its model"


def said_of(load, text):
    """Give the only problem of a file: its place and what is said, without the line."""
    with pytest.raises(ConfigError) as refused:
        load(text)
    (problem,) = refused.value.problems
    place = problem.path.removeprefix("benchmark.")
    return f"{place}: {problem.message}"


METRICS = {
    "{type: mcc, gold: g, predicted: p, average: macro}": (
        "average is for precision, recall and f1, and this is mcc"
    ),
    "{type: accuracy, gold: g, predicted: p, positive: 1}": (
        "positive is for binary precision, recall and f1"
    ),
    "{type: f1, gold: g, predicted: p, positive: 1, average: micro}": (
        "positive is for binary precision, recall and f1"
    ),
    "{type: mcc, gold: g, predicted: p, weights: linear}": (
        "weights are for kappa, and this is mcc"
    ),
    "{type: brier, gold: g, score: s, bins: 5}": "bins are for ece, and this is brier",
    "{type: win_rate, winner: w}": (
        "a win rate needs winner and of, or score and reference"
    ),
    "{type: win_rate, winner: w, of: a, score: s}": (
        "a win rate needs winner and of, or score and reference"
    ),
    "{type: mrr, relevance: r}": (
        "a ranking is by rank or by score: name the column of one of them"
    ),
    "{type: mrr, relevance: r, rank: k, score: s}": (
        "a ranking is by rank or by score: name the column of one of them"
    ),
    "{type: precision_at_k, relevance: r, rank: k}": (
        "'k' is missing: how many of the best count"
    ),
    "{type: mrr, relevance: r, rank: k, relevant: n}": (
        "relevant is for recall_at_k, and this is mrr"
    ),
}


@pytest.mark.parametrize(("keys", "message"), METRICS.items())
def test_a_metric_that_contradicts_itself_is_refused(load, keys, message):
    text = f"benchmark:\n  name: a\n  rollouts: r\n  metrics: {{m: {keys}}}\n"
    assert said_of(load, text) == f"metrics.m: {message}"


@pytest.mark.parametrize("name", ["a/b", "a[b", "a]b"])
def test_a_defined_metric_has_no_separator_in_its_name(load, name):
    keys = "{type: mcc, gold: g, predicted: p}"
    text = f"benchmark:\n  name: a\n  rollouts: r\n  metrics: {{'{name}': {keys}}}\n"
    message = f"'{name}' can't be a metric's name: it holds one of / [ ]"
    assert said_of(load, text) == f"metrics: {message}"


BASELINES = {
    "{rollouts: r, report: x}": "a baseline is either rollouts or a report, not both",
    "{rollouts: r, rescore: true}": (
        "rescore is for a baseline of its own: another run's has no rows"
    ),
    "{history: 3, report: x}": "history: takes the history: drop rollouts, or report",
    "{against: best, rollouts: x}": (
        "against: best takes the history: drop rollouts, or report"
    ),
    "{against: best, history: 3}": (
        "against: best takes the history's file here, or nothing"
    ),
    "{against: best, rule: exact, max_broken: 1}": (
        "max_broken needs the baseline's tasks, and a history has none"
    ),
    "{rule: absolute}": "the rule absolute needs a max_drop",
    "{metrics: {b: {rule: relative}}}": "metrics.b: the rule relative needs a max_drop",
    "{alpha: 0.05, warn_alpha: 0.01}": (
        "alpha is above warn_alpha: a failure would not warn"
    ),
    "{against: best}": (
        "the rule practical, the default, compares task by task, and a history holds "
        f"numbers alone: with against: best use one of {WITHOUT_TASKS}"
    ),
    "{against: best, rule: statistical}": (
        "the rule statistical compares task by task, and a history holds "
        f"numbers alone: with against: best use one of {WITHOUT_TASKS}"
    ),
    "{against: best, rule: exact, require_mde: 0.1}": (
        "require_mde needs a test task by task, and a history has no tasks"
    ),
    "some": 'expected true, false, or a mapping with rule, max_drop, ..., found the text "some"',
}


@pytest.mark.parametrize(("keys", "message"), BASELINES.items())
def test_a_baseline_that_contradicts_itself_is_refused(load, keys, message):
    text = f"benchmark:\n  name: a\n  rollouts: r\n  baseline: {keys}\n"
    assert said_of(load, text) == f"baseline: {message}"


SETTINGS = {
    "baseline: {rule: {name: exact}}": (
        "baseline.rule: the rule exact has no options: write rule: exact"
    ),
    "baseline: {rule: {digits: 2}}": (
        f"baseline.rule: expected {RULES}, or a gate rule of your own: its name, or "
        "{name: ...}, found a mapping"
    ),
    "baseline: {history: 51}": (
        "baseline.history: expected a number of runs from 1 to 50, or the history's file, "
        "found 51"
    ),
    "must_pass: [true]": (
        "must_pass[0]: expected a task's id, or a glob such as smoke-*, found true"
    ),
    "behaviour: 3": (
        "behaviour: expected true, false, or a mapping with tool_calls, tools, order ..., "
        "found 3"
    ),
    "behaviour: {steps: {}}": (
        "behaviour.steps: expected max_rise, max_fall, max or min"
    ),
    "behaviour: {steps: {min: 3, max: 2}}": (
        "behaviour.steps: min 3 is above max 2: nothing can pass"
    ),
    "behaviour: {distance: edit, embeddings: e}": (
        "behaviour: answers have one distance: write `distance:` or `embeddings:`"
    ),
    "behaviour: {features: [steps]}": (
        "behaviour: 'steps' is built in: write `steps:` beside `limits:`"
    ),
    "num_samples: {min: 4, max: 4, stop: early}": (
        "num_samples: min 4 leaves no round before max 4"
    ),
}


@pytest.mark.parametrize(("keys", "message"), SETTINGS.items())
def test_a_setting_that_means_nothing_is_refused(load, keys, message):
    text = f"benchmark:\n  name: a\n  rollouts: r\n  {keys}\n"
    assert said_of(load, text) == message


ROWS = {
    "{path: r, keyed: id, lists: x}": (
        "rollouts: keyed: and lists: are two ways to read an object: choose one"
    ),
    "{path: r, fields: {task: {a: b}}}": (
        "rollouts.fields.task: expected a path, or a list of the paths that make up the "
        "id, found a mapping"
    ),
    "{path: r, fields: {reward: [a, b]}}": (
        f"rollouts.fields.reward: expected {A_PATH}, found a list"
    ),
    "{path: r, fields: {reward: {all: [a], any: [b]}}}": (
        "rollouts.fields.reward: write one of all: [PATH, PATH], any: [PATH, PATH], "
        "attempts: [PATH, PATH]"
    ),
    "{path: r, fields: {reward: a, scores: {reward: b}}}": (
        "rollouts.fields: the reward has two paths, reward: and scores: reward: remove one"
    ),
    "{path: r, map: {reward: {yes: good}}}": (
        "rollouts.map.reward.yes: expected a number, or null for missing, found the text "
        '"good"'
    ),
    "{path: r, missing: {reward: {a: 1}}}": (
        "rollouts.missing: expected a text, a number, true, false or null, or a list of "
        "these, found a mapping"
    ),
    "3": "rollouts: expected a path, a list of paths, or a mapping with path, found 3",
}


@pytest.mark.parametrize(("value", "message"), ROWS.items())
def test_rows_that_are_described_in_two_ways_are_refused(load, value, message):
    text = f"benchmark:\n  name: a\n  rollouts: {value}\n"
    assert said_of(load, text) == message


ASKED = {
    "inference: {temperature: -1}": (
        "inference: temperature is -1, expected a number from 0"
    ),
    "inference: {top_p: 2}": "inference: top_p is 2, expected a number from 0 to 1",
    "inference: {max_tokens: 0}": (
        "inference: max_tokens is 0, expected a whole number from 1"
    ),
    "inference: {seed: x}": "inference: seed is 'x', expected a whole number",
    "inference: {stop: [1]}": (
        "inference: stop is [1], expected a text or a list of texts"
    ),
    "inference: {n: 2}": (
        f"inference: 'n' is not an inference parameter: write {SEVERAL}"
    ),
    "inference: {model: x}": (
        "inference: 'model' is not an inference parameter: write name"
    ),
    "inference: {stream: true}": (
        "inference: 'stream' is not an inference parameter: write nothing: one whole "
        "answer is asked for"
    ),
    "system_prompt: 'You are {{ role }}'": (
        "system_prompt: it is sent as written; write the template in prompt_template: "
        "{messages: [{role: system, content: ...}]}"
    ),
}


@pytest.mark.parametrize(("key", "message"), ASKED.items())
def test_a_parameter_that_no_model_takes_is_refused(load, key, message):
    text = f"benchmark:\n  name: a\n  rollouts: r\n  params: {{{key}}}\n"
    assert said_of(load, text) == f"params.{message}"


TYPES = {
    "metrics: {m: {type: 3}}": (
        "metrics.m: type has to be the name of a kind of metric"
    ),
    "metrics: {m: {type: ''}}": (
        "metrics.m: type has to be the name of a kind of metric"
    ),
    "metrics: {m: 5}": (
        "metrics.m: a metric of your own has a type, such as {type: f1, gold: label, "
        "predicted: answer}; those that there are stand in a list, metrics: [mean_reward, "
        'pass@1], and limits below thresholds: {pass@1: ">= 0.7"}'
    ),
    "scorers: [{type: [x]}]": ("scorers[0]: type has to be the name of a scorer"),
    "scorers: [exact_match]": (
        'scorers[0]: expected a mapping with type, found the text "exact_match"'
    ),
}


@pytest.mark.parametrize(("key", "message"), TYPES.items())
def test_a_type_is_a_name(load, key, message):
    text = f"benchmark:\n  name: a\n  rollouts: r\n  {key}\n"
    assert said_of(load, text) == message


def test_a_metric_without_a_type_is_told_all_types(load):
    text = "benchmark:\n  name: a\n  rollouts: r\n  metrics: {m: {gold: g}}\n"
    message = said_of(load, text)
    assert message.startswith("metrics.m: 'type' is missing: accuracy, ")
    assert message.endswith(", pass_within, or one of your own")


EXAMPLES = {
    "breakdown: 3": "breakdown: [difficulty]",
    "expect: 3": "expect: {tasks: 100}",
    "key_metrics: 3": "key_metrics: [pass@1, mean/output_tokens]",
    "metrics: 3": "metrics: [mean_reward, pass@1]",
    "tags: 3": "tags: [nightly]",
    "thresholds: 3": 'thresholds: {pass@1: ">= 0.7"}',
    "baseline: {metrics: 3}": "metrics: {pass@1: {max_drop: 0.02}}",
    "rollouts: {path: r, fields: 3}": "fields: {task: id, reward: correct}",
    "rollouts: {path: r, map: 3}": "map: {reward: {correct: 1, incorrect: 0}}",
    "rollouts: {path: r, map: {yes: 1}}": "map: {reward: {correct: 1, incorrect: 0}}",
}


@pytest.mark.parametrize(("keys", "example"), EXAMPLES.items())
def test_a_list_or_a_mapping_of_the_wrong_form_is_shown_with_an_example(
    load, keys, example
):
    rollouts = "" if keys.startswith("rollouts") else "  rollouts: r\n"
    text = f"benchmark:\n  name: a\n{rollouts}  {keys}\n"
    assert said_of(load, text).endswith(f"; write it as {example}")


SCORES = "scores: [{name: quality, parser: {json_path: $.quality}}]"
RUBRIC = "rubric: [{label: kind, value: 1}, {label: rude, value: 0}]"
SCORERS_EXAMPLES = {
    "type: remote, url: 'http://h', body: {a: 1}, scores: {name: quality}": SCORES,
    "type: remote, url: 'http://h', body: {a: 1}, scores: [quality]": SCORES,
    "type: remote, url: 'http://h', body: {a: 1}, scores: [{name: a, parser: b}]": (
        "parser: {json_path: $.quality}"
    ),
    "type: llm-judge, model: {url: 'http://h', name: m}, scores: quality": SCORES,
    "type: llm-judge, model: {url: 'http://h', name: m}, "
    "scores: [{name: a, rubric: {kind: 1}}]": RUBRIC,
}


@pytest.mark.parametrize(("keys", "example"), SCORERS_EXAMPLES.items())
def test_the_scores_of_a_scorer_are_shown_with_an_example(load, keys, example):
    text = f"benchmark:\n  name: a\n  dataset: d\n  scorers: [{{{keys}}}]\n"
    assert said_of(load, text).endswith(f"; write it as {example}")


@pytest.mark.parametrize(
    "scorer",
    [
        "llm-judge, model: {url: 'http://h', name: m}",
        "remote, url: 'http://h', body: {a: 1}",
    ],
)
def test_the_example_of_scores_is_accepted(load, scorer):
    scorers = f"[{{type: {scorer}, {SCORES}}}]"
    text = f"benchmark:\n  name: a\n  dataset: d\n  scorers: {scorers}\n  metrics: [mean_reward]\n"
    (benchmark,) = load(text)
    assert benchmark.spec.scorers[0].score_names == ("quality",)


MODEL = "model: {url: 'http://h/v1', name: m}\n  prompt_template: '{{ q }}'"
SCORERS = "dataset: d\n  scorers: [{type: exact_match}]"
OVER = "metrics: [mean/over_reference]"
OTHER = "{url: 'http://h/v1', name: other}"
TOGETHER = {
    "rollouts: r\n  budget: {tokens: 3}": (
        "budget: a budget is for what asks endpoints, and nothing does"
    ),
    f"{SCORERS}\n  {MODEL}\n  budget: {{cost: 3}}": (
        "budget.cost: what it costs is not known: say price: {input: ..., output: ...} "
        "under model"
    ),
    f"{SCORERS}\n  {MODEL}\n  labels: human": (
        "labels: labels are of recorded answers, and these are generated by each run"
    ),
    "rollouts: r\n  thresholds: {ppi/mean_reward: '>= 0.5'}": (
        "thresholds.ppi/mean_reward: it needs labels: the column with people's scores of "
        "some rollouts"
    ),
    "rollouts: r\n  labels: human\n  thresholds: {ppi/pass_rate: '>= 0.5'}": (
        "thresholds.ppi/pass_rate: labels correct the mean reward alone: ppi/mean_reward"
    ),
    "rollouts: r\n  reference: {rollouts: pinned}": (
        "reference: no metric is of it: list one of over_reference, such as "
        "mean_reward/over_reference"
    ),
    f"{SCORERS}\n  {MODEL}\n  {OVER}\n  reference: {{}}": (
        "reference: it is measured by its rollouts or by a model: give one of them"
    ),
    f"{SCORERS}\n  {MODEL}\n  {OVER}\n  reference: {{rollouts: p, model: {OTHER}}}": (
        "reference: it is measured by its rollouts or by a model: give one of them"
    ),
    f"{SCORERS}\n  {OVER}\n  reference: {{model: {OTHER}}}": (
        "reference.model: it answers in place of model:, and there is none"
    ),
    f"{SCORERS}\n  {MODEL}\n  {OVER}\n  reference: {{model: {OTHER.replace('other', 'm')}}}": (
        "reference.model: it is the model under test: nothing would differ"
    ),
}


@pytest.mark.parametrize(("keys", "message"), TOGETHER.items())
def test_keys_that_can_not_hold_together_are_refused(load, keys, message):
    assert said_of(load, f"benchmark:\n  name: a\n  {keys}\n") == message


@pytest.mark.parametrize(
    "keys",
    [
        f"rollouts: r\n  {OVER}\n  reference: {{rollouts: pinned}}",
        (
            "rollouts: r\n  thresholds: {mean/over_reference: '>= 0'}\n"
            "  reference: {rollouts: pinned}"
        ),
        f"{SCORERS}\n  {MODEL}\n  {OVER}\n  reference: {{model: {OTHER}}}",
    ],
    ids=["rollouts", "a threshold", "a model"],
)
def test_a_reference_is_measured_by_its_rollouts_or_by_another_model(load, keys):
    (benchmark,) = load(f"benchmark:\n  name: a\n  {keys}\n")
    assert benchmark.spec.reference is not None


def test_a_value_that_may_be_of_two_kinds_names_both(load):
    parser = "{type: regex, pattern: '([0-9])', group: [1]}"
    text = (
        "benchmark:\n  name: a\n  dataset: d\n  reward: x\n  scorers:\n"
        "  - type: llm-judge\n    model: {url: 'http://h/v1', name: m}\n"
        "    prompt_template: Rate it\n"
        f"    scores: [{{name: x, parser: {parser}}}]\n"
    )
    assert said_of(load, text) == (
        "scorers[0].scores[0].parser.group: expected a whole number or text, found a list"
    )
