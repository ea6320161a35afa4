"""What the keys of a benchmark mean: their values, their forms, and what follows of them."""

from pathlib import Path

import pytest
from pydantic_core import ValidationError

from pytest_evalmetrics.errors import ConfigError
from pytest_evalmetrics.model.metric_facts import ScoreFacts
from pytest_evalmetrics.spec import BenchmarkSpec, Count
from pytest_evalmetrics.spec.behaviour_keys import (
    BehaviourSpec,
    LimitSpec,
    SequencesSpec,
    ToolsRuleSpec,
)
from pytest_evalmetrics.spec.benchmark import Benchmark, rename_hint
from pytest_evalmetrics.spec.field_types import AtLeastOne, Bound, SecretName, Share
from pytest_evalmetrics.spec.gate_keys import BaselineSpec, GateSpec, Level, Threshold
from pytest_evalmetrics.spec.scorer_keys import NamedScores, spellings
from pytest_evalmetrics.spec.sources import ParamsSpec, RolloutsSpec, SampleSpec
from pytest_evalmetrics.spec.validation import validated

READ = "rollouts: r\n"
SCORED = "dataset: d\nscorers: [{type: exact_match}]\n"
ASKED = (
    "dataset: d\nscorers: [{type: exact_match}]\n"
    "model: {url: http://localhost/v1, name: m}\nprompt_template: '{{ q }}'\n"
)


@pytest.fixture
def spec(load):
    """Read a benchmark with some keys, a line each."""

    def read(keys):
        lines = [f"  {line}\n" for line in keys.splitlines()]
        (benchmark,) = load("benchmark:\n  name: math\n" + "".join(lines))
        return benchmark.spec

    return read


def accepts(form, value):
    try:
        validated(form, value)
    except ValidationError:
        return False
    return True


# -- numbers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "inside", "outside"),
    [
        (
            Share,
            [0, 1, 0.5, "2%", " 2.5 % ", ".5%", "100%"],
            [-0.01, 1.01, "101%", "2"],
        ),
        (Bound, [-3, 0, 1e9, "70%", "-70%"], ["high", True, None]),
        (Level, [0.01, 0.99, "5%"], [0, 1, "0%", "100%"]),
        (AtLeastOne, [1, 10], [0, 1.5, True, "1"]),
    ],
)
def test_a_number_lies_within_its_bounds(form, inside, outside):
    assert [value for value in inside if not accepts(form, value)] == []
    assert [value for value in outside if accepts(form, value)] == []


def test_a_percentage_is_a_share():
    assert validated(Share, "2.5%") == 0.025
    assert validated(Bound, "-70%") == -0.7


PARAMS = {
    "parallelism": ([1, 4096], [0, 4097]),
    "limit_samples": ([1], [0]),
    "request_timeout": ([0.1], [0, -1]),
    "max_retries": ([0, 3], [-1]),
    "max_wait": ([0.1], [0]),
}


@pytest.mark.parametrize("key", PARAMS)
def test_limits_of_calls_have_bounds(key):
    inside, outside = PARAMS[key]
    assert all(accepts(ParamsSpec, {key: value}) for value in inside)
    assert not any(accepts(ParamsSpec, {key: value}) for value in outside)


def test_sixteen_calls_are_in_flight_unless_the_file_says_otherwise():
    params = validated(ParamsSpec, {})
    assert params.parallelism == 16
    assert params.inference == {}
    assert params.ignore_request_failure is False


@pytest.mark.parametrize(
    ("keys", "is_valid"),
    [
        ({"tasks": 1}, True),
        ({"tasks": 0}, False),
        ({"tasks": 1, "seed": 0}, True),
        ({"tasks": 1, "seed": -1}, False),
        ({"tasks": 1, "by": ""}, False),
        ({}, False),
    ],
)
def test_a_sample_has_some_tasks(keys, is_valid):
    assert accepts(SampleSpec, keys) is is_valid


@pytest.mark.parametrize(
    ("count", "shown", "allowed", "refused"),
    [
        (Count(min=4, max=4), "4", [4], [3, 5]),
        (Count(min=4), ">= 4", [4, 400], [3]),
    ],
)
def test_a_count_is_exact_or_a_minimum(count, shown, allowed, refused):
    assert str(count) == shown
    assert all(count.allows(number) for number in allowed)
    assert not any(count.allows(number) for number in refused)


@pytest.mark.parametrize(
    ("written", "count"),
    [
        ("164", Count(min=164, max=164)),
        ("'>= 100'", Count(min=100)),
        ("' >=0100 '", Count(min=100)),
    ],
)
def test_a_number_of_tasks_is_written_in_two_forms(spec, written, count):
    assert spec(f"{READ}expect: {{tasks: {written}}}").expect.tasks == count


