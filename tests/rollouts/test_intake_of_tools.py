"""Reported files of tools, each with the outcome that it should have."""

import json
import shutil

import numpy as np
import pytest
from evaluated import evaluated

from pytest_evalmetrics.reports.sentences.notes import note_texts


def copy(acceptance, name, project):
    folder = acceptance / "intake" / name
    shutil.copytree(folder, project.path / "given", symlinks=True)


@pytest.fixture
def report_of(project, acceptance):
    """Copy a reported folder and evaluate its benchmarks: id -> entry of the report."""

    def evaluate(name):
        copy(acceptance, name, project)
        evaluated(project)
        entries = project.report()["benchmarks"]
        return {entry["id"].rpartition("::")[2]: entry for entry in entries}

    return evaluate


def checks_of(entry):
    return {check["name"]: check for check in entry["checks"]}


def test_a_link_to_the_latest_job_is_read_once(project, acceptance):
    shutil.copytree(acceptance / "intake/harbor-latest-link", project.path / "given")
    link = project.path / "given/jobs/latest"
    link.unlink()
    link.symlink_to("2026-06-01__10-00-00")
    evaluation = evaluated(project)
    assert len(evaluation.results) == 4
    assert evaluation.passed
    for entry in project.report()["benchmarks"]:
        assert entry["agents"][0]["tasks"] == entry["agents"][0]["rollouts"] == 6


def test_a_grader_that_crashed_is_no_regression(report_of):
    entry = report_of("promptfoo-assertion-crash")["crash"]
    assert checks_of(entry)["missing"]["value"] == 0.5
    assert checks_of(entry)["pass@1"]["verdict"] == "INCONCLUSIVE"
    assert any("No module named 'rapidfuzz'" in note for note in entry["notes"])


def test_each_grader_of_promptfoo_that_fails_is_missing(real):
    table = real.load("intake/grader-crash/results.json", scores=["success"])
    assert np.isnan(table.scores["success"]).all()
    assert np.isnan(table.scores["py"]).all()
    assert np.isnan(table.scores["hook"]).all()
    np.testing.assert_equal(np.nanmin(table.scores["has"]), 1)


def test_a_nan_of_deepeval_is_no_failure(report_of):
    entries = report_of("deepeval-nan")
    assert checks_of(entries["success"])["missing"]["value"] == 0.2
    assert checks_of(entries["success"])["pass@1"]["value"] == 1
    assert entries["success-90"]["verdict"] == "PASS"
    assert checks_of(entries["metric"])["missing"]["value"] == 0.2


def test_summed_named_scores_are_means(report_of):
    checks = checks_of(report_of("promptfoo-named-scores")["tone"])
    assert checks["mean_reward"]["value"] == 0.75
    assert checks["pass@1"]["value"] == 0.5


def test_trials_of_tau_bench_that_crashed_are_missing(report_of):
    entries = report_of("tau-bench-error-rows").values()
    verdicts = [(e["verdict"], checks_of(e)["missing"]["value"]) for e in entries]
    assert verdicts == [("FAIL", 0.1)] * 2


def test_a_file_of_failures_that_broke_off_is_refused(report_of):
    entry = report_of("bfcl-cut-score")["bfcl"]
    assert entry["verdict"] == "INCONCLUSIVE"
    words = "this line counts 5 failures, and 2 are listed"
    assert words in json.dumps(entry["checks"])


def test_the_header_of_an_inspect_log_gives_its_own_mean(real):
    table = real.load("intake/real/inspect_header_only.json", scores=["reward"])
    assert table.scores["reward"].tolist() == [0.431]
    assert table.scores["(standard error) reward"].tolist() == [0.01566794448817344]
    assert table.scores["(samples) reward"].tolist() == [1000]
    (note,) = note_texts(table.notes)
    assert "holds aggregates without samples" in note


@pytest.mark.parametrize("name", ["inspect_no_samples.json", "inspect_v4.json"])
def test_a_log_that_its_loader_refuses_is_refused(real, name):
    refused = real.refused(f"intake/real/{name}", scores=["reward"])
    assert "this " in refused.message
    assert "log" in refused.message


def test_the_folder_of_nemo_gym_is_read_by_its_names(real):
    clean = real.load("intake/gym-folder/default_run/*.jsonl", scores=["reward"])
    assert note_texts(clean.notes) == ()
    assert not np.isnan(clean.scores["reward"]).any()
    failed = real.load("intake/gym-folder/once/*.jsonl", scores=["reward"])
    assert np.isnan(failed.scores["reward"]).sum() == 1
    (note,) = note_texts(failed.notes)
    assert note.startswith("agent_timeout: 1 rollout without a score, which is missing")


def test_aggregates_over_other_numbers_of_samples_are_not_compared(report_of):
    entries = report_of("lm-eval-limit-vs-full").values()
    checks = [checks_of(entry) for entry in entries]
    assert [of_one["samples"]["verdict"] for of_one in checks] == ["FAIL"] * 2
    verdicts = [of_one["mean_reward"]["verdict"] for of_one in checks]
    assert verdicts == ["INCONCLUSIVE"] * 2


def test_a_file_appended_to_itself_is_refused(report_of):
    entry = report_of("appended-twice")["appended"]
    assert entry["verdict"] == "INCONCLUSIVE"
    assert "results.jsonl:21 is the same row as" in json.dumps(entry["checks"])


@pytest.mark.parametrize(("name", "line"), [("pf.jsonl", 65), ("traces.jsonl", 7)])
def test_records_that_a_tool_wrote_once_are_read_once(real, name, line):
    refused = real.refused(f"intake/appended/{name}", scores=["reward"])
    assert f"{name}:{line}: this record has the id" in str(refused)


def test_ids_that_are_unique_within_a_subset_are_no_attempts(report_of):
    entries = report_of("ids-unique-within-subset").values()
    assert [entry["verdict"] for entry in entries] == ["INCONCLUSIVE"] * 3
    texts = [json.dumps(entry["checks"]) for entry in entries]
    assert ["(47 task ids in all)" in text for text in texts] == [True] * 3


def scores_of(project, name):
    """Read what a scored benchmark gave each row, by the row's id."""
    path = project.path / "evalmetrics/row_scores.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    data = project.path / "given" / name
    items = [json.loads(line) for line in data.read_text().splitlines()]
    given = zip(items, rows, strict=True)
    return {item["id"]: (item["want"], row) for item, row in given}


def test_a_sum_of_tenths_passes_at_one(report_of):
    assert report_of("float-sum-pass")["rubric"]["verdict"] == "PASS"


@pytest.mark.parametrize(
    ("name", "score"),
    [
        ("number-check", "number-check"),
        ("tool-args-types", "function_name_and_args_accuracy"),
    ],
)
def test_numbers_and_arguments_are_read_right(project, acceptance, name, score):
    copy(acceptance, name, project)
    project.run("given")
    wrong = {
        task: row
        for task, (want, row) in scores_of(project, "data.jsonl").items()
        if want is not None and row["scores"].get(score) != want
    }
    assert wrong == {}
