"""Which way is better, as the files of other tools declare it."""

import json

import pytest

from pytest_evalmetrics.rollouts.direction_hint import should_be_low

LOW = (
    "bias cer cost distance duration error errors fail failed failure failures hallucination "
    "hallucinations harm harmful incorrect invalid latency loss mae mistake mistakes mse "
    "perplexity rmse seconds time toxic toxicity violation violations wer wrong"
)


def declared(folder, path, score):
    return dict(folder.load(path, scores=[score]).directions)


def test_each_assertion_of_promptfoo_passes_from_its_threshold_on(real):
    directions = declared(real, "formats/promptfoo/results.json", "score")
    assert set(directions.values()) == {"higher"}
    assert {"success", "score"} <= directions.keys()


def test_an_assertion_of_pydantic_evals_is_to_be_true(real):
    table = real.load("formats/pydantic_evals/report.json", scores=[])
    report = json.loads(
        (real.path / "formats/pydantic_evals/report.json").read_text(encoding="utf-8")
    )
    asserted = {name for case in report["cases"] for name in case["assertions"]}
    assert dict(table.directions) == dict.fromkeys(asserted, "higher")


@pytest.mark.parametrize(("success", "direction"), [(True, "higher"), (False, "lower")])
def test_a_metric_of_deepeval_succeeds_on_one_side_of_its_threshold(
    folder, success, direction
):
    metric = {"name": "m", "score": 0.9, "threshold": 0.5, "success": success}
    case = {"name": "a", "input": "?", "success": success, "metricsData": [metric]}
    folder.json({"testCases": [case], "metricsScores": []}, "run.json")
    expected = {"success": "higher", "m": direction}
    assert declared(folder, "run.json", "m") == expected


def test_a_score_at_its_threshold_declares_nothing(folder):
    metric = {"name": "m", "score": 0.5, "threshold": 0.5, "success": True}
    case = {"name": "a", "input": "?", "success": True, "metricsData": [metric]}
    folder.json({"testCases": [case], "metricsScores": []}, "run.json")
    assert declared(folder, "run.json", "m") == {"success": "higher"}


def test_grades_of_inspect_go_from_incorrect_to_correct(real):
    path = "formats/inspect_ai/2025-05-12T20-28-13-04-00_popularity.json"
    table = real.load(path, scores=[])
    assert set(table.directions.values()) == {"higher"}


@pytest.mark.parametrize("name", LOW.split())
def test_less_of_such_a_score_is_better(name):
    assert should_be_low(name)
    assert should_be_low(f"mean_{name.upper()}")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("responseTime", True),
        ("judge.WER", True),
        ("error_free", False),
        ("f1", False),
        ("accuracy", False),
        ("", False),
        ("12", False),
    ],
)
def test_the_last_word_of_a_name_says_whether_less_is_better(name, says):
    assert should_be_low(name) is says
