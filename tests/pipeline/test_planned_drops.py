"""The drops that a plan states, against the formulas of its sources by hand."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import beta
from scipy.stats import t as student
from stages.making import against, benchmark, given, load, write_rows

from pytest_evalmetrics.baselines.document import render, stamped
from pytest_evalmetrics.comparison import RunScatter
from pytest_evalmetrics.evaluate import evaluate
from pytest_evalmetrics.model.blindness import FewUnits
from pytest_evalmetrics.model.results import Power, PowerError, PowerGap, PowerSource
from pytest_evalmetrics.model.rollout_table import pool
from pytest_evalmetrics.pipeline.noise_elsewhere import NoiseElsewhere
from pytest_evalmetrics.pipeline.power import (
    power_of,
    power_of_tables,
    rollouts_for,
)

# the test alone: no noise between runs, no share for single tasks, no drop to ignore
PLAIN = "rule: statistical, run_noise: 0%, single_tasks: false"
# passes of four rollouts, and how many of 100 tasks have so many
PASSES = {0: 20, 1: 20, 2: 10, 3: 20, 4: 30}


def with_passes(passes, rollouts):
    """Make tasks of which so many have so many passes each."""
    tasks = []
    for passed, count in passes.items():
        tasks += [[1.0] * passed + [0.0] * (rollouts - passed)] * count
    return tasks


def planned(folder, rewards, keys=f"baseline: {{{PLAIN}}}", metrics="mean_reward"):
    """Plan the gates of a benchmark of these rewards."""
    (folder / "new.jsonl").unlink(missing_ok=True)
    write_rows(folder, "new.jsonl", rewards)
    asked = benchmark(folder, f"metrics: [{metrics}]\n{keys}")
    _, loaded = load(asked)
    return list(power_of_tables(loaded.benchmark, {"agent": loaded.table}))


def quantiles(tasks, alpha=0.01):
    """Return the standard errors of a drop that is found in four of five runs."""
    return student.ppf(1 - alpha, tasks - 1) + student.ppf(0.8, tasks - 1)


# -- rewards with two values -----------------------------------------------------------------


class Moments(NamedTuple):
    """The mean chance to pass, and the mean of its square, over all tasks."""

    first: float
    second: float

    @classmethod
    def of(cls, passed, rollouts):
        """Take them from each task's posterior under the beta prior fitted to all."""
        mean = np.mean(passed / rollouts)
        pairs = passed * (passed - 1) / (rollouts * (rollouts - 1))
        size = mean * (1 - mean) / (np.mean(pairs) - mean**2) - 1
        a = mean * size + passed
        b = (1 - mean) * size + rollouts - passed
        first = a / (a + b)
        second = first * (a + 1) / (a + b + 1)
        return cls(first.mean(), second.mean())

    def within(self, share, rollouts, before):
        """Return the variance of a task's difference, where a share of passes is lost."""
        left = 1 - share
        unchanged = (self.first - self.second) / before
        return unchanged + (left * self.first - left**2 * self.second) / rollouts

    def between(self, share):
        """Return the variance of what tasks lose."""
        return share**2 * (self.second - self.first**2)

    def detectable(self, tasks, rollouts, before=None):
        def excess(share):
            within = self.within(share, rollouts, before or rollouts)
            se = math.sqrt((within + self.between(share)) / tasks)
            return share * self.first - quantiles(tasks) * se

        return brentq(excess, 0, 1) * self.first

    def needed(self, drop, tasks, rollouts):
        share = drop / self.first
        of_one = self.within(share, rollouts, rollouts) * rollouts
        allowed = tasks * (drop / quantiles(tasks)) ** 2 - self.between(share)
        return of_one / allowed


PASSED = np.repeat(list(PASSES), list(PASSES.values()))
MOMENTS = Moments.of(PASSED, 4)


def test_a_pass_rate_is_planned_by_the_posterior_of_each_tasks_chance(tmp_path):
    (power,) = planned(tmp_path, with_passes(PASSES, 4))
    assert power.mde == pytest.approx(MOMENTS.detectable(100, 4), rel=5e-3)


