"""``scorers:``, ``dataset:``, ``model:``, ``params:``: what is wrong, before anything runs."""

import pytest

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
PROMPT = '[{role: user, content: "{{ q }}"}]'
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


def test_all_keys(load, marks):
    (benchmark,) = load(CALLING)
    spec = benchmark.spec
    remote, nat, mine = spec.scorers
    assert remote.body == {
        "a": "{{ item.a }}",
        "b": ["{{ a }}", None, 1.5],
        "c": {"d": True},
    }
    assert (remote.score_names, remote.scores[0].maximum) == (("accuracy",), 1.0)
    assert nat.score_names == ("e",)
    assert (mine.type, mine.options) == (
        "my_pkg.scorers:Mine",
        {"depth": 3, "of": {"x": [1]}},
    )
    assert (spec.rows.fields.task, spec.params.limit_samples) == ("key", 10)
    load(OFFLINE)
    assert marks(CALLING) == marks(OFFLINE) == set()


@pytest.mark.parametrize(
    ("prompt", "kept"),
    [
        (PROMPT, [{"role": "user", "content": "{{ q }}"}]),
        ('"{{ q }}"', "{{ q }}"),
        ('{messages: "{{ messages }}"}', ["{{ messages }}"]),
        (
            "{messages: [{role: user, content: hi}]}",
            [{"role": "user", "content": "hi"}],
        ),
        ('["{{ history }}"]', ["{{ history }}"]),
    ],
)
def test_all_keys_of_online_scorers_and_the_forms_of_a_prompt(
    load, marks, prompt, kept
):
    text = ONLINE.replace(PROMPT, prompt)
    (benchmark,) = load(text)
    spec = benchmark.spec
    assert spec.answers is spec.model
    assert spec.dataset.chosen_with == 7
    assert spec.budget.cost == 0.5
    assert spec.prompt_template == kept
    assert marks(text) == set()


