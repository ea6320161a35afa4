"""What a comparison adds to a test: improvements, noise between runs, unseen flips."""

import math

import numpy as np
import pytest
from comparison.making import compared, flips, make_combined, make_pair, rule, run
from scipy import stats as oracle

from pytest_evalmetrics.comparison import Runs
from pytest_evalmetrics.model.comparison import Coins, NoiseSource


@pytest.mark.parametrize(
    "pair",
    [
        flips(0, 40, 160),  # 40 of 200 better
        flips(0, 5, 100),  # exactly: 1 / 2^6 in the tail
        make_pair([[0.5]] * 9, [[0.75]] * 9),
        make_pair([[0.5]] * 30, [[0.75]] * 30),  # by t, without an error
    ],
)
def test_an_improvement_beyond_noise(pair):
    assert compared(pair).improved


@pytest.mark.parametrize(
    "pair",
    [
        flips(0, 4, 100),  # 1 / 2^5
        flips(20, 20, 160),
        make_pair([[0.5], [0.5]], [[0.75], [0.75]]),
        flips(40, 0, 160),
    ],
)
def test_no_improvement_beyond_noise(pair):
    assert not compared(pair).improved


def test_a_rise_is_no_improvement_where_lower_is_better():
    pair = run(3, 200, 4, loss=0.1)
    assert not compared(pair).improved
    assert compared(pair, direction="lower").improved


@pytest.mark.parametrize("tasks", [7, 200])
def test_where_no_task_differs_a_share_may_go_unseen(tasks):
    alike = make_pair([[1.0, 0.0]] * tasks, [[1.0, 0.0]] * tasks)
    assert compared(alike).unseen == pytest.approx(1 - 0.01 ** (1 / tasks))


def test_where_no_task_differs_there_is_no_interval_of_no_width():
    comparison = compared(make_pair([[1.0, 0.0]] * 9, [[1.0, 0.0]] * 9))
    assert comparison.test.p == 1
    assert math.isnan(comparison.test.low)
    assert math.isnan(comparison.test.high)
    assert math.isnan(comparison.detectable)


def test_where_a_task_differs_none_is_unseen():
    assert compared(flips(1, 0, 199)).unseen is None


def test_tasks_that_get_worse_and_better_are_counted():
    comparison = compared(flips(3, 2, 10))
    assert comparison.worse == 3
    assert comparison.better == 2


def test_runs_that_scatter_make_p_larger_and_the_interval_wider():
    pair = flips(30, 5, 165)
    runs = Runs((0.80, 0.86, 0.90, 0.84), pooled=True, more_rollouts=1.0, is_rate=True)
    quiet = compared(pair)
    noisy = compared(pair, runs=runs)
    assert noisy.runs == 4
    assert noisy.run_sd > 0
    assert noisy.test.p > quiet.test.p
    assert noisy.test.low < quiet.test.low < quiet.test.high < noisy.test.high


def test_a_declared_noise_between_runs_is_in_both_parts_of_the_detectable_drop():
    # the error of a drop from one run to the next, over tasks and between runs
    quiet = compared(flips(30, 5, 165))
    noisy = compared(flips(30, 5, 165), run_noise=0.05, is_rate=True)
    between = math.sqrt(2) * 0.05
    quantiles = oracle.norm.isf(0.01) + oracle.norm.isf(0.2)
    assert noisy.detectable > quantiles * between
    assert noisy.detectable < quiet.detectable + quantiles * between


def test_a_single_run_says_nothing_of_noise_between_runs():
    comparison = compared(flips(30, 5, 165))
    assert comparison.runs == 1
    assert math.isnan(comparison.run_sd)


def test_no_rate_falls_by_more_than_one():
    comparison = compared(make_combined([0.0, 1.0] * 4, [1.0, 0.0] * 4))
    assert math.isnan(comparison.detectable) or comparison.detectable <= 1


def test_a_swap_test_is_seeded_by_the_tasks():
    before = np.random.default_rng(0).random(9)
    comparison = compared(make_combined(before, before - 0.1))
    assert comparison.seed > 0
    assert comparison.seed == compared(make_combined(before, before - 0.1)).seed


def test_a_test_without_draws_has_no_seed():
    assert compared(flips(9, 1, 100)).seed == 0