@pytest.mark.parametrize("max_drop", [0.01, 0.03, 0.05])
def test_so_many_rollouts_are_needed_as_bring_the_error_down_to_max_drop(
    tmp_path, max_drop
):
    keys = f"baseline: {{{PLAIN}, max_drop: {max_drop}}}"
    (power,) = planned(tmp_path, with_passes(PASSES, 4), keys)
    assert power.needed == pytest.approx(
        MOMENTS.needed(max_drop, 100, 4), abs=1, rel=0.01
    )
    assert power.max_drop == max_drop


def test_a_baseline_of_three_runs_errs_by_a_third_of_a_run(tmp_path):
    write_rows(tmp_path, "new.jsonl", with_passes(PASSES, 4))
    asked = benchmark(tmp_path, f"metrics: [mean_reward]\nbaseline: {{{PLAIN}}}")
    _, loaded = load(asked)
    runs = [loaded.table] * 3
    (power,) = power_of_tables(
        loaded.benchmark, {"agent": pool(runs)}, recorded={"agent": runs}
    )
    moments = Moments.of(3 * PASSED, 12)
    assert power.mde == pytest.approx(moments.detectable(100, 4, before=12), rel=5e-3)
    assert power.rollouts == 4


def test_tasks_of_two_and_of_six_rollouts_are_planned_for_four(tmp_path):
    rewards = with_passes({0: 20, 1: 20, 2: 10}, 2) + with_passes({1: 10, 5: 40}, 6)
    (power,) = planned(tmp_path, rewards)
    passed = np.repeat([0, 1, 2, 1, 5], [20, 20, 10, 10, 40])
    rollouts = np.repeat([2, 6], 50)
    assert power.rollouts == 4
    expected = Moments.of(passed, rollouts).detectable(100, 4)
    assert power.mde == pytest.approx(expected, rel=5e-3)


def test_a_rise_where_less_is_better_is_planned_as_the_fall_of_what_is_left(tmp_path):
    rewards = with_passes(PASSES, 4)
    (fall,) = planned(tmp_path, rewards)
    failures = [[1 - reward for reward in task] for task in rewards]
    keys = f"baseline: {{{PLAIN}, direction: lower}}"
    (rise,) = planned(tmp_path, failures, keys)
    assert rise.mde == pytest.approx(fall.mde, rel=1e-9)
    assert rise.needed == fall.needed


def test_rewards_of_two_and_five_are_planned_as_a_rate_of_three_points_a_pass(tmp_path):
    rewards = with_passes(PASSES, 4)
    (of_rate,) = planned(tmp_path, rewards)
    points = [[2 + 3 * reward for reward in task] for task in rewards]
    (of_points,) = planned(tmp_path, points)
    assert of_points.mde == pytest.approx(3 * of_rate.mde, rel=1e-5)


@pytest.mark.parametrize(
    ("metric", "chance_of_both"),
    [
        ("pass@2", lambda p: 1 - (1 - p) ** 2),
        ("pass^2", lambda p: p**2),
    ],
)
def test_of_two_rollouts_that_pass_together_the_chance_of_both_is_planned(
    tmp_path, metric, chance_of_both
):
    rewards = with_passes({0: 30, 1: 20, 2: 50}, 2)
    (power,) = planned(tmp_path, rewards, metrics=metric)
    passed = np.repeat([0, 1, 2], [30, 20, 50])
    mean = passed.mean() / 2
    size = mean * (1 - mean) / (0.5 - mean**2) - 1
    priors = [beta(mean * size + up, (1 - mean) * size + 2 - up) for up in range(3)]
    grid = (np.arange(2000) + 0.5) / 2000
    chances = np.concatenate([prior.ppf(grid) for prior in priors])
    weights = np.repeat([0.3, 0.2, 0.5], 2000) / 2000
    whole = chance_of_both(chances)

    def excess(share):
        left = chance_of_both(chances * (1 - share))
        lost = weights @ (whole - left)
        within = weights @ (whole * (1 - whole) + left * (1 - left))
        between = weights @ (whole - left) ** 2 - lost**2
        return lost - quantiles(100) * math.sqrt((within + between) / 100)

    share = brentq(excess, 0, 1)
    expected = weights @ (whole - chance_of_both(chances * (1 - share)))
    assert power.mde == pytest.approx(expected, rel=1e-2)


