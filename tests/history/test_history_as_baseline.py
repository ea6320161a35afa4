"""``baseline: {history: N}``: the last runs of the history, task by task; reasons of changes."""

import json
import random

import pytest

KEEP = ("--evalmetrics-history", "h.jsonl")
UPDATE = ("--snapshot-update", *KEEP)
FILE = "expect: {tasks: 60}\nmetrics: [pass@1]\nbaseline: {history: 3}"


def rollouts(quick, seed, drop=0.0, tasks=60):
    draw = random.Random(seed)  # noqa: S311 - no secret
    chances = [0.2 + 0.01 * task - drop for task in range(tasks)]
    quick.rollouts([[float(draw.random() < p) for _ in range(4)] for p in chances])


def gate(quick):
    return quick.checks()["pass@1"]


def test_a_run_is_held_against_the_last_runs_task_by_task(quick):
    quick.bench(FILE)
    rollouts(quick, 1)
    result = quick.run(*KEEP)
    result.stdout.fnmatch_lines(["*the history holds no run of this benchmark that counts*"])
    assert quick.run(*UPDATE).ret == 0
    values = [quick.report()["benchmarks"][0]["agents"][0]["estimates"]["pass@1"]["value"]]
    for seed in (2, 3, 4):
        rollouts(quick, seed)
        workers = ("-n", "1") if seed == 4 else ()  # compares, and is compared with
        assert quick.run(*KEEP, *workers).ret == 0
        values.append(gate(quick)["value"])
    assert gate(quick)["evidence"]["runs"] == 3
    rollouts(quick, 5, drop=0.3)
    result = quick.run(*KEEP)
    evidence = gate(quick)["evidence"]
    assert evidence["baseline"] == pytest.approx(sum(values[1:]) / 3)  # the failed one's too
    assert (evidence["rollouts_baseline"], evidence["tasks"], evidence["runs"]) == (720, 60, 3)
    result.stdout.fnmatch_lines(
        ["FAIL*pass@1 fell from*3 runs of the baseline, sd*", "*accept it with `pytest --snap*"]
    )
    rollouts(quick, 6)  # the failed run is none to compare with
    assert quick.run(*KEEP).ret == 0
    assert gate(quick)["evidence"]["baseline"] == pytest.approx(sum(values[1:]) / 3)
    assert all("baseline" not in run for run in quick.report()["history"]["math.bench.yaml::math"])


def test_an_accepted_change_starts_anew_and_says_why(quick):
    quick.bench(FILE)
    rollouts(quick, 1)
    quick.run(*UPDATE)
    rollouts(quick, 2, drop=0.3)
    assert quick.run(*UPDATE, "--evalmetrics-reason", "a cheaper\n model").ret == 0
    rollouts(quick, 3, drop=0.3)
    assert quick.run(*KEEP).ret == 0
    assert gate(quick)["evidence"]["runs"] == 1
    lines = [json.loads(line) for line in (quick.path / "h.jsonl").read_text().splitlines()]
    assert [line.get("reason") for line in lines] == [None, "a cheaper model", None]
    assert lines[1]["baseline"]["provenance"]["reason"] == "a cheaper model"
    assert "math, 20" in (summary := (quick.path / "evalmetrics/summary.md").read_text())
    assert ": a cheaper model" in summary
    # other tasks are another benchmark: the runs before are left out, and the new ones count
    rollouts(quick, 4, drop=0.3, tasks=50)
    quick.bench(FILE.replace("60", "50"))
    result = quick.run(*KEEP)
    result.stdout.fnmatch_lines(["*10 tasks*", "*accept it with `pytest --snapshot-update*"])
    assert quick.run(*UPDATE).ret == 0
    assert quick.run(*KEEP).ret == 0


def test_the_history_may_be_another_file_and_must_be_one(quick):
    quick.bench(FILE)
    rollouts(quick, 1)
    result = quick.run()
    result.stdout.fnmatch_lines(["*math.bench.yaml:6: history: 3 needs a history, and none is*"])
    quick.run(*UPDATE)
    quick.bench(FILE.replace("history: 3", "history: h.jsonl, runs: 2"))
    assert quick.run().ret == 0
    assert quick.report()["benchmarks"][0]["checks"][-1]["gate"] == "baseline"


def test_the_reason_stays_in_a_committed_baseline_until_its_numbers_change(quick):
    quick.bench(FILE.replace("{history: 3}", "true"))
    rollouts(quick, 1)
    for alone in (["--evalmetrics-reason", "x"], ["--evalmetrics-add-run"]):
        assert "needs --snapshot-update" in quick.run(*alone).stderr.str()
    quick.run("--snapshot-update", "--evalmetrics-reason", "first one")
    path = quick.baseline()
    before = path.read_bytes()
    assert json.loads(before)["provenance"]["reason"] == "first one"
    quick.run("--snapshot-update")
    assert path.read_bytes() == before
    quick.run("--snapshot-update", "--evalmetrics-reason", "better said")
    assert json.loads(path.read_bytes())["provenance"]["reason"] == "better said"
    assert quick.run().ret == 0
    rollouts(quick, 2)
    quick.run("--snapshot-update")
    assert "reason" not in json.loads(path.read_bytes())["provenance"]