@pytest.mark.parametrize(
    "parameter",
    [
        "temperature: 0",
        "top_p: 0",
        "top_p: 1",
        "max_tokens: 1",
        "max_completion_tokens: 1",
        "seed: -3",
        "frequency_penalty: -2",
        "presence_penalty: 0.5",
        "stop: END",
        "stop: [A, B]",
        "top_k: anything",
    ],
)
def test_parameters_of_a_model_are_sent_as_they_are(spec, parameter):
    params = spec(f"{ASKED}params: {{inference: {{{parameter}}}}}").params
    assert list(params.inference) == [parameter.partition(":")[0]]


@pytest.mark.parametrize(
    "parameter",
    [
        "temperature: true",
        "top_p: -0.1",
        "max_tokens: 1.5",
        "max_completion_tokens: 0",
        "frequency_penalty: high",
        "presence_penalty: high",
    ],
)
def test_a_parameter_of_another_kind_is_refused(spec, parameter):
    name = parameter.partition(":")[0]
    with pytest.raises(ConfigError, match=f"inference: {name} is .*, expected a"):
        spec(f"{ASKED}params: {{inference: {{{parameter}}}}}")


@pytest.mark.parametrize(
    ("key", "instead"),
    [
        ("model", "name"),
        ("messages", "prompt_template"),
        ("prompt", "prompt_template"),
        ("tools", "tools"),
        ("response_format", "response_format"),
        ("best_of", "num_samples; or judge_repeats of a judge, beside its model"),
        (
            "num_return_sequences",
            "num_samples; or judge_repeats of a judge, beside its model",
        ),
        (
            "candidate_count",
            "num_samples; or judge_repeats of a judge, beside its model",
        ),
    ],
)
def test_what_a_key_of_its_own_sets_is_no_parameter(spec, key, instead):
    message = f"'{key}' is not an inference parameter: write {instead}"
    with pytest.raises(ConfigError, match=f"params.inference: {message}$"):
        spec(f"{READ}params: {{inference: {{{key}: 2}}}}")


# -- thresholds ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "low", "high"),
    [
        ("'>= 0.7'", 0.7, None),
        ("'>=70%'", 0.7, None),
        ("' <= 2e3 '", None, 2000),
        ("'<= -.5'", None, -0.5),
        ("{min: 1, max: 2}", 1, 2),
        ("{min: 1, max: 1}", 1, 1),
        ("{value: 200, rtol: 5%}", 190, 210),
        ("{value: -200, rtol: 5%}", -210, -190),
        ("{value: 0, rtol: 5%}", 0, 0),
    ],
)
def test_a_threshold_has_its_ends(spec, written, low, high):
    threshold = spec(f"{READ}thresholds: {{mean/x: {written}}}").thresholds["mean/x"]
    assert (threshold.min, threshold.max) == (low, high)


@pytest.mark.parametrize(
    ("threshold", "shown", "level"),
    [
        (Threshold(min=0.7), ">= 0.7", 0.95),
        (Threshold(max=2000.0), "<= 2000", 0.95),
        (Threshold(min=0.5, max=0.7), ">= 0.5 and <= 0.7", 0.95),
        (Threshold(min=0.7, bound="lower"), "lower end >= 0.7", 0.95),
        (
            Threshold(max=0.7, bound="upper", confidence=0.95),
            "upper 95 % bound <= 0.7",
            0.9,
        ),
    ],
)
def test_a_threshold_is_described_with_the_end_that_is_compared(
    threshold, shown, level
):
    assert threshold.described == shown
    assert threshold.level == pytest.approx(level)


@pytest.mark.parametrize("confidence", ["0.5", "1", "50%", "100%"])
def test_a_confidence_lies_between_a_half_and_one(spec, confidence):
    keys = f"{{min: 1, bound: lower, confidence: {confidence}}}"
    with pytest.raises(ConfigError, match="a confidence above 50 % and below 100 %"):
        spec(f"{READ}thresholds: {{mean/x: {keys}}}")


# -- expect, must_pass, quarantine -----------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "value"),
    [("error", "error"), ("exclude", "exclude"), ("0", 0.0), ("-1.5", -1.5)],
)
def test_a_missing_reward_is_an_error_is_left_out_or_is_a_number(spec, written, value):
    filled = spec(f"{READ}expect: {{missing_reward: {written}}}").expect.missing_reward
    assert filled == value
    assert type(filled) is type(value)