def test_the_worst_task_names_those_that_are_worse_by_their_rollouts():
    pair = make_pair(
        [[1.0] * 8] * 50,
        [[1.0] * 8] * 49 + [[0.0] * 8],
        extreme="lowest",
        value_baseline=1.0,
        value_current=0.0,
    )
    # each of 50 tasks could have been as significant as 1 / C(16, 8); 49 are constant
    assert compared(pair).proven == (49,)
    assert compared(pair).test.p == pytest.approx(1 / math.comb(16, 8), rel=1e-9)


def test_the_probability_of_t_is_that_of_scipy():
    pair = run(1, 200, 4, loss=0.1)
    differences = pair.baseline - pair.current
    expected = oracle.ttest_1samp(differences, 0, alternative="greater").pvalue
    assert compared(pair).test.p == pytest.approx(expected, rel=1e-9)


def test_stated_noise_beside_several_runs_is_that_of_their_mean():
    pair = flips(30, 5, 165)
    runs = Runs((0.97, 0.98, 0.98, 0.99), pooled=True, more_rollouts=1.0, is_rate=True)
    quiet = compared(pair)
    by_tasks = quiet.drop / oracle.norm.isf(quiet.test.p)
    noisy = compared(pair, runs=runs, run_noise=0.02, is_rate=True)
    error = math.hypot(by_tasks, 0.02 * math.sqrt(1 + 1 / 4))
    assert noisy.test.p == pytest.approx(oracle.norm.sf(noisy.drop / error), rel=1e-5)
    assert noisy.run_sd == 0.02
    assert noisy.runs == 4


@pytest.mark.parametrize(
    ("before", "most", "room"),
    [([[1.0], [0.5]], True, 2), ([[1.0], [0.4]], False, 2), ([[1.0], [0.0]], False, 1)],
)
def test_what_the_tasks_had_to_lose_is_kept(before, most, room):
    comparison = compared(make_pair(before, [[0.0], [0.0]]))
    assert comparison.had_most_to_lose is most
    assert comparison.tasks_with_room == room


def test_tasks_that_may_be_coins_are_kept_where_all_is_lost():
    lost = compared(make_pair([[1.0], [1.0], [0.0]], [[0.0]] * 3))
    assert lost.coins == Coins(count=3, up=2)
    kept = compared(make_pair([[1.0], [1.0], [0.0]], [[1.0], [0.0], [0.0]]))
    assert kept.coins is None


def test_the_p_of_tasks_is_kept_beside_that_of_runs():
    pair = flips(30, 5, 165)
    noisy = compared(pair, run_noise=0.02, is_rate=True)
    assert noisy.p_tasks == compared(pair).test.p < noisy.test.p


@pytest.mark.parametrize(
    ("settings", "source"),
    [
        ({}, NoiseSource.UNKNOWN),
        ({"run_noise": 0.02, "is_rate": True}, NoiseSource.DECLARED),
        ({"runs": Runs((0.9, 0.91), True, 1.0, se=0.01)}, NoiseSource.BASELINE),
    ],
)
def test_what_shows_the_noise_between_runs_is_kept(settings, source):
    assert compared(flips(30, 5, 165), **settings).noise_source is source


def test_what_tasks_are_worth_is_kept():
    pair = make_pair([[3.0], [7.0]], [[9.0], [4.0]], bounded=False)
    comparison = compared(pair)
    assert comparison.pair == pair
    assert comparison.rule == rule()
    assert comparison.damage.tolist() == [-6.0, 3.0]
    assert (comparison.units, comparison.span) == (2, 6.0)


def test_all_tasks_of_a_rate_that_moved_alike_may_be_unlike_the_rest():
    # stated aggregates have no tasks that could
    assert compared(flips(9, 0, 0)).unseen == pytest.approx(1 - 0.01 ** (1 / 9))
    assert compared(flips(9, 0, 0), stated=(0.0, 9.0)).unseen is None


def test_a_drop_beyond_the_range_of_a_rate_is_none_that_can_be_detected():
    few = make_pair([[0.0], [1.0]] * 4, [[1.0], [0.0]] * 4)
    assert math.isnan(compared(few).detectable)


@pytest.mark.parametrize(("se", "improved"), [(0.05, True), (0.06, False)])
def test_an_improvement_of_aggregates_is_one_beyond_their_interval(se, improved):
    # 1.96 * .05 is below .1
    assert compared(flips(0, 10, 90), stated=(se, 1e9)).improved is improved
