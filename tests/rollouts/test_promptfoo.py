"""Results of promptfoo."""

import json

import numpy as np
import pytest

from pytest_evalmetrics.reports.sentences.notes import note_texts


def result(description="add", **more):
    case = {"vars": more.pop("vars", {"q": "1"})}
    if description is not None:
        case["description"] = description
    return {
        "success": True,
        "score": 1,
        "namedScores": {},
        "provider": {"id": "openai:x", "label": ""},
        "promptIdx": 0,
        "prompt": {"label": "p0"},
        "testCase": case,
        "gradingResult": {"pass": True},
        "failureReason": 0,
        **more,
    }


def write(folder, results, *, version=3, **stats):
    body = {"version": version, "prompts": [], "results": results, "stats": stats}
    folder.json({"evalId": "e", "results": body}, "out.json")


def load(folder, results, score="success", **stats):
    write(folder, results, **stats)
    return folder.load("out.json", scores=[score])


RESULTS = "formats/promptfoo/results.json"


@pytest.fixture(params=[RESULTS, RESULTS + "l"], ids=["json", "jsonl"])
def written(real, request):
    """The table of what the tool wrote."""
    return real.load(request.param, scores=["success"])


@pytest.fixture
def said(real):
    """The tool's own sums over its results."""
    return json.loads((real.path / RESULTS).read_text())["results"]


def test_a_test_is_a_task_and_a_repetition_a_sample(written):
    assert written.tasks == ("add-1", "add-2", "boom")
    # --repeat 2
    assert written.sample.tolist() == [0, 1] * 3
    assert written.agents == ("toy",)


def test_successes_failures_and_errors_are_as_many_as_the_tool_counts(written, said):
    success = written.scores["success"]
    assert np.nansum(success) == said["stats"]["successes"] == 2
    assert (success == 0).sum() == said["stats"]["failures"] == 2
    assert np.isnan(success).sum() == said["stats"]["errors"] == 2


def test_scores_and_cost_add_up_to_what_the_tool_says(written, said):
    (prompt,) = said["prompts"]
    metrics = prompt["metrics"]
    sums = {name: np.nansum(written.scores[name]) for name in written.scores}
    assert sums["score"] == metrics["score"]
    assert sums["correctness"] == metrics["namedScores"]["correctness"]
    assert sums["cost_usd"] == pytest.approx(metrics["cost"])
    # totalLatencyMs
    assert sums["latency_s"] == pytest.approx(0.077)


def test_tokens_add_up_to_what_the_tool_says(written, said):
    tokens = said["stats"]["tokenUsage"]
    assert np.nansum(written.scores["prompt_tokens"]) == tokens["prompt"]
    assert np.nansum(written.scores["completion_tokens"]) == tokens["completion"]


def test_errors_are_noted_with_the_first_one(written):
    (note,) = note_texts(written.notes)
    assert note.startswith(
        "error: 2 rollouts without a score, which is missing (first "
    )
    assert note.endswith(": model down)")


def test_tests_are_distinguished_by_their_variables(folder):
    rows = [
        result(vars={"q": "1"}, testIdx=1, score=0.1),
        result(vars={"q": "2"}, testIdx=2, score=0.2),
        result(vars={"q": "1"}, testIdx=0, score=0.3),
        result(None, vars={"q": "x" * 99}, testIdx=3, score=0.4),
        result("alone", testIdx=4, score=0.5),
    ]
    table = load(folder, rows, "score")
    named = [table.tasks[task] for task in table.task]
    assert named[:3] == ['add [{"q": "1"}]', 'add [{"q": "1"}]', 'add [{"q": "2"}]']
    assert named[3] == "alone"
    assert named[4].startswith('{"q": "xxx')
    assert table.scores["score"].tolist() == [
        0.3,
        0.1,
        0.2,
        0.5,
        0.4,
    ]  # repeats by testIdx


def test_providers_and_prompts_are_agents_and_the_reward_has_to_be_named(folder):
    write(folder, [result(namedScores={"tone": 0.5}), result(provider="plain:text")])
    refused = folder.refused("out.json", scores=["reward"])
    assert "success, score, tone" in refused.message
    assert "`reward: success`" in str(refused.hint)
    assert folder.load("out.json", scores=["score"]).agents == (
        "openai:x",
        "plain:text",
    )
    table = load(folder, [result(), result(prompt={"label": "p1"}, promptIdx=1)])
    assert table.agents == ("openai:x, p0", "openai:x, p1")


def test_errors_are_distinguished_from_assertions(folder):
    causes = [
        {"failureReason": 2, "error": "down"},
        {"failureReason": 1, "error": "not equal"},
        {"failureReason": None, "error": "down", "gradingResult": None},
        {"failureReason": None, "error": "not equal"},
    ]
    rows = [
        result(str(n), success=False, score=0, **cause)
        for n, cause in enumerate(causes)
    ]
    table = load(folder, rows)
    np.testing.assert_equal(table.scores["success"], [np.nan, 0, np.nan, 0])


def test_what_its_grader_could_not_answer_is_missing_and_no_failure(folder):
    broken = {
        "pass": False,
        "score": 0,
        "reason": "no JSON",
        "metadata": {"graderError": True},
    }
    failed = {"pass": False, "score": 0, "reason": "not equal"}
    named = {**broken, "assertion": {"metric": "tone"}}
    rows = [
        result(
            success=False,
            score=0,
            failureReason=1,
            gradingResult={"componentResults": parts},
        )
        for parts in ([broken], [broken, failed], [named, {"pass": True}], [failed])
    ]
    rows[2]["namedScores"] = {"tone": 0, "facts": 1}
    table = load(folder, rows)
    np.testing.assert_equal(table.scores["success"], [np.nan, 0, np.nan, 0])
    np.testing.assert_equal(table.scores["score"], [np.nan, np.nan, np.nan, 0])
    np.testing.assert_equal(table.scores["tone"], [np.nan] * 4)
    np.testing.assert_equal(table.scores["facts"], [np.nan, np.nan, 1, np.nan])
    missing, graded = note_texts(table.notes)
    assert missing.startswith("the grader failed: 1 rollout without a score")
    assert missing.endswith("result 0: no JSON)")
    assert graded.startswith("the grader failed: 2 rollouts graded all the same")


def test_an_unreported_count_is_not_0(folder):
    silent = {"total": 0, "prompt": 0, "completion": 0, "cached": 0}
    whole = {"total": 9, "prompt": 0, "completion": 0}  # only the sum is known
    rows = [
        result("a", cost=0, tokenUsage=silent, latencyMs=12),
        result("b", cost=0, tokenUsage=whole, response={"cost": 0}),
    ]
    scores = load(folder, rows).scores
    assert "prompt_tokens" not in scores
    np.testing.assert_equal(scores["total_tokens"], [np.nan, 9])
    np.testing.assert_equal(scores["cost_usd"], [np.nan, 0])
    np.testing.assert_equal(scores["latency_s"], [0.012, np.nan])


def test_its_own_counts_are_compared(folder):
    rows = [
        result(),
        result(success=False),
        result(success=False, failureReason=2, error="x"),
    ]
    assert (
        len(note_texts(load(folder, rows, successes=1, failures=1, errors=1).notes))
        == 1
    )
    notes = load(
        folder, rows, successes=2, failures=2
    ).notes  # early: errors are failures
    assert "successes in its stats is 2, and the rollouts give 1" in "".join(
        note_texts(notes)
    )
