"""Which way is better, as the files of other tools declare it."""

import json

import pytest


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
