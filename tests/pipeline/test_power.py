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


def test_the_detectable_drop_of_a_mean_follows_from_its_sampling_error(project):
    rng = np.random.default_rng(1)
    chance = rng.random(N)
    benchmarks = ""
    for k in (2, 4, 8):
        rewards = (rng.random((N, k)) < chance[:, None]).astype(float)
        project.rollouts(rewards.tolist(), f"runs{k}.jsonl")
        benchmarks += f"  - {{name: k{k}, rollouts: runs{k}.jsonl}}\n"
    defaults = "defaults: {metrics: [pass@1], baseline: true}\nbenchmarks:\n"
    project.write("math.bench.yaml", defaults + benchmarks)
    table = plan(project).str()
    for k in (2, 4, 8):
        # the variance of a difference of two runs is 2 p (1 - p) / k, averaged over the tasks
        se = np.sqrt(2 * np.mean(chance * (1 - chance)) / k / N)
        detectable = float(
            re.search(rf"pass@1 +{N} +{k} +([\d.]+) .* rollouts\n", table)[1]
        )
        assert detectable == pytest.approx(quantiles(N) * se, rel=0.1)


def test_a_plan_notes_what_no_gate_can_detect(project):
    project.rollouts([[1.0, 0.0]] * 6)
    project.bench("metrics: [worst_task, pass@1]\nbaseline: true")
    project.rollouts([[1.0]] * 30 + [[0.0]] * 10, "single.jsonl")
    project.write(
        "one.bench.yaml",
        "benchmark: {name: one, rollouts: single.jsonl, metrics: [pass@1], baseline: true}\n",
    )
    plan(project).fnmatch_lines(
        [
            "note: math*: worst_task: it is not a mean over tasks",
            "note: math*: pass@1: 6 tasks: no drop of any size can reach p < 0.01; 7 are needed, or more rollouts of each, `rule: absolute` or `must_pass`",
            "note: one*: pass@1: *one rollout of each task doesn't show*",
        ]
    )


def test_without_any_rollouts_the_spread_is_assumed(project):
    project.bench(
        "num_samples: 4\nmetrics: [pass@1]\nexpect: {tasks: 198}\nbaseline: true"
    )
    mde = quantiles(198) * np.sqrt(2 / 6 / 4 / 198)
    plan(project).fnmatch_lines(
        [f"*pass@1 *198 *4 *{mde:.4f} *an even spread of pass rates"]
    )


def test_the_committed_baseline_comes_first(project):
    project.rollouts([[1.0, 0.0]] * 8)
    project.bench("metrics: [mean_reward]\nbaseline: true")
    assert project.run("--snapshot-update").ret == 0
    (project.path / "runs.jsonl").unlink()
    plan(project).fnmatch_lines(["*mean_reward *8 *2 * baseline"])


def test_the_plan_says_the_max_drop_that_fits_a_small_baseline(project):
    project.bench("metrics: [pass@1]\nbaseline: true")
    project.rollouts([[1.0, 0.0]] * 2 + [[0.0, 0.0]] * 98)
    result = project.run("--evalmetrics-plan")
    result.stdout.fnmatch_lines(["*0.001*"])
