"""Noise between runs that other benchmarks of the project show."""

import numpy as np
import pytest
from evaluated import evaluated

from pytest_evalmetrics.comparison import RunScatter, scatter_of
from pytest_evalmetrics.comparison.run_noise import pool_shows_noise

SKILL = 0.1 + 0.8 * np.random.default_rng(7).beta(0.4, 0.4, 200)
SHIFTS = (0.05, -0.04, 0.0, -0.06, 0.04, 0.02)


def write(project, name, seed, shift=0.0):
    """Record 200 tasks x 4 whose chances all moved by `shift`."""
    rng = np.random.default_rng(seed)
    chance = np.clip(SKILL + shift, 0, 1)[:, None]
    passed = (rng.random((200, 4)) < chance).astype(float)
    project.rollouts(passed.tolist(), f"{name}.jsonl")


def declare(project, name):
    project.write(
        f"{name}.bench.yaml",
        f"benchmark:\n  name: {name}\n  rollouts: {name}.jsonl\n"
        "  metrics: [mean_reward]\n  baseline: true\n",
    )


def record_noisy_neighbour(project, shifts):
    declare(project, "noisy")
    for seed, shift in enumerate(shifts):
        write(project, "noisy", seed, shift)
        evaluated(project, updates=True, adds_run=True)


def judge_a_shift(project):
    """Record one run of a benchmark, and judge another that is 7 points lower."""
    declare(project, "lone")
    write(project, "lone", 20)
    project.run("--evalmetrics-update", "lone.bench.yaml")
    write(project, "lone", 21, -0.07)
    result = project.run("lone.bench.yaml")
    (entry,) = project.report()["benchmarks"]
    (check,) = [one for one in entry["checks"] if one["name"] == "mean_reward"]
    return result, check


def test_the_runs_of_a_neighbour_show_the_noise_of_a_lone_run(project):
    record_noisy_neighbour(project, SHIFTS)
    result, check = judge_a_shift(project)
    assert check["verdict"] == "PASS"
    assert check["comparison"]["run_sd"] == pytest.approx(0.04, abs=0.02)
    result.stdout.fnmatch_lines(
        ["note:*the noise between runs is taken from 1 other benchmark whose*"]
    )


def test_without_a_neighbour_the_noise_is_unknown_and_the_failure_says_so(project):
    result, check = judge_a_shift(project)
    assert check["verdict"] == "FAIL"
    assert check["comparison"]["run_sd"] is None
    result.stdout.fnmatch_lines(
        ["*one run in the baseline does not show the noise between runs*"]
    )


def test_a_neighbour_of_two_runs_says_too_little(project):
    record_noisy_neighbour(project, SHIFTS[:2])
    _, check = judge_a_shift(project)
    assert check["verdict"] == "FAIL"


def test_a_neighbour_that_cannot_be_read_is_left_to_its_own_run(project):
    record_noisy_neighbour(project, SHIFTS)
    project.write("__baselines__/noisy.bench/noisy.json", "{")
    _, check = judge_a_shift(project)
    assert check["comparison"]["run_sd"] is None


def test_quiet_runs_are_no_reason_to_doubt_a_drop():
    quiet = RunScatter(df=9, variance=0.01**2, se=0.01)
    assert not pool_shows_noise([quiet])


def test_runs_that_scatter_twice_as_far_as_their_tasks_explain_show_noise():
    noisy = RunScatter(df=9, variance=0.02**2, se=0.01)
    assert pool_shows_noise([noisy])


def test_the_scatter_of_runs_is_that_of_their_means():
    values = np.array([[0.0, 1.0, 0.5], [0.5, 1.0, 0.75]])
    scatter = scatter_of(values)
    assert scatter.df == 1
    assert scatter.variance == pytest.approx(np.var([0.5, 0.75], ddof=1))
