"""``scorers:``, ``dataset:`` and ``params:``: what is wrong with them, before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.config.benchmark_schema import schema_of_file
from pytest_evalmetrics.errors import ConfigError
from pytest_evalmetrics.scorers.remote_scorers import NatScorerSpec, RemoteScorerSpec
from pytest_evalmetrics.spec.scorer_keys import CustomScorerSpec

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """\
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


def load(tmp_path: Path, text: str) -> Any:
    path = tmp_path / "a.bench.yaml"
    path.write_text(text, encoding="utf-8")
    return load_benchmarks(path, shown="a.bench.yaml")


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
def test_keys_of_an_evaluator_job_are_told_where_they_go(
    tmp_path: Path, key: str, said: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, f"benchmark:\n  name: a\n  rollouts: a.jsonl\n  {key}\n")
    assert f"a.bench.yaml:4: benchmark: {said}" in str(raised.value)


def test_all_that_may_be_said(tmp_path: Path) -> None:
    (benchmark,) = load(tmp_path, GOOD)
    spec = benchmark.spec
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
    assert Draft202012Validator(schema_of_file()).is_valid(yaml.safe_load(GOOD))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("{{ item.a }}", "{{ item.a", "9: benchmark.scorers[0].body.a: this template is no good: "),
        ("{{ a }}", "{% if %}", "9: benchmark.scorers[0].body.b[0]: this template is no good: "),
        (
            "$.result.accuracy",
            "result",
            "12: benchmark.scorers[0].scores[0].parser.json_path: 'result' is no JSONPath: ",
        ),
        ("name: accuracy", "name: Acc", "11: benchmark.scorers[0].scores[0].name: expected lower-"),
        (
            "maximum: 1",
            "maximum: -1",
            "11: benchmark.scorers[0].scores[0]: minimum 0 is above maxi",
        ),
        (
            "type: json",
            "type: regex",
            "12: benchmark.scorers[0].scores[0].parser.type: expected js",
        ),
        ("https://host/", "host/", "8: benchmark.scorers[0].url: expected a URL such as "),
        (
            "https://host/",
            "https://me:pw@host/",
            "8: benchmark.scorers[0].url: a URL must hold no ",
        ),
        ("timeout_seconds: 30", "timeout_seconds: 0", "17: benchmark.scorers[0].timeout_seconds: "),
        (
            "max_retries: 3",
            "max_retries: -1",
            "18: benchmark.scorers[0].max_retries: expected a nu",
        ),
        (
            "api_key_secret",
            "api_key",
            "16: benchmark.scorers[0]: unknown key 'api_key': did you me",
        ),
        ("evaluator_name: e", "name: e", "19: benchmark.scorers[1]: 'evaluator_name' is missing"),
        (
            "evaluator_name: e",
            "evaluator_name: accuracy",
            "19: benchmark.scorers[1]: the score 'accuracy' is given by scorer 1 already",
        ),
        (
            "type: my_pkg.scorers:Mine, ",
            "",
            "20: benchmark.scorers[2]: 'type' is missing: remote, ",
        ),
        (
            "{type: my_pkg.scorers:Mine, depth: 3, of: {x: [1]}}",
            "remote",
            "20: benchmark.scorers[2]: expected a mapping with type",
        ),
        (
            "parallelism: 4",
            "parallelism: 0",
            "5: benchmark.params.parallelism: expected a number of",
        ),
        (
            "limit_samples: 10",
            "limit: 1",
            "5: benchmark.params: unknown key 'limit': keys here: ignore_req",
        ),
        (
            "  reward: accuracy\n",
            "  rollouts: r.jsonl\n",
            "3: benchmark.dataset: rows come from rol",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_line(
    tmp_path: Path, old: str, new: str, problem: str
) -> None:
    assert GOOD.count(old) == 1 or "http" in old
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, GOOD.replace(old, new, 1))
    assert f"a.bench.yaml:{problem}" in str(raised.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("dataset: d", "3: benchmark.dataset: a dataset has no rewards yet"),
        ("rollouts: r\n  params: {parallelism: 2}", "4: benchmark.params: params are for scorers"),
        ("rollouts: r\n  scorers: []", "4: benchmark.scorers: expected a list that is not empty"),
        ("scorers: [{type: mine}]", "1: benchmark: 'dataset' is missing: rows to score"),
        ("dataset:\n  scorers: [{type: mine}]", "1: benchmark: 'dataset' is missing: rows to sco"),
    ],
)
def test_what_belongs_together(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, f"benchmark:\n  name: a\n  {text}\n")
    assert str(raised.value).count("\n") == 1  # nothing else
    assert f"a.bench.yaml:{problem}" in str(raised.value)


SCORER_TYPES = [
    name
    for definition, one in schema_of_file()["$defs"].items()
    if "type" in one.get("properties", {}) and not definition.endswith(("ParserSpec", "Keys"))
    for name in one["properties"]["type"].get("enum", [one["properties"]["type"].get("const")])
    if name not in (None, "python")
]


@pytest.mark.parametrize("name", SCORER_TYPES)
def test_every_name_of_a_builtin_type_means_its_keys(tmp_path, name):
    with pytest.raises(ConfigError, match="unknown key 'other'"):
        load(tmp_path, f"benchmark: {{name: a, scorers: [{{type: {name}, other: 1}}]}}\n")