def test_of_one_rollout_all_tasks_are_taken_to_be_as_hard(tmp_path):
    (power,) = planned(tmp_path, [[1.0]] * 80 + [[0.0]] * 20)

    def excess(drop):
        left = 0.8 - drop
        variance = 0.8 * 0.2 + left * (1 - left)
        return drop - quantiles(100) * math.sqrt(variance / 100)

    assert power.mde == pytest.approx(brentq(excess, 0, 0.8), rel=5e-3)
    assert power.is_worst
    assert power.rollouts == 1


def test_several_rollouts_are_no_worst_case(tmp_path):
    (power,) = planned(tmp_path, with_passes(PASSES, 4))
    assert not power.is_worst
    assert power.unknown is None


# -- any rewards -----------------------------------------------------------------------------

GRADED = [
    [task % 7 / 10 + step for step in (0.0, 0.1 * (task % 3), 0.3)]
    for task in range(60)
]
WITHIN = np.mean([np.var(task, ddof=1) for task in GRADED])  # of a rollout


def test_graded_rewards_are_planned_by_the_spread_within_tasks(tmp_path):
    keys = f"baseline: {{{PLAIN}, max_drop: 0.02}}"
    (power,) = planned(tmp_path, GRADED, keys)
    se = math.sqrt(2 * WITHIN / 3 / 60)
    assert power.mde == pytest.approx(quantiles(60) * se, rel=1e-2)
    allowed = 60 * (0.02 / quantiles(60)) ** 2
    assert power.needed == pytest.approx(2 * WITHIN / allowed, rel=3e-2)


def test_a_graded_baseline_of_three_runs_errs_by_a_third_of_a_run(tmp_path):
    write_rows(tmp_path, "new.jsonl", GRADED)
    asked = benchmark(tmp_path, f"metrics: [mean_reward]\nbaseline: {{{PLAIN}}}")
    _, loaded = load(asked)
    runs = [loaded.table] * 3
    (power,) = power_of_tables(
        loaded.benchmark, {"agent": pool(runs)}, recorded={"agent": runs}
    )
    # nine rollouts show a spread that is smaller by (8 / 9) / (2 / 3)
    within = WITHIN * (2 / 3) / (8 / 9)
    se = math.sqrt(within * (1 / 9 + 1 / 3) / 60)
    assert power.mde == pytest.approx(quantiles(60) * se, rel=1e-2)


def test_one_graded_rollout_is_planned_by_the_spread_of_all_tasks(tmp_path):
    rewards = [[task[2]] for task in GRADED]
    (power,) = planned(tmp_path, rewards)
    se = math.sqrt(2 * np.var(rewards, ddof=1) / 60)
    assert power.mde == pytest.approx(quantiles(60) * se, rel=1e-6)
    assert power.is_worst


def test_tasks_of_one_rollout_say_nothing_of_the_spread_within_tasks(tmp_path):
    rewards = [task if at % 2 else task[:1] for at, task in enumerate(GRADED)]
    keys = f"num_samples: 2\nbaseline: {{{PLAIN}}}"
    (power,) = planned(tmp_path, rewards, keys)
    within = np.mean([np.var(task, ddof=1) for task in GRADED[1::2]])
    se = math.sqrt(2 * within / 2 / 60)
    assert power.rollouts == 2
    assert power.mde == pytest.approx(quantiles(60) * se, rel=2e-2)


@pytest.mark.parametrize("runs", [1, 3])
def test_amounts_are_planned_as_if_each_task_grew_by_the_same_share(tmp_path, runs):
    seconds = [[5 + task % 11, 6 + task % 11, 10 + task % 11] for task in range(60)]
    write_rows(tmp_path, "new.jsonl", seconds)
    keys = f"metrics: [mean_reward]\nbaseline: {{{PLAIN}, direction: lower}}"
    _, loaded = load(benchmark(tmp_path, keys))
    tables = [loaded.table] * runs
    (power,) = power_of_tables(
        loaded.benchmark, {"agent": pool(tables)}, recorded={"agent": tables}
    )
    values = np.mean(seconds, axis=1)
    mean = values.mean()
    within = np.var(np.tile(seconds[0], runs), ddof=1) / 3
    between = np.var(values, ddof=1) - within / runs
    fail = student.ppf(0.99, 59)
    found = student.ppf(0.8, 59)

    def se(share):
        variance = within / runs + within * (1 + share) ** 2 + between * share**2
        return math.sqrt(variance / 60) / mean

    def excess(share):
        # the error of a logarithm, by the delta method
        seen = fail * se(share) * math.log1p(share) / share
        return math.log1p(share) - seen - found * se(0)

    assert power.mde == pytest.approx(mean * brentq(excess, 1e-6, 1), rel=1e-2)


