"""What is told of recorded rollouts, and the benchmark file that comes with it."""

import json

import pytest
import yaml

from pytest_evalmetrics.rollouts.guess import way_out
from pytest_evalmetrics.rollouts.survey import write_benchmark


def survey(project, path="runs.jsonl"):
    result = project.run("--evalmetrics-inspect", path)
    assert result.ret == 0
    return result.stdout.str()


def document(text):
    return yaml.safe_load(text[text.index("# a benchmark file") :])["benchmark"]


def test_rows_of_nemo_gym(project):
    names = ("_ng_task_index", "_ng_rollout_index", "reward", "turns")
    rows = [(n // 2, n % 2, n % 2, n / 2) for n in range(6)]
    project.rows("runs.jsonl", [dict(zip(names, row, strict=True)) for row in rows])
    text = survey(project)
    assert (
        "runs.jsonl: jsonl, 6 rollouts\n3 tasks, 2 rollouts each: 0, 1, 2\n"
        "  reward  mean 0.5, from 0 to 1  <- the reward\n  turns   mean 1.25, from 0 to 2.5\n"
    ) in text
    assert document(text) == yaml.safe_load(
        "{name: runs, rollouts: runs.jsonl, num_samples: 2, metrics: [pass@1, pass@2, pass^2], "
        "expect: {tasks: 3}, baseline: true}"
    )


def test_names_and_ids_that_would_paint_the_terminal(project):
    row = {"_ng_rollout_index": 0, "reward": 1, "cost\x1b[31m\nx": 2}
    tasks = ("a\x1b[2J", "b\n::stop-commands::x\x07")
    project.rows("runs.jsonl", ({"_ng_task_index": task, **row} for task in tasks))
    text = survey(project)
    assert r": a\x1b[2J, b\n::stop-commands::x\x07" in text
    assert r"  cost\x1b[31m\nx  mean 2" in text
    assert text.replace("\n", "").isprintable()
    assert document(text)["expect"] == {"tasks": 2}


def test_a_format_without_a_reward(project):
    cases = [
        {
            "name": n,
            "scores": {"a: b": {"value": s}, "c": {"value": 0.5}},
            "task_duration": 1.0,
        }
        for n, s in [("x", 0.5), ("y", 1.0), ("z", 0.75), ("w", None)]
    ]
    report = {"name": "t", "cases": cases, "failures": [], "analyses": []}
    project.write("some runs/report 1.json", json.dumps(report))
    text = survey(project, "some runs/*.json")
    assert "some runs/report 1.json: pydantic_evals, 4 rollouts" in text
    assert "  a: b       mean 0.75, from 0.5 to 1, 1 missing  <- the reward" in text
    assert document(text) == yaml.safe_load(
        "{name: some-runs, rollouts: some runs/*.json, num_samples: 1, reward: 'a: b', "
        "metrics: [mean_reward], expect: {tasks: 4, missing_reward: error}, baseline: true}"
    )
    assert "# reward: a: b (0.5..1), by its values" in text


def test_many_files_are_counted(project):
    for n in range(12):
        project.rows(f"{n}.jsonl", [{"_ng_task_index": n, "reward": 1}])
    text = survey(project, "*.jsonl")
    assert "and 2 more files" in text
    assert "12 tasks, 1 rollout each: 0, 1, 2 and 9 more\n" in text


def test_the_option_prints_a_file_that_works(project):
    refused = project.run("--evalmetrics-inspect", "runs.jsonl")
    assert refused.ret == 2
    refused.stderr.fnmatch_lines(["*there is no file 'runs.jsonl'*"])
    project.rollouts([[1, 0], [1, 1]] * 4)
    text = survey(project)
    project.write("math.bench.yaml", text[text.index("# a benchmark file") :])
    assert project.run("--snapshot-update").ret == 0
    assert project.run().ret == 0


def test_a_json_file_is_no_json_lines(project):
    rows = [{"task": f"q{n}", "correct": n % 2} for n in range(6)]
    project.write("flat.json", json.dumps(rows))
    for row in rows:
        project.write(f"one/{row['task']}.json", json.dumps(row))
    assert "flat.json: json, 6 rollouts\n" in survey(project, "flat.json")
    assert "one/q0.json: json, 1 rollout\n" in survey(project, "one")


def test_rows_without_anything_like_a_task(project):
    project.rows("runs.jsonl", ({"name": {"no": 1}, "reward": n % 2} for n in range(4)))
    text = survey(project)
    assert "task: ?  # no field looks like a task: name its path" in text


@pytest.mark.parametrize(
    ("name", "path"), [("a.jsonl", "*.jsonl"), ("deep/a.jsonl", "**/*.jsonl")]
)
def test_a_folder_is_read_by_the_files_in_it(project, name, path):
    project.rollouts([[1, 0], [1, 1]], f"runs/{name}")
    project.write("runs/notes.txt", "none of them")
    assert document(survey(project, "runs"))["rollouts"] == f"runs/{path}"


def test_no_identifier_and_no_time_is_the_reward(project):
    stamps = {"created_at": 1.7e9, "updated": 1.7e9, "latency_ms": 3}
    rows = [{"task_id": n, "doc": 40 + n, **stamps, "margin": n / 2} for n in range(20)]
    for n, row in enumerate(rows):
        row.update(created_at=1.7e9 + n, quality=n % 2, correct=n % 2 == 1)
    project.rows("runs.jsonl", rows)
    text = survey(project)
    assert document(text)["rollouts"]["fields"]["reward"] == "correct"
    assert "# reward: correct (0/1, 50 % are 1), by its name; or margin\n" in text


def test_no_error_is_explained_that_nobody_reads(project, monkeypatch):
    project.rows("runs.jsonl", ({"id": f"t{n}", "ok": n % 2} for n in range(8)))
    monkeypatch.setattr(way_out, "explained", None)  # it reads the file again
    written = write_benchmark("runs.jsonl", project.path)
    assert written.open_lines == ()
