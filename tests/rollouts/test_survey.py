"""What is told of recorded rollouts, and the benchmark file that comes with it."""

import json

import pytest
import yaml

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts.survey import survey


def document(text):
    return yaml.safe_load(text[text.index("# a benchmark file") :])["benchmark"]


def test_rows_of_nemo_gym(folder):
    folder.rows(
        {"_ng_task_index": n // 2, "_ng_rollout_index": n % 2, "reward": n % 2, "turns": n / 2}
        for n in range(6)
    )
    text = survey("runs.jsonl", folder.path)
    assert text.startswith(
        "runs.jsonl: jsonl, 6 rollouts\nagent agent: 3 tasks (0, 1, 2), 2 each\n"
        "  reward  mean 0.5, from 0 to 1  <- the reward\n  turns   mean 1.25, from 0 to 2.5\n"
    )
    assert document(text) == {
        "name": "runs",
        "rollouts": "runs.jsonl",
        "num_samples": 2,
        "metrics": ["pass@1", "pass@2", "pass^2"],
        "expect": {"tasks": 3},
        "baseline": True,
    }


def test_names_and_ids_that_would_paint_the_terminal(folder):
    folder.rows(
        {"_ng_task_index": task, "_ng_rollout_index": 0, "reward": 1, "cost\x1b[31m\nx": 2}
        for task in ("a\x1b[2J", "b\n::stop-commands::x\x07")
    )
    text = survey("runs.jsonl", folder.path)
    assert r"(a\x1b[2J, b\n::stop-commands::x\x07)" in text
    assert r"  cost\x1b[31m\nx  mean 2" in text
    assert text.replace("\n", "").isprintable()
    assert document(text)["expect"] == {"tasks": 2}


def test_a_format_without_a_reward(folder):
    cases = [
        {"name": n, "scores": {"a: b": {"value": s}, "c": {"value": 0.5}}, "task_duration": 1.0}
        for n, s in [("x", 0.5), ("y", None)]
    ]
    report = {"name": "t", "cases": cases, "failures": [], "analyses": []}
    folder.write(json.dumps(report), "some runs/report 1.json")
    text = survey("some runs/*.json", folder.path)
    assert "some runs/report 1.json: pydantic_evals, 2 rollouts" in text
    assert "  a: b       mean 0.5, from 0.5 to 0.5, 1 missing  <- the reward" in text
    found = document(text)
    assert (found["name"], found["rollouts"]) == ("some-runs", "some runs/*.json")
    assert (found["reward"], found["metrics"]) == ("a: b", ["mean_reward"])
    assert found["expect"] == {"tasks": 2, "missing_reward": "error"}
    assert "; or c" in text


def test_many_files_are_counted(folder):
    for n in range(12):
        folder.rows([{"_ng_task_index": n, "reward": 1}], f"{n}.jsonl")
    text = survey("*.jsonl", folder.path)
    assert "and 2 more files" in text
    assert "12 tasks (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...)" in text


def test_the_option_prints_a_file_that_works(project):
    project.rollouts([[1, 0], [1, 1]])
    told = project.run("--evalmetrics-inspect", "runs.jsonl")
    assert told.ret == 0
    text = told.stdout.str()
    project.write("math.bench.yaml", text[text.index("# a benchmark file") :])
    assert project.run("--snapshot-update").ret == 0
    assert project.run().ret == 0


def test_the_option_says_what_is_wrong(project):
    refused = project.run("--evalmetrics-inspect", "runs.jsonl")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["ERROR: there is no file 'runs.jsonl'*"])


def test_rows_without_anything_like_a_task(folder):
    folder.rows({"name": {"no": 1}, "reward": n % 2} for n in range(4))
    with pytest.raises(DataError, match="no task id"):
        survey("runs.jsonl", folder.path)


@pytest.mark.parametrize(("name", "path"), [("a.jsonl", "*.jsonl"), ("deep/a.jsonl", "**/*.jsonl")])
def test_a_folder_is_read_by_the_files_in_it(project, name, path):
    project.rollouts([[1, 0], [1, 1]], f"runs/{name}")
    project.write("runs/notes.txt", "none of them")
    run = project.run("--evalmetrics-inspect", "runs")
    assert run.ret == 0
    assert document(run.stdout.str())["rollouts"] == f"runs/{path}"


def test_no_identifier_and_no_time_is_the_reward(folder):
    folder.rows(
        {
            "task_id": n,
            "doc": 40 + n,
            "created_at": 1.7e9 + n,
            "updated": 1.7e9,
            "latency_ms": 3,
            "margin": n / 2,
            "quality": n % 2,
            "correct": n % 2 == 1,
        }
        for n in range(20)
    )
    text = survey("runs.jsonl", folder.path)
    assert document(text)["reward"] == "correct"
    assert "  reward: correct  # by its name; or quality, margin\n" in text
