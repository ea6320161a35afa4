"""What a benchmark file says: each short form means its long form, and editors accept both."""

import pytest

from pytest_evalmetrics.errors import ConfigError
from pytest_evalmetrics.ext import FieldMap

FULL = """\
# yaml-language-server: $schema=benchmark.schema.json
benchmark:
  name: math
  description: Grade-school maths
  tags: [nightly]
  skip: false
  xfail: {reason: known, strict: true}
  rollouts:
    path: [runs/a.jsonl, runs/b/*.jsonl]
    format: nemo_gym
    fields: {task: id, sample: n, reward: result.reward, agent: who, scores: {f1: result.f1}}
  num_samples: 4
  reward: reward
  metrics: [mean_reward, pass@1, "my_pkg.metrics:Median"]
  key_metrics: [pass@1, mean/output_tokens]
  pass_threshold: 0.5
  pass_estimator: first_k
  breakdown: [difficulty]
  cluster: topic
  expect: {tasks: 164, rollouts: any, max_missing: 2%, missing_reward: error}
  thresholds:
    pass@1: ">= 0.70"
    mean/output_tokens: {max: 2000, bound: upper}
"""


def test_the_rollouts_of_a_benchmark_are_read(load, tmp_path):
    (benchmark,) = load(FULL)
    rollouts = benchmark.spec.rollouts
    assert benchmark.file == tmp_path / "a.bench.yaml"
    assert rollouts.path == ("runs/a.jsonl", "runs/b/*.jsonl")
    assert rollouts.fields == FieldMap(
        task="id",
        sample="n",
        reward="result.reward",
        agent="who",
        scores={"f1": "result.f1"},
    )


def test_the_metrics_of_a_benchmark_are_read_in_their_order(load):
    (benchmark,) = load(FULL)
    expected = ("mean_reward", "pass@1", "my_pkg.metrics:Median")
    assert benchmark.spec.metrics == expected


def test_what_a_benchmark_expects_is_read(load):
    (benchmark,) = load(FULL)
    expect = benchmark.spec.expect
    assert (expect.tasks.min, expect.tasks.max) == (164, 164)
    assert expect.max_missing == 0.02


def test_a_threshold_is_read(load):
    (benchmark,) = load(FULL)
    of_tokens = benchmark.spec.thresholds["mean/output_tokens"]
    assert (of_tokens.min, of_tokens.max, of_tokens.bound) == (None, 2000, "upper")


def test_a_benchmark_without_tags_has_no_marks(marks):
    assert marks(FULL) == set()


def test_the_line_of_each_key_is_known(load):
    (benchmark,) = load(FULL)
    places = {
        (): 2,
        ("name",): 3,
        ("rollouts", "path", 1): 9,
        ("thresholds", "pass@1"): 22,
        ("thresholds", "mean/output_tokens", "bound"): 23,
        ("thresholds", "mean/output_tokens", "min"): 23,  # not written
        ("baseline", "max_drop"): 2,
    }
    assert {place: benchmark.line_of(*place) for place in places} == places


