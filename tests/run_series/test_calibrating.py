"""What several recorded runs of an unchanged system show, and what is said of it."""

import json
import re

import numpy as np
import pytest

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.errors import DataError, EvalMetricsError
from pytest_evalmetrics.run_series.calibrating import calibrate

TASKS = 40
STEADY = (0.6, 0.6, 0.6, 0.6)
# the last run is far worse than the others
DROPPED = (0.9, 0.9, 0.9, 0.3)


def rewards_of(levels, spread=0.02):
    """Draw rewards around the level of each run, shape (runs, tasks, rollouts)."""
    rng = np.random.default_rng(1)
    noise = rng.normal(0, spread, (len(levels), TASKS, 2))
    return np.array(levels)[:, None, None] + noise


class Folder:
    """A folder with recorded runs, and a benchmark that names them as its baseline."""

    def __init__(self, path):
        self.path = path

    def record(self, number, rewards, agent="a"):
        rows = [
            {"task": f"t{task}", "try": at, "agent": agent, "reward": float(reward)}
            for task, of_task in enumerate(rewards)
            for at, reward in enumerate(of_task)
        ]
        with (self.path / f"r{number}.jsonl").open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)

    def benchmark(self, runs, keys="  metrics: [mean_reward]\n", gate=""):
        files = ", ".join(f"[r{number}.jsonl]" for number in range(runs))
        file = self.path / "math.bench.yaml"
        file.write_text(
            "benchmark:\n  name: math\n  rollouts: {path: r0.jsonl, "
            "fields: {task: task, sample: try, reward: reward, agent: agent}}\n"
            f"  baseline: {{rollouts: [{files}]{gate}}}\n{keys}",
            encoding="utf-8",
        )
        (benchmark,) = load_benchmarks(file, shown="math.bench.yaml")
        return benchmark

    def calibrated(self, rewards, keys="  metrics: [mean_reward]\n", gate=""):
        """Calibrate runs with these rewards; give lines, settings and charts."""
        for number, run in enumerate(rewards):
            self.record(number, run)
        return calibrate_recorded(self.benchmark(len(rewards), keys, gate))


def calibrate_recorded(benchmark):
    return calibrate(benchmark, count=0, evaluate=None, snapshot=None)


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


# -- which runs are described ----------------------------------------------------------------


def test_one_recorded_run_shows_no_noise(folder):
    with pytest.raises(DataError) as refused:
        folder.calibrated(rewards_of((0.6,)))
    assert refused.value.message == (
        "two runs of the unchanged system are needed, better ten"
    )
    assert refused.value.hint.endswith(
        " or make some now: `evalmetrics calibrate --runs 5`"
    )


def test_an_agent_with_one_run_shows_no_noise(folder):
    one, other = rewards_of((0.6, 0.6))
    folder.record(0, one)
    folder.record(1, other)
    folder.record(1, other, agent="late")
    with pytest.raises(DataError, match="two runs of the unchanged system are needed"):
        calibrate_recorded(folder.benchmark(2))


def test_a_benchmark_whose_baseline_is_not_recorded_yet_shows_no_noise(folder):
    benchmark = folder.benchmark(2, keys="")
    file = folder.path / "math.bench.yaml"
    text = re.sub(r"baseline: .*", "baseline: true", file.read_text(encoding="utf-8"))
    file.write_text(text, encoding="utf-8")
    (benchmark,) = load_benchmarks(file, shown="math.bench.yaml")
    with pytest.raises(DataError, match="two runs of the unchanged system are needed"):
        calibrate_recorded(benchmark)


def test_a_baseline_that_can_not_be_read_is_an_error_where_no_runs_are_made(folder):
    benchmark = folder.benchmark(2)
    with pytest.raises(EvalMetricsError, match=r"r0\.jsonl"):
        calibrate_recorded(benchmark)


def test_agents_are_described_one_by_one(folder):
    for number, run in enumerate(rewards_of(STEADY[:2])):
        folder.record(number, run, agent="fast")
        folder.record(number, run / 2, agent="slow")
    lines, _, charts = calibrate_recorded(folder.benchmark(2))
    assert [line for line in lines if line.startswith("agent ")] == [
        "agent fast",
        "agent slow",
    ]
    assert [chart["agent"] for chart in charts] == ["fast", "slow"]


