"""``baseline: {history: N}``: the last runs of the history, task by task; reasons of changes."""

import json
import random

import pytest

KEEP = ("--evalmetrics-history", "h.jsonl")
UPDATE = ("--snapshot-update", *KEEP)
FILE = "expect: {tasks: 60}\nmetrics: [pass@1]\nbaseline: {history: 3}"


def rollouts(project, seed, drop=0.0, tasks=60):
    draw = random.Random(seed)  # noqa: S311 - no secret
    chances = [0.2 + 0.01 * task - drop for task in range(tasks)]
    project.rollouts([[float(draw.random() < p) for _ in range(4)] for p in chances])


def gate(project):
    return project.checks()["pass@1"]


def test_a_run_is_held_against_the_last_runs_task_by_task(project):
    project.bench(FILE)
    rollouts(project, 1)
    result = project.run(*KEEP)
    result.stdout.fnmatch_lines(
        ["*the history holds no run of this benchmark that counts*"]
    )
    assert project.run(*UPDATE).ret == 0
    values = [
        project.report()["benchmarks"][0]["agents"][0]["estimates"]["pass@1"]["value"]
    ]
    for seed in (2, 3, 4):
        rollouts(project, seed)
        workers = ("-n", "1") if seed == 4 else ()  # compares, and is compared with
        assert project.run(*KEEP, *workers).ret == 0
        values.append(gate(project)["value"])
    assert gate(project)["comparison"]["runs"] == 3
    rollouts(project, 5, drop=0.3)
    result = project.run(*KEEP)
    facts = gate(project)["comparison"]
    assert facts["baseline"] == pytest.approx(
        sum(values[1:]) / 3
    )  # the failed one's too
    assert (facts["rollouts_baseline"], facts["tasks"], facts["runs"]) == (
        720,
        60,
        3,
    )
    result.stdout.fnmatch_lines(
        [
            "FAIL*pass@1 fell from*3 runs of the baseline, sd*",
            "*accept it with `pytest --evalmetrics-up*",
        ]
    )
    rollouts(project, 6)  # the failed run is none to compare with
    assert project.run(*KEEP).ret == 0
    assert gate(project)["comparison"]["baseline"] == pytest.approx(sum(values[1:]) / 3)
    assert all(
        "baseline" not in run
        for run in project.report()["history"]["math.bench.yaml::math"]
    )


def test_an_accepted_change_starts_anew_with_its_reason(project):
    project.bench(FILE)
    rollouts(project, 1)
    project.run(*UPDATE)
    rollouts(project, 2, drop=0.3)
    assert project.run(*UPDATE, "--evalmetrics-reason", "a cheaper\n model").ret == 0
    rollouts(project, 3, drop=0.3)
    assert project.run(*KEEP).ret == 0
    assert gate(project)["comparison"]["runs"] == 1
    lines = [
        json.loads(line) for line in (project.path / "h.jsonl").read_text().splitlines()
    ]
    assert [line.get("reason") for line in lines] == [None, "a cheaper model", None]
    assert lines[1]["baseline"]["provenance"]["reason"] == "a cheaper model"
    assert "math, 20" in (
        summary := (project.path / "evalmetrics/summary.md").read_text()
    )
    assert ": a cheaper model" in summary
    # other tasks are another benchmark: the runs before are left out, and the new ones count
    rollouts(project, 4, drop=0.3, tasks=50)
    project.bench(FILE.replace("60", "50"))
    result = project.run(*KEEP)
    result.stdout.fnmatch_lines(
        [
            "*10 of the baseline's 60 tasks*",
            "*accept it with `pytest --evalmetrics-update*",
        ]
    )
    assert project.run(*UPDATE).ret == 0
    assert project.run(*KEEP).ret == 0


def test_the_history_may_be_another_file_and_must_be_one(project):
    project.bench(FILE)
    rollouts(project, 1)
    result = project.run()
    result.stdout.fnmatch_lines(
        ["*math.bench.yaml:6: history: 3 needs a history, and none is*"]
    )
    project.run(*UPDATE)
    project.bench(FILE.replace("history: 3", "history: h.jsonl, runs: 2"))
    assert project.run().ret == 0
    assert project.report()["benchmarks"][0]["checks"][-1]["gate"] == "baseline"


def test_the_reason_stays_in_a_committed_baseline_until_its_numbers_change(project):
    project.bench(FILE.replace("{history: 3}", "true"))
    rollouts(project, 1)
    for alone in (["--evalmetrics-reason", "x"], ["--evalmetrics-add-run"]):
        assert "needs --evalmetrics-update" in project.run(*alone).stderr.str()
    project.run("--snapshot-update", "--evalmetrics-reason", "first one")
    path = project.baseline()
    before = path.read_bytes()
    assert json.loads(before)["provenance"]["reason"] == "first one"
    project.run("--snapshot-update")
    assert path.read_bytes() == before
    project.run("--snapshot-update", "--evalmetrics-reason", "better said")
    assert json.loads(path.read_bytes())["provenance"]["reason"] == "better said"
    assert project.run().ret == 0
    rollouts(project, 2)
    project.run("--snapshot-update")
    assert "reason" not in json.loads(path.read_bytes())["provenance"]
