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


STATED = {
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
