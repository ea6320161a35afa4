"""Reports of pydantic-evals."""

import numpy as np

from pytest_evalmetrics.reports.sentences.notes import note_texts


def results(values):
    return {
        name: {"name": name, "value": value, "reason": None}
        for name, value in values.items()
    }


def case(name, **more):
    kinds = {
        kind: results(more.pop(kind, {})) for kind in ("scores", "assertions", "labels")
    }
    return {
        "name": name,
        "inputs": "?",
        "metrics": {},
        "task_duration": 0.5,
        **kinds,
        **more,
    }


def failure(name, message="RuntimeError: down", **more):
    return {"name": name, "error_message": message, "error_stacktrace": "...", **more}


def load(folder, *cases, failures=(), score="reward"):
    report = {"name": "task", "cases": cases, "failures": failures, "analyses": []}
    folder.json(report, "report.json")
    return folder.load("report.json", scores=[score])


def test_what_the_tool_wrote(real):
    path = "formats/pydantic_evals/report.json"
    table = real.load(path, scores=["EqualsExpected"], categories=["tone"])
    assert set(table.categories["tone"].labels) == {"ok", "(missing)"}
    assert table.tasks == ("case-a", "case-b", "case-boom")
    assert table.sample.tolist() == [0, 1] * 3
    np.testing.assert_equal(
        table.scores["EqualsExpected"], [1, 1, 1, 0, np.nan, np.nan]
    )
    np.testing.assert_equal(table.scores["closeness"], [1, 1, 1, 0.25, np.nan, np.nan])
    np.testing.assert_equal(table.scores["prompt_tokens"], [12] * 4 + [np.nan] * 2)
    np.testing.assert_equal(table.scores["cost_usd"], [0.0003] * 4 + [np.nan] * 2)
    assert np.isfinite(table.scores["latency_s"]).tolist() == [True] * 4 + [False] * 2
    (note,) = note_texts(table.notes)
    assert note.startswith(
        "RuntimeError: 2 rollouts without a score, which is missing (first "
    )
    assert note.endswith("failures[0]: RuntimeError: model down)")


def test_runs_are_numbered_as_they_are_named(folder):
    second = case("y [1/2] [2/2]", source_case_name="y [1/2]", scores={"s": 0.5})
    first = case("y [1/2] [1/2]", source_case_name="y [1/2]", scores={"s": 1.0})
    table = load(folder, second, first)
    assert (table.tasks, table.scores["reward"].tolist()) == (("y [1/2]",), [1, 0.5])
    named_so = case("x [1/2]", scores={"s": 0.25})
    assert load(folder, named_so).tasks == ("x [1/2]",)


def test_an_evaluator_that_raised(folder):
    raised = {"name": "judge", "error_message": "ValueError: no answer"}
    table = load(
        folder,
        case("a", scores={"s": 1}, evaluator_failures=[raised]),
        case("b", scores={"s": 1}, assertions={"judge": True}),
        case("c", evaluator_failures=[raised], metrics={"requests": 2}),
        case("d"),
        score="judge",
    )
    np.testing.assert_equal(table.scores["judge"], [np.nan, 1, np.nan, np.nan])
    np.testing.assert_equal(table.scores["s"], [1, 1, np.nan, np.nan])
    np.testing.assert_equal(table.scores["requests"], [np.nan, np.nan, 2, np.nan])
    graded, missing, none = note_texts(table.notes)
    assert graded.startswith("judge was not judged: 1 rollout graded all the same")
    assert missing.startswith("judge was not judged: 1 rollout without a score")
    assert none.startswith("not scored: 1 rollout")


def test_metrics_are_no_reward_and_a_namesake_stays_distinct(folder):
    load(folder, case("a", scores={"s": 0.5}, assertions={"s": True}), score="s")
    assert "s, assertion.s" in folder.refused("report.json", scores=["reward"]).message
    table = load(
        folder, case("a", scores={"s": 0.5}, metrics={"steps": 4, "output_tokens": 9})
    )
    assert table.scores["reward"].tolist() == [0.5]
    assert table.scores["completion_tokens"].tolist() == [9]


def test_only_failures(folder):
    table = load(folder, failures=[failure("a"), failure("b", "gone")])
    assert np.isnan(table.scores["reward"]).tolist() == [True, True]
    assert [note.partition(":")[0] for note in note_texts(table.notes)] == [
        "RuntimeError",
        "error",
    ]
