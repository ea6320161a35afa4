"""Evaluations in the format of Every Eval Ever, in files that its converter wrote."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from pytest_evalmetrics.reports.sentences.notes import note_texts

RECORDED = Path(__file__).parent / "recorded" / "every_eval_ever"
RESULT = "crash:accuracy"


@pytest.fixture
def evaluation(folder):
    """Copy the files of an evaluation."""
    shutil.copytree(RECORDED, folder.path, dirs_exist_ok=True)
    return folder


def scores(table, name):
    named = (table.tasks[task] for task in table.task.tolist())
    return dict(zip(named, table.scores[name].tolist(), strict=True))


def test_a_sample_whose_scorer_failed_is_missing_though_its_score_is_1(evaluation):
    rows = (evaluation.path / "alpha_samples.jsonl").read_text().splitlines()
    crashed = json.loads(rows[1])
    assert (crashed["sample_id"], crashed["evaluation"]["score"]) == ("b", 1)
    table = evaluation.load("alpha_samples.jsonl", scores=[RESULT])
    expected = {"alpha/a": 1, "alpha/b": np.nan, "alpha/c": 0, "alpha/d": 1}
    np.testing.assert_equal(scores(table, RESULT), expected)
    (note,) = note_texts(table.notes)
    assert note.startswith("ValueError: 1 rollout without a score")


def test_its_own_mean_is_ours(evaluation):
    (result,) = json.loads((evaluation.path / "alpha.json").read_text())[
        "evaluation_results"
    ]
    table = evaluation.load("alpha_samples.jsonl", scores=[RESULT])
    stated = result["score_details"]["score"]
    assert np.nanmean(table.scores[RESULT]) == pytest.approx(stated) == 2 / 3


def test_instances_that_disagree_with_the_result_are_noted(evaluation):
    lines = (evaluation.path / "alpha_samples.jsonl").read_text().splitlines()
    evaluation.write("\n".join(lines[:3]) + "\n", "alpha_samples.jsonl")
    notes = note_texts(evaluation.load("alpha_samples.jsonl", scores=[RESULT]).notes)
    expected = f"{RESULT} in alpha.json is 0.666666667, and the rollouts give 0.5"
    assert any(expected in note for note in notes)


def test_the_results_alone_are_aggregates_over_the_scored_samples(evaluation):
    table = evaluation.load("alpha.json", scores=[RESULT])
    assert scores(table, RESULT) == {"alpha": pytest.approx(2 / 3)}
    assert table.scores[f"(samples) {RESULT}"].tolist() == [3]
    assert table.scores[f"(samples in all) {RESULT}"].tolist() == [4]


def instance(sample, score, result, **more):
    return {
        "schema_version": "0.3.0",
        "evaluation_id": "e",
        "evaluation_name": "sums",
        "evaluation_result_id": result,
        "model_id": "org/m",
        "sample_id": sample,
        "evaluation": {"score": score, "is_correct": score == 1},
        "error": None,
        **more,
    }


def test_the_results_of_a_sample_are_scores_of_one_rollout(folder):
    rows = [
        instance("a", 1.0, "exact"),
        instance("a", 0.5, "f1"),
        instance("b", 0.0, "exact"),
        instance("b", 0.25, "f1"),
    ]
    folder.write("".join(json.dumps(row) + "\n" for row in rows), "x_samples.jsonl")
    table = folder.load("x_samples.jsonl", scores=["exact", "f1"])
    assert scores(table, "exact") == {"sums/a": 1, "sums/b": 0}
    assert scores(table, "f1") == {"sums/a": 0.5, "sums/b": 0.25}


def test_a_sample_that_no_result_counts_is_missing(folder):
    rows = [instance("a", 1.0, "exact"), instance("b", 1.0, None)]
    folder.write("".join(json.dumps(row) + "\n" for row in rows), "x_samples.jsonl")
    table = folder.load("x_samples.jsonl", scores=["exact"])
    np.testing.assert_equal(scores(table, "exact"), {"sums/a": 1, "sums/b": np.nan})


def test_the_only_result_is_the_reward_and_its_sizes_are_none(evaluation):
    table = evaluation.load("alpha.json", scores=["reward"])
    assert scores(table, "reward") == {"alpha": pytest.approx(2 / 3)}


def test_the_model_of_a_result_is_its_agent(evaluation):
    table = evaluation.load("alpha.json", scores=[RESULT])
    assert table.agents == ("openai/openai/gpt-4o",)