@pytest.mark.parametrize(
    ("written", "tasks"),
    [
        ("login", ("login",)),
        ("7", ("7",)),
        ("[login, 7, smoke-*]", ("login", "7", "smoke-*")),
    ],
)
def test_tasks_are_named_by_texts_or_numbers(spec, written, tasks):
    assert spec(f"{READ}must_pass: {written}").must_pass == tasks


def test_a_quarantine_ends_on_a_day(spec):
    quarantine = "{task: t1, reason: slow, until: 2026-12-31}"
    (one,) = spec(f"{READ}quarantine: [{quarantine}]").quarantine
    assert (one.task, one.reason, one.until) == ("t1", "slow", "2026-12-31")
    with pytest.raises(ConfigError, match="expected a day such as 2026-12-31"):
        spec(f"{READ}quarantine: [{quarantine.replace('12-31', '13-31')}]")


# -- the baseline ----------------------------------------------------------------------------


def test_the_settings_of_a_metric_go_before_those_of_all():
    settings = BaselineSpec(
        alpha=0.02, max_drop=0.1, metrics={"a": GateSpec(max_drop=0.2, rule="exact")}
    )
    own = settings.gate_of("a")
    assert (own.alpha, own.max_drop, own.rule) == (0.02, 0.2, "exact")
    assert settings.gate_of("b") is settings
    assert settings.path_of("a", "max_drop") == ("metrics", "a", "max_drop")
    assert settings.path_of("a", "alpha") == ("alpha",)
    assert settings.path_of("b", "max_drop") == ("max_drop",)


@pytest.mark.parametrize(
    ("keys", "committed", "of_history", "runs"),
    [
        ("true", True, False, None),
        ("{rollouts: r}", False, False, None),
        ("{report: report.json}", False, False, None),
        ("{history: 3}", False, True, 3),
        ("{history: h.jsonl}", False, True, 10),
        ("{history: h.jsonl, runs: 4}", False, True, 4),
        ("{against: best, rule: exact}", False, True, None),
        (
            "{against: median-of-last-5, rule: exact, history: h.jsonl}",
            False,
            True,
            None,
        ),
    ],
)
def test_a_baseline_is_committed_another_run_or_of_the_history(
    spec, keys, committed, of_history, runs
):
    baseline = spec(f"{READ}baseline: {keys}").baseline
    assert baseline.committed is committed
    assert baseline.of_history is of_history
    assert baseline.history_runs == runs


@pytest.mark.parametrize(
    "keys",
    [
        "{history: 0}",
        "{history: 51}",
        "{history: ''}",
        "{against: median-of-last-0, rule: exact}",
        "{against: worst, rule: exact}",
        "{runs: 1}",
        "{runs: 51}",
        "{max_broken: -1}",
        "{max_drop: -0.1}",
        "{require_mde: -1}",
        "{run_noise: 2}",
        "{drift: maybe}",
    ],
)
def test_what_a_baseline_can_not_be_is_refused(spec, keys):
    with pytest.raises(ConfigError, match="one problem in this benchmark file"):
        spec(f"{READ}baseline: {keys}")


@pytest.mark.parametrize("alpha", ["0.05, warn_alpha: 0.05", "0.02", "0.9"])
def test_a_level_may_be_as_large_as_that_of_warnings(spec, alpha):
    assert spec(f"{READ}baseline: {{alpha: {alpha}}}").baseline.alpha > 0.01


def test_the_default_level_is_not_above_that_of_warnings(spec):
    with pytest.raises(ConfigError, match="alpha is above warn_alpha"):
        spec(f"{READ}baseline: {{warn_alpha: 0.005}}")
    with pytest.raises(ConfigError, match=r"metrics\.a: alpha is above warn_alpha"):
        spec(f"{READ}baseline: {{warn_alpha: 0.05, metrics: {{a: {{alpha: 0.1}}}}}}")


@pytest.mark.parametrize("rule", ["absolute", "relative", "noninferior"])
def test_a_rule_of_a_size_needs_one(spec, rule):
    baseline = spec(f"{READ}baseline: {{rule: {rule}, max_drop: 0}}").baseline
    assert baseline.max_drop == 0
    with pytest.raises(ConfigError, match=f"the rule {rule} needs a max_drop"):
        spec(f"{READ}baseline: {{rule: {rule}}}")


@pytest.mark.parametrize("rule", ["own", "{name: own}", "package.module:Own"])
def test_a_rule_of_ones_own_has_a_name(spec, rule):
    own = spec(f"{READ}baseline: {{rule: {rule}}}").baseline.rule
    assert str(own) in ("own", "package.module:Own")
    assert own.options == {}


