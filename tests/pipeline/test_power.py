"""The plan's numbers against simulation and against the formula by hand."""

import re

import numpy as np
import pytest
from scipy import stats as scipy_stats

N = 300


def plan(project):
    return project.run("--evalmetrics-plan").stdout


def quantiles(tasks):
    return scipy_stats.t.ppf(0.99, tasks - 1) + scipy_stats.t.ppf(0.8, tasks - 1)


@pytest.mark.parametrize("k", [2, 4, 8])
def test_the_drop_that_a_mean_can_see_is_that_of_its_sampling_error(project, k):
    rng = np.random.default_rng(1)
    chance = rng.random(N)
    project.rollouts((rng.random((N, k)) < chance[:, None]).astype(float).tolist())
    project.bench("metrics: [pass@1]\nbaseline: true")
    # the variance of a difference of two runs is 2 p (1 - p) / k, averaged over the tasks
    se = np.sqrt(2 * np.mean(chance * (1 - chance)) / k / N)
    row = rf"pass@1 +{N} +{k} +([\d.]+) .* rollouts\n"
    found = float(re.search(row, plan(project).str())[1])
    assert found == pytest.approx(quantiles(N) * se, rel=0.1)


def test_why_nothing_can_be_told_is_told_beforehand(project):
    project.rollouts([[1.0, 0.0]] * 6)
    project.bench("metrics: [worst_task, pass@1]\nbaseline: true")
    project.rollouts([[1.0]] * 30 + [[0.0]] * 10, "single.jsonl")
    project.write(
        "one.bench.yaml",
        "benchmark: {name: one, rollouts: single.jsonl, metrics: [pass@1], baseline: true}\n",
    )
    plan(project).fnmatch_lines(
        [
            "note: math*: worst_task: it is no mean over tasks",
            "note: math*: pass@1: 6 tasks: no drop of any size can reach p < 0.01; 7 are needed",
            "note: one*: pass@1: *one rollout of each task doesn't show*",
        ]
    )


def test_without_any_rollouts_the_spread_is_assumed(project):
    project.bench("num_samples: 4\nmetrics: [pass@1]\nexpect: {tasks: 198}\nbaseline: true")
    mde = quantiles(198) * np.sqrt(2 / 6 / 4 / 198)
    plan(project).fnmatch_lines([f"*pass@1 *198 *4 *{mde:.4f} *an even spread of pass rates"])


def test_the_committed_baseline_comes_first(project):
    project.rollouts([[1.0, 0.0]] * 4)
    project.bench("metrics: [mean_reward]\nbaseline: true")
    assert project.run("--snapshot-update").ret == 0
    (project.path / "runs.jsonl").unlink()
    plan(project).fnmatch_lines(["*mean_reward *4 *2 * baseline"])
