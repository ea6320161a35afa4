"""``scorers:``, ``dataset:``, ``model:``, ``params:``: what is wrong, before anything runs."""

import json

import pytest
import yaml
from jsonschema import Draft202012Validator

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.errors import ConfigError
from pytest_evalmetrics.schemas import text
from pytest_evalmetrics.scorers.remote_scorers import NatScorerSpec, RemoteScorerSpec
from pytest_evalmetrics.scorers.tool_call_scorers import ToolCallAccuracySpec
from pytest_evalmetrics.spec.scorer_keys import CustomScorerSpec, PythonScorerSpec

SCHEMA = json.loads(text("benchmark"))
VALIDATOR = Draft202012Validator(SCHEMA)
CALLING = """\
benchmark:
  name: a
  dataset: {path: data.jsonl, fields: {task: key}}
  reward: accuracy
  params: {parallelism: 4, limit_samples: 10, request_timeout: 5, max_retries: 0}
  scorers:
    - type: remote
      url: https://host/evaluate?x=1
      body: {a: "{{ item.a }}", b: ["{{ a }}", null, 1.5], c: {d: true}}
      scores:
        - name: accuracy
          parser: {type: json, json_path: $.result.accuracy}
          description: how good
          minimum: 0
          maximum: 1
      api_key_secret: my-key
      timeout_seconds: 30
      max_retries: 3
    - {type: nemo-agent-toolkit-remote, url: "http://host:8000/evaluate/item", evaluator_name: e}
    - {type: my_pkg.scorers:Mine, depth: 3, of: {x: [1]}}
"""
ONLINE = """\
benchmark:
  name: a
  dataset: {path: d.jsonl, limit: 5, shuffle: 7}
  num_samples: 2
  model: {url: "http://h/v1", name: m, price: {input: 1, output: 2}}
  prompt_template: [{role: user, content: "{{ q }}"}]
  tools: "{{ tools }}"
  response_format: {type: json_object}
  params: {ignore_request_failure: true}
  budget: {requests: 5, tokens: 5, cost: 0.5, seconds: 60}
  scorers: [{type: exact-match, reference: "{{ a }}"}]
"""
OFFLINE = """\
benchmark:
  name: a
  dataset: data.jsonl
  reward: f1
  scorers:
    - {type: tool_call_accuracy, strict_order: false}
    - {type: tool-calling, reference: "{{tool_calls}}"}
    - {type: exact_match, reference: "{{ item.a }}", candidate: "{{ b }}"}
    - {type: f1}
    - {type: string-check, operation: "!=", left_template: "{{ a }}", right_template: b}
    - {type: number-check, operation: absolute difference, left_template: a, right_template: b,
       epsilon: 0.5}
    - {type: bleu, references: ["{{ a }}", "{{ b }}"]}
    - {type: rouge}
    - python: my_pkg.scorers:length
    - {python: "m:many", scores: [x, y], depth: 3}
    - {type: python, function: "m:Cls.of", scores: z, of: {x: [1]}}
"""
REMOTE = (
    "type: remote, url: 'http://a/x', body: {}, "
    "scores: [{name: f1, parser: {type: json, json_path: $.a}}]"
)
NUMBERS = "{{type: number-check, left_template: a, right_template: b, operation: {}}}"


def load(tmp_path, text):
    """Read a file with one benchmark; a scorer of no known type is wrong too."""
    path = tmp_path / "a.bench.yaml"
    path.write_text(text, encoding="utf-8")
    (benchmark,) = load_benchmarks(path, shown="a.bench.yaml", scorers_known="my_pkg" not in text)
    return benchmark.spec


def wrong(tmp_path, text):
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, text)
    return raised.value


def is_valid(text):
    return VALIDATOR.is_valid(yaml.safe_load(text))


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (
            "metric: system/trajectory-evaluation",
            "unknown key 'metric': did you mean 'metrics'? what gives rows their scores is written",
        ),
        ("metric_params: {judge: {}}", "unknown key 'metric_params': write them beside the type"),
        ("metrik: mean_reward", "unknown key 'metrik': did you mean 'metrics'"),
    ],
)
def test_keys_of_an_evaluator_job_are_told_where_they_go(tmp_path, key, said):
    error = wrong(tmp_path, f"benchmark:\n  name: a\n  rollouts: a.jsonl\n  {key}\n")
    assert f"a.bench.yaml:4: benchmark: {said}" in str(error)