def test_a_sum_over_rollouts_is_planned_by_drawing_them_anew(tmp_path):
    keys = f"baseline: {{{PLAIN}, direction: higher, max_drop: 3}}"
    (power,) = planned(tmp_path, GRADED, keys, metrics="sum")
    # of two runs of 180 rollouts
    se = math.sqrt(2 * 180 * WITHIN)
    assert power.mde == pytest.approx(quantiles(60) * se, rel=0.1)
    assert power.needed == pytest.approx((power.mde / 3) ** 2 * 3, abs=1)


# -- what can't be stated --------------------------------------------------------------------


def unknown(folder, rewards, keys=f"baseline: {{{PLAIN}}}", metrics="mean_reward"):
    (power,) = planned(folder, rewards, keys, metrics)
    assert math.isnan(power.mde)
    assert power.needed is None
    return power.unknown


def test_the_worst_task_has_no_drop_of_a_mean(tmp_path):
    rewards = with_passes(PASSES, 4)
    assert unknown(tmp_path, rewards, metrics="worst_task") is PowerGap.NO_MEAN


def test_a_median_of_tasks_has_no_drop_of_a_mean(tmp_path):
    assert unknown(tmp_path, GRADED, metrics="median") is PowerGap.NO_MEAN


def test_one_rollout_of_each_task_does_not_show_how_far_a_sum_varies(tmp_path):
    keys = f"baseline: {{{PLAIN}, direction: higher, max_drop: 3}}"
    rewards = [task[:1] for task in GRADED]
    assert unknown(tmp_path, rewards, keys, "sum") is PowerGap.ONE_ROLLOUT


def test_one_run_does_not_show_how_the_tasks_of_a_cluster_vary(tmp_path):
    write_rows(tmp_path, "new.jsonl", GRADED, topic=[f"c{n % 12}" for n in range(60)])
    keys = f"metrics: [mean_reward]\ncluster: topic\nbaseline: {{{PLAIN}}}"
    _, loaded = load(benchmark(tmp_path, keys))
    (power,) = power_of_tables(loaded.benchmark, {"agent": loaded.table})
    assert power.unknown is PowerGap.ONE_RUN


def test_rollouts_of_a_task_that_are_all_alike_may_be_copies(tmp_path):
    rewards = with_passes({0: 10, 4: 50}, 4)
    assert unknown(tmp_path, rewards) is PowerGap.ALL_ALIKE


def test_two_passes_of_forty_tasks_are_too_few_to_lose(tmp_path):
    rewards = [[1.0] * 4] * 2 + [[1.0, 0.0, 0.0, 0.0]] * 38
    (power,) = planned(tmp_path, rewards, metrics="pass^4")
    assert math.isnan(power.mde)
    assert power.unknown is PowerGap.FEW_VARY


def test_rewards_that_never_vary_have_no_spread(tmp_path):
    assert unknown(tmp_path, [[1.0]] * 60) is PowerGap.ALL_ALIKE


@pytest.mark.parametrize(
    ("rewards", "is_shown"),
    [
        # all three passes are gone: 1 / C(6, 3) = 1 / 20 for each task
        ([[1.0, 1.0, 1.0]] * 3, True),
        ([[1.0, 1.0, 1.0]] * 2, False),
        # 1 / C(2, 1) of each: an eighth
        ([[1.0], [1.0], [1.0]], False),
        # two passes of three: C(3, 2) / C(6, 2) = 1 / 5 of each, .008 of all
        ([[1.0, 1.0, 0.0]] * 3, True),
        # one of three is C(3, 1) / C(6, 1) = 1 / 2
        ([[1.0, 1.0, 0.0]] * 2 + [[1.0, 0.0, 0.0]], False),
    ],
)
def test_a_collapse_of_few_tasks_is_shown_by_their_passes(tmp_path, rewards, is_shown):
    (power,) = planned(tmp_path, rewards, f"independent: true\nbaseline: {{{PLAIN}}}")
    if is_shown:
        assert power.unknown is PowerGap.ONLY_COLLAPSE
    else:
        count = len(rewards)
        assert power.unknown == FewUnits(unit="task", units=count, needed=7, alpha=0.01)


