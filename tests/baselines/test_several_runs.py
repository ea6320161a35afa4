"""Baselines of several runs: recorded one after the other, or named as files."""

import json

import numpy as np
import pytest
from evaluated import evaluated

from pytest_evalmetrics.errors import ConfigError

ADD = ("--snapshot-update", "--evalmetrics-add-run")
SKILL = np.random.default_rng(7).beta(0.4, 0.4, 300)


def write(project, name, seed, shift=0.0):
    """Record 300 tasks x 4; `shift` moves the chances of all of them."""
    rng = np.random.default_rng(seed)
    chance = np.clip(0.1 + 0.8 * SKILL + shift, 0, 1)
    project.rollouts(
        (rng.random((300, 4)) < chance[:, None]).astype(float).tolist(), name
    )


def bench(project, keys="baseline: true"):
    project.bench(f"metrics: [mean_reward]\nexpect: {{tasks: 300}}\n{keys}")


def check(project, metric="mean_reward"):
    return project.checks()[metric]


def baseline(project):
    return json.loads(project.baseline().read_text())


def record(project, shifts):
    bench(project)
    for seed, shift in enumerate(shifts):
        write(project, "runs.jsonl", seed, shift)
        assert evaluated(project, updates=True, adds_run=True).passed


@pytest.fixture
def three_runs(project):
    """A project whose baseline has three runs."""
    record(project, [0.0] * 3)
    return project


def recorded_rewards(project):
    """Return the rewards of a baseline, shape (tasks, runs, rollouts)."""
    rows = baseline(project)["agents"]["agent"]["tasks"].values()
    return np.array([row["reward"] for row in rows])


def test_runs_are_kept_side_by_side(three_runs):
    assert recorded_rewards(three_runs).shape == (300, 3, 4)
    assert len(baseline(three_runs)["provenance"]["runs"]) == 3


def test_a_metric_is_recorded_with_its_value_in_each_run(three_runs):
    metric = baseline(three_runs)["agents"]["agent"]["key_metrics"]["mean_reward"]
    means = recorded_rewards(three_runs).mean(axis=(0, 2))
    assert metric["runs"] == pytest.approx(means.tolist())
    assert metric["value"] == pytest.approx(means.mean())
    assert "interval" not in metric


def test_whole_numbers_stay_whole_and_each_task_is_a_line(three_runs):
    first = baseline(three_runs)["agents"]["agent"]["tasks"]["0"]["reward"]
    assert {type(reward) for run in first for reward in run} == {int}
    lines = three_runs.baseline().read_text().splitlines()
    assert sum('"reward": [[' in line for line in lines) == 300


def test_a_run_is_compared_with_all_runs_of_the_baseline(three_runs):
    assert evaluated(three_runs).passed
    facts = check(three_runs)["comparison"]
    assert facts["runs"] == 3
    assert facts["rollouts_baseline"] == 3600
    assert facts["baseline"] == pytest.approx(recorded_rewards(three_runs).mean())


def test_a_task_that_lacks_a_run_of_the_baseline_is_named(three_runs):
    document = baseline(three_runs)
    document["agents"]["agent"]["tasks"]["7"]["reward"].pop()
    three_runs.baseline().write_text(json.dumps(document))
    result = evaluated(three_runs)
    assert not result.passed
    result.says("*task '7' of agent has not the numbers of 3 runs*")


def test_the_oldest_run_leaves(project):
    bench(project, "baseline: {runs: 2}")
    means = []
    for seed in range(3):
        write(project, "runs.jsonl", seed)
        assert project.run(*ADD).ret == 0
        agent = project.report()["benchmarks"][0]["agents"][0]
        means.append(agent["key_metrics"]["mean_reward"])
    metric = baseline(project)["agents"]["agent"]["key_metrics"]["mean_reward"]
    assert metric["runs"] == means[1:]
    assert len(baseline(project)["provenance"]["runs"]) == 2


def test_an_update_alone_starts_again_with_one_run(project):
    record(project, [0.0] * 2)
    assert evaluated(project, updates=True).passed
    agent = baseline(project)["agents"]["agent"]
    assert agent["tasks"]["0"]["reward"][0] in (0, 1)
    assert "runs" not in agent["key_metrics"]["mean_reward"]
    assert evaluated(project).passed
    facts = check(project)["comparison"]
    assert facts["runs"] == 1
    assert facts["run_sd"] is None