def test_all_that_may_be_said(tmp_path):
    spec = load(tmp_path, CALLING)
    remote, nat, mine = spec.scorers
    assert isinstance(remote, RemoteScorerSpec)
    assert remote.body == {"a": "{{ item.a }}", "b": ["{{ a }}", None, 1.5], "c": {"d": True}}
    assert (remote.score_names, remote.scores[0].maximum) == (("accuracy",), 1.0)
    assert isinstance(nat, NatScorerSpec)
    assert mine == CustomScorerSpec(
        type="my_pkg.scorers:Mine", options={"depth": 3, "of": {"x": [1]}}
    )
    assert spec.rows.fields.task == "key"
    assert spec.params.limit_samples == 10
    assert is_valid(CALLING)


def test_all_that_may_be_said_online(tmp_path):
    spec = load(tmp_path, ONLINE)
    assert spec.answers is spec.model
    assert spec.dataset.chosen_with == 7
    assert spec.budget.cost == 0.5
    assert is_valid(ONLINE)


@pytest.mark.parametrize(
    ("prompt", "kept"),
    [
        ('"{{ q }}"', "{{ q }}"),
        ('{messages: "{{ messages }}"}', ["{{ messages }}"]),
        ("{messages: [{role: user, content: hi}]}", [{"role": "user", "content": "hi"}]),
        ('["{{ history }}"]', ["{{ history }}"]),
    ],
)
def test_the_forms_of_a_prompt(tmp_path, prompt, kept):
    text = ONLINE.replace('[{role: user, content: "{{ q }}"}]', prompt)
    spec = load(tmp_path, text)
    assert spec.prompt_template == kept
    assert is_valid(text)


def test_all_that_may_be_said_offline(tmp_path):
    scorers = load(tmp_path, OFFLINE).scorers
    assert [scorer.score_names for scorer in scorers] == [
        ("tool_call_accuracy",),
        ("function_name_accuracy", "function_name_and_args_accuracy"),
        ("exact-match",),
        ("f1",),
        ("string-check",),
        ("number-check",),
        ("sentence",),
        ("rouge_1_score", "rouge_2_score", "rouge_3_score", "rouge_L_score"),
        ("length",),
        ("x", "y"),
        ("z",),
    ]
    assert scorers[0] == ToolCallAccuracySpec(type="tool_call_accuracy", strict_order=False)
    assert scorers[6].references == ("{{ a }}", "{{ b }}")
    assert scorers[8] == PythonScorerSpec(type="python", function="my_pkg.scorers:length")
    assert scorers[9].options == {"depth": 3}
    assert scorers[10] == PythonScorerSpec(
        type="python", function="m:Cls.of", scores=("z",), options={"of": {"x": [1]}}
    )
    assert is_valid(OFFLINE)