SCORERS = """\
benchmark:
  name: a
  dataset: data.jsonl
  params: {parallelism: 0, limit: 1}
  scorers:
    - type: remote
      url: host/evaluate
      body: {a: "{{ item.a", b: ["{% if %}"]}
      scores: [{name: A, parser: {type: regex, json_path: $.a}}, {name: b, parser: {json_path: c}}]
      api_key: my-key
      timeout_seconds: 0
      max_retries: -1
    - {type: nemo-agent-toolkit-remote, url: "https://me:pw@host/", name: e}
    - {depth: 3}
    - remote
    - {type: tool_call_accuracy, strict_order: 1}
    - {type: exact-match, reference: "{{ a"}
    - {type: rouge, reference: 5}
    - {type: bleu, references: []}
    - {type: string-check, operation: ">=", left_template: a, right_template: b}
    - {type: string-check, operation: equals, left_template: a}
    - {type: number-check, left_template: a, right_template: b, operation: "=<"}
    - {type: python, function: mymod.fn}
    - {python: "m:f", scores: [a, a]}
    - {python: "m:f", type: python}
    - {type: tool-calling}
    - {type: exact_match, candidat: x}
    - {python: mymod}
    - {type: python, scores: a}
    - {type: number-check, left_template: a, right_template: b, operation: absolute difference}
    - {type: number-check, left_template: a, right_template: b, operation: "==", epsilon: 1}
    - {type: remote, url: "http://h/", body: {},
       scores: [{name: a, parser: {json_path: $.a}, minimum: 0, maximum: -1}]}
"""
OF_SCORERS = [
    "4: benchmark.params.parallelism: expected a number of at least 1",
    "4: benchmark.params: unknown key 'limit': did you mean 'limit_samples'?",
    "7: benchmark.scorers[0].url: expected a URL such as ",
    "8: benchmark.scorers[0].body.a: invalid template: ",
    "8: benchmark.scorers[0].body.b[0]: invalid template: ",
    "9: benchmark.scorers[0].scores[0].name: expected lower-case letters",
    "9: benchmark.scorers[0].scores[0].parser.type: expected json",
    "9: benchmark.scorers[0].scores[1].parser.json_path: 'c' is not JSONPath: ",
    "10: benchmark.scorers[0]: unknown key 'api_key': did you mean 'api_key_secret'",
    "11: benchmark.scorers[0].timeout_seconds: expected a number above 0",
    "12: benchmark.scorers[0].max_retries: expected a number of at least 0",
    "13: benchmark.scorers[1].url: a URL must hold no user and no password",
    "13: benchmark.scorers[1]: 'evaluator_name' is missing",
    "14: benchmark.scorers[2]: 'type' is missing: remote, ",
    "15: benchmark.scorers[3]: expected a mapping with type",
    "16: benchmark.scorers[4].strict_order: expected true or false",
    "17: benchmark.scorers[5].reference: invalid template: ",
    "18: benchmark.scorers[6].reference: expected text, found 5",
    "19: benchmark.scorers[7].references: expected a list that is not empty",
    "20: benchmark.scorers[8].operation: expected equals, ==, ",
    "21: benchmark.scorers[9]: 'right_template' is missing",
    "22: benchmark.scorers[10].operation: expected equals, ==, ",
    "23: benchmark.scorers[11].function: expected package.module:function",
    "24: benchmark.scorers[12].scores: 'a' is listed twice",
    "25: benchmark.scorers[13]: 'function' is missing",
    "26: benchmark.scorers[14]: 'reference' is missing",
    "27: benchmark.scorers[15]: unknown key 'candidat': did you mean 'candidate'",
    "28: benchmark.scorers[16].python: expected package.module:function, found the text",
    "29: benchmark.scorers[17]: 'function' is missing",
    "30: benchmark.scorers[18]: epsilon is needed by, and only by, operation: absolute difference",
    "31: benchmark.scorers[19]: epsilon is needed by, and only by, operation: absolute difference",
    "33: benchmark.scorers[20].scores[0]: minimum 0 is above maximum -1: nothing can pass",
]
TWICE = (
    "benchmark.scorers[{}]: the score 'f1' is given by scorer 1 already: give this one"
)
WRONG = {  # from line 2 on, and what is said of it
    """\
  dataset: {path: d.jsonl, limit: 5, seed: 7}
  model: {url: "http://h/v1", name: m, max_retries: 1}
  prompt_template: [{role: user, content: "{{ q"}]
  tools: tools
  response_format: json
  budget: {requests: 0, cost: 0.5}
""": [
        "2: benchmark.dataset.seed: a seed is for shuffle: write shuf",
        "3: benchmark.model: nothing gives the answers a reward: say under scorers: what ",
        "4: benchmark.prompt_template[0].content: invalid template: ",
        "5: benchmark.tools: expected a list of tools as the endpoint ",
        "6: benchmark.response_format: expected a mapping with ",
        "7: benchmark.budget.requests: expected a number of at least 1",
    ],
    """\
  scorers:
    - {type: f1}
    - {type: f1}
    - {python: 'm:f1'}
    - {type: exact-mtach}
    - {type: remote, url: "http://h/", body: {}, scores: [
        {name: f1, parser: {json_path: $.a}}, {name: cost, parser: {json_path: $.a}}]}
  model: {url: "http://h/v1", name: m}
  rollouts: {path: a, limit: 5}
  target: f
""": [
        f"4: {TWICE.format(1)} a name, such as `name: second`",
        f"5: {TWICE.format(2)}'s another name, such as `scores: [another_name]`",
        "6: benchmark.scorers[3].type: there is no scorer 'exact-mtach': did you mean 'exact-ma",
        f"7: {TWICE.format(4)}'s another `name` under scores",
        "7: benchmark.scorers[4]: the score 'cost' is measured when an answer is generated",
        "9: benchmark.model: rows are read from rollouts, or answered by a model, not both",
        "9: benchmark.model: 'prompt_template' is missing",
        "10: benchmark.rollouts: unknown key 'limit'",
        '11: benchmark.target: expected package.module:function, found the text "f"',
        "11: benchmark.target: rows are read from rollouts, or answered by a target, not both",
        "11: benchmark.target: rows are answered by a model or by a target, not by both",
    ],
    """\
  model: {url: "http://h/v1", name: m}
  prompt_template: [{role: 5, content: x}]
  budget: {cost: 0.5}
""": [
        "1: benchmark: 'dataset' is missing: rows to answer",
        "2: benchmark.model: nothing gives the answers a reward: say under scorers: what ",
        "3: benchmark.prompt_template: expected a message: a ",
        "4: benchmark.budget.cost: what it costs is not known: say price",
    ],
    """\
  dataset: d.jsonl
  prompt_template: {prompt: x}
  params: {ignore_request_failure: true}
  scorers: [{python: 'm:f1'}, {type: f1}]
""": [
        "3: benchmark.prompt_template: expected a text, a list of messages",
        "3: benchmark.prompt_template: prompt_template is for a model, and ",
        "4: benchmark.params.ignore_request_failure: ignore_request_failure ",
        f"5: {TWICE.format(1)} a name, such as ",
    ],
    "  dataset: d.jsonl\n  rollouts: r\n  scorers: [{type: f1}]\n": [
        "2: benchmark.dataset: rows come from rollouts or from a dataset, not from both"
    ],
    "  dataset: d\n": ["2: benchmark.dataset: a dataset has no rewards yet"],
    "  rollouts: r\n  params: {parallelism: 2}\n": [
        "3: benchmark.params: params are for scorers"
    ],
    "  rollouts: r\n  baseline: {confirm: true}\n": [
        "3: benchmark.baseline.confirm: confirm draws rollouts again from a model"
    ],
    "  rollouts: r\n  scorers: []\n": [
        "3: benchmark.scorers: expected a list that is not empty"
    ],
    "  scorers: [{type: f1}]\n": ["1: benchmark: 'dataset' is missing: rows to score"],
    "  dataset:\n  scorers: [{type: f1}]\n": [
        "1: benchmark: 'dataset' is missing: rows to score"
    ],
    # keys of an evaluator job
    "  rollouts: r\n  metric: f1\n  metric_params: {judge: {}}\n": [
        "3: benchmark: unknown key 'metric': did you mean 'metrics'? what gives rows their scores",
        "4: benchmark: unknown key 'metric_params': write them beside the type",
    ],
}


