"""The plan of a gate before its next run."""

import math

import numpy as np
import pytest
from stages.making import benchmark, load, write_rows

from pytest_evalmetrics.model.blindness import FewUnits
from pytest_evalmetrics.model.results import PowerGap
from pytest_evalmetrics.model.rollout_table import pool
from pytest_evalmetrics.pipeline.power import power_of_tables


def tables_of(folder, keys, runs):
    """Read runs of 200 tasks, so many rollouts of each."""
    rng = np.random.default_rng(1)
    chance = rng.beta(0.4, 0.4, (200, 1))
    tables = []
    for rollouts in runs:
        rewards = (rng.random((200, rollouts)) < chance).astype(float)
        (folder / "new.jsonl").unlink(missing_ok=True)
        write_rows(folder, "new.jsonl", rewards.tolist())
        _, loaded = load(benchmark(folder, f"metrics: [mean_reward]\n{keys}"))
        tables.append(loaded.table)
    return loaded.benchmark, tables


def planned(asked, tables):
    (power,) = power_of_tables(
        asked, {"agent": pool(tables)}, recorded={"agent": tables}
    )
    return power


def test_the_next_run_has_as_many_rollouts_as_the_newest(tmp_path):
    asked, tables = tables_of(tmp_path, "baseline: {run_noise: 0%}", [4, 4, 4])
    assert planned(asked, tables).rollouts == 4


def test_a_baseline_of_more_rollouts_plans_a_smaller_drop_but_not_that_of_two_such_runs(
    tmp_path,
):
    asked, tables = tables_of(tmp_path, "baseline: {run_noise: 0%}", [4, 4, 4])
    one = planned(asked, tables[:1]).mde
    three = planned(asked, tables).mde
    # variances of 1/4 + 1/4, and of 1/12 + 1/4
    assert three / one == pytest.approx(np.sqrt((1 / 12 + 1 / 4) / (1 / 2)), abs=0.08)


def test_noise_between_the_runs_of_a_baseline_is_planned_with(tmp_path):
    asked, tables = tables_of(tmp_path, "baseline: {run_noise: 0%}", [4, 4])
    quiet = planned(asked, tables).mde
    asked, tables = tables_of(tmp_path, "baseline: {run_noise: 2%}", [4, 4])
    assert planned(asked, tables).mde > 1.3 * quiet


def test_single_tasks_take_their_share_of_the_level_from_six_rollouts_on(tmp_path):
    asked, tables = tables_of(tmp_path, "baseline: true", [6])
    whole = "baseline: {single_tasks: false}"
    alone, _ = tables_of(tmp_path, whole, [6])
    assert planned(asked, tables).mde > planned(alone, tables).mde


def test_five_rollouts_leave_the_mean_its_whole_level(tmp_path):
    asked, tables = tables_of(tmp_path, "baseline: true", [5])
    alone, _ = tables_of(tmp_path, "baseline: {single_tasks: false}", [5])
    assert planned(asked, tables).mde == planned(alone, tables).mde


def test_a_plan_of_many_rollouts_is_no_drop_below_max_drop(tmp_path):
    asked, tables = tables_of(tmp_path, "baseline: {max_drop: 0.2}", [16])
    assert planned(asked, tables).mde > 0.2


def test_a_level_that_twenty_benchmarks_share_plans_a_larger_drop(tmp_path):
    asked, tables = tables_of(tmp_path, "baseline: true", [4])
    (alone,) = power_of_tables(asked, {"agent": tables[0]})
    (shared,) = power_of_tables(asked, {"agent": tables[0]}, benchmarks=20)
    # quantiles of .01 and of .01 / 20, each with that of four of five
    ratio = (3.29 + 0.84) / (2.33 + 0.84)
    assert shared.mde / alone.mde == pytest.approx(ratio, abs=0.06)


def test_two_numbers_share_the_level_and_names_of_one_do_not(tmp_path):
    rows = (np.random.default_rng(2).random((50, 4)) < 0.6).astype(float).tolist()
    write_rows(tmp_path, "new.jsonl", rows)
    drops = {}
    for metrics in ("mean_reward", "mean_reward, pass@1", "mean_reward, pass@4"):
        keys = f"metrics: [{metrics}]\nbaseline: true"
        _, loaded = load(benchmark(tmp_path, keys))
        first = next(power_of_tables(loaded.benchmark, {"agent": loaded.table}))
        drops[metrics] = first.mde
    assert drops["mean_reward, pass@1"] == drops["mean_reward"]
    assert drops["mean_reward, pass@4"] > drops["mean_reward"]


def test_several_rollouts_of_the_baseline_let_single_tasks_prove_something(tmp_path):
    """Of four rollouts against twelve, single tasks can: the mean keeps the rest."""
    asked, tables = tables_of(tmp_path, "baseline: {run_noise: 0%}", [4, 4, 4])
    without, _ = tables_of(
        tmp_path, "baseline: {run_noise: 0%, single_tasks: false}", [4]
    )
    assert planned(asked, tables).mde > planned(without, tables).mde


def planned_few(folder, metric):
    """Plan three tasks, of whose three rollouts most pass."""
    write_rows(folder, "new.jsonl", [[1, 1, 1], [1, 1, 1], [0, 1, 1]])
    asked = benchmark(folder, f"metrics: [{metric}]\nbaseline: true")
    _, loaded = load(asked)
    (power,) = power_of_tables(loaded.benchmark, {"agent": loaded.table})
    return power.unknown


def test_a_few_tasks_whose_rollouts_prove_a_collapse_are_planned_as_such(tmp_path):
    assert planned_few(tmp_path, "mean_reward") is PowerGap.ONLY_COLLAPSE


def test_a_metric_that_three_tasks_never_fail_is_planned_to_need_seven(tmp_path):
    unknown = planned_few(tmp_path, "pass@3")
    assert unknown == FewUnits(unit="task", units=3, needed=7, alpha=0.01)


def test_a_plan_of_latencies_is_of_the_factor_that_runs_differ_by(tmp_path):
    """All tasks take 2 s, with so little error that noise between runs decides."""
    seconds = [[2.0 + 0.001 * (task % 3), 2.0] for task in range(200)]
    write_rows(tmp_path, "new.jsonl", seconds)
    keys = "baseline: {run_noise: 30%, direction: lower, single_tasks: false}"
    _, loaded = load(benchmark(tmp_path, f"metrics: [mean_reward]\n{keys}"))
    stated = planned(loaded.benchmark, [loaded.table]).mde
    # quantiles of 1 % and of 20 %, of a difference of two runs
    distance = (2.326348 + 0.841621) * 0.3 * math.sqrt(2)
    assert stated == pytest.approx(2.0 * math.expm1(distance), rel=1e-2)