def test_a_single_agent_is_not_named(folder):
    lines, _, (chart,) = folder.calibrated(rewards_of(STEADY))
    assert not any(line.startswith("agent ") for line in lines)
    assert chart["agent"] == ""


def test_recorded_rollouts_are_not_made_anew(folder):
    """Only what generates or scores its rows can make runs."""
    for number, run in enumerate(rewards_of(STEADY)):
        folder.record(number, run)
    lines, _, _ = calibrate(folder.benchmark(4), count=2, evaluate=None, snapshot=None)
    assert lines[1].endswith(" in 4 runs")


def test_the_runs_are_compared_by_the_tasks_that_they_have_in_common(folder):
    first, second = rewards_of(STEADY[:2])
    folder.record(0, first)
    folder.record(1, second[:30])
    lines, _, _ = calibrate_recorded(folder.benchmark(2))
    assert lines[3].endswith(" and 0 of 2 comparisons of these runs fail")


@pytest.mark.parametrize(("shared", "words"), [(0, "0 tasks"), (1, "1 task")])
def test_runs_that_share_fewer_than_two_tasks_show_no_noise(folder, shared, words):
    first, second = rewards_of(STEADY[:2])
    folder.record(0, first)
    # the others have no reward
    second[shared:] = np.nan
    folder.record(1, second)
    lines, settings, charts = calibrate_recorded(folder.benchmark(2))
    assert lines[1:] == [
        f"mean_reward: two runs have {words} in common: two are needed"
    ]
    assert settings == {}
    assert charts == []


# -- what is said of them --------------------------------------------------------------------


def test_the_mean_and_the_range_of_the_runs_are_said(folder):
    lines, _, _ = folder.calibrated(np.full((3, TASKS, 2), [[[0.5]], [[0.6]], [[0.7]]]))
    assert lines[1] == "mean_reward: 0.6, 0.5 to 0.7 in 3 runs"


def test_no_task_is_flaky_where_all_rollouts_of_a_task_agree(folder):
    lines, _, _ = folder.calibrated(np.ones((2, TASKS, 2)))
    assert lines[0] == (
        "flaky: 0 of 40 tasks have rollouts that pass and rollouts that fail"
    )


def test_a_reward_as_high_as_the_pass_threshold_passes(folder):
    rewards = np.full((2, 3, 2), [0.5, 0.4])
    keys = "  metrics: [mean_reward]\n  pass_threshold: 0.5\n"
    lines, _, _ = folder.calibrated(rewards, keys)
    assert lines[0] == (
        "flaky: 3 of 3 tasks have rollouts that pass and rollouts that fail: t0 (2 of 4), "
        "t1 (2 of 4), t2 (2 of 4)"
    )


def test_runs_that_are_all_alike_have_no_noise(folder):
    lines, _, _ = folder.calibrated(np.full((3, TASKS, 2), 0.5))
    assert lines[2] == (
        "  standard deviations of a run's value: rollouts 0, runs 0; the noise of "
        "rollouts dominates"
    )


def test_runs_at_unlike_levels_have_noise_between_them(folder):
    lines, _, _ = folder.calibrated(rewards_of((0.5, 0.6, 0.5, 0.6)))
    deviations = re.fullmatch(
        r"  standard deviations of a run's value: rollouts ([\d.]+), runs ([\d.]+); "
        "the noise between runs dominates",
        lines[2],
    )
    rollouts, runs = map(float, deviations.groups())
    # of 2 rollouts of each of 40 tasks, whose rewards vary by 0.02
    assert rollouts == pytest.approx(0.02 / np.sqrt(80), rel=0.2)
    # of the values 0.5, 0.6, 0.5, 0.6
    assert runs == pytest.approx(0.058, rel=0.1)


def test_each_run_is_compared_with_three_others_and_with_all(folder):
    lines, _, _ = folder.calibrated(rewards_of(DROPPED))
    alone, others = lines[3:5]
    assert alone.startswith(
        "  false alarms of 'no drop >= 0.01 at p < 0.01 (practical)' against one run: "
    )
    # the last run fails against each of three others
    assert alone.endswith(" expected, and 3 of 12 comparisons of these runs fail")
    assert others.startswith("  against all others: ")
    assert others.endswith(" expected, and 1 of 4 runs fail")


