"""The smallest drop that a gate sees with 80 % power."""

import math

import numpy as np
import pytest
from comparison.making import (
    compared,
    flips,
    make_combined,
    make_pair,
    rule,
    run,
    worst_task,
)
from scipy import optimize
from scipy import stats as oracle

from pytest_evalmetrics.comparison import (
    ComparisonInput,
    Needed,
    compare_metric,
    needed_drop,
)


def test_that_of_continuous_rewards_is_that_of_a_t_test():
    before, after = np.random.default_rng(1).normal(0, 1, (2, 30, 1))
    pair = make_pair(before.tolist(), after.tolist(), bounded=False)
    se = np.std(pair.baseline - pair.current, ddof=1) / np.sqrt(30)
    factor = oracle.t.ppf(0.99, 29) + oracle.t.ppf(0.8, 29)  # Miller 2024, section 5
    assert compared(pair).detectable == pytest.approx(factor * se, rel=1e-6)


def test_that_of_passes_is_where_a_loss_equals_its_own_error():
    pair = flips(20, 20, 160)
    factor = oracle.t.ppf(0.99, 199) + oracle.t.ppf(0.8, 199)

    def excess(share):
        """The drop where each pass is lost with such a chance, less its error."""
        after = pair.current * (1 - share)
        spread = np.mean(pair.current * share * (1 - share))
        variance = np.var(pair.baseline - after, ddof=1) + spread
        return np.mean(pair.current - after) - factor * np.sqrt(variance / 200)

    share = optimize.brentq(excess, 0, 1)
    expected = share * np.mean(pair.current)
    assert compared(pair).detectable == pytest.approx(expected, rel=1e-5)


def test_a_sum_of_amounts_changes_in_proportion_with_its_error():
    before, after = np.random.default_rng(1).lognormal(3, 1, (2, 200, 1))
    pair = make_pair(before.tolist(), after.tolist(), bounded=False)
    base = np.mean(pair.baseline)

    def error(share):
        after = pair.current * (1 + share)
        return np.std(after - pair.baseline, ddof=1) / np.sqrt(200)

    def excess(share):
        """The rise by such a share on the scale of logarithms, less its errors."""
        drop = share * np.mean(pair.current)
        distance = np.log1p(drop / base)
        proven = oracle.t.ppf(0.99, 199) * error(share) * distance / drop
        margin = oracle.t.ppf(0.8, 199) * error(0) / base
        return distance - proven - margin

    expected = optimize.brentq(excess, 1e-6, 5) * np.mean(pair.current)
    # with noise between runs the mean alone decides, here with next to none
    comparison = compared(pair, direction="lower", run_noise=1e-9)
    assert comparison.detectable == pytest.approx(expected, rel=1e-4)


def test_a_drop_that_most_tasks_show_is_detected_though_the_mean_needs_more():
    before, after = np.random.default_rng(1).lognormal(3, 1, (2, 200, 1))
    size = np.random.default_rng(2).lognormal(0, 1, (200, 1))
    before = size * np.exp(0.1 * np.log(before))
    after = size * np.exp(0.1 * np.log(after))
    after[0] *= 3
    pair = make_pair(before.tolist(), after.tolist(), bounded=False)
    by_mean = compared(pair, direction="lower", run_noise=1e-9)
    by_either = compared(pair, direction="lower")
    assert 0 < by_either.detectable < by_mean.detectable


def test_a_drop_has_to_exceed_max_drop_in_four_of_five_runs():
    pair = run(1, 20_000, 4)
    one = compared(pair, max_drop=0.0)
    other = compared(pair, max_drop=0.05)
    assert one.detectable < 0.01
    se = one.test.se
    expected = 0.05 + oracle.norm.ppf(0.8) * se
    assert other.detectable == pytest.approx(expected, rel=0.01)


def test_more_tasks_see_smaller_drops():
    few = compared(run(1, 100, 4)).detectable
    many = compared(run(1, 1_000, 4)).detectable
    assert many < few / 2


def test_more_rollouts_see_smaller_drops():
    one = compared(run(1, 300, 1)).detectable
    sixteen = compared(run(1, 300, 16)).detectable
    assert sixteen < one / 2


def test_that_of_aggregates_is_of_their_stated_error():
    comparison = compared(flips(10, 0, 90), stated=(0.04, 30.0))
    factor = oracle.t.ppf(0.99, 30) + oracle.t.ppf(0.8, 30)
    assert comparison.detectable == pytest.approx(factor * 0.04, rel=1e-6)


def swapped(direction):
    """A comparison of the medians of 200 tasks, which moved a little."""
    rng = np.random.default_rng(3)
    before = 5 + rng.random(200)
    after = before + 0.1 * rng.normal(size=200)
    pair = make_combined(before, after, bounded=False)
    return compared(pair, direction=direction)


def test_swapping_tasks_that_differ_by_a_drop_spreads_a_metric_more():
    comparison = swapped("higher")
    se = comparison.test.se
    t_fail = oracle.t.ppf(0.99, 199)
    t_power = oracle.t.ppf(0.8, 199)

    def excess(drop):
        return drop - t_fail * np.hypot(se, drop / np.sqrt(200)) - t_power * se

    expected = optimize.brentq(excess, 0, 10 * se)
    assert comparison.detectable == pytest.approx(expected, rel=1e-4)