# -- rules -----------------------------------------------------------------------------------


def test_a_share_of_the_baseline_is_planned_in_the_unit_of_the_metric(tmp_path):
    keys = (
        "baseline: {run_noise: 0%, single_tasks: false, rule: relative, max_drop: 10%}"
    )
    (power,) = planned(tmp_path, GRADED, keys)
    mean = np.mean([np.mean(task) for task in GRADED])
    assert power.max_drop == pytest.approx(0.1 * mean)


def test_a_rule_that_ignores_a_drop_finds_one_beyond_it(tmp_path):
    keys = "baseline: {run_noise: 0%, single_tasks: false, max_drop: 0.2}"
    (power,) = planned(tmp_path, GRADED, keys)
    se = math.sqrt(2 * WITHIN / 3 / 60)
    # three standard errors of .03 are not .2
    assert power.mde == pytest.approx(0.2 + student.ppf(0.8, 59) * se, rel=1e-2)


def test_slices_take_their_share_of_the_level(tmp_path):
    write_rows(tmp_path, "new.jsonl", GRADED, topic=[f"c{n % 2}" for n in range(60)])
    keys = f"metrics: [mean_reward]\nbreakdown: [topic]\nbaseline: {{{PLAIN}}}"
    _, loaded = load(benchmark(tmp_path, keys))
    (power,) = power_of_tables(loaded.benchmark, {"agent": loaded.table})
    se = math.sqrt(2 * WITHIN / 3 / 60)
    # 12 % of it
    assert power.mde == pytest.approx(quantiles(60, 0.0088) * se, rel=1e-2)


def test_single_tasks_take_a_fifth_of_the_level(tmp_path):
    rewards = [task * 2 for task in GRADED]
    (power,) = planned(
        tmp_path, rewards, "baseline: {rule: statistical, run_noise: 0%}"
    )
    within = np.mean([np.var(task, ddof=1) for task in rewards])
    se = math.sqrt(2 * within / 6 / 60)
    assert power.mde == pytest.approx(quantiles(60, 0.008) * se, rel=1e-2)


def test_a_gate_of_another_agent_takes_half_of_the_level(tmp_path):
    write_rows(tmp_path, "new.jsonl", GRADED, agent="one")
    write_rows(tmp_path, "new.jsonl", GRADED, agent="two")
    asked = benchmark(tmp_path, f"metrics: [mean_reward]\nbaseline: {{{PLAIN}}}")
    _, loaded = load(asked)
    tables = dict(loaded.table.by_agent())
    plans = list(power_of_tables(loaded.benchmark, tables))
    se = math.sqrt(2 * WITHIN / 3 / 60)
    assert [power.agent for power in plans] == ["one", "two"]
    assert plans[0].mde == pytest.approx(quantiles(60, 0.005) * se, rel=1e-2)
    assert plans[1].mde == plans[0].mde


def test_a_rule_without_a_test_takes_none_of_the_level(tmp_path):
    keys = (
        f"baseline: {{{PLAIN}, metrics: {{p50: {{rule: absolute, max_drop: 0.1, "
        "direction: higher}}}"
    )
    shared = planned(tmp_path, GRADED, keys, "mean_reward, p50")
    (alone,) = planned(tmp_path, GRADED)
    assert shared[0].mde == alone.mde


def test_a_metric_that_is_no_mean_takes_its_share_of_the_level(tmp_path):
    keys = f"baseline: {{{PLAIN}, metrics: {{p50: {{direction: higher}}}}}}"
    shared = planned(tmp_path, GRADED, keys, "mean_reward, p50")
    se = math.sqrt(2 * WITHIN / 3 / 60)
    assert shared[0].mde == pytest.approx(quantiles(60, 0.005) * se, rel=1e-2)


