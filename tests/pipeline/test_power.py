"""The plan's numbers against simulation and against the formula by hand."""

import re

import numpy as np
import pytest
from scipy import optimize as scipy_optimize
from scipy import stats as scipy_stats

N = 300


def plan(project):
    return project.run_here("--evalmetrics-plan").stdout


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
            re.search(
                rf"::k{k}, by its rollouts\n.*\n +pass@1 +{N} +{k} +([\d.]+)", table
            )[1]
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
            "<=: one rollout of each task doesn't show how much a task varies*",
            "note: math*: worst_task: it is not a mean over tasks",
            "note: math*: pass@1: 6 tasks: no drop of any size can reach p < 0.01; 7 are needed, or more rollouts of each, `rule: absolute` or `must_pass`",
        ]
    )


def test_a_plan_says_that_too_few_tasks_pass_for_a_drop_to_be_found(project):
    # pass^4 is 2 of 40: the loss of both is within sampling error
    project.rollouts([[1, 1, 1, 1]] * 2 + [[1, 0, 0, 0]] * 38)
    project.bench("metrics: [pass^4]\nbaseline: true\nnum_samples: 4")
    plan(project).fnmatch_lines(
        ["note: math*: pass^4: too few tasks pass, or fail, to say which drop is found"]
    )


def test_rollouts_that_may_be_copies_show_no_drop_that_is_detected(project):
    project.rollouts([[1, 1, 1, 1]] * 56 + [[0, 0, 0, 0]] * 4)
    project.bench("metrics: [pass@1]\nbaseline: true")
    plan(project).fnmatch_lines(
        ["note: math*: pass@1: the rollouts of each task are all alike"]
    )


def test_rollouts_that_are_said_to_be_no_copies_show_a_drop(project):
    project.rollouts([[1, 1, 1, 1]] * 56 + [[0, 0, 0, 0]] * 4)
    project.bench("metrics: [pass@1]\nbaseline: true\nindependent: true")
    assert "all alike" not in plan(project).str()


def test_without_any_rollouts_the_spread_is_assumed(project):
    project.bench(
        "num_samples: 4\nmetrics: [pass@1]\nexpect: {tasks: 198}\nbaseline: true"
    )
    mde = quantiles(198) * np.sqrt(2 / 6 / 4 / 198)
    plan(project).fnmatch_lines(
        [
            "math.bench.yaml::math, if pass rates are spread evenly",
            "*",
            f"  pass@1 *198 *4 *{mde:.2g} *",
        ]
    )


def test_the_committed_baseline_comes_first(project):
    project.rollouts([[1.0, 0.0]] * 8)
    project.bench("metrics: [mean_reward]\nbaseline: true")
    assert project.run_here("--snapshot-update").ret == 0
    (project.path / "runs.jsonl").unlink()
    plan(project).fnmatch_lines(
        ["math.bench.yaml::math, by its baseline", "*", "  mean_reward *8 *2 *"]
    )


def test_of_one_rollout_the_largest_sampling_error_is_stated(project):
    project.rollouts([[1.0]] * 160 + [[0.0]] * 40)
    project.bench("metrics: [pass@1]\nbaseline: true")
    table = plan(project).str()
    (stated,) = re.findall(r"pass@1 +200 +1 +<= ([\d.]+) ", table)
    # as if each task passed with a chance of .8, and with .8 less the drop on the other side
    drop = scipy_optimize.brentq(
        lambda d: d - quantiles(200) * np.sqrt((0.16 + (0.8 - d) * (0.2 + d)) / 200),
        0,
        0.8,
    )
    assert float(stated) == pytest.approx(drop, rel=0.01)


def test_several_rollouts_detect_less_than_one_does_at_worst(project):
    rng = np.random.default_rng(2)
    chance = rng.random(N)
    several = (rng.random((N, 4)) < chance[:, None]).astype(float)
    project.rollouts(several[:, :1].tolist(), "one.jsonl")
    project.rollouts(several.tolist(), "four.jsonl")
    defaults = "defaults: {metrics: [pass@1], baseline: true}\nbenchmarks:\n"
    names = "".join(
        f"  - {{name: {n}, rollouts: {n}.jsonl}}\n" for n in ("one", "four")
    )
    project.write("math.bench.yaml", defaults + names)
    one, four = map(
        float, re.findall(r"pass@1 +300 +\d +[<= ]*([\d.]+)", plan(project).str())
    )
    assert four < one / 2


def test_a_drop_that_is_a_share_is_planned_in_the_unit_of_the_metric(project):
    rows = [
        {"task": f"t{n}", "reward": 1, "tokens": 300 + 10 * (k % 2)}
        for n in range(80)
        for k in range(4)
    ]
    project.rows("runs.jsonl", rows)
    project.write(
        "math.bench.yaml",
        "benchmark:\n  name: math\n  metrics: [mean/tokens]\n"
        "  rollouts: {path: runs.jsonl, fields: {task: task, scores: {tokens: tokens}}}\n"
        "  baseline:\n    metrics:\n"
        "      mean/tokens: {direction: lower, rule: relative, max_drop: 10%}\n",
    )
    plan(project).fnmatch_lines(["  mean/tokens  80 * 4 * 30.5000 * 1"])


def test_the_table_fits_80_columns(project, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    project.rollouts([[1.0, 0.0]] * 8, output_tokens=12)
    project.bench(
        "key_metrics: [pass@1, mean/output_tokens]\nbaseline: true\nmetrics: [pass@1]"
    )
    lines = project.run_here("--evalmetrics-plan", "-qq").stdout.lines
    assert "  pass@1" in "\n".join(lines)
    assert max(map(len, lines)) <= 80


def test_the_plan_says_the_max_drop_that_fits_a_small_baseline(project):
    project.bench("metrics: [pass@1]\nbaseline: true")
    project.rollouts([[1.0, 0.0]] * 2 + [[0.0, 0.0]] * 98)
    result = project.run_here("--evalmetrics-plan")
    result.stdout.fnmatch_lines(["*0.001*"])