def test_a_rule_of_ones_own_may_have_options(spec):
    own = spec(f"{READ}baseline: {{rule: {{name: own, digits: 2}}}}").baseline.rule
    assert own.options == {"digits": 2}


# -- files -----------------------------------------------------------------------------------

SHAPES = (
    "rows: data",
    "keyed: id",
    "lists: {passed: 1}",
    "parse_json: meta",
    "where: {split: test}",
    "pivot: {by: id, name: metric, value: value}",
    "join: {path: other, on: id}",
)
DERIVED = (
    "map: {reward: {yes: 1}}",
    "missing: [-1]",
    "fields: {reward: {any: [a, b]}}",
)


@pytest.mark.parametrize("key", [*SHAPES, *DERIVED])
def test_rows_that_are_built_or_whose_scores_are_derived_have_a_shape(spec, key):
    rollouts = spec(f"rollouts: {{path: r, {key}}}").rollouts
    assert rollouts.shaped
    assert rollouts.derives_scores_only is (key in DERIVED)


@pytest.mark.parametrize("key", ["format: csv", "fields: {reward: r}", "decimal: ','"])
def test_rows_as_their_files_have_them_have_no_shape(spec, key):
    rollouts = spec(f"rollouts: {{path: r, {key}}}").rollouts
    assert not rollouts.shaped
    assert not rollouts.derives_scores_only


@pytest.mark.parametrize("key", [*SHAPES[:-1], *DERIVED, "format: csv", "decimal: ','"])
def test_another_runs_files_have_the_form_of_the_benchmarks(spec, key):
    ours = spec(f"rollouts: {{path: r, {key}}}").rollouts
    theirs = RolloutsSpec(path=("old",)).like(ours)
    assert theirs.path == ("old",)
    name = key.partition(":")[0]
    assert getattr(theirs, name) == getattr(ours, name)


@pytest.mark.parametrize("key", [*SHAPES, *DERIVED, "format: csv", "decimal: ','"])
def test_files_that_say_their_form_keep_it(spec, key):
    theirs = spec(f"rollouts: {{path: old, {key}}}").rollouts
    ours = spec("rollouts: {path: r, format: jsonl, rows: other}").rollouts
    assert theirs.like(ours) is theirs


def test_files_beside_joined_ones_have_a_form_of_their_own(spec):
    ours = spec("rollouts: {path: r, format: csv, join: {path: o, on: id}}").rollouts
    theirs = RolloutsSpec(path=("old",))
    assert theirs.like(ours) is theirs
    assert theirs.like(None) is theirs


@pytest.mark.parametrize(
    ("written", "path", "runs"),
    [
        ("old", ("old",), ()),
        ("[a, b]", ("a", "b"), ()),
        ("[[a, b], [c]]", ("a", "b", "c"), (("a", "b"), ("c",))),
        ("{path: [[a], [c]], format: csv}", ("a", "c"), (("a",), ("c",))),
    ],
)
def test_a_baseline_is_of_one_run_or_of_several(spec, written, path, runs):
    rollouts = spec(f"{READ}baseline: {{rollouts: {written}}}").baseline.rollouts
    assert (rollouts.path, rollouts.runs) == (path, runs)


@pytest.mark.parametrize("written", ["[[a], b]", "[[a], []]"])
def test_runs_are_all_lists_of_paths(spec, written):
    message = "expected either paths, or one list of paths for each run"
    with pytest.raises(ConfigError, match=message):
        spec(f"{READ}baseline: {{rollouts: {written}}}")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            "{format: csv}",
            "'path' is missing: a file with rows; or rows, a list of them",
        ),
        (
            "{path: d, rows: [{q: 1}]}",
            "rows are read from path, or written under rows, not both",
        ),
        ("{path: d, limit: 0}", "expected a number of at least 1, found 0"),
        (
            "{path: d, shuffle: true, seed: -1}",
            "expected a number of at least 0, found -1",
        ),
    ],
)
def test_a_data_set_has_one_source_of_rows(spec, keys, message):
    with pytest.raises(ConfigError, match=message):
        spec(f"scorers: [{{type: exact_match}}]\ndataset: {keys}")


def test_rounds_of_rollouts_know_the_first_and_the_last(spec):
    rounds = spec(f"{READ}num_samples: {{min: 2, max: 8, stop: early}}").num_samples
    assert (rounds, rounds.least, rounds.most) == (8, 2, 8)