def test_a_metric_that_cannot_be_computed_is_planned_with_its_error(tmp_path):
    metrics = "mean_reward, mean/tokens"
    keys = f"metrics: [{metrics}]\nbaseline: {{{PLAIN}, direction: lower}}"
    write_rows(tmp_path, "new.jsonl", GRADED)
    _, loaded = load(
        benchmark(tmp_path, f"metrics: [mean_reward]\nbaseline: {{{PLAIN}}}")
    )
    plans = list(power_of_tables(benchmark(tmp_path, keys), {"agent": loaded.table}))
    assert plans[0].unknown is None
    assert plans[1].metric == "mean/tokens"
    words = (
        "metric 'mean/tokens': no rollout has a score named 'tokens': "
        "scores there are: reward"
    )
    assert plans[1].unknown == PowerError(words)


# -- the rollouts that are planned by --------------------------------------------------------


def test_half_of_the_rollouts_are_enough_for_twice_the_variance():
    assert rollouts_for(8.0, 2.0) == 4
    assert rollouts_for(8.0, 4.0) == 2


@pytest.mark.parametrize(
    ("per_rollout", "allowed", "rollouts"),
    [
        (9.0, 2.0, 5),
        (0.1, 2.0, 1),
        (1024.0, 1.0, 1024),
        (1025.0, 1.0, None),
        (1.0, 0.0, None),
        (1.0, math.nan, None),
        (math.nan, 1.0, None),
        # rounding errors are no rollout
        (0.3, 0.1, 3),
    ],
)
def test_rollouts_that_bring_a_variance_down_are_counted_up_to_1024(
    per_rollout, allowed, rollouts
):
    assert rollouts_for(per_rollout, allowed) == rollouts


def no_snapshot():
    return None


def test_without_a_baseline_the_rollouts_at_hand_are_planned_by(tmp_path):
    write_rows(tmp_path, "new.jsonl", GRADED)
    asked = benchmark(tmp_path, f"metrics: [mean_reward]\nbaseline: {{{PLAIN}}}")
    (power,) = power_of(asked, no_snapshot)
    assert power.source is PowerSource.ROLLOUTS
    assert power.tasks == 60
    assert power.rollouts == 3
    assert power == planned(tmp_path, GRADED)[0].__replace__(source=power.source)


def test_another_run_is_the_baseline_that_is_planned_by(tmp_path):
    write_rows(tmp_path, "old.jsonl", GRADED)
    asked = benchmark(tmp_path, f"metrics: [mean_reward]\n{against(rest=', ' + PLAIN)}")
    (power,) = power_of(asked, no_snapshot)
    assert power.source is PowerSource.BASELINE
    assert power.tasks == 60


def committed(folder, rewards):
    """Record a baseline of some rewards; return what reads it."""
    (folder / "new.jsonl").unlink(missing_ok=True)
    write_rows(folder, "new.jsonl", rewards)
    asked = benchmark(folder, "metrics: [mean_reward]\nbaseline: true")
    document = evaluate(given(asked, updates=True)).baseline
    return lambda: (render(stamped(document)), "math.json")


def test_a_committed_baseline_is_planned_by(tmp_path):
    snapshot = committed(tmp_path, GRADED)
    (tmp_path / "new.jsonl").unlink()
    keys = f"metrics: [mean_reward]\nbaseline: {{{PLAIN}}}"
    (power,) = power_of(benchmark(tmp_path, keys), snapshot)
    se = math.sqrt(2 * WITHIN / 3 / 60)
    assert power.source is PowerSource.BASELINE
    assert power.mde == pytest.approx(quantiles(60) * se, rel=1e-2)


def test_benchmarks_of_a_run_share_the_level_of_a_plan(tmp_path):
    snapshot = committed(tmp_path, GRADED)
    keys = f"metrics: [mean_reward]\nbaseline: {{{PLAIN}}}"
    (power,) = power_of(benchmark(tmp_path, keys), snapshot, benchmarks=5)
    se = math.sqrt(2 * WITHIN / 3 / 60)
    assert power.mde == pytest.approx(quantiles(60, 0.002) * se, rel=1e-2)


def test_noise_of_neighbours_is_planned_with(tmp_path):
    snapshot = committed(tmp_path, GRADED)
    keys = "metrics: [mean_reward]\nbaseline: {rule: statistical, single_tasks: false}"
    asked = benchmark(tmp_path, keys)
    noisy = NoiseElsewhere(neighbours=(RunScatter(df=9, variance=0.04**2, se=0.01),))
    (quiet,) = power_of(asked, snapshot)
    (power,) = power_of(asked, snapshot, elsewhere=noisy)
    assert power.mde > 1.5 * quiet.mde


