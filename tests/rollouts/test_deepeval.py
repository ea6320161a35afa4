"""Test runs of deepeval."""

import json

import numpy as np

from pytest_evalmetrics.reports.sentences.notes import note_texts


def metric(name, score, **more):
    return {
        "name": name,
        "score": score,
        "success": score is not None and score >= 0.5,
        **more,
    }


def case(name, *metrics, **more):
    success = all(m["success"] for m in metrics)
    return {
        "name": name,
        "input": "?",
        "success": success,
        "metricsData": list(metrics),
        **more,
    }


def write(folder, *cases, **more):
    folder.json({"testCases": cases, "metricsScores": [], **more}, "run.json")


def load(folder, *cases, score="m", **more):
    write(folder, *cases, **more)
    return folder.load("run.json", scores=[score])


def test_what_the_tool_wrote(real):
    path = "formats/deepeval/test_run_sample.json"
    whole = json.loads((real.path / path).read_text())
    table = real.load(path, scores=["success"])
    assert table.tasks == ("sample_test_case",)
    assert table.scores["success"].sum() == whole["testPassed"] == 0
    assert (
        table.scores["Answer Relevancy"].tolist() == whole["metricsScores"][0]["scores"]
    )
    assert table.scores["Faithfulness"].tolist() == [0.45]  # the case's, not its spans'
    assert note_texts(table.notes) == ()
    refused = real.refused(path, scores=["reward"])
    assert "success, Answer Relevancy, Faithfulness" in refused.message


def test_as_a_data_set_each_case_is_a_task(folder):
    write(folder, case("a", metric("m", 1.0)), case("a", metric("m", 0.0)), case("b"))
    assert folder.dataset("run.json").tasks == (0, 1, 2)


def test_usage(folder):
    taken = {
        "tokenCost": 0.5,
        "completionTime": 2.5,
        "inputTokenCount": 7,
        "outputTokenCount": 3,
    }
    table = load(
        folder, case("a", metric("m", 1.0), **taken), hyperparameters={"model": "gpt"}
    )
    columns = ("cost_usd", "latency_s", "prompt_tokens", "completion_tokens")
    assert [table.scores[c].tolist() for c in columns] == [[0.5], [2.5], [7], [3]]
    assert table.agents == ("gpt",)


def test_what_was_not_judged_is_missing_and_no_failure(folder):
    broken = metric("m", None, error="rate limit")
    table = load(
        folder,
        case("a", broken),
        case("b", broken, metric("n", 1.0)),
        case("c", broken, metric("n", 0.0)),
        case("d", {**broken, "flaky": True}, metric("n", 1.0), success=True),
        {"name": "e", "input": "?", "success": None, "metricsData": None},
        score="success",
    )
    np.testing.assert_equal(table.scores["success"], [np.nan, np.nan, 0, 1, np.nan])
    np.testing.assert_equal(table.scores["n"], [np.nan, 1, 0, 1, np.nan])
    assert np.isnan(table.scores["m"]).all()
    missing, graded, none = note_texts(table.notes)
    assert missing.startswith(
        "m was not judged: 1 rollout without a score, which is missing"
    )
    assert missing.endswith("run.json, testCases[0]: rate limit)")
    assert graded.startswith("m was not judged: 3 rollouts graded all the same")
    assert none.startswith("not scored: 1 rollout")


def test_cases_of_one_name_and_input_are_samples_and_conversations_are_cases(folder):
    one, two = case("a", metric("m", 1.0)), case("a", metric("m", 0.0))
    table = load(folder, one, two, case("b", metric("m", 1.0)))
    assert (table.tasks, table.sample.tolist()) == (("a", "b"), [0, 1, 0])
    talk = case("talk", metric("m", 0.75), scenario="a refund")
    table = load(folder, one, conversationalTestCases=[talk], testPassed=3)
    assert table.scores["m"].tolist() == [1, 0.75]
    assert "testPassed is 3, and the rollouts give 2" in note_texts(table.notes)[0]
    table = load(folder, one, {**two, "input": "another question"})
    assert table.tasks == ("a [?]", "a [another question]")


def test_what_evaluate_returns_runs_of_early_versions_and_metrics_of_one_name(folder):
    returned = case("a", metrics_data=[metric("m", 0.75)])
    del returned["metricsData"]
    folder.json({"test_results": [returned], "confident_link": None}, "run.json")
    assert folder.load("run.json", scores=["m"]).scores["m"].tolist() == [0.75]
    one, two = (
        {**metric("x", 0.75), "metric": "m"},
        {**metric("x", 0.25), "metric": "m"},
    )
    del one["name"], two["name"]
    early = {"name": "a", "input": "?", "success": False, "metricsMetadata": [one, two]}
    folder.json({"testCases": [early]}, "run.json")
    scores = folder.load("run.json", scores=["m"]).scores
    assert (scores["m"].tolist(), scores["m 2"].tolist()) == ([0.75], [0.25])
