"""Noise between runs that earlier runs of a benchmark show."""

import json

import numpy as np
import pytest
from evaluated import evaluated

SKILL = 0.1 + 0.8 * np.random.default_rng(7).beta(0.4, 0.4, 200)
SHIFTS = (0.05, -0.04, 0.0, -0.06, 0.04, 0.02, -0.03, 0.06, -0.05, 0.0)
BENCH = (
    "benchmark:\n  name: lone\n  rollouts: lone.jsonl\n"
    "  metrics: [mean_reward]\n  baseline: true\n"
)


def write(project, seed, shift=0.0):
    """Write a run of 200 tasks x 4 whose chances all moved by `shift`."""
    rng = np.random.default_rng(seed)
    chance = np.clip(SKILL + shift, 0, 1)[:, None]
    passed = (rng.random((200, 4)) < chance).astype(float)
    project.rollouts(passed.tolist(), "lone.jsonl")


def past_run(value, **keys):
    point = {"value": value, "tasks": 200, "rollouts": 800}
    return {
        "schema_version": 1,
        "benchmark": "lone.bench.yaml::lone",
        "time": "2026-01-01T00:00:00Z",
        "commit": None,
        "branch": None,
        "url": None,
        "verdict": "PASS",
        "usable": True,
        "starts": False,
        "agents": {"agent": {"mean_reward": point}},
        **keys,
    }


def keep_history(project, runs):
    project.write("history.jsonl", "".join(json.dumps(run) + "\n" for run in runs))


def judge_a_shift(project):
    """Record one run, and judge another that is 7 points lower."""
    project.write("lone.bench.yaml", BENCH)
    write(project, 20)
    evaluated(project, updates=True)
    write(project, 21, -0.07)
    result = project.run_here("--evalmetrics-history", "history.jsonl")
    (entry,) = project.report()["benchmarks"]
    (check,) = [one for one in entry["checks"] if one["name"] == "mean_reward"]
    return result, check


def test_earlier_runs_show_the_noise_of_a_lone_run(project):
    keep_history(project, [past_run(0.5 + shift) for shift in SHIFTS])
    result, check = judge_a_shift(project)
    assert check["verdict"] != "FAIL"
    assert check["comparison"]["run_noise"] == "history"
    assert check["comparison"]["run_sd"] == pytest.approx(0.045, abs=0.02)
    result.stdout.fnmatch_lines(
        ["note:*noise between runs is taken from earlier runs*"]
    )


def test_failed_runs_count_for_without_them_the_rest_scatters_less(project):
    runs = [past_run(0.5 + shift) for shift in SHIFTS]
    for run in runs[3::2]:
        run |= {"verdict": "FAIL", "usable": False}
    keep_history(project, runs)
    _, check = judge_a_shift(project)
    assert check["comparison"]["run_sd"] == pytest.approx(0.045, abs=0.02)


def test_accepted_changes_are_no_noise(project):
    levels = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    near = (0.0, 0.004, -0.003, 0.002)
    runs = [
        past_run(level + shift, starts=shift == near[0])
        for level in levels
        for shift in near
    ]
    keep_history(project, runs)
    _, check = judge_a_shift(project)
    assert check["verdict"] == "FAIL"
    assert check["comparison"]["run_sd"] == 0


@pytest.mark.parametrize(
    "keys",
    [
        {"verdict": "INCONCLUSIVE", "usable": False},
        {"benchmark": "lone.bench.yaml::other"},
        {
            "agents": {
                "agent": {"mean_reward": {"value": 0.5, "tasks": 9, "rollouts": 9}}
            }
        },
    ],
    ids=["without a verdict", "another benchmark", "another size"],
)
def test_other_runs_show_nothing(project, keys):
    keep_history(project, [past_run(0.5 + shift) | keys for shift in SHIFTS])
    _, check = judge_a_shift(project)
    assert check["comparison"]["run_noise"] == "unknown"


def test_the_same_rollouts_judged_again_and_again_show_nothing(project):
    keep_history(project, [past_run(0.5)] * 10)
    _, check = judge_a_shift(project)
    assert check["comparison"]["run_noise"] == "unknown"


def test_a_passing_run_says_once_that_the_noise_is_unknown(project):
    project.write("lone.bench.yaml", BENCH)
    write(project, 20)
    evaluated(project, updates=True)
    result = evaluated(project)
    result.says("note: the noise between runs is unknown (one run in the baseline, *")
    assert result.text.count("noise between runs") == 1


def test_stated_noise_is_known(project):
    project.write("lone.bench.yaml", BENCH.replace("true", "{run_noise: 1%}"))
    write(project, 20)
    evaluated(project, updates=True)
    assert "noise between runs is unknown" not in evaluated(project).text
