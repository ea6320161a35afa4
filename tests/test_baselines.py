"""Baselines as a user meets them: record, commit, pass, regress, accept; each run a real one."""

from __future__ import annotations

import json

GOOD = [[1.0, 1.0]] * 30 + [[0.0, 1.0]] * 10
NOISE = [*GOOD[1:], [0.0, 1.0]]  # a single task of forty moved
WORSE = [[0.0, 0.0]] * 15 + [[1.0, 1.0]] * 15 + [[0.0, 1.0]] * 10


def test_record_pass_regress_accept(project):
    project.rollouts(GOOD)
    project.bench("metrics: [pass@1]\nexpect: {tasks: 40}\nbaseline: true")
    missing = project.run()
    missing.assert_outcomes(failed=1)
    missing.stdout.fnmatch_lines(
        [
            "INCONCLUSIVE *there is no baseline yet to compare with",
            "  -> record one with `pytest --snapshot-update` and commit it",
            "1 snapshot failed.",
        ]
    )
    assert not (project.path / "__baselines__").exists()

    recorded = project.run("--snapshot-update")
    recorded.assert_outcomes(passed=1)
    recorded.stdout.fnmatch_lines(
        ["    recorded __baselines__/math.bench/math.json", "        pass@1 0.8750 (new)"]
    )
    path = project.path / "__baselines__" / "math.bench" / "math.json"
    text = path.read_text(encoding="utf-8")
    assert json.loads(text)["agents"]["agent"]["tasks"]["39"] == {"reward": [0, 1]}

    project.run("-n", "2").assert_outcomes(passed=1)
    project.rollouts(NOISE)
    project.run().assert_outcomes(passed=1)
    project.rollouts(WORSE)
    worse = project.run()
    worse.assert_outcomes(failed=1)
    worse.stdout.fnmatch_lines(["FAIL *pass@1 fell from 0.875 to 0.5*", "1 snapshot failed."])
    worse.stdout.no_fnmatch_line("*Traceback*")
    assert path.read_text(encoding="utf-8") == text

    accepted = project.run("--snapshot-update")
    accepted.assert_outcomes(passed=1)
    accepted.stdout.fnmatch_lines(["*pass@1 0.8750 -> 0.5000"])
    project.run().assert_outcomes(passed=1)


def test_a_benchmark_without_a_baseline_leaves_none(project):
    project.rollouts(GOOD)
    project.bench('metrics: [pass@1]\nexpect: {tasks: 40}\nthresholds: {pass@1: ">= 0.8"}')
    result = project.run("--snapshot-update")
    result.assert_outcomes(passed=1)
    assert not (project.path / "__baselines__").exists()
    assert "snapshot" not in result.stdout.str()