def test_all_runs_show_more_of_the_noise_than_one(folder):
    """A run that is 0.6 below three others is as likely as not against a single one."""
    lines, _, _ = folder.calibrated(rewards_of(DROPPED))
    assert " against one run: 49 % expected, " in lines[3]
    assert "against all others: 5.1 % expected, " in lines[4]


def test_of_six_runs_each_is_compared_with_three_others(folder):
    lines, _, _ = folder.calibrated(rewards_of((0.6,) * 6))
    assert lines[3].endswith(" and 0 of 18 comparisons of these runs fail")


def test_of_two_runs_all_others_are_the_other_one(folder):
    lines, _, _ = folder.calibrated(rewards_of((0.6, 0.5)))
    assert lines[3].endswith(" and 1 of 2 comparisons of these runs fail")
    assert not any("against all others" in line for line in lines)


def test_a_chart_has_the_interval_of_each_run_over_its_tasks(folder):
    rewards = rewards_of(STEADY)
    _, _, (chart,) = folder.calibrated(rewards)
    tasks = rewards.mean(axis=2)
    gaps = [tasks - np.roll(tasks, -step, axis=0) for step in (1, 2, 3)]
    variance = np.mean([gap.var(axis=1, ddof=1) / TASKS for gap in gaps]) / 2
    half = 1.959964 * np.sqrt(variance)
    means = rewards.mean(axis=(1, 2))
    assert chart["values"] == pytest.approx(means)
    assert chart["lows"] == pytest.approx(means - half)
    assert chart["highs"] == pytest.approx(means + half)


def test_a_metric_with_a_threshold_alone_is_described_as_well(folder):
    keys = "  metrics: [mean_reward]\n  thresholds: {pass@1: '>= 0.1'}\n"
    _, _, charts = folder.calibrated(rewards_of(STEADY), keys)
    assert [chart["metric"] for chart in charts] == ["mean_reward", "pass@1"]


def test_the_settings_that_fit_are_those_of_the_file(folder):
    keys = "  metrics: [mean_reward]\n  thresholds: {mean_reward: '>= 0.5'}\n"
    rewards = rewards_of((0.5, 0.51, 0.5, 0.51))
    lines, settings, _ = folder.calibrated(
        rewards, keys, gate=", rule: absolute, max_drop: 0.001"
    )
    (max_drop,) = re.findall(r"  max_drop: ([\d.]+) gives 1 %", "\n".join(lines))
    (bound,) = re.findall(r"  threshold (>= [\d.]+) fails 1 %", "\n".join(lines))
    assert settings == {
        ("baseline", "max_drop"): max_drop,
        ("thresholds", "mean_reward"): f'"{bound}"',
    }


def test_attempts_are_those_of_the_newest_run(folder):
    *older, newest = rewards_of(STEADY, spread=0.3)
    for number, run in enumerate(older):
        folder.record(number, run)
    folder.record(3, np.tile(newest, 2))
    lines, _, _ = calibrate_recorded(folder.benchmark(4))
    assert lines[-1].endswith("; now 4")


@pytest.mark.parametrize("factor", [2.5, 100])
def test_a_reward_that_is_no_rate_has_no_drop_that_is_too_small(folder, factor):
    lines, _, _ = folder.calibrated(factor * rewards_of(STEADY))
    assert "'no drop at p < 0.01 (practical)'" in lines[3]


@pytest.mark.parametrize("reward", [0.0, 1.0])
def test_a_reward_that_is_0_or_1_is_a_rate(folder, reward):
    lines, _, _ = folder.calibrated(np.full((3, TASKS, 2), reward))
    assert lines[1] == f"mean_reward: {reward:g}, {reward:g} to {reward:g} in 3 runs"
    assert "'no drop >= 0.01 at p < 0.01 (practical)'" in lines[3]


def test_less_of_a_low_rate_is_too_small_a_drop(folder):
    lines, _, _ = folder.calibrated(np.full((3, TASKS, 2), 0.05))
    assert "'no drop >= 0.005 at p < 0.01 (practical)'" in lines[3]