# -- models, prompts, targets ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "read"),
    [
        ("'{{ q }}'", "{{ q }}"),
        ("[{role: user, content: x}]", [{"role": "user", "content": "x"}]),
        ("['{{ turns }}', {role: user}]", ["{{ turns }}", {"role": "user"}]),
        ("{messages: [{role: user}]}", [{"role": "user"}]),
        ("{messages: '{{ turns }}'}", ["{{ turns }}"]),
    ],
)
def test_a_prompt_is_a_text_or_messages(spec, prompt, read):
    assert spec(ASKED.replace("'{{ q }}'", prompt)).prompt_template == read


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ("' '", "expected a text, a list of messages, or {messages: "),
        ("[]", "expected a text, a list of messages, or {messages: "),
        ("{messages: ' '}", "expected a text, a list of messages, or {messages: "),
        ("{messages: [], x: 1}", "expected a text, a list of messages, or {messages: "),
        ("[{content: x}]", "expected a message: a mapping with role and content"),
        ("[{role: 3}]", "expected a message: a mapping with role and content"),
        ("[3]", "expected a message: a mapping with role and content"),
    ],
)
def test_what_asks_nothing_is_no_prompt(spec, prompt, message):
    with pytest.raises(ConfigError, match=message):
        spec(ASKED.replace("'{{ q }}'", prompt))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tools: [{type: function}]", [{"type": "function"}]),
        ("tools: []", []),
        ("tools: '{{ tools }}'", "{{ tools }}"),
        ("response_format: {type: json_object}", {"type": "json_object"}),
        ("response_format: '{{ form }}'", "{{ form }}"),
    ],
)
def test_tools_and_formats_are_written_out_or_templates(spec, key, value):
    assert getattr(spec(ASKED + key), key.partition(":")[0]) == value


@pytest.mark.parametrize(
    "key",
    [
        "tools: search",
        "tools: [search]",
        "tools: {type: function}",
        "response_format: {schema: {}}",
        "response_format: json",
    ],
)
def test_what_is_neither_written_out_nor_a_template_is_refused(spec, key):
    with pytest.raises(ConfigError, match=", or a template"):
        spec(ASKED + key)


@pytest.mark.parametrize(
    ("written", "function", "version"),
    [
        ("a.b:c", "a.b:c", None),
        ("{function: 'a.b:c', version: '2'}", "a.b:c", "2"),
    ],
)
def test_a_target_is_a_function_or_a_mapping_with_one(spec, written, function, version):
    target = spec(f"{SCORED}target: {written}").target
    assert (target.function, target.version) == (function, version)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("{name: m}", "url is missing: the address of the model's endpoint"),
        (
            "{type: litellm, name: m, format: chat}",
            "format is of an endpoint: LiteLLM knows its models' own",
        ),
        ("{url: 'http://h/v1', name: m, format: soap}", "expected chat, completions"),
        (
            "{url: 'http://h/v1', name: m, timeout_seconds: 0}",
            "expected a number above 0",
        ),
        (
            "{url: 'http://h/v1', name: m, max_retries: -1}",
            "expected a number of at least 0",
        ),
        (
            "{url: 'http://h/v1', name: m, price: {input: -1, output: 0}}",
            "expected a number of at least 0",
        ),
    ],
)
def test_a_model_has_an_address_or_is_one_of_litellm(spec, keys, message):
    text = ASKED.replace("{url: http://localhost/v1, name: m}", keys)
    with pytest.raises(ConfigError, match=message):
        spec(text)


def test_a_model_of_litellm_needs_no_address(spec):
    text = ASKED.replace(
        "{url: http://localhost/v1, name: m}", "{type: litellm, name: m}"
    )
    assert spec(text).model.url is None


@pytest.mark.parametrize("key", ["requests", "tokens", "cost", "seconds"])
def test_a_budget_is_above_zero(spec, key):
    keys = f"{ASKED}budget: {{{key}: 0}}"
    with pytest.raises(ConfigError, match="one problem in this benchmark file"):
        spec(keys)


@pytest.mark.parametrize(
    ("value", "name"),
    [("my-key", "my-key"), ({"root": "my-key"}, "my-key"), (None, None)],
)
def test_a_secret_is_named_as_here_or_as_the_nemo_evaluator_does(value, name):
    assert validated(SecretName, value) == name


@pytest.mark.parametrize("value", ["", {"root": ""}, {"root": "a", "x": 1}, 3])
def test_what_names_no_secret_is_refused(value):
    assert not accepts(SecretName, value)