OF_CALLING = [
    ("{{ item.a }}", "{{ item.a", "9: benchmark.scorers[0].body.a: this template is no good: "),
    ("{{ a }}", "{% if %}", "9: benchmark.scorers[0].body.b[0]: this template is no good: "),
    (
        "$.result.accuracy",
        "result",
        "12: benchmark.scorers[0].scores[0].parser.json_path: 'result' is no JSONPath: ",
    ),
    ("name: accuracy", "name: Acc", "11: benchmark.scorers[0].scores[0].name: expected lower-"),
    ("maximum: 1", "maximum: -1", "11: benchmark.scorers[0].scores[0]: minimum 0 is above maxi"),
    ("type: json", "type: regex", "12: benchmark.scorers[0].scores[0].parser.type: expected js"),
    ("https://host/", "host/", "8: benchmark.scorers[0].url: expected a URL such as "),
    ("https://host/", "https://me:pw@host/", "8: benchmark.scorers[0].url: a URL must hold no "),
    ("timeout_seconds: 30", "timeout_seconds: 0", "17: benchmark.scorers[0].timeout_seconds: "),
    ("max_retries: 3", "max_retries: -1", "18: benchmark.scorers[0].max_retries: expected a nu"),
    ("api_key_secret", "api_key", "16: benchmark.scorers[0]: unknown key 'api_key': did you me"),
    ("evaluator_name: e", "name: e", "19: benchmark.scorers[1]: 'evaluator_name' is missing"),
    (
        "evaluator_name: e",
        "evaluator_name: accuracy",
        "19: benchmark.scorers[1]: the score 'accuracy' is given by scorer 1 already",
    ),
    ("type: my_pkg.scorers:Mine, ", "", "20: benchmark.scorers[2]: 'type' is missing: remote, "),
    (
        "{type: my_pkg.scorers:Mine, depth: 3, of: {x: [1]}}",
        "remote",
        "20: benchmark.scorers[2]: expected a mapping with type",
    ),
    ("parallelism: 4", "parallelism: 0", "5: benchmark.params.parallelism: expected a number of"),
    (
        "limit_samples: 10",
        "limit: 1",
        "5: benchmark.params: unknown key 'limit': keys here: ignore_req",
    ),
    ("  reward: accuracy\n", "  rollouts: r.jsonl\n", "3: benchmark.dataset: rows come from rol"),
]
OF_ONLINE = [
    ('  prompt_template: [{role: user, content: "{{ q }}"}]\n', "", "5: benchmark.model: 'pro"),
    ('content: "{{ q }}"', 'content: "{{ q"', "6: benchmark.prompt_template[0].content: this "),
    ("[{role: user,", "[{role: 5,", "6: benchmark.prompt_template: expected a message: a "),
    ('[{role: user, content: "{{ q }}"}]', "{prompt: x}", "6: benchmark.prompt_template: expec"),
    ('"{{ tools }}"', "tools", "7: benchmark.tools: expected a list of tools as the endpoint "),
    ("{type: json_object}", "json", "8: benchmark.response_format: expected a mapping with "),
    ("price: {input: 1, output: 2}", "max_retries: 1", "10: benchmark.budget.cost: what it co"),
    ("requests: 5", "requests: 0", "10: benchmark.budget.requests: expected "),
    ("shuffle: 7", "seed: 7", "3: benchmark.dataset.seed: a seed is for shuffle: write shuf"),
    ("dataset: {", "rollouts: {", "3: benchmark.rollouts: unknown key 'limit'"),
    (
        "  dataset: {path: d.jsonl, limit: 5, shuffle: 7}\n",
        "",
        "1: benchmark: 'dataset' is missing: rows to answer",
    ),
    (
        "  dataset: {path: d.jsonl, limit: 5, shuffle: 7}\n",
        "  rollouts: d.jsonl\n",
        "5: benchmark.model: rows are read from rollouts, or answered by a model, not both",
    ),
    (
        '  scorers: [{type: exact-match, reference: "{{ a }}"}]\n',
        "",
        "5: benchmark.model: nothing gives the answers a reward: say under scorers: what ",
    ),
    (
        "  num_samples: 2\n",
        "  target: m:f\n",
        "4: benchmark.target: rows are answered by a model or by a target, not by both",
    ),
    ("model: {", "# {", "6: benchmark.prompt_template: prompt_template is for a model, and "),
    ("model: {", "# {", "9: benchmark.params.ignore_request_failure: ignore_request_failure "),
    (
        'model: {url: "http://h/v1", name: m, price: {input: 1, output: 2}}',
        "target: f",
        "5: benchmark.target: expected package.module:function, found 'f'",
    ),
    (
        'exact-match, reference: "{{ a }}"',
        "remote, url: 'http://h/', body: {}, scores: [{name: cost, parser: {json_path: $.a}}]",
        "11: benchmark.scorers[0]: the score 'cost' is measured when an answer is generated",
    ),
]


@pytest.mark.parametrize(
    ("text", "old", "new", "problem"),
    [*((CALLING, *case) for case in OF_CALLING), *((ONLINE, *case) for case in OF_ONLINE)],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path, text, old, new, problem):
    assert text.count(old) == 1 or "http" in old
    assert f"a.bench.yaml:{problem}" in str(wrong(tmp_path, text.replace(old, new, 1)))


def test_a_name_tells_two_scorers_of_one_type_apart(tmp_path):
    text = (
        "benchmark:\n  name: a\n  dataset: d.jsonl\n  reward: strict\n  scorers:\n"
        "    - {type: exact-match}\n    - {type: exact-match, name: strict, candidate: x}\n"
        "    - {type: rouge}\n    - {type: rouge, name: other, candidate: x}\n"
        "    - {type: nemo-agent-toolkit-remote, url: 'http://a/x', evaluator_name: e, name: b}\n"
        "    - {type: answer_accuracy, judge_model: {url: 'http://a/x', name: m}, name: by_m}\n"
        "    - {type: answer_accuracy, judge_model: {url: 'http://a/x', name: n}}\n"
    )
    names = [scorer.score_names for scorer in load(tmp_path, text).scorers]
    assert names[:3] == [("exact-match",), ("strict",), names[2]]
    assert names[3] == tuple(f"other_{name}" for name in names[2])
    assert names[4:] == [("b",), ("by_m",), ("nv_accuracy",)]
    assert is_valid(text)


