"""``reference:``: differences of differences tell a drift from a regression."""

import json

import numpy as np
import pytest
from evaluated import evaluated
from scipy.stats import ttest_rel

from pytest_evalmetrics.errors import ConfigError

FILE = """
benchmark:
  name: judged
  rollouts: runs.jsonl
  reference: {rollouts: pinned.jsonl}
  expect: {tasks: 80}
  metrics: [mean_reward, mean_reward/over_reference]
  baseline: {rule: statistical}
"""
TASKS, K = 80, 4


def measure(project, seed, *, drift=0.0, drop=0.0):
    """Write a run and its reference, both shifted by `drift`; return their difference by task."""
    draw = np.random.default_rng(seed)
    level = np.linspace(0.3, 0.9, TASKS)[:, None]
    shift = drift * np.linspace(0.5, 1.5, TASKS)[:, None]  # another on each task
    run = level - shift - drop + draw.normal(0, 0.05, (TASKS, K))
    pinned = level - 0.1 - shift + draw.normal(0, 0.05, (TASKS, K))
    for name, rewards in (("runs.jsonl", run), ("pinned.jsonl", pinned)):
        project.rollouts(rewards.round(6).tolist(), name)
    return run.round(6).mean(1) - pinned.round(6).mean(1)


@pytest.fixture
def recorded(project):
    """A project with a recorded run and reference; give what was recorded by task, too."""
    project.write("judged.bench.yaml", FILE)
    then = measure(project, 1)
    assert evaluated(project, updates=True).passed
    return project, then


def test_a_baseline_keeps_the_reference_and_what_is_over_it(recorded):
    project, _ = recorded
    kept = json.loads(project.baseline("judged.bench/judged.json").read_text())
    metrics = kept["agents"]["agent"]["key_metrics"]
    assert {"mean_reward/over_reference", "mean/reference"} <= metrics.keys()


def test_a_drift_of_both_is_no_regression_over_the_reference(recorded):
    project, then = recorded
    now = measure(project, 2, drift=0.1)
    result = evaluated(project)
    checks = project.checks()
    assert checks["mean_reward"]["verdict"] == "FAIL"
    assert checks["mean_reward/over_reference"]["verdict"] == "PASS"
    facts = checks["mean_reward/over_reference"]["comparison"]
    assert facts["drop"] == pytest.approx(then.mean() - now.mean(), abs=1e-9)
    p = ttest_rel(then, now, alternative="greater").pvalue
    assert facts["p"] == pytest.approx(p, abs=1e-6)
    result.says("*the mean reward of the reference was 0.50*, and is 0.39*")


def test_a_drift_that_hides_a_regression_is_seen_over_the_reference(recorded):
    project, _ = recorded
    measure(project, 3, drift=-0.1, drop=0.06)
    evaluated(project)
    checks = project.checks()
    assert checks["mean_reward"]["verdict"] == "PASS"
    assert checks["mean_reward/over_reference"]["verdict"] == "FAIL"


def test_a_reference_must_have_the_tasks_of_the_run_and_be_used(project):
    project.write("judged.bench.yaml", FILE)
    measure(project, 1)
    project.rollouts([[0.5]] * 78, "pinned.jsonl")
    evaluated(project).says(
        "*judged.bench.yaml:5: 2 of 80 tasks have no reward of the reference: 78, 79"
    )
    project.write("judged.bench.yaml", FILE.replace(", mean_reward/over_reference", ""))
    missing = ":5: benchmark.reference: no metric is of it: list one of over"
    with pytest.raises(ConfigError, match=missing):
        evaluated(project)