def test_labels_are_a_column_and_anchors_are_files(spec):
    labels = spec(f"{SCORED}labels: human\nmetrics: [ppi/mean_reward]").labels
    assert (labels.label, labels.rows) == ("human", None)
    anchors = spec(f"{SCORED}anchors: labelled.jsonl").anchors
    assert (anchors.rows.path, anchors.label) == (("labelled.jsonl",), "label")


# -- behaviour -------------------------------------------------------------------------------

RISE = LimitSpec(max_rise=0.1)
MOST = LimitSpec(max=3.0)


def test_limits_of_built_in_features_come_first():
    behaviour = BehaviourSpec(limits={"own": MOST}, tool_calls=MOST, steps=RISE)
    assert list(behaviour.all_limits) == ["steps", "tool_calls", "own"]
    assert behaviour.path_of("own") == ("limits", "own")
    assert behaviour.path_of("steps") == ("steps",)


def test_features_of_ones_own_are_listed_once():
    behaviour = BehaviourSpec(features=("a", "b"), limits={"b": MOST, "c": RISE})
    assert behaviour.own_features == ("a", "b", "c")


@pytest.mark.parametrize(
    ("keys", "needs_baseline", "has_rules"),
    [
        ({}, False, False),
        ({"steps": RISE}, True, False),
        ({"steps": LimitSpec(max_fall=0.1)}, True, False),
        ({"steps": MOST}, False, True),
        ({"steps": LimitSpec(min=1.0)}, False, True),
        ({"limits": {"own": RISE}}, True, False),
        ({"order": "same"}, True, False),
        ({"tools": ToolsRuleSpec(forbid=("f",))}, False, True),
        ({"tools": ToolsRuleSpec(require=("f",))}, False, True),
        ({"sequences": SequencesSpec(forbid=(("f", "g"),))}, False, True),
        ({"sequences": SequencesSpec(require=(("f", "g"),))}, False, True),
        ({"features": ("own",)}, False, False),
    ],
)
def test_what_is_asserted_of_behaviour(keys, needs_baseline, has_rules):
    behaviour = BehaviourSpec(**keys)
    assert behaviour.needs_baseline is needs_baseline
    assert behaviour.has_rules is has_rules


@pytest.mark.parametrize(
    "keys",
    [
        "{steps: {max_rise: 20%}}",
        "{steps: {min: 2, max: 2}}",
        "{sequences: {forbid: [[a, b]]}}",
        "{allow: 1%}",
        "{tier: advisory}",
    ],
)
def test_keys_of_behaviour_have_their_kinds(spec, keys):
    assert spec(f"{READ}behaviour: {keys}").behaviour != BehaviourSpec()


@pytest.mark.parametrize(
    "keys",
    [
        "{steps: {max_rise: -1%}}",
        "{sequences: {forbid: [[a]]}}",
        "{allow: 2}",
        "{order: other}",
        "{distance: cosine}",
        "{limits: {steps: {max: 1}}}",
    ],
)
def test_keys_of_behaviour_of_another_kind_are_refused(spec, keys):
    with pytest.raises(ConfigError, match="one problem in this benchmark file"):
        spec(f"{READ}behaviour: {keys}")


@pytest.mark.parametrize(("written", "is_on"), [("true", True), ("false", False)])
def test_behaviour_is_switched_on_and_off(spec, written, is_on):
    assert (spec(f"{READ}behaviour: {written}").behaviour is not None) is is_on


# -- scorers ---------------------------------------------------------------------------------


class OneScore(NamedScores):
    own_names = ("accuracy",)
    strictest = "accuracy"


class TwoScores(NamedScores):
    own_names = ("recall", "f1")
    strictest = "f1"
    limits = (0.0, None)
    better = "lower"


@pytest.mark.parametrize(
    ("scorer", "names", "reward"),
    [
        (OneScore(type="one"), ("accuracy",), "accuracy"),
        (OneScore(type="one", name="mine"), ("mine",), "mine"),
        (TwoScores(type="two"), ("recall", "f1"), "f1"),
        (TwoScores(type="two", name="my"), ("my_recall", "my_f1"), "my_f1"),
        (NamedScores(type="none"), (), ""),
    ],
)
def test_the_name_of_a_scorer_is_that_of_its_score_or_their_beginning(
    scorer, names, reward
):
    assert scorer.score_names == scorer.base_names == names
    assert scorer.default_reward == reward


def test_a_scorer_states_the_range_and_direction_of_its_scores():
    assert OneScore(type="one").facts_of("accuracy") == ScoreFacts("higher", 0.0, 1.0)
    assert TwoScores(type="two").facts_of("f1") == ScoreFacts("lower", 0.0, None)