def test_noise_of_neighbours_costs_more_at_a_lower_level(tmp_path):
    snapshot = committed(tmp_path, GRADED)
    noisy = NoiseElsewhere(neighbours=(RunScatter(df=9, variance=0.04**2, se=0.01),))
    drops = []
    for alpha in ("0.01", "0.0001"):
        rule = f"rule: statistical, single_tasks: false, alpha: {alpha}"
        asked = benchmark(tmp_path, f"metrics: [mean_reward]\nbaseline: {{{rule}}}")
        (power,) = power_of(asked, snapshot, elsewhere=noisy)
        drops.append(power.mde)
    # the noise is .057 of a difference: quantiles of .01 % and of 1 % are 1.4 apart
    assert drops[1] - drops[0] > 1.2 * 0.04 * math.sqrt(2)


def test_two_runs_of_one_rollout_state_the_drop_together(tmp_path):
    then = [task[:1] for task in GRADED]
    now = [task[1:2] for task in GRADED]
    write_rows(tmp_path, "old.jsonl", then)
    write_rows(tmp_path, "new.jsonl", now)
    asked = benchmark(tmp_path, f"metrics: [mean_reward]\n{against(rest=', ' + PLAIN)}")
    (power,) = power_of(asked, no_snapshot)
    se = np.std(np.subtract(then, now), ddof=1) / math.sqrt(60)
    assert power.source is PowerSource.BASELINE_AND_ROLLOUTS
    assert power.mde == pytest.approx(quantiles(60) * se, rel=1e-6)
    assert power.needed is None


def test_the_tasks_of_a_sample_are_planned(tmp_path):
    write_rows(tmp_path, "new.jsonl", GRADED)
    keys = (
        f"metrics: [mean_reward]\nsample: {{tasks: 40, seed: 1}}\nbaseline: {{{PLAIN}}}"
    )
    (power,) = power_of(benchmark(tmp_path, keys), no_snapshot)
    assert power.tasks == 40


# -- nothing at hand -------------------------------------------------------------------------


def assumed(folder, keys, benchmarks=1):
    asked = benchmark(folder, f"metrics: [mean_reward]\nbaseline: {{{PLAIN}}}\n{keys}")
    (power,) = power_of(asked, no_snapshot, benchmarks=benchmarks)
    return power


@pytest.mark.parametrize(("benchmarks", "alpha"), [(1, 0.01), (5, 0.002)])
def test_without_rollouts_pass_rates_are_taken_as_evenly_spread(
    tmp_path, benchmarks, alpha
):
    power = assumed(tmp_path, "num_samples: 4\nexpect: {tasks: 500}", benchmarks)
    # the mean of p (1 - p) is a sixth
    unit = quantiles(500, alpha)
    assert power == Power(
        agent="",
        metric="mean_reward",
        tasks=500,
        rollouts=4,
        mde=pytest.approx(unit * math.sqrt(2 / 6 / 4 / 500)),
        max_drop=0.01,
        needed=math.ceil(2 / 6 / 500 * (unit / 0.01) ** 2),
        source=PowerSource.ASSUMPTION,
    )


def test_without_rollouts_or_a_count_of_samples_there_is_one_of_each_task(tmp_path):
    power = assumed(tmp_path, "expect: {tasks: 500}")
    assert power.rollouts == 1
    assert power.mde == pytest.approx(quantiles(500) * math.sqrt(2 / 6 / 500))


def test_without_rollouts_six_tasks_are_too_few(tmp_path):
    power = assumed(tmp_path, "expect: {tasks: 6}")
    assert power.unknown == FewUnits(unit="task", units=6, needed=7, alpha=0.01)
    assert power.source is PowerSource.NOTHING


def test_without_rollouts_or_a_count_of_tasks_the_error_is_stated(tmp_path):
    power = assumed(tmp_path, "num_samples: 4")
    assert power.metric == ""
    assert power.tasks == 0
    words = f"there is no file 'new.jsonl': {tmp_path} holds: math.bench.yaml"
    assert power.unknown == PowerError(words)
    assert power.source is PowerSource.NOTHING