def test_a_shift_within_the_spread_of_runs_is_no_regression(project):
    record(project, [0.03, -0.02, 0.04, -0.04, 0.0])
    write(project, "runs.jsonl", 99, -0.04)
    assert evaluated(project).passed
    noisy = check(project)["comparison"]
    assert 0.02 < noisy["run_sd"] < 0.05
    record(project, [0.03])  # one run among them: how runs differ is not known
    assert evaluated(project, updates=True).passed
    write(project, "runs.jsonl", 99, -0.04)
    result = evaluated(project)
    assert not result.passed
    assert noisy["p"] > 10 * check(project)["comparison"]["p"]


def test_several_quiet_runs_find_a_drop_and_report_their_spread(project):
    record(project, [0.0] * 4)
    write(project, "runs.jsonl", 99, -0.06)
    result = evaluated(project)
    assert not result.passed
    result.says("*4 runs of the baseline, sd * between them beyond their tasks*")


def test_files_of_several_runs(project):
    for seed in range(3):
        write(project, f"run{seed}/a.jsonl", seed)
    write(project, "runs.jsonl", 9)
    bench(
        project,
        "baseline: {rollouts: [[run0/*.jsonl], [run1/*.jsonl], [run2/a.jsonl]]}",
    )
    assert evaluated(project).passed
    facts = check(project)["comparison"]
    assert (facts["runs"], facts["rollouts_baseline"]) == (3, 3600)


def test_runs_of_other_tasks_are_not_pooled(project):
    write(project, "run0/a.jsonl", 0)
    project.rollouts([[1.0] * 4] * 200, "other/a.jsonl")
    write(project, "runs.jsonl", 9)
    bench(project, "baseline: {rollouts: [[run0/*.jsonl], [other/*.jsonl]]}")
    result = evaluated(project)
    assert not result.passed
    result.says("INCONCLUSIVE*its runs hold 300, 200 of the 300 compared tasks*")


def test_paths_beside_lists_of_paths_are_refused(project):
    bench(project, "baseline: {rollouts: [[run0/*.jsonl], run1/a.jsonl]}")
    with pytest.raises(
        ConfigError, match="either paths, or one list of paths for each run"
    ):
        evaluated(project)


def test_a_metric_that_needs_equal_rollouts_is_compared_with_the_newest_run(project):
    project.bench("metrics: [worst_task, median]\nbaseline: true")
    for seed in range(3):
        write(project, "runs.jsonl", seed)
        assert evaluated(project, updates=True, adds_run=True).passed
    assert evaluated(project).passed  # the newest run is the current one
    for metric in ("worst_task", "median"):
        facts = check(project, metric)["comparison"]
        assert facts["rollouts_baseline"] == 1200
        assert facts["drop"] == 0


def test_no_run_is_added_to_a_baseline_that_was_edited_by_hand(project):
    record(project, [0.0])
    recorded = project.baseline().read_text()
    edited = recorded.replace(
        '"rollouts": 1200, "interval"', '"rollouts": 1, "interval"'
    )
    assert edited != recorded
    project.baseline().write_text(edited)
    write(project, "runs.jsonl", 1)
    result = project.run(*ADD)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["INCONCLUSIVE *was not added to the baseline: its file was edited by hand*"]
    )
    assert project.baseline().read_text() == edited


def test_what_repeats_no_run_is_not_added(project):
    record(project, [0.0])
    before = baseline(project)
    for tasks, scores, why in (
        (301, {}, "it has other tasks than the runs before"),
        (300, {"cost": 1.0}, "it keeps other scores than the runs before"),
    ):
        project.rollouts([[1.0] * 4] * tasks, **scores)
        names = ", ".join(["mean_reward", *(f"mean/{name}" for name in scores)])
        project.bench(f"metrics: [{names}]\nexpect: {{tasks: {tasks}}}\nbaseline: true")
        result = project.run(*ADD)
        assert result.ret == 1
        result.stdout.fnmatch_lines(
            [f"*this run was not added to the baseline: {why}*"]
        )
        assert baseline(project) == before


def test_a_collapse_fails_however_runs_scatter(project):
    project.bench("metrics: [mean_reward]\nbaseline: true")
    for misses in (2, 10):
        project.rollouts(
            np.array([0.0] * misses + [1.0] * (40 - misses)).reshape(4, 10).T.tolist()
        )
        assert evaluated(project, updates=True, adds_run=True).passed
    project.rollouts([[0.0] * 4] * 10)
    assert not evaluated(project).passed
    assert check(project)["comparison"]["run_sd"] > 0.1