@pytest.mark.parametrize(
    ("kind", "ways"),
    [
        ("f1", ("f1",)),
        ("llm-judge", ("llm-judge", "llm_judge")),
        ("tool_call_accuracy", ("tool_call_accuracy", "tool-call-accuracy")),
    ],
)
def test_a_type_is_written_with_either_sign_between_its_words(kind, ways):
    assert spellings(kind) == ways


@pytest.mark.parametrize("kind", ["exact-match", "exact_match"])
def test_a_scorer_is_found_by_either_spelling(spec, kind):
    (scorer,) = spec(f"dataset: d\nscorers: [{{type: {kind}}}]").scorers
    assert scorer.score_names == ("exact-match",)


@pytest.mark.parametrize(
    ("written", "names", "options"),
    [
        ("{python: 'a.b:c'}", ("c",), {}),
        ("{type: python, function: 'a.b:c.d'}", ("d",), {}),
        ("{python: 'a.b:c', scores: [x, y]}", ("x", "y"), {}),
        (
            "{python: 'a.b:c', depth: 3, type_of: x}",
            ("c",),
            {"depth": 3, "type_of": "x"},
        ),
        ("{type: python, function: 'a.b:c', depth: 3}", ("c",), {"depth": 3}),
    ],
)
def test_further_keys_of_a_function_are_its_arguments(spec, written, names, options):
    (scorer,) = spec(f"dataset: d\nscorers: [{written}]").scorers
    assert scorer.type == "python"
    assert scorer.score_names == names
    assert scorer.options == options
    assert scorer.facts_of("x") == ScoreFacts()


def test_a_scorer_of_ones_own_keeps_its_keys(spec):
    (scorer,) = spec("dataset: d\nscorers: [{type: own, depth: 3}]").scorers
    assert (scorer.type, scorer.options) == ("own", {"depth": 3})
    assert scorer.score_names == ()
    assert scorer.facts_of("x") == ScoreFacts()


HINTS = {
    "{type: exact_match}": "give this one a name, such as `name: second`",
    "{python: 'a.b:c'}": (
        "give this one's another name, such as `scores: [another_name]`"
    ),
    (
        "{type: remote, url: 'http://h/s', body: {}, "
        "scores: [{name: a, parser: {json_path: $.a}}]}"
    ): "give this one's another `name` under scores",
    "{type: own}": "give this one's another name in its class",
}


@pytest.mark.parametrize(("written", "hint"), HINTS.items())
def test_two_scores_of_one_name_are_told_how_to_differ(spec, written, hint):
    keys = f"dataset: d\nscorers: [{written}]\nreward: x"
    (scorer,) = spec(keys).scorers
    assert rename_hint(scorer) == hint


# -- the whole benchmark ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "runs", "forgets"),
    [
        (READ, False, False),
        (SCORED, True, False),
        (ASKED, True, False),
        (f"{SCORED}target: a:b", True, True),
        (f"{SCORED}target: {{function: 'a:b', version: '1'}}", True, False),
        (f"{SCORED}target: a:b\ndepends: agent/*.py", True, False),
    ],
)
def test_a_benchmark_runs_what_answers_or_scores_its_rows(spec, keys, runs, forgets):
    read = spec(keys)
    assert read.runs is runs
    assert read.forgets is forgets


@pytest.mark.parametrize(
    ("keys", "needs"),
    [
        ("", False),
        ("must_pass: a", True),
        ("quarantine: [{task: a, reason: r, until: 2026-12-31}]", True),
        ("baseline: {max_broken: 0}", True),
        ("baseline: true", False),
        ("metrics: {m: {type: f1, gold: g, predicted: p}}", False),
    ],
)
def test_rewards_are_needed_by_what_reads_passes(spec, keys, needs):
    assert spec(READ + keys).needs_reward is needs


@pytest.mark.parametrize(
    ("keys", "gated"),
    [
        ("metrics: [a, b]", ("a", "b")),
        ("metrics: [a, b]\nkey_metrics: [b]", ("b",)),
        ("metrics: [a]\nbaseline: {metrics: {a: {}, c: {}}}", ("a", "c")),
        ("metrics: [a, b]\nkey_metrics: [b]\nbaseline: {metrics: {a: {}}}", ("b", "a")),
        ("", ("mean_reward", "pass_rate")),
    ],
)
def test_named_key_metrics_are_gated_else_the_listed_ones(spec, keys, gated):
    assert spec(READ + keys).gated == gated


