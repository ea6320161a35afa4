"""What a user sees of a comparison with the baseline, run for real."""

import numpy as np
import pytest
from evaluated import evaluated

from pytest_evalmetrics.model.verdicts import Verdict

RNG = np.random.default_rng(5)
CHANCE = RNG.random(120)
BEFORE = (RNG.random((120, 4)) < CHANCE[:, None]).astype(float).tolist()


@pytest.fixture
def recorded(project):
    """A benchmark with a recorded baseline."""
    project.rollouts(BEFORE)
    project.bench(
        "metrics: [pass@1]\nexpect: {tasks: 120}\nnum_samples: 4\nbaseline: true"
    )
    result = evaluated(project, updates=True)
    assert [result.verdict for result in result.results] == [Verdict.PASS]
    assert "would not pass" not in result.text
    return project


def test_a_regression_names_the_metric_the_size_the_confidence_and_the_tasks(recorded):
    recorded.rollouts([[0.0] * 4 if t < 40 else task for t, task in enumerate(BEFORE)])
    result = recorded.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "FAIL  math.bench.yaml:*: pass@1 fell from * to *: a loss of * [[]*[]], p = *",
            "*gate: no drop >= 0.01 at p < 0.01",
            "  *  4/4 -> 0/4",
            "  again:  pytest math.bench.yaml::math",
            '  accept: evalmetrics accept math.bench.yaml::math --reason "..."',
        ]
    )


def test_a_drop_that_larger_rewards_can_show_is_judged(recorded):
    recorded.rollouts([[9.0] * 4] * 120)
    recorded.bench(
        "metrics: [mean_reward]\nbaseline: {max_drop: 5}\nexpect: {tasks: 120}"
    )
    assert evaluated(recorded, updates=True).passed
    assert evaluated(recorded).passed
    recorded.rollouts([[1.0] * 4] * 120)
    assert not evaluated(recorded).passed


def test_a_hooks_number_of_unknown_direction_is_not_judged(recorded):
    recorded.write(
        "conftest.py",
        "def pytest_evalmetrics_compute_metrics(benchmark, tasks):\n"
        "    return {'turns': 4.0, 'error_share': 0.5}\n",
    )
    keys = (
        "metrics: [pass@1]\nkey_metrics: [turns, error_share]\nexpect: {tasks: 120}\n"
    )
    recorded.bench(keys + "baseline: {rule: exact}")
    assert recorded.run("--snapshot-update").ret == 0
    result = recorded.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "INCONCLUSIVE  math.bench.yaml:7: nothing says which way is better for turns, *a hook*",
            '  -> write `baseline: {metrics: {"turns": {direction: higher}}}`, or lower *',
        ]
    )
    both = "{turns: {direction: lower}, error_share: {direction: lower}}"
    recorded.bench(keys + f"baseline: {{rule: exact, metrics: {both}}}")
    assert recorded.run().ret == 0


def test_a_threshold_at_the_end_of_a_range_is_noted(recorded):
    recorded.bench(
        "metrics: [pass@1]\nthresholds: {pass@1: '>= 0'}\nexpect: {tasks: 120}"
    )
    result = evaluated(recorded)
    assert result.passed
    result.says(
        "note: *the threshold >= 0 of line 5 can't fail: pass@1 is a rate from 0 to 1"
    )


def test_a_baseline_that_the_same_rows_would_not_pass_is_not_recorded_in_silence(
    project,
):
    project.rollouts([[1.0, None, None]] * 40)
    project.bench(
        "metrics: [mean_reward, pass@1]\nbaseline: {rule: exact}\n"
        "expect: {tasks: 40, max_missing: 70%}"
    )
    result = project.run("--snapshot-update")
    assert result.ret == 0
    text = " ".join(result.stdout.str().split())
    note = "the same rows would not pass the baseline that this run records: "
    assert f"{note}mean_reward " in text
    assert "; some rollouts of these tasks have no number: 0, 1" in text
    summary = (project.path / "evalmetrics/summary.md").read_text("utf-8")
    assert f"{note}pass@" in summary.replace("<span>@</span>", "@")
    # and the note is true
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["INCONCLUSIVE *66.7 % of the rewards are missing*"])


def test_the_same_rows_pass_their_baseline_where_the_file_allows_what_is_missing(
    project,
):
    project.rollouts([[1.0, 1.0]] * 30 + [[1.0, None]] * 2 + [[0.0, 1.0]] * 8)
    project.bench(
        "metrics: [mean_reward]\nbaseline: {rule: exact}\n"
        "expect: {tasks: 40, max_missing: 5%}"
    )
    assert evaluated(project, updates=True).passed
    assert evaluated(project).passed


def test_a_run_may_share_its_level(project):
    names = [f"b{i}" for i in range(8)]
    for name in names:
        project.rollouts([[1.0]] * 120, f"{name}.jsonl")
    benchmarks = "".join(
        f"  - {{name: {name}, rollouts: {name}.jsonl}}\n" for name in names
    )
    defaults = "defaults: {metrics: [pass@1], baseline: true}\n"
    project.write("many.bench.yaml", f"{defaults}benchmarks:\n{benchmarks}")
    assert project.run("--snapshot-update").ret == 0
    project.rollouts([[0.0]] * 8 + [[1.0]] * 112, "b0.jsonl")  # p = 0.5 ** 9
    alone = project.run()
    alone.assert_outcomes(failed=1, passed=7)
    alone.stdout.fnmatch_lines(
        [
            "note: false alarms where nothing changed: at most 1 in 12 runs (8 benchmarks are tested)"
        ]
    )
    assert (
        "8 benchmarks are tested"
        in (project.path / "evalmetrics/summary.md").read_text()
    )
    project.write("pytest.ini", "[pytest]\nevalmetrics_family = run\n")
    for workers in ((), ("-n", "1")):
        together = project.run(*workers)
        together.assert_outcomes(passed=8, warnings=1)
        together.stdout.fnmatch_lines(["*but one of 8 benchmarks may be by chance*"])
        assert project.report()["benchmarks"][0]["verdict"] == "WARN"


def test_a_plan_of_single_rollouts_states_the_most_until_there_is_a_second_run(project):
    project.rollouts([[float(task % 3 > 0)] for task in range(90)])
    project.bench("metrics: [pass@1]\nbaseline: true")
    assert evaluated(project, updates=True).passed
    result = project.run("--evalmetrics-plan")
    result.stdout.fnmatch_lines(["*one rollout of each task doesn't show*"])
    project.rollouts([[float((task + task // 30) % 3 > 0)] for task in range(90)])
    result = project.run("--evalmetrics-plan")
    result.stdout.fnmatch_lines(
        ["*math, by its baseline and rollouts", "*", "*pass@1*90*1*0.*"]
    )
