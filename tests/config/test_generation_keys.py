"""The keys of online benchmarks: what may be said, and what is told about what may not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.config.benchmark_schema import schema_of_file
from pytest_evalmetrics.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """\
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


def load(tmp_path: Path, text: str) -> Any:
    path = tmp_path / "a.bench.yaml"
    path.write_text(text, encoding="utf-8")
    return load_benchmarks(path, shown="a.bench.yaml")


def test_all_that_may_be_said(tmp_path: Path) -> None:
    (benchmark,) = load(tmp_path, GOOD)
    spec = benchmark.spec
    assert spec.answers is spec.model
    assert spec.dataset.chosen_with == 7
    assert spec.budget.cost == 0.5
    assert Draft202012Validator(schema_of_file()).is_valid(yaml.safe_load(GOOD))


@pytest.mark.parametrize(
    ("prompt", "kept"),
    [
        ('"{{ q }}"', "{{ q }}"),
        ('{messages: "{{ messages }}"}', ["{{ messages }}"]),
        ("{messages: [{role: user, content: hi}]}", [{"role": "user", "content": "hi"}]),
        ('["{{ history }}"]', ["{{ history }}"]),
    ],
)
def test_the_forms_of_a_prompt(tmp_path: Path, prompt: str, kept: Any) -> None:
    text = GOOD.replace('[{role: user, content: "{{ q }}"}]', prompt)
    (benchmark,) = load(tmp_path, text)
    assert benchmark.spec.prompt_template == kept
    assert Draft202012Validator(schema_of_file()).is_valid(yaml.safe_load(text))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('  prompt_template: [{role: user, content: "{{ q }}"}]\n', "", "5: benchmark.model: 'pro"),
        ('content: "{{ q }}"', 'content: "{{ q"', "6: benchmark.prompt_template[0].content: this "),
        ("[{role: user,", "[{role: 5,", "6: benchmark.prompt_template: expected a message: a "),
        (
            '[{role: user, content: "{{ q }}"}]',
            "{prompt: x}",
            "6: benchmark.prompt_template: expec",
        ),
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
    ],
)
def test_what_is_wrong_is_told_with_its_line(
    tmp_path: Path, old: str, new: str, problem: str
) -> None:
    assert GOOD.count(old) == 1
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, GOOD.replace(old, new))
    assert f"a.bench.yaml:{problem}" in str(raised.value)


def test_what_is_measured_may_be_the_reward(tmp_path: Path) -> None:
    text = GOOD.replace('scorers: [{type: exact-match, reference: "{{ a }}"}]', "reward: latency_s")
    (benchmark,) = load(tmp_path, text)
    assert benchmark.spec.reward == "latency_s"


def test_a_wrong_model_is_not_told_twice(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, GOOD.replace("http://h/v1", "h/v1"))
    assert len(raised.value.problems) == 1
