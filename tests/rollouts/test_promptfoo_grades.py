"""Assertions of promptfoo that could not judge, in a file that promptfoo 0.121.20 wrote."""

from pathlib import Path

import numpy as np
import pytest

from pytest_evalmetrics.reports.sentences.notes import note_texts

RESULTS = Path(__file__).parent / "recorded" / "promptfoo" / "results.jsonl"
MISSING = np.nan


@pytest.fixture
def table(folder):
    folder.write(RESULTS.read_text(), "results.jsonl")
    return folder.load("results.jsonl", scores=["success"])


def scores(table, name):
    named = (table.tasks[task] for task in table.task.tolist())
    return dict(zip(named, table.scores[name].tolist(), strict=True))


@pytest.mark.parametrize(
    ("test", "success"),
    {
        "judged": 1,
        "judged wrong": 0,
        "no assertions": MISSING,
        "no output": MISSING,
        "the model failed": MISSING,
        "scoring function": MISSING,
        "regex": MISSING,
        "javascript": MISSING,
        "weight 0": 1,
        "weight 0 crashed": 1,
        "metric with a variable": MISSING,
        "set": MISSING,
        "set that fails anyway": 0,
        "set with a threshold": MISSING,
        "llm-rubric": MISSING,
        "similar": MISSING,
        "model-graded-closedqa": MISSING,
        "classifier": MISSING,
        "not-classifier": MISSING,
        "answer-relevance": MISSING,
        "context-recall": MISSING,
    }.items(),
)
def test_what_no_assertion_judged_is_missing(table, test, success):
    np.testing.assert_equal(scores(table, "success")[test], success)


def test_a_named_score_without_weight_is_the_mean_of_its_assertions(table):
    # promptfoo writes 0 for both
    light = scores(table, "light")
    assert light["weight 0"] == 1
    assert np.isnan(light["weight 0 crashed"])


def test_the_score_of_a_metric_with_a_variable_is_missing_if_its_grader_failed(table):
    assert np.isnan(scores(table, "of-i")["metric with a variable"])


def test_a_set_loses_its_own_score_and_that_of_the_assertion_that_crashed(table):
    names = ("whole", "one", "two")
    given = {name: scores(table, name)["set with a threshold"] for name in names}
    np.testing.assert_equal(given, {"whole": MISSING, "one": 1, "two": MISSING})


def test_the_reasons_are_noted(table):
    notes = "\n".join(note_texts(table.notes))
    assert "the test has no assertions" in notes
    assert "the grader failed: 12 rollouts without a score" in notes
    assert "No output" in notes
