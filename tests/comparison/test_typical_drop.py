"""The drop of most tasks, which extreme rollouts can't hide."""

import math

import numpy as np
import pytest
from comparison.making import compared, make_combined, make_pair, worst_task
from scipy import stats as oracle

from pytest_evalmetrics.comparison import Runs, runs_of
from pytest_evalmetrics.comparison.typical_drop import rank_damage


def typical(before, now, **settings):
    pair = make_pair(before, now, bounded=False)
    return compared(pair, **({"name": "statistical"} | settings)).typical


def single(*values):
    return [[value] for value in values]


# eleven of twelve tasks are slower; one hung before, and hides that in the mean
HUNG = single(*np.linspace(1.0, 2.1, 11), 90.0)
SLOWER = single(*(np.linspace(1.0, 2.1, 11) + np.linspace(0.1, 0.2, 11)), 1.0)


def test_most_tasks_show_what_one_that_hung_before_hides():
    one = typical(HUNG, SLOWER, direction="lower")
    coins = oracle.binom(12, 0.5)
    assert one.p == pytest.approx(coins.sf(11) + coins.pmf(11) / 2)


def test_the_drop_of_most_tasks_is_their_trimmed_mean():
    one = typical(HUNG, SLOWER, direction="lower")
    damage = np.array(SLOWER) - np.array(HUNG)
    assert one.drop == pytest.approx(oracle.trim_mean(damage.ravel(), 0.1))


def test_the_task_that_improved_most_is_named_with_its_values():
    one = typical(HUNG, SLOWER, direction="lower")
    assert one.task == 11
    assert (one.before, one.now) == (90.0, 1.0)


def test_most_tasks_are_tested_at_a_tenth_of_the_level():
    one = typical(HUNG, SLOWER, direction="lower", alpha=0.02, sharing=4)
    assert one.level == pytest.approx(0.1 * 0.02 / 4)


def test_most_tasks_that_got_better_have_a_p_of_1():
    assert typical(SLOWER, HUNG, direction="lower").p == 1


# -- ranks -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "now", "damage"),
    [
        # of six pairs the run is worse in one, and better in four
        ([1.0, 2.0, 3.0], [2.0, 4.0], -0.5),
        ([1.0, 2.0], [0.0, 0.0], 1.0),
        ([1.0], [1.0], 0.0),
        ([5.0, 5.0, 5.0], [5.0], 0.0),
    ],
)
def test_ranks_show_how_often_a_rollout_of_the_run_is_worse(before, now, damage):
    other = [[9.0], [7.0]]
    pair = make_pair([before, other[0]], [now, other[1]], bounded=False)
    assert rank_damage(pair, 1.0).tolist() == [damage, 1.0]
    assert rank_damage(pair, -1.0).tolist() == [-damage, -1.0]


def test_the_rank_of_single_rollouts_is_their_order():
    pair = make_pair(single(3.0, 2.0, 1.0), single(1.0, 2.0, 30.0), bounded=False)
    assert rank_damage(pair, 1.0).tolist() == [1.0, 0.0, -1.0]
    assert rank_damage(pair, -1.0).tolist() == [-1.0, 0.0, 1.0]


def test_many_tasks_are_tested_by_t_of_their_ranks():
    before = single(*np.linspace(1.0, 2.0, 60))
    now = before[:]
    now[:40] = [[value + 0.5] for (value,) in before[:40]]
    now[40:] = [[value - 0.3] for (value,) in before[40:]]
    ranks = [1.0] * 40 + [-1.0] * 20
    expected = oracle.ttest_1samp(ranks, 0, alternative="greater").pvalue
    worse = typical(before, now, direction="lower")
    assert worse.drop > 0
    assert worse.p == pytest.approx(expected)


def test_with_unequal_rollouts_most_tasks_are_no_surer_than_rollouts():
    before = [[1.0, 1.1, 1.2, 1.3]] * 7
    now = [[1.25]] * 7
    one = typical(before, now, direction="lower")
    # the run's rollout ranks fourth of five in each of seven tasks
    sums = np.ones(1)
    for _ in range(7):
        sums = np.convolve(sums, np.full(5, 0.2))
    # from 0 on, 21 in all
    assert one.p == pytest.approx(sums[22:].sum() + sums[21] / 2)


# -- noise between runs ------------------------------------------------------------------


LATENCIES = np.linspace(2.0, 2.4, 12)
LONGER = LATENCIES + np.linspace(0.2, 0.3, 12)


def p_beside(sd, drop, log_p):
    """The p of a drop whose tasks have such a p, with noise between two runs."""
    by_tasks = drop / oracle.norm.isf(math.exp(log_p))
    return oracle.norm.sf(drop / math.hypot(by_tasks, sd * math.sqrt(2)))


def test_stated_noise_is_a_share_of_most_tasks_and_of_each():
    """By an amount or by a factor: what is less sure counts."""
    before = single(*LATENCIES)
    now = single(*LONGER)
    quiet = typical(before, now, direction="lower")
    noisy = typical(before, now, direction="lower", run_noise=0.05)
    log_p = math.log(quiet.p)
    ratios = np.log(LONGER / LATENCIES)
    by_factor = p_beside(0.05, oracle.trim_mean(ratios, 0.1), log_p)
    usual = oracle.trim_mean(LATENCIES, 0.1)
    # on the scale of logarithms: tasks have as many standard errors there
    rise = math.log1p(quiet.drop / usual)
    by_amount = p_beside(0.05, rise, log_p)
    assert noisy.p == pytest.approx(max(by_amount, by_factor), rel=1e-4)


