"""What a user sees of a comparison with the baseline, run for real."""

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
            "  -> fix the regression; or, if the change is intended, accept it with *",
        ]
    )


def test_an_improvement_is_told_and_passes(recorded):
    recorded.rollouts([[1.0] * 4 if t < 60 else task for t, task in enumerate(BEFORE)])
    result = recorded.run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*better than the baseline: pass@1 went from * to *"])


# -- gates that say when they can't fail, and which way is better -----------------------------


def test_a_drop_that_larger_rewards_can_show_is_judged(recorded):
    recorded.rollouts([[9.0] * 4] * 120)
    recorded.bench("metrics: [mean_reward]\nbaseline: {max_drop: 5}\nexpect: {tasks: 120}")
    assert recorded.run("--snapshot-update").ret == 0
    assert recorded.run().ret == 0
    recorded.rollouts([[1.0] * 4] * 120)
    recorded.run().assert_outcomes(failed=1)


def test_a_hooks_number_of_unknown_direction_is_not_judged(recorded):
    recorded.write(
        "conftest.py",
        "def pytest_evalmetrics_compute_metrics(benchmark, tasks):\n"
        "    return {'turns': 4.0, 'error_share': 0.5}\n",
    )
    keys = "metrics: [pass@1]\nkey_metrics: [turns, error_share]\nexpect: {tasks: 120}\n"
    recorded.bench(keys + "baseline: {rule: exact}")
    assert recorded.run("--snapshot-update").ret == 0
    result = recorded.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            (
                "INCONCLUSIVE  math.bench.yaml:7: nothing says which way is better for turns, "
                "which a hook computes"
            ),
            (
                '  -> write `baseline: {metrics: {"turns": {direction: higher}}}`, or lower where '
                "less is better"
            ),
        ]
    )
    said = "baseline: {rule: exact, metrics: {turns: {direction: lower}}}"
    recorded.bench(keys + said)
    assert recorded.run().ret == 0


def test_a_threshold_at_the_end_of_a_range_is_noted(recorded):
    recorded.bench("metrics: [pass@1]\nthresholds: {pass@1: '>= 0'}\nexpect: {tasks: 120}")
    result = recorded.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["note: *the threshold >= 0 of line 5 can't fail: pass@1 is a rate from 0 to 1"]
    )


# -- a baseline that the same rows could not pass ----------------------------------------------

HOLES = [[1.0, 1.0], [1.0, None], [0.0, 1.0], [1.0, 1.0]] * 10


@pytest.mark.parametrize("verbosity", [(), ("-q",), ("-v",)])
def test_a_baseline_that_the_same_rows_would_not_pass_is_not_recorded_in_silence(
    project, verbosity
):
    rows = [list(task) for task in HOLES]
    for task in rows[6:]:
        task[1] = task[1] or 0.0
    project.rollouts(rows)
    project.bench(
        "metrics: [mean_reward, pass@1]\nbaseline: {rule: exact}\n"
        "expect: {tasks: 40, max_missing: 5%}"
    )
    result = project.run("--snapshot-update", *verbosity)
    assert result.ret == 0
    text = " ".join(result.stdout.str().split())
    said = (
        "the same rows would not pass the baseline that this run records: mean_reward *; without a "
        "number: task 1 sample 1, task 5 sample 1"
    )
    before, _, after = said.partition("*")
    assert before in text
    assert after in text
    summary = (project.path / "evalmetrics/summary.md").read_text("utf-8")
    assert (
        "the same rows would not pass the baseline that this run records: pass@"
        in summary.replace("<span>@</span>", "@")
    )
    assert "missing\\_reward: 0.0" in summary
    # and it says the truth
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["INCONCLUSIVE *missing rewards decide the verdict*"])


def test_a_complete_baseline_is_recorded_without_a_warning(project):
    project.rollouts([[1.0, 0.0]] * 12)
    project.bench("metrics: [mean_reward]\nbaseline: {rule: exact}\nexpect: {tasks: 12}")
    result = project.run("--snapshot-update")
    result.assert_outcomes(passed=1, warnings=0)
    assert "would not pass" not in result.stdout.str()
    assert project.run().ret == 0
