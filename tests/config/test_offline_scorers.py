"""The keys of scorers that call nothing: what may be said, and what is wrong with its line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.config.benchmark_schema import schema_of_file
from pytest_evalmetrics.errors import ConfigError
from pytest_evalmetrics.scorers.tool_call_scorers import ToolCallAccuracySpec
from pytest_evalmetrics.spec.scorer_keys import PythonScorerSpec

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """\
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


def load(tmp_path: Path, text: str) -> Any:
    path = tmp_path / "a.bench.yaml"
    path.write_text(text, encoding="utf-8")
    (benchmark,) = load_benchmarks(path, shown="a.bench.yaml", scorers_known=True)
    return benchmark.spec.scorers


def test_all_that_may_be_said(tmp_path: Path) -> None:
    scorers = load(tmp_path, GOOD)
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
    assert Draft202012Validator(schema_of_file()).is_valid(yaml.safe_load(GOOD))


def test_a_name_tells_two_scorers_of_one_type_apart(tmp_path: Path) -> None:
    text = (
        "benchmark:\n  name: a\n  dataset: d.jsonl\n  reward: strict\n  scorers:\n"
        "    - {type: exact-match}\n    - {type: exact-match, name: strict, candidate: x}\n"
        "    - {type: rouge}\n    - {type: rouge, name: other, candidate: x}\n"
        "    - {type: nemo-agent-toolkit-remote, url: 'http://a/x', evaluator_name: e, name: b}\n"
        "    - {type: answer_accuracy, judge_model: {url: 'http://a/x', name: m}, name: by_m}\n"
        "    - {type: answer_accuracy, judge_model: {url: 'http://a/x', name: n}}\n"
    )
    names = [scorer.score_names for scorer in load(tmp_path, text)]
    assert names[:3] == [("exact-match",), ("strict",), names[2]]
    assert names[3] == tuple(f"other_{name}" for name in names[2])
    assert names[4:] == [("b",), ("by_m",), ("nv_accuracy",)]
    assert Draft202012Validator(schema_of_file()).is_valid(yaml.safe_load(text))


@pytest.mark.parametrize(
    ("first", "second", "way_out"),
    [
        ("type: f1", "type: f1", "give this one a name, such as `name: second`"),
        ("python: 'm:f1'", "type: f1", "give this one a name, such as "),
        ("type: f1", "python: 'm:f1'", "such as `scores: [another_name]`"),
        (
            "type: f1",
            REMOTE,
            "give this one's another `name` under scores",
        ),
    ],
)
def test_two_of_one_name_are_told_the_way_out(
    tmp_path: Path, first: str, second: str, way_out: str
) -> None:
    text = (
        f"benchmark:\n  name: a\n  dataset: d.jsonl\n  reward: f1\n  scorers:\n    - {{{first}}}\n"
    )
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, f"{text}    - {{{second}}}\n")
    (problem,) = raised.value.problems
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
        (
            NUMBERS.format("'=<'"),
            ".operation: expected equals, ==, ",
        ),
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
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, scorer: str, problem: str) -> None:
    head = "benchmark:\n  name: a\n  dataset: data.jsonl\n  scorers:\n"
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, f"{head}    - {scorer}\n")
    assert len(raised.value.problems) == 1
    line = 6 if "\n" in scorer else 5
    at = problem if problem.startswith("benchmark") else f"benchmark.scorers[0]{problem}"
    assert f"a.bench.yaml:{line}: {at}" in str(raised.value)


def test_an_editor_sees_wrong_keys_too() -> None:
    validator = Draft202012Validator(schema_of_file())
    for scorer in (
        "{type: tool-calling}",
        "{type: exact_match, candidat: x}",
        "{python: mymod}",
        "{type: python}",
        "{python: 'm:f', type: python}",
    ):
        text = f"benchmark: {{name: a, dataset: d.jsonl, scorers: [{scorer}]}}"
        assert not validator.is_valid(yaml.safe_load(text)), scorer