def test_where_more_is_better_the_noise_of_most_tasks_is_of_amounts():
    before = single(*LONGER)
    now = single(*LATENCIES)
    quiet = typical(before, now)
    noisy = typical(before, now, run_noise=0.05)
    log_p = math.log(quiet.p)
    usual = oracle.trim_mean(LONGER, 0.1)
    by_amount = p_beside(0.05 * usual, quiet.drop, log_p)
    ratios = np.log(LONGER / LATENCIES)
    by_factor = p_beside(0.05, oracle.trim_mean(ratios, 0.1), log_p)
    assert noisy.p == pytest.approx(max(by_amount, by_factor), rel=1e-4)


@pytest.mark.parametrize("changed", [0.0, -1.0])
def test_values_that_are_not_positive_differ_by_no_factor(changed):
    before = single(*LONGER[:11], 0.5)
    now = single(*LATENCIES[:11], changed)
    quiet = typical(before, now)
    noisy = typical(before, now, run_noise=0.05)
    usual = oracle.trim_mean([*LONGER[:11], 0.5], 0.1)
    expected = p_beside(0.05 * usual, quiet.drop, math.log(quiet.p))
    assert noisy.p == pytest.approx(expected, rel=1e-4)


def test_runs_that_show_nothing_of_most_tasks_leave_them_unproven():
    runs = Runs((2.2, 2.21, 2.19), pooled=True, more_rollouts=1.0)
    noisy = typical(single(*LATENCIES), single(*LONGER), direction="lower", runs=runs)
    assert noisy.p == 1


# -- where most tasks are not tested -----------------------------------------------------


def test_seven_tasks_are_the_fewest():
    assert typical(HUNG[:6], SLOWER[:6], direction="lower") is None
    assert typical(HUNG[:7], SLOWER[:7], direction="lower") is not None


def test_a_rate_has_no_extreme_rollouts():
    pair = make_pair([[1.0]] * 9, [[0.0]] * 9)
    assert compared(pair, name="statistical").typical is None


def test_a_metric_that_is_no_mean_has_no_drop_of_most_tasks():
    pair = make_combined(np.linspace(1, 2, 9), np.linspace(0, 1, 9), bounded=False)
    assert compared(pair, name="statistical").typical is None


def test_the_worst_task_has_no_drop_of_most_tasks():
    pair = worst_task(SLOWER, HUNG)
    assert compared(pair, name="statistical").typical is None


def test_values_that_are_no_mean_rewards_have_no_drop_of_most_tasks():
    pair = make_pair(HUNG, SLOWER, bounded=False, baseline=np.ones(12))
    assert compared(pair, name="statistical").typical is None


@pytest.mark.parametrize(
    "settings",
    [{"stated": (0.1, 9.0)}, {"shares_error": True}, {"name": "absolute"}],
    ids=["aggregates", "a reference", "a rule without a test"],
)
def test_what_has_no_ranks_or_no_level_has_no_drop_of_most_tasks(settings):
    assert typical(HUNG, SLOWER, direction="lower", **settings) is None


def runs_of_latencies(*factors):
    """Runs of the same tasks, each slower or faster by a factor."""
    now = LONGER[:, None]
    runs = [np.array(LATENCIES)[:, None] * factor for factor in factors]
    pairs = [make_pair(run, now, bounded=False) for run in runs]
    pooled = make_pair(np.mean(runs, axis=0), now, bounded=False)
    return pooled, runs_of(pairs, pooled=True, is_rate=False)


def test_runs_that_scatter_leave_most_tasks_unproven():
    pooled, noise = runs_of_latencies(0.9, 1.0, 1.1)
    alone = compared(pooled, name="statistical", direction="lower").typical
    beside = compared(pooled, name="statistical", direction="lower", runs=noise).typical
    assert alone.p < 0.01
    assert beside.p > 0.1


def test_the_noise_of_most_tasks_that_scatter_by_a_factor_is_of_logarithms():
    """A further run of three that differ by 10 %, predicted by t of two."""
    factors = (0.9, 1.0, 1.1)
    pooled, noise = runs_of_latencies(*factors)
    beside = compared(pooled, name="statistical", direction="lower", runs=noise).typical
    drop = oracle.trim_mean(np.log(LONGER / LATENCIES), 0.1)
    error = np.std(np.log(factors), ddof=1) * np.sqrt(1 + 1 / 3)
    assert beside.p == pytest.approx(oracle.t.sf(drop / error, 2), rel=0.05)


def test_ranks_of_a_few_tasks_hide_none_of_the_others():
    """Of three rollouts each: in 25 tasks a little worse, in five all, in five a little better."""
    worse = [[1.0, 2.0, 3.0]] * 25 + [[1.0, 2.0, 3.0]] * 10
    now = [[1.5, 2.5, 3.5]] * 25 + [[4.0, 5.0, 6.0]] * 5 + [[0.5, 1.5, 2.5]] * 5
    ranks = np.array([1 / 3] * 25 + [1.0] * 5 + [-1 / 3] * 5)
    ends = np.linspace(0.1, 1.0, 901)
    clipped = np.minimum(ranks, ends[:, None])
    t = clipped.mean(axis=1) / clipped.std(axis=1, ddof=1) * np.sqrt(35)
    one = typical(worse, now, direction="lower")
    assert one.p == pytest.approx(oracle.t.sf(t.max(), 34), rel=1e-2)
    assert one.p < 0.9 * oracle.ttest_1samp(ranks, 0, alternative="greater").pvalue