def test_the_columns_of_rows_are_those_that_metrics_read(spec):
    keys = "metrics:\n  - mean/x\n  - pass@1\n  - max/y\n  - max/x\n  - own:metric/z\n  - /"
    assert spec(READ + keys).row_columns == ("x", "y", "z")
    defined = "metrics: {m: {type: f1, gold: label, predicted: answer}}"
    assert spec(READ + defined).row_columns == ("label", "answer")


def test_another_listing_keeps_the_definitions(spec):
    read = spec(f"{READ}metrics: {{m: {{type: f1, gold: g, predicted: p}}}}")
    assert read.listing(["m", "mean_reward"]).defined == read.defined
    assert list(read.listing(["m", "mean_reward"])) == ["m", "mean_reward"]
    assert spec(READ).listing(["a"]) == ("a",)


def test_rows_are_those_of_rollouts_or_of_a_data_set(spec):
    assert spec(READ).rows.path == ("r",)
    assert spec(SCORED).rows.path == ("d",)
    with pytest.raises(ValueError, match="b has neither rollouts nor a dataset"):
        _ = BenchmarkSpec(name="b").rows


@pytest.mark.parametrize(
    ("written", "skip"), [("true", True), ("false", False), ("slow", "slow")]
)
def test_a_benchmark_is_skipped_or_skipped_for_a_reason(spec, written, skip):
    assert spec(f"{READ}skip: {written}").skip == skip


def test_a_word_for_true_or_false_is_no_reason(spec):
    with pytest.raises(ConfigError, match="expected true, false or the reason"):
        spec(f"{READ}skip: 'On '")


@pytest.mark.parametrize(
    ("written", "reason", "strict"),
    [
        ("true", "", None),
        ("flaky", "flaky", None),
        ("{reason: flaky, strict: true}", "flaky", True),
    ],
)
def test_a_benchmark_may_be_expected_to_fail(spec, written, reason, strict):
    xfail = spec(f"{READ}xfail: {written}").xfail
    assert (xfail.reason, xfail.strict) == (reason, strict)


def test_a_benchmark_is_not_expected_to_fail_by_default(spec):
    assert spec(f"{READ}xfail: false").xfail is None
    assert spec(READ).xfail is None


@pytest.mark.parametrize("tag", ["nightly", "a-b.c:d/e[1]", "_x"])
def test_a_tag_can_be_a_marker(spec, tag):
    assert spec(f"{READ}tags: '{tag}'").tags == (tag,)


@pytest.mark.parametrize(
    "tag", ["1st", "a b", "usefixtures", "filterwarnings", "skipif", "xfail"]
)
def test_what_can_be_no_marker_or_is_one_of_pytest_is_refused(spec, tag):
    with pytest.raises(ConfigError, match="one problem in this benchmark file"):
        spec(f"{READ}tags: '{tag}'")


# -- where it is written ---------------------------------------------------------------------

LINES = {(): 2, ("thresholds",): 5, ("thresholds", "a"): 6}


def test_the_line_of_a_key_is_that_of_the_nearest_one_that_is_written():
    benchmark = Benchmark(BenchmarkSpec(name="b"), Path("b.bench.yaml"), LINES)
    assert benchmark.line_of("thresholds", "a", "min") == 6
    assert benchmark.line_of("thresholds", "b") == 5
    assert benchmark.line_of("baseline") == 2
    assert benchmark.line_of() == 2
    assert Benchmark(benchmark.spec, benchmark.file, {}).line_of("x") == 1


def test_a_benchmark_may_have_other_keys():
    benchmark = Benchmark(BenchmarkSpec(name="b"), Path("b.bench.yaml"), LINES)
    assert benchmark.but(num_samples=3).spec == BenchmarkSpec(name="b", num_samples=3)
    assert benchmark.with_spec(BenchmarkSpec(name="c")).spec.name == "c"
    assert benchmark.but(num_samples=3).lines is LINES


# -- equality --------------------------------------------------------------------------------


def test_keys_are_equal_if_their_values_are():
    assert GateSpec(alpha=0.02) == GateSpec(alpha=0.02)
    assert GateSpec(alpha=0.02) != GateSpec(alpha=0.01)
    assert GateSpec() != BaselineSpec()
    assert GateSpec() != 3
    assert hash(SampleSpec(tasks=3)) == hash(SampleSpec(tasks=3))
    assert len({SampleSpec(tasks=3), SampleSpec(tasks=3), SampleSpec(tasks=4)}) == 2


def test_keys_are_shown_with_their_values():
    assert repr(SampleSpec(tasks=3)) == "SampleSpec(tasks=3, by=None, seed=0)"