def test_the_error_of_a_latency_grows_with_it():
    comparison = swapped("lower")
    se = comparison.test.se
    current = comparison.pair.value_current
    t_fail = oracle.t.ppf(0.99, 199)
    t_power = oracle.t.ppf(0.8, 199)

    def excess(drop):
        times = 1 + drop / current
        after = se * np.sqrt((1 + times**2) / 2)
        return drop - t_fail * se * (1 + times) / 2 - t_power * after

    expected = optimize.brentq(excess, 0, 10 * se)
    assert comparison.detectable == pytest.approx(expected, rel=1e-4)


def test_a_latency_that_rests_on_few_tasks_has_none():
    rng = np.random.default_rng(3)
    before = rng.gamma(2, 100, 200)
    after = before * rng.lognormal(0, 0.2, 200)

    def tail(values):
        return float(np.quantile(values, 0.99))

    pair = make_combined(before, after, combine=tail, bounded=False)
    comparison = compared(pair, direction="lower")
    assert comparison.draws > 0
    assert math.isnan(comparison.detectable)


def test_a_blind_gate_has_none():
    assert math.isnan(compared(flips(1, 0, 3)).detectable)


def test_the_worst_task_has_none():
    pair = worst_task([[1.0] * 8] * 50, [[1.0] * 8] * 49 + [[0.0] * 8])
    assert math.isnan(compared(pair).detectable)


def test_that_of_one_of_several_tests_is_the_one_at_its_share_of_the_level():
    pair = run(1, 200, 4)
    given = ComparisonInput(pair=pair, rule=rule(alpha=0.01), gate_id="g")
    at_a_fifth = compare_metric(given).detectable_at(0.002)
    assert at_a_fifth == compared(pair, alpha=0.002).detectable
    assert at_a_fifth > compared(pair, alpha=0.01).detectable


# -- values that are no rates ------------------------------------------------------------


def amounts(seed=1, tasks=200):
    before, after = np.random.default_rng(seed).lognormal(3, 1, (2, tasks, 1))
    return make_pair(before.tolist(), after.tolist(), bounded=False)


def test_a_rule_that_tests_nothing_counts_on_the_mean_alone():
    # noise between runs, of which there is next to none, leaves the mean alone, too
    by_mean = compared(
        amounts(), name="statistical", direction="higher", run_noise=1e-9
    )
    assert compared(amounts(), name="absolute").detectable == pytest.approx(
        by_mean.detectable, rel=1e-5
    )


def test_a_drop_that_the_rule_ignores_is_found_by_no_test():
    pair = amounts()
    largest = 0.8 * float(np.mean(pair.current))
    detectable = compared(pair, max_drop=largest).detectable
    assert math.isnan(detectable) or detectable > largest


def test_a_metric_of_more_than_its_rewards_needs_what_its_tasks_spread():
    values = np.random.default_rng(4).normal(0, 1, (2, 30))
    same = [[1.0]] * 30
    pair = make_pair(same, same, bounded=False, baseline=values[0], current=values[1])
    factor = oracle.t.ppf(0.99, 29) + oracle.t.ppf(0.8, 29)
    expected = factor * oracle.sem(values[0] - values[1])
    comparison = compared(pair, name="statistical")
    assert comparison.detectable == pytest.approx(expected, rel=1e-6)


# -- what a drop needs -------------------------------------------------------------------

NEEDED = Needed(t_fail=2.5, t_power=0.8)
NOISY = Needed(t_fail=2.5, t_power=0.8, beyond=0.03, short=0.04)


def test_without_degrees_of_freedom_nothing_is_known_of_what_a_drop_needs():
    needed = needed_drop(0.0, 0.01)
    assert math.isnan(needed.t_fail)
    assert math.isnan(needed.t_power)


def test_a_drop_needs_the_quantiles_of_t():
    needed = needed_drop(29.0, 0.01, least=0.02)
    assert needed.t_fail == pytest.approx(oracle.t.ppf(0.99, 29))
    assert needed.t_power == pytest.approx(oracle.t.ppf(0.8, 29))
    assert needed.least == 0.02


def test_a_drop_has_to_be_seen_beyond_what_the_rule_ignores():
    needed = Needed(t_fail=2.5, t_power=0.8, least=0.3)
    assert needed.seen(0.1) == pytest.approx(0.3)
    assert needed.seen(0.2) == pytest.approx(0.5)
    assert needed.drop(0.1) == pytest.approx(0.3 + 0.08)


def test_noise_between_runs_adds_to_what_a_drop_needs_in_squares():
    assert NOISY.seen(0.01) == pytest.approx(math.hypot(0.025, 0.03))
    expected = math.hypot(0.025, 0.03) + math.hypot(0.008, 0.04)
    assert NOISY.drop(0.01) == pytest.approx(expected)


def test_the_margin_is_of_the_spread_that_is_seen():
    assert NEEDED.drop(0.1, spread=0.2) == pytest.approx(0.25 + 0.16)


@pytest.mark.parametrize("least", [0.0, 0.3])
def test_the_largest_error_is_that_which_a_drop_beyond_none_needs(least):
    needed = Needed(t_fail=2.5, t_power=0.8, least=least)
    assert needed.largest_se(0.33) == pytest.approx(0.1)


def test_the_largest_error_beside_noise_between_runs_leaves_room_for_it():
    drop = NOISY.drop(0.01)
    assert NOISY.largest_se(drop) == pytest.approx(0.01)


def test_no_error_is_small_enough_for_a_drop_within_the_noise_between_runs():
    assert NOISY.largest_se(0.07) == 0
    assert NOISY.largest_se(0.05) == 0
