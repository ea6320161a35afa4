"""Files that tools wrote themselves, read by the recipes of the documentation.

``recorded/SOURCES.md`` says which version wrote each, and how; ``write.py`` beside a file writes it
again. The numbers are those that the tool states.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from rollouts.recipes import RECIPES

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.reports.sentences.notes import note_texts

RECORDED = Path(__file__).parent / "recorded"


@pytest.fixture
def read(folder):
    """Read a file that a tool wrote, by its recipe; `changes` are old -> new texts in it."""

    def load(tool, recipe, changes):
        shutil.copytree(RECORDED / tool, folder.path, dirs_exist_ok=True)
        text = RECIPES[recipe]
        for old, new in changes.items():
            assert old in text
            text = text.replace(old, new)
        file = folder.write(text, "x.bench.yaml")
        (benchmark,) = load_benchmarks(file, shown=file.name)
        return folder.load(spec=benchmark.spec.rows, scores=["reward"])

    return load


def attempts_of(table):
    """List the rewards of each task."""
    ends = zip(table.offsets, table.offsets[1:], strict=False)
    return [table.scores["reward"][start:end] for start, end in ends]


def test_terminal_bench_states_the_same_accuracy(read):
    stated = json.loads((RECORDED / "terminal_bench" / "results.json").read_text())
    table = read("terminal_bench", "terminal-bench", {})
    assert table.scores["reward"].mean() == stated["accuracy"] == 0.4
    passed = [attempts.max() for attempts in attempts_of(table)]
    assert np.mean(passed) == stated["pass_at_k"]["2"] == 0.6


def test_openai_evals_states_the_same_accuracy(read):
    lines = (RECORDED / "openai_evals" / "log.jsonl").read_text().splitlines()
    reports = [json.loads(line) for line in lines if "final_report" in line]
    table = read("openai_evals", "openai-evals", {})
    assert len(table.tasks) == 12
    (report,) = reports
    assert table.scores["reward"].mean() == report["final_report"]["accuracy"]


def test_a_log_of_openai_evals_that_broke_off_is_refused(folder):
    lines = (RECORDED / "openai_evals" / "log.jsonl").read_text().splitlines()
    kept = [line for line in lines if "final_report" not in line]
    folder.write("\n".join(kept[:6]) + "\n", "log.jsonl")
    file = folder.write(RECIPES["openai-evals"], "x.bench.yaml")
    (benchmark,) = load_benchmarks(file, shown=file.name)
    refused = folder.refused(spec=benchmark.spec.rows, scores=["reward"])
    assert "has no final_report: its run did not finish" in refused.message


def test_tau2_bench_states_the_same_reliability(read, project):
    shutil.copy(RECORDED / "tau2_bench" / "results.json", project.path)
    project.write("tau2.bench.yaml", RECIPES["tau2-bench"])
    project.run().assert_outcomes(passed=1)
    estimates = project.report()["benchmarks"][0]["agents"][0]["estimates"]
    assert estimates["pass@1"]["value"] == pytest.approx(0.2222222222222222)
    assert estimates["pass^2"]["value"] == 0.0
    table = read("tau2_bench", "tau2-bench", {})
    assert [len(attempts) for attempts in attempts_of(table)] == [3, 3, 3]


def test_nemo_evaluator_states_the_same_mean(read):
    summary = json.loads((RECORDED / "nemo_evaluator" / "summary.json").read_text())
    (stated,) = summary["scores"]["scores"]
    table = read("nemo_evaluator", "nemo-evaluator", {})
    assert [len(attempts) for attempts in attempts_of(table)] == [2] * 6
    assert table.scores["reward"].mean() == pytest.approx(stated["mean"])
    assert stated["mean"] == 0.6666666666666666


def test_alpaca_eval_states_the_same_win_rate(read):
    table = read("alpaca_eval", "alpaca-eval", {})
    assert len(table) == 20
    assert 100 * table.scores["reward"].mean() == pytest.approx(72.5)


def test_braintrust_states_the_same_scores(read):
    stated = json.loads((RECORDED / "braintrust" / "results.json").read_text())
    scores = stated["summary"]["comparison"]["scores"]
    assert (scores["exact"]["score"], scores["judge"]["score"]) == (0.7, 0.875)
    exact = read("braintrust", "braintrust-local", {})
    judge = read("braintrust", "braintrust-local", {"scores.exact": "scores.judge"})
    assert [len(attempts) for attempts in attempts_of(exact)] == [2] * 6
    assert np.nanmean(exact.scores["reward"]) == pytest.approx(0.7)
    assert np.nanmean(judge.scores["reward"]) == pytest.approx(0.875)


# recipe -> folder, file, a row's reward in the file and another one, what the note says
CHANGED = {
    "braintrust-local": (
        "braintrust",
        "results.json",
        ('"exact": 1.0', '"exact": 0.0'),
        "the score of exact in its summary is 0.7, and the rollouts give 0.6",
    ),
    "simple-evals": (
        "simple_evals",
        "healthbench_gpt-4.1_allresults.json",
        ('"score": 0.625,\n        "usage"', '"score": 0.025,\n        "usage"'),
        "score is 0.520833333, and the rollouts give 0.470833333",
    ),
    "terminal-bench": (
        "terminal_bench",
        "results.json",
        ('"is_resolved": true', '"is_resolved": null'),
        "accuracy is 0.4, and the rollouts give 0.3",
    ),
    "openai-evals": (
        "openai_evals",
        "log.jsonl",
        ('"correct": true', '"correct": false'),
        "accuracy in its final_report is 0.666666667, and the rollouts give 0.583333333",
    ),
}


@pytest.mark.parametrize("recipe", CHANGED)
def test_rows_that_disagree_with_the_number_of_their_file_are_noted(folder, recipe):
    tool, name, (old, new), expected = CHANGED[recipe]
    text = (RECORDED / tool / name).read_text()
    assert old in text
    file = folder.write(RECIPES[recipe], "x.bench.yaml")
    (benchmark,) = load_benchmarks(file, shown=file.name)
    rows = benchmark.spec.rows
    (path,) = rows.path
    folder.write(text, path)
    assert stated_notes(folder.load(spec=rows, scores=["reward"])) == []
    folder.write(text.replace(old, new, 1), path)
    (note,) = stated_notes(folder.load(spec=rows, scores=["reward"]))
    assert expected in note


def stated_notes(table):
    return [note for note in note_texts(table.notes) if "the rollouts give" in note]


def test_a_trace_of_mlflow_that_failed_is_missing_though_its_feedback_is_0(folder):
    shutil.copy(RECORDED / "mlflow_traces" / "traces.jsonl", folder.path)
    table = folder.load("traces.jsonl", scores=["exact"])
    questions = {}
    rows = (folder.path / "traces.jsonl").read_text().splitlines()
    for line, value in zip(
        rows, table.scores["exact"][np.argsort(table.read_as)], strict=True
    ):
        info = json.loads(line)["info"]
        questions[json.loads(info["request_preview"])["question"]] = value
    # MLflow's exact/mean is 1/3
    np.testing.assert_equal(questions, {"a": 1, "b": 0, "boom": np.nan})
    (note,) = note_texts(table.notes)
    assert note.startswith("the trace failed: 1 rollout without a score")
    assert "RuntimeError: the model is down" in note


def test_what_failed_in_braintrust_is_missing(read):
    exact = read("braintrust", "braintrust-local", {})
    judge = read("braintrust", "braintrust-local", {"scores.exact": "scores.judge"})
    missing = [np.isnan(table.scores["reward"]).sum() for table in (exact, judge)]
    assert missing == [2, 4]
    (note,) = note_texts(exact.notes)
    assert note.startswith("error: 2 rollouts without a score")
    assert "the model is down" in note


STATED = {
    "simple-evals": (
        "simple_evals",
        {"healthbench_model": "healthbench_gpt-4.1"},
        6,
        0.5208333333333334,
    ),
    "ragas": ("ragas", {"faithfulness": "exact_match"}, 12, 0.6666666666666666),
    "mlflow": ("mlflow", {"exact_match/score": "same/score"}, 12, 2 / 3),
    "langsmith": ("langsmith", {}, 12, 0.6666666666666666),
    "opentelemetry": ("opentelemetry", {}, 12, 0.6666666666666666),
    "lighteval": (
        "lighteval",
        {"details_gsm8k": "details_toy", "extractive_match": "acc"},
        12,
        0.5,
    ),
    "phoenix": ("phoenix", {}, 6, 0.4166666666666667),
    "phoenix-spans": ("phoenix", {}, 9, 0.6666666666666666),
}


@pytest.mark.parametrize("recipe", STATED)
def test_a_tool_states_the_same_mean(read, recipe):
    tool, changes, tasks, mean = STATED[recipe]
    table = read(tool, recipe, changes)
    assert len(table.tasks) == tasks
    assert table.scores["reward"].mean() == pytest.approx(mean)