@pytest.mark.parametrize(
    ("first", "second", "way_out"),
    [
        ("type: f1", "type: f1", "give this one a name, such as `name: second`"),
        ("python: 'm:f1'", "type: f1", "give this one a name, such as "),
        ("type: f1", "python: 'm:f1'", "such as `scores: [another_name]`"),
        ("type: f1", REMOTE, "give this one's another `name` under scores"),
    ],
)
def test_two_of_one_name_are_told_the_way_out(tmp_path, first, second, way_out):
    text = (
        f"benchmark:\n  name: a\n  dataset: d.jsonl\n  reward: f1\n  scorers:\n    - {{{first}}}\n"
    )
    error = wrong(tmp_path, f"{text}    - {{{second}}}\n")
    (problem,) = error.problems
    assert problem.message.startswith("the score 'f1' is given by scorer 1 already: ")
    assert way_out in problem.message


@pytest.mark.parametrize(
    ("scorer", "problem"),
    [
        ("{type: tool_call_accuracy, strict_order: 1}", ".strict_order: expected true or false"),
        ("{type: tool-calling}", ": 'reference' is missing"),
        ("{type: exact-match, reference: '{{ a'}", ".reference: this template is no good: "),
        ("{type: exact-mtach}", ".type: there is no scorer 'exact-mtach': did you mean 'exact-ma"),
        ("{type: exact_match, candidat: x}", ": unknown key 'candidat': did you mean 'candidate'"),
        ("{type: rouge, reference: 5}", ".reference: expected text, found 5"),
        ("{type: bleu, references: []}", ".references: expected a list that is not empty"),
        (
            "{type: string-check, operation: '>=', left_template: a, right_template: b}",
            ".operation: expected equals, ==, ",
        ),
        ("{type: string-check, operation: equals, left_template: a}", ": 'right_template' is miss"),
        (NUMBERS.format("'=<'"), ".operation: expected equals, ==, "),
        (
            NUMBERS.format("absolute difference"),
            ": epsilon is needed by, and only by, operation: absolute difference",
        ),
        (
            NUMBERS.format("'==', epsilon: 1"),
            ": epsilon is needed by, and only by, operation: absolute difference",
        ),
        ("python: mymod", ".python: expected package.module:function, found the text"),
        ("{type: python, function: mymod.fn}", ".function: expected package.module:function"),
        ("{type: python, scores: a}", ": 'function' is missing"),
        ("{python: 'm:f', scores: [a, a]}", ".scores: 'a' is listed twice"),
        ("{python: 'm:f1'}\n    - type: f1", "benchmark.scorers[1]: the score 'f1' is given by sc"),
    ],
)
def test_a_wrong_scorer_is_told_with_its_line(tmp_path, scorer, problem):
    head = "benchmark:\n  name: a\n  dataset: data.jsonl\n  scorers:\n"
    error = wrong(tmp_path, f"{head}    - {scorer}\n")
    assert len(error.problems) == 1
    line = 6 if "\n" in scorer else 5
    at = problem if problem.startswith("benchmark") else f"benchmark.scorers[0]{problem}"
    assert f"a.bench.yaml:{line}: {at}" in str(error)


def test_an_editor_sees_wrong_keys_too():
    for scorer in (
        "{type: tool-calling}",
        "{type: exact_match, candidat: x}",
        "{python: mymod}",
        "{type: python}",
        "{python: 'm:f', type: python}",
    ):
        text = f"benchmark: {{name: a, dataset: d.jsonl, scorers: [{scorer}]}}"
        assert not is_valid(text), scorer


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("dataset: d", "3: benchmark.dataset: a dataset has no rewards yet"),
        ("rollouts: r\n  params: {parallelism: 2}", "4: benchmark.params: params are for scorers"),
        ("rollouts: r\n  scorers: []", "4: benchmark.scorers: expected a list that is not empty"),
        ("scorers: [{type: f1}]", "1: benchmark: 'dataset' is missing: rows to score"),
        ("dataset:\n  scorers: [{type: f1}]", "1: benchmark: 'dataset' is missing: rows to sco"),
    ],
)
def test_what_belongs_together(tmp_path, text, problem):
    error = wrong(tmp_path, f"benchmark:\n  name: a\n  {text}\n")
    assert str(error).count("\n") == 1  # nothing else
    assert f"a.bench.yaml:{problem}" in str(error)


SCORER_TYPES = [
    name
    for definition, one in SCHEMA["$defs"].items()
    if "type" in one.get("properties", {}) and not definition.endswith(("ParserSpec", "Keys"))
    for name in one["properties"]["type"].get("enum", [one["properties"]["type"].get("const")])
    if name not in (None, "python")
]


def test_every_name_of_a_builtin_type_means_its_keys(tmp_path):
    scorers = ", ".join(f"{{type: {name}, other: 1}}" for name in SCORER_TYPES)
    error = wrong(tmp_path, f"benchmark: {{name: a, scorers: [{scorers}]}}\n")
    assert str(error).count("unknown key 'other'") == len(SCORER_TYPES)