def test_errors_are_reported_with_their_lines(refusals, marks):
    files = [SCORERS, *(f"benchmark:\n{text}  name: a\n" for text in WRONG)]
    for lines, expected in zip(
        refusals(files), [OF_SCORERS, *WRONG.values()], strict=True
    ):
        for line, start in zip(lines, expected, strict=True):
            assert line.startswith(start)
    wrong_keys = {f"$.benchmark.scorers[{n}]" for n in (13, 14, 15, 16, 17)}
    assert wrong_keys <= {
        mark[: mark.index("]") + 1] for mark in marks(SCORERS) if "]" in mark
    }


def test_a_scorer_without_a_type_is_told_all_types(refusals):
    text = "benchmark:\n  name: a\n  rollouts: r\n  scorers: [{words: 3}]\n"
    ((line,),) = refusals([text])
    assert line.startswith("4: benchmark.scorers[0]: 'type' is missing: remote, ")
    assert line.endswith(", llm-judge, ragas, python, or one of your own")


def test_a_name_distinguishes_two_scorers_of_one_type(load, marks):
    text = (
        "benchmark:\n  name: a\n  dataset: d.jsonl\n  reward: strict\n  scorers:\n"
        "    - {type: exact-match}\n    - {type: exact-match, name: strict, candidate: x}\n"
        "    - {type: rouge}\n    - {type: rouge, name: other, candidate: x}\n"
        "    - {type: nemo-agent-toolkit-remote, url: 'http://a/x', evaluator_name: e, name: b}\n"
        "    - {type: answer_accuracy, judge_model: {url: 'http://a/x', name: m}, name: by_m}\n"
        "    - {type: answer_accuracy, judge_model: {url: 'http://a/x', name: n}}\n"
    )
    (benchmark,) = load(text)
    names = [scorer.score_names for scorer in benchmark.spec.scorers]
    assert names[:3] == [("exact-match",), ("strict",), names[2]]
    assert names[3] == tuple(f"other_{name}" for name in names[2])
    assert names[4:] == [("b",), ("by_m",), ("nv_accuracy",)]
    assert marks(text) == set()


def test_every_name_of_a_builtin_type_means_its_keys(refusals, schema):
    types = [
        name
        for definition, one in schema["$defs"].items()
        if "type" in one.get("properties", {})
        and not definition.endswith(("ParserSpec", "Keys", "ModelSpec"))
        for name in one["properties"]["type"].get(
            "enum", [one["properties"]["type"].get("const")]
        )
        if name not in (None, "python")
    ]
    scorers = ", ".join(f"{{type: {name}, other: 1}}" for name in types)
    (lines,) = refusals([f"benchmark: {{name: a, scorers: [{scorers}]}}\n"])
    assert sum("unknown key 'other'" in line for line in lines) == len(types) > 10


@pytest.mark.parametrize("key", ["n", "best_of", "num_return_sequences"])
def test_several_answers_to_one_request_are_refused_with_the_way_out(refusals, key):
    judge = f"{{url: 'http://a/v1', name: m, inference: {{{key}: 2}}}}"
    text = f"benchmark: {{name: a, dataset: d, scorers: [{{type: answer_accuracy, judge_model: {judge}}}]}}\n"
    (lines,) = refusals([text])
    (line,) = [line for line in lines if "inference" in line]
    assert f"'{key}' is not an inference parameter: write num_samples" in line
    assert "judge_repeats of a judge" in line
