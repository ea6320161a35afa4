"""What a plan says of the calls of benchmarks, without any call."""

import json
import re

import pytest

from pytest_evalmetrics.items.plan import plan_lines

MODEL = {"url": "http://127.0.0.1:9/v1", "name": "m"}
ASKED = {
    "name": "a",
    "dataset": "data.jsonl",
    "model": MODEL,
    "prompt_template": "{{ question }}",
    "num_samples": 2,
    "scorers": [{"type": "exact_match", "reference": "{{ item.answer }}"}],
    "thresholds": {"mean_reward": ">= 0.5"},
}
RECORDED = {"name": "recorded", "rollouts": "runs.jsonl"}


@pytest.fixture
def calls(collected):
    """Plan benchmarks over six questions; give the lines that speak of calls."""
    rows = [json.dumps({"question": f"{n}?", "answer": str(n)}) for n in range(6)]
    (collected.path / "data.jsonl").write_text("\n".join(rows) + "\n")

    def calls_of(*benchmarks):
        # JSON is YAML too
        items = collected(json.dumps({"benchmarks": benchmarks}))
        lines, is_good = plan_lines(items[0].session)
        assert is_good
        # without the breaks of a terminal's width
        text = " ".join(" ".join(lines).split())
        return [
            line.strip() for line in re.findall(r"calls of .*?(?=calls of |$)", text)
        ]

    return calls_of


def test_each_question_is_asked_as_often_as_there_are_samples(calls):
    (line,) = calls(ASKED)
    assert line.startswith("calls of math.bench.yaml::a: 12 calls")


def test_the_calls_of_each_benchmark_are_counted(calls):
    first, other = calls(ASKED, ASKED | {"name": "b", "num_samples": 1})
    assert first.startswith("calls of math.bench.yaml::a: 12 calls")
    assert other.startswith("calls of math.bench.yaml::b: 6 calls")


def test_recorded_rollouts_ask_nobody(calls):
    assert calls(RECORDED) == []


def test_a_reference_model_is_asked_beside_the_benchmark_s_own(calls):
    fixed = {"model": MODEL | {"name": "fixed"}}
    metrics = ["mean_reward/over_reference"]
    own, pinned = calls(ASKED | {"reference": fixed, "metrics": metrics})
    assert own.startswith("calls of math.bench.yaml::a: 12 calls")
    assert pinned.startswith("calls of math.bench.yaml::a, its reference: 12 calls")


def test_what_keeps_a_forecast_from_being_made_is_said_in_its_place(calls, collected):
    (collected.path / "data.jsonl").write_text("{\n")
    (line,) = calls(ASKED)
    assert line == (
        "calls of math.bench.yaml::a: the file ends in the middle of a row: "
        "was the run interrupted?"
    )