# the benchmark `a` over `r`, with further keys -> the same in long forms
SHORT = {
    "rollouts: r": "rollouts: {path: [r]}",
    "metrics: pass@3\ntags: slow\nbreakdown: kind\nkey_metrics: pass@3": "metrics: [pass@3]\n"
    "tags: [slow]\nbreakdown: [kind]\nkey_metrics: [pass@3]",
    "tags: []\nbreakdown: []": "",
    "skip: true\nxfail: true": "skip: true\nxfail: {reason: ''}",
    "skip: no data\nxfail: known": "skip: no data\nxfail: {reason: known}",
    "skip: ''\nxfail: false": "skip: ''",
    "expect: {missing_reward: 0}": "expect: {missing_reward: 0.0}",
    "thresholds: {a: '>=.5'}": "thresholds: {a: {min: 0.5, bound: point}}",
    "thresholds: {b: '<= -2e-3'}": "thresholds: {b: {max: -0.002}}",
    "thresholds: {c: '>= 40 %'}": "thresholds: {c: {min: 0.4}}",
    "thresholds: {d: {min: 0, max: 70%, bound: lower}, e: {min: 1e0}}": "thresholds: "
    "{d: {min: 0.0, max: 0.7, bound: lower}, e: {min: 1}}",
    # nothing is as if it were not there
    "num_samples:\nxfail: ~\nkey_metrics: null\ncluster:": "",
    "expect: {tasks: , rollouts: null, max_missing: ~, missing_reward: }": "",
    "rollouts: {path: r, format: null}": "",
    "thresholds: {a: {min: , max: 1}}": "thresholds: {a: {max: 1}}",
    # texts that YAML 1.1 takes for something else
    "rollouts: no\ndescription: 2024-01-01\ncluster: on\nreward: 1:30": "rollouts: {path: ['no']}\n"
    "description: '2024-01-01'\ncluster: 'on'\nreward: '1:30'",
    "num_samples: 4\nexpect: {rollouts: '>= 4'}": "num_samples: 4\nexpect: {rollouts: '>=4'}",
}


def one(keys):
    rollouts = (
        "" if "rollouts: " in keys.split("expect", maxsplit=1)[0] else "rollouts: r\n"
    )
    lines = "".join(f"  {line}\n" for line in f"name: a\n{rollouts}{keys}".splitlines())
    return f"benchmark:\n{lines}"


@pytest.mark.parametrize(("short", "long"), SHORT.items())
def test_a_short_form_means_its_long_form(load, marks, short, long):
    (a,), (b,) = load(one(short)), load(one(long))
    assert a.spec == b.spec
    assert marks(one(short)) == marks(one(long)) == set()


# a file with defaults or anchors -> the same without
MERGED = {
    """\
defaults:
  rollouts: {path: base, format: jsonl, fields: {task: t}}
  num_samples: 4
  metrics: [pass@1, pass@2]
  xfail: known
  expect: {tasks: 3, max_missing: 1%}
  thresholds: {a: {min: 0.5, bound: lower}, b: ">= 1"}
benchmarks:
- name: all
- name: some
  rollouts: {path: own, fields: {sample: s}}
  metrics: pass@1
  xfail:
  num_samples:
  expect: {tasks: 4}
  thresholds: {a: {min: 0.6}, b: "<= 2", c: ">= 3"}
- name: short
  rollouts: own
  xfail: {strict: true}
""": """\
benchmarks:
- name: all
  rollouts: {path: base, format: jsonl, fields: {task: t}}
  num_samples: 4
  metrics: [pass@1, pass@2]
  xfail: known
  expect: {tasks: 3, max_missing: 1%}
  thresholds: {a: {min: 0.5, bound: lower}, b: ">= 1"}
- name: some
  rollouts: {path: own, format: jsonl, fields: {task: t, sample: s}}
  metrics: pass@1
  expect: {tasks: 4, max_missing: 1%}
  thresholds: {a: {min: 0.6, bound: lower}, b: "<= 2", c: ">= 3"}
- name: short
  rollouts: own
  num_samples: 4
  metrics: [pass@1, pass@2]
  xfail: {strict: true}
  expect: {tasks: 3, max_missing: 1%}
  thresholds: {a: {min: 0.5, bound: lower}, b: ">= 1"}
""",
    """\
defaults: {thresholds: {a: {bound: lower}}, rollouts: {format: jsonl}}
benchmark: {name: a, rollouts: {path: r}, thresholds: {a: {min: 1}}}
""": "benchmark: {name: a, rollouts: {path: r, format: jsonl}, "
    "thresholds: {a: {min: 1, bound: lower}}}",
    """\
benchmarks:
- &base
  name: a
  rollouts: r
  thresholds: &bounds {x: ">= 1"}
- <<: *base
  name: b
- {name: c, rollouts: r, thresholds: *bounds}
""": "benchmarks:\n"
    + "".join(
        f"- {{name: {n}, rollouts: r, thresholds: {{x: '>= 1'}}}}\n" for n in "abc"
    ),
}


