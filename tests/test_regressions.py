"""What a user sees of a comparison with the baseline, run for real."""

from __future__ import annotations

import numpy as np
import pytest

RNG = np.random.default_rng(5)
CHANCE = RNG.random(120)
BEFORE = (RNG.random((120, 4)) < CHANCE[:, None]).astype(float).tolist()


@pytest.fixture
def recorded(project):
    """A benchmark with a recorded baseline."""
    project.rollouts(BEFORE)
    project.bench("metrics: [pass@1]\nexpect: {tasks: 120}\nnum_samples: 4\nbaseline: true")
    assert project.run("--snapshot-update").ret == 0
    return project


def _worse(rewards, tasks):
    return [[0.0] * 4 if t < tasks else task for t, task in enumerate(rewards)]


def test_a_regression_says_which_metric_by_how_much_how_sure_and_which_tasks(recorded):
    recorded.rollouts(_worse(BEFORE, 40))
    result = recorded.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "verdict * metric * baseline * now * change * 95% interval * p * worse * better *",
            "FAIL * pass@1 * no drop >= 0.01 at p < 0.01 (practical)",
            "FAIL  math.bench.yaml:*: pass@1 fell from * to *: a loss of * [[]*[]], p = *",
            "    worse: task * (1 1 1 1 -> 0 0 0 0)*",
            "    paired t over 120 tasks, 480 rollouts before and 480 now",
            "    80 % power to see a loss of * or more",
            "  -> mend it; or, where the change is intended, accept it with --snapshot-update",
        ]
    )


def test_the_same_run_again_is_green_and_an_update_writes_the_same_bytes(recorded):
    (path,) = recorded.path.glob("__baselines__/*/*.json")
    before = path.read_bytes()
    recorded.run().assert_outcomes(passed=1)
    recorded.run("--snapshot-update").assert_outcomes(passed=1)
    assert path.read_bytes() == before


def test_an_improvement_is_told_and_passes(recorded):
    recorded.rollouts([[1.0] * 4 if t < 60 else task for t, task in enumerate(BEFORE)])
    result = recorded.run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*better than the baseline: pass@1 went from * to *"])


def test_a_likely_loss_warns_in_the_warnings_summary(project):
    # six of 40 tasks fall by a quarter: sign flip, mid-p = 2^-7 = 0.0078 < 0.05, above alpha
    before = [[1.0, 1.0, 1.0, 1.0]] * 40
    project.rollouts(before)
    project.bench(
        "metrics: [mean_reward]\nnum_samples: 4\nexpect: {tasks: 40}\nbaseline: {alpha: 0.001}"
    )
    project.run("--snapshot-update")
    project.rollouts([[1.0, 1.0, 1.0, 0.0] if t < 6 else task for t, task in enumerate(before)])
    result = project.run()
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*RegressionWarning: math: mean_reward fell from 1 to 0.9625*"])
    check = project.checks()["mean_reward"]
    assert check["verdict"] == "WARN"
    assert check["evidence"]["p"] == pytest.approx(2**-7)


def test_the_plan_evaluates_nothing(recorded):
    (recorded.path / "evalmetrics" / "report.json").unlink()
    result = recorded.run("--evalmetrics-plan")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["*what the gates can see*", "math.bench.yaml::math * pass@1 * 120 * 4 *baseline"]
    )
    assert not (recorded.path / "evalmetrics" / "report.json").exists()
    assert recorded.run("--evalmetrics-plan", "-n", "2").ret == pytest.ExitCode.USAGE_ERROR


def test_inconclusive_is_told_apart_in_text_junit_and_report(recorded):
    recorded.rollouts(BEFORE[:60])
    recorded.bench("metrics: [pass@1]\nexpect: {tasks: 60}\nnum_samples: 4\nbaseline: true")
    result = recorded.run("--junitxml=junit.xml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["INCONCLUSIVE  math.bench.yaml:*: pass@1 can't be compared: *"])
    assert recorded.checks()["pass@1"]["verdict"] == "INCONCLUSIVE"
    assert "INCONCLUSIVE: pass@1 can't be compared" in (recorded.path / "junit.xml").read_text()
