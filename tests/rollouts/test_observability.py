"""Results of Opik, Phoenix, MLflow and Langfuse."""

import numpy as np
from rollouts.layouts import LAYOUTS

from pytest_evalmetrics.reports.sentences.notes import note_texts


def rewards(table, score):
    """Give the values of a score by task."""
    values = {}
    for task, value in zip(
        table.task.tolist(), table.scores[score].tolist(), strict=True
    ):
        values.setdefault(table.tasks[task], []).append(value)
    return values


# github.com/comet-ml/opik, sdks/python/src/opik/evaluation: test_result.py, score_result.py
def opik(item, trial, **scores):
    results = [
        {"name": name, "value": value or 0.0, "reason": "r", "metadata": None}
        | {"scoring_failed": value is None}
        for name, value in scores.items()
    ]
    case = {"trace_id": f"{item}-{trial}", "dataset_item_id": item, "task_output": {}}
    return {"test_case": case, "score_results": results, "trial_id": trial}


def test_a_score_of_opik_that_failed_is_missing(folder):
    tests = [opik("a", 0, m=1.0, n=0.5), opik("a", 1, m=None), opik("b", 0, m=0.0)]
    folder.json({"experiment_id": "e", "test_results": tests}, "opik.json")
    table = folder.load("opik.json", scores=["m"])
    np.testing.assert_equal(rewards(table, "m"), {"a": [1, np.nan], "b": [0]})
    assert any(
        "m was not scored: 1 rollout" in note for note in note_texts(table.notes)
    )


# github.com/Arize-ai/phoenix, packages/phoenix-client: client/experiments/types.py
def phoenix(*runs):
    task_runs = []
    evaluations = []
    for number, (example, repetition, score, error) in enumerate(runs):
        task_runs.append(
            {
                "id": f"r{number}",
                "dataset_example_id": example,
                "repetition_number": repetition,
                "output": None if error else "x",
                "error": error,
            }
        )
        result = None if score is None else {"score": score, "label": None}
        evaluations.append(
            {
                "experiment_run_id": f"r{number}",
                "name": "correct",
                "annotator_kind": "LLM",
                "result": result,
                "error": None if result else "RateLimitError: 429",
            }
        )
    return {
        "experiment_id": "e",
        "dataset_id": "d",
        "task_runs": task_runs,
        "evaluation_runs": evaluations,
    }


def test_an_experiment_of_phoenix_joins_runs_and_evaluations(folder):
    experiment = phoenix(
        ("a", 1, 1.0, None),
        ("a", 2, None, None),
        ("b", 1, 0.0, "RuntimeError: the model is down"),
        ("b", 2, 0.0, None),
    )
    folder.json(experiment, "experiment.json")
    table = folder.load("experiment.json", scores=["reward"])
    expected = {"a": [1, np.nan], "b": [np.nan, 0]}
    np.testing.assert_equal(rewards(table, "correct"), expected)
    assert table.scores["reward"].tolist()[0] == 1
    judged, crashed = sorted(note_texts(table.notes))
    assert judged.startswith("RuntimeError: 1 rollout without a score")
    assert crashed.startswith("correct was not judged: 1 rollout")


def test_traces_of_mlflow_without_an_assessment_are_missing(folder):
    layout = LAYOUTS["mlflow-traces"]
    untouched = (
        '{"info": {"trace_id": "tr-3", "assessments": []}, "data": {"spans": []}}\n'
    )
    folder.write(layout.content + untouched, layout.file)
    table = folder.load(layout.file, scores=["correct"])
    expected = {"tr-1": [1], "tr-2": [0], "tr-3": [np.nan]}
    np.testing.assert_equal(rewards(table, "correct"), expected)


# langfuse.com/docs, the scores API: GetScoresResponse and GetScoresV3Response
def langfuse(trace, name, value, kind="NUMERIC"):
    return {
        "id": f"{trace}{name}",
        "traceId": trace,
        "name": name,
        "value": value,
        "dataType": kind,
    }


def test_categories_of_langfuse_are_no_numbers(folder):
    scores = [
        langfuse("t1", "correct", 1, "BOOLEAN"),
        langfuse("t1", "tone", 0, "CATEGORICAL"),
        langfuse("t2", "correct", 0, "BOOLEAN"),
    ]
    folder.json({"data": scores, "meta": {"page": 1, "totalPages": 1}}, "scores.json")
    table = folder.load("scores.json", scores=["correct"])
    assert rewards(table, "correct") == {"t1": [1], "t2": [0]}
    assert np.isnan(table.scores["tone"]).all()


def test_scores_of_version_3_of_langfuse(folder):
    scores = [
        {
            "id": f"s{n}",
            "name": "correct",
            "dataType": "BOOLEAN",
            "value": n > 0,
            "subject": {"kind": "trace", "id": f"t{n}"},
        }
        for n in range(2)
    ]
    folder.json({"data": scores, "meta": {"limit": 50}}, "scores.json")
    table = folder.load("scores.json", scores=["correct"])
    assert rewards(table, "correct") == {"t0": [0], "t1": [1]}


def test_a_page_of_langfuse_is_refused(folder):
    scores = [langfuse("t1", "correct", 1)]
    for meta in ({"page": 1, "totalPages": 3}, {"limit": 50, "cursor": "eyJ"}):
        folder.json({"data": scores, "meta": meta}, "scores.json")
        refused = folder.refused("scores.json", scores=["correct"])
        assert "this is one page of the scores: more follow" in refused.message


def test_scores_of_langfuse_without_their_subjects_are_refused(folder):
    score = {
        "id": "s1",
        "projectId": "p",
        "name": "correct",
        "value": True,
        "dataType": "BOOLEAN",
        "environment": "default",
    }
    folder.json({"data": [score], "meta": {"limit": 50}}, "scores.json")
    refused = folder.refused("scores.json", scores=["correct"])
    assert "data[0] does not say what it is a score of" in refused.message
    assert "fields=subject" in refused.hint