@pytest.mark.parametrize(
    ("text", "whole"), MERGED.items(), ids=["defaults", "partial", "anchors"]
)
def test_defaults_and_anchors(load, marks, text, whole):
    assert [b.spec for b in load(text)] == [b.spec for b in load(whole)]
    assert marks(text) == marks(whole) == set()


def test_lines_of_what_comes_from_defaults(load):
    text = """\
defaults:
  thresholds:
    a: ">= 1"
    b:
      min: 1
benchmarks:
- name: x
  rollouts: r
- name: y
  rollouts: r
  thresholds:
    a: ">= 2"
    b:
      max: 2
"""
    x, y = load(text)
    assert (x.line_of(), y.line_of()) == (7, 9)
    assert [
        x.line_of("thresholds", *p) for p in ((), ("a",), ("b",), ("b", "min"))
    ] == [2, 3, 4, 5]
    assert [y.line_of("thresholds", *p) for p in ((), ("a",), ("b",))] == [11, 12, 13]
    assert [y.line_of("thresholds", "b", p) for p in ("min", "max")] == [5, 14]


ENDPOINTS = """\
benchmark:
  name: support
  dataset: rows.jsonl
  scorers:
    - type: remote
      url: http://localhost:8000/evaluate
      api_key_secret: first-key
      body: {answer: "{{ item.response }}"}
      scores: [{name: accuracy, parser: {type: json, json_path: $.accuracy}}]
    - type: remote
      url: http://localhost:8000/evaluate/again
      api_key_secret: second-key
      body: {answer: "{{ item.response }}"}
      scores: [{name: style, parser: {type: json, json_path: $.style}}]
  reward: accuracy
"""


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("http://localhost:8000/evaluate", 6),
        ("http://localhost:8000/evaluate/again", 11),
        ("second-key", 12),
        ("http://localhost:8000", None),
    ],
)
def test_an_endpoint_is_found_by_its_url_or_the_name_of_its_secret(load, value, line):
    (benchmark,) = load(ENDPOINTS)
    assert benchmark.line_of_endpoint(value) == line


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000/evaluate",
        "ftp://localhost/evaluate",
        "http:///evaluate",
        "http://localhost:eight/evaluate",
        "http://localhost:80000/evaluate",
        "http://[localhost/evaluate",
    ],
)
def test_a_url_of_an_endpoint_has_a_scheme_a_host_and_a_port_that_is_one(load, url):
    with pytest.raises(ConfigError) as refused:
        load(ENDPOINTS.replace("http://localhost:8000/evaluate\n", f"'{url}'\n"))
    (problem,) = refused.value.problems
    assert problem.path == "benchmark.scorers[0].url"
    assert problem.message == (
        f'expected a URL such as http://localhost:8000/evaluate, found the text "{url}"'
    )


@pytest.mark.parametrize("user", ["ada@", "ada:secret@", ":secret@"])
def test_a_url_of_an_endpoint_holds_no_user_and_no_password(load, user):
    with pytest.raises(ConfigError) as refused:
        load(
            ENDPOINTS.replace(
                "http://localhost:8000/evaluate\n", f"http://{user}host\n"
            )
        )
    (problem,) = refused.value.problems
    assert problem.message == (
        "a URL must hold no user and no password: name a secret that is in the "
        "environment (api_key_secret)"
    )


def test_a_question_about_the_direction_names_its_metrics(load):
    text = (
        "benchmark: {name: a, rollouts: r, metrics: [std/x, std/y], baseline: true}\n"
    )
    with pytest.raises(ConfigError) as refused:
        load(text)
    (problem,) = refused.value.problems
    assert problem.undeclared == ("std/x", "std/y")
