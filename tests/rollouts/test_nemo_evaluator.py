"""Results of NeMo Evaluator, in files that version 0.3.0 wrote."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from pytest_evalmetrics.reports.sentences.notes import note_texts

RECORDED = Path(__file__).parent / "recorded" / "nemo_evaluator_results"


@pytest.fixture
def run(folder):
    """Copy the files of a run."""
    shutil.copytree(RECORDED, folder.path, dirs_exist_ok=True)
    return folder


def rewards(table):
    by_task = {}
    for task, value in zip(table.task, table.scores["reward"], strict=True):
        by_task.setdefault(table.tasks[task], []).append(float(value))
    return by_task


def test_failures_of_the_endpoint_and_the_judge_are_missing(run):
    table = run.load("results.jsonl", scores=["reward"])
    expected = {
        0: [1, 1],
        1: [0, 1],
        2: [1, 0],
        3: [np.nan, np.nan],  # the endpoint is down
        4: [0, 0],  # the turn budget is spent, which the tool grades as 0
        5: [np.nan, np.nan],  # the judge is down
    }
    np.testing.assert_equal(rewards(table), expected)
    assert table.agents == ("sums-model",)
    assert table.scores["total_tokens"][0] == 12
    assert table.scores["latency_s"][0] == 0.02


def test_the_reasons_are_noted(run):
    notes = "\n".join(note_texts(run.load("results.jsonl", scores=["reward"]).notes))
    assert "graceful: 2 rollouts graded all the same" in notes
    assert "infra_error: 2 rollouts without a score" in notes
    assert "the judge failed: 2 rollouts without a score" in notes


def test_the_mean_of_the_bundle_is_that_of_the_rows(run):
    (bundle,) = run.path.glob("eval-*.json")
    stated = json.loads(bundle.read_text())["benchmark"]["scores"]["summary"]["mean"]
    lines = (run.path / "results.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    assert np.mean([row["reward"] for row in rows]) == pytest.approx(stated)


def test_rows_that_disagree_with_the_bundle_are_noted(run):
    lines = (run.path / "results.jsonl").read_text().splitlines()
    run.write("\n".join(lines[2:]) + "\n", "results.jsonl")
    notes = note_texts(run.load("results.jsonl", scores=["reward"]).notes)
    expected = "summary.mean in its bundle is 0.333333333, and the rollouts give 0.2"
    assert any(expected in note for note in notes)


def test_a_bundle_alone_is_refused(run):
    (bundle,) = run.path.glob("eval-*.json")
    refused = run.refused(bundle.name, scores=["reward"])
    assert "without rollouts" in refused.message
    assert "results.jsonl" in refused.hint


def test_a_further_scorer_that_failed_is_missing(folder):
    details = {
        "scorer:exact": {"reward": 1.0},
        "scorer:f1": {"error": "x", "reward": 0.0},
    }
    row = {"problem_idx": 0, "repeat": 0, "reward": 1.0, "scoring_details": details}
    folder.write(json.dumps(row) + "\n", "results.jsonl")
    table = folder.load("results.jsonl", scores=["reward"])
    assert table.scores["exact"].tolist() == [1]
    np.testing.assert_equal(table.scores["f1"], [np.nan])
