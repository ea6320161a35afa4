"""Metrics that are no mean over tasks, against swaps made by hand."""

from itertools import product

import numpy as np
import pytest
from comparison.making import compared, make_combined, make_pair
from msgspec.structs import replace
from scipy import stats as oracle

from pytest_evalmetrics.errors import MetricError


def nine_tasks():
    rng = np.random.default_rng(1)
    before = rng.random(9)
    after = before - 0.3 * (rng.random(9) - 0.25)
    return before, after


def drops_of_all_swaps(before, after, clusters):
    """The drop of the median, and that of the mean, for each way to swap; first none."""
    drops = []
    for choice in product((False, True), repeat=clusters.max() + 1):
        swap = np.array(choice)[clusters]
        one = np.where(swap, after, before)
        other = np.where(swap, before, after)
        medians = round(np.median(one) - np.median(other), 9)
        means = round(np.mean(one) - np.mean(other), 9)
        drops.append([medians, means])
    return drops


CLUSTERS = [np.arange(9), np.array([0, 0, 0, 1, 1, 2, 3, 3, 4])]


@pytest.mark.parametrize("clusters", CLUSTERS, ids=["alone", "clustered"])
def test_few_units_are_tested_against_all_swaps(clusters):
    before, after = nine_tasks()
    drops = drops_of_all_swaps(before, after, clusters)
    # swaps of the same drop are ranked by the mean's
    beyond = sum(drop > drops[0] for drop in drops)
    p = (beyond + 0.5 * drops.count(drops[0])) / len(drops)
    comparison = compared(make_combined(before, after), clusters=clusters)
    assert comparison.test.name == "swapped sides"
    assert comparison.draws == len(drops)
    assert comparison.units == clusters.max() + 1
    assert comparison.test.p == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize("clusters", CLUSTERS, ids=["alone", "clustered"])
def test_the_interval_has_at_least_the_spread_of_swaps_without_the_drop(clusters):
    before, after = nine_tasks()
    medians = np.array(drops_of_all_swaps(before, after, clusters))[:, 0]
    drop = medians[0]
    units = clusters.max() + 1
    error = np.sqrt((medians**2).mean() - drop**2 / units)
    half = oracle.t.ppf(0.975, units - 1) * error
    comparison = compared(make_combined(before, after), clusters=clusters)
    assert comparison.test.low <= drop - half * (1 - 1e-5)
    assert comparison.test.high >= drop + half * (1 - 1e-5)


def test_the_interval_of_a_drop_beyond_the_spread_of_swaps_is_that_of_its_p():
    before = np.linspace(0, 1, 20)
    # each task loses as much: swaps spread the median by more than it fell
    result = compared(make_combined(before, before - 0.1, bounded=False)).test
    assert result.p == pytest.approx(0.5**20, rel=1e-9)
    ends = oracle.norm.ppf(0.025) / oracle.norm.ppf(0.5**20)
    assert result.low == pytest.approx(0.1 * (1 - ends), rel=1e-5)
    assert result.high == pytest.approx(0.1 * (1 + ends), rel=1e-5)


def test_the_interval_of_a_median_that_rises_in_proportion_holds_the_true_rise():
    rng = np.random.default_rng(5)
    missed = 0
    for _ in range(60):
        size = rng.lognormal(0, 1, 60)
        before = size * rng.lognormal(0, 0.3, 60)
        after = 1.5 * size * rng.lognormal(0, 0.3, 60)
        pair = make_combined(before, after, bounded=False)
        result = compared(pair, direction="lower", max_drop=0.0).test
        missed += not result.low <= 0.5 <= result.high
    # of 60 at 7 %, three standard errors above: 22 % without the resampled tasks
    assert missed <= 9


def weighted_median(values, times):
    """The median of ascending values that occur so many times each in every draw."""
    draws = times.astype(int)
    return np.array([np.median(np.repeat(values, draw)) for draw in draws])


def many_tasks(tasks, worse):
    """Scores in steps of half a per cent, some of which fall by 0.3."""
    rng = np.random.default_rng(12)
    before = rng.integers(0, 201, tasks) / 200
    is_worse = rng.random(tasks) < worse
    after = np.where(is_worse, np.maximum(before - 0.3, 0), before)
    return before, after


def p_of_random_swaps(before, after):
    """The p of 4,000 random swaps; ties of the median are ranked by the mean's drop."""
    rng = np.random.default_rng(0)
    swap = rng.random((4_000, len(before))) < 0.5
    one = np.where(swap, after, before)
    other = np.where(swap, before, after)
    medians = np.median(one, axis=1) - np.median(other, axis=1)
    means = (one - other).mean(axis=1)
    drop = np.median(before) - np.median(after)
    is_tied = abs(medians - drop) <= 1e-9
    is_beyond = is_tied & (means > (before - after).mean())
    return np.mean((medians > drop + 1e-9) | is_beyond)


# 500 are swapped one by one, and of 600 the few pairs of values are counted
@pytest.mark.parametrize(("tasks", "worse"), [(500, 0.02), (600, 0.03)])
def test_many_tasks_are_tested_against_random_swaps(tasks, worse):
    before, after = many_tasks(tasks, worse)
    pair = make_combined(before, after, combine_weighted=weighted_median)
    comparison = compared(pair)
    assert comparison.test.name == "swapped sides"
    assert comparison.drop == pytest.approx(np.median(before) - np.median(after))
    assert comparison.test.p == pytest.approx(
        p_of_random_swaps(before, after), abs=0.03
    )


@pytest.mark.parametrize("tasks", [500, 600])
def test_below_what_draws_can_show_p_is_that_of_the_signs_of_tasks(tasks):
    before, _ = many_tasks(tasks, worse=0.0)
    after = np.zeros(tasks)
    after[:50] = 1.0
    pair = make_combined(before, after, combine_weighted=weighted_median)
    worse = int((before > after).sum())
    moved = int((before != after).sum())
    comparison = compared(pair)
    assert comparison.test.p == pytest.approx(oracle.binom.sf(worse - 1, moved, 0.5))


def test_swaps_go_on_until_the_share_of_one_of_many_tests_is_decided():
    """p is .0003 or so: enough for one test of level .01, not surely for one of 50."""
    before = np.linspace(0, 1, 40)
    after = before.copy()
    after[20:34] = 0.0
    after[:2] += 0.3
    pair = make_combined(before, after)
    alone = compared(pair)
    one_of_many = compared(pair, sharing=50)
    assert one_of_many.draws > alone.draws


def test_a_mean_in_other_words_is_tested_as_a_mean():
    before, after = nine_tasks()
    rows_before = [[value] for value in before]
    rows_after = [[value] for value in after]
    as_mean = compared(make_pair(rows_before, rows_after))
    in_words = compared(make_combined(before, after, combine=np.mean))
    assert in_words.draws == 0
    assert in_words.test.name == as_mean.test.name
    assert in_words.test.p == pytest.approx(as_mean.test.p, rel=1e-9)


@pytest.mark.parametrize("tasks", [7, 8, 40, 600])
def test_a_median_that_falls_from_1_to_0_has_an_interval_within_that(tasks):
    comparison = compared(make_combined([1.0] * tasks, [0.0] * tasks))
    assert 0 < comparison.test.low < comparison.test.high == 1


def test_draws_are_the_same_in_every_run():
    before, after = many_tasks(500, worse=0.02)
    assert (
        compared(make_combined(before, after)).test
        == compared(make_combined(before, after)).test
    )


def test_another_name_draws_other_swaps():
    before, after = many_tasks(500, worse=0.02)
    pair = make_combined(before, after)
    assert compared(pair).test.p != compared(replace(pair, name="other")).test.p


def test_a_median_that_all_clusters_lose_is_as_rare_as_its_clusters_show():
    clusters = np.arange(40) % 12
    pair = make_combined([0.9] * 40, [0.0] * 40, clusters=clusters)
    # every swap of sides but none of the 12 clusters
    assert compared(pair).test.p >= 0.5**12


def test_swaps_that_no_drop_reaches_end_where_the_signs_of_tasks_decide():
    """One of 50 tests: the least p of 1,000 draws is above its share of the level."""
    before = np.linspace(0.5, 1, 40)
    comparison = compared(make_combined(before, before - 0.5), sharing=50)
    assert comparison.draws == 1_000
    assert comparison.test.p == pytest.approx(0.5**40)


def test_a_metric_that_is_not_defined_on_repeated_tasks_has_the_interval_of_swaps():
    before, after = nine_tasks()

    def picky(values):
        if len(set(values)) < 7:
            raise MetricError("seven different values are needed")
        return float(np.median(values))

    alike = compared(make_combined(before, after))
    comparison = compared(make_combined(before, after, combine=picky))
    assert comparison.untested is None
    assert comparison.test.p == alike.test.p
    half = comparison.test.high - comparison.drop
    assert half > 0
    assert comparison.test.low == pytest.approx(comparison.drop - half, rel=1e-5)


def test_a_lone_cluster_shows_nothing_of_a_median():
    pair = make_combined([0.9] * 40, [0.0] * 40, clusters=np.zeros(40, dtype=int))
    assert compared(pair).test.p >= 0.5


def test_tasks_of_many_values_are_swapped_though_the_metric_could_count_them():
    rng = np.random.default_rng(2)
    before = rng.random(600)
    after = before + rng.normal(0, 0.1, 600)
    counted = make_combined(before, after, combine_weighted=weighted_median)
    assert (
        compared(counted).test == compared(replace(counted, combine_weighted=None)).test
    )


# -- quantiles of thousands of values ----------------------------------------------------


def latencies(tasks, rollouts=1):
    """The times of both sides, shape (2 tasks, rollouts), the run's a little longer."""
    rng = np.random.default_rng(3)
    before = rng.lognormal(0, 1, (tasks, rollouts))
    return np.concatenate((before, before * rng.lognormal(0.02, 0.3, before.shape)))


def slow_tail(times, **changed):
    """Pair the 90th percentile of all rollouts."""
    tasks = len(times) // 2

    def percentile(places):
        chosen = times[places].reshape(len(places), -1)
        return np.quantile(chosen, 0.9, axis=1)

    defaults = {
        "name": "p90",
        "bounded": False,
        "value_baseline": float(np.quantile(times[:tasks], 0.9)),
        "value_current": float(np.quantile(times[tasks:], 0.9)),
        "difference": lambda first, second: percentile(first) - percentile(second),
        "quantile": 0.9,
    }
    return make_pair(times[:tasks], times[tasks:], **(defaults | changed))


NO_VALUES = {"baseline": None, "current": None}


@pytest.mark.parametrize(
    "pair",
    [
        # each task is drawn anew as a count, in an order of all values
        slow_tail(latencies(2_048)),
        slow_tail(latencies(512, 4), **NO_VALUES),
        # more of them one by one
        slow_tail(latencies(2_049)),
        slow_tail(latencies(2_048), clusters=np.arange(2_048) % 100),
        slow_tail(latencies(2_048), clusters=np.arange(2_048) % 9),
    ],
    ids=["tasks", "rollouts", "many tasks", "clusters", "few clusters"],
)
def test_a_quantile_of_sorted_values_is_tested_as_one_that_is_computed(pair):
    computed = compared(replace(pair, quantile=None), direction="lower")
    by_order = compared(pair, direction="lower")
    assert by_order.draws == computed.draws > 0
    assert by_order.test.p == pytest.approx(computed.test.p)
    assert by_order.test.se == pytest.approx(computed.test.se, rel=1e-5)
    assert by_order.test.low == pytest.approx(computed.test.low, rel=1e-5)
    assert by_order.test.high == pytest.approx(computed.test.high, rel=1e-5)


# -- the few values that many tasks have -------------------------------------------------


@pytest.mark.parametrize("direction", ["higher", "lower"])
def test_counted_tasks_are_tested_as_tasks_one_by_one(direction):
    """Of 600 tasks with few pairs of values the swaps of each pair are counted."""
    before, after = many_tasks(600, worse=0.03)
    counted = make_combined(before, after, combine_weighted=weighted_median)
    one_by_one = replace(counted, combine_weighted=None)
    by_count = compared(counted, direction=direction).test
    listed = compared(one_by_one, direction=direction).test
    assert by_count.p == pytest.approx(listed.p, abs=0.06)
    assert by_count.se == pytest.approx(listed.se, rel=0.2)


def weighted_mean(values, times):
    return times @ values / times.sum(axis=1)


def test_counted_tasks_of_a_mean_in_other_words_are_tested_as_a_mean():
    """The pseudo-values of a mean are the differences themselves."""
    before, after = many_tasks(600, worse=0.03)
    rows = [[value] for value in before], [[value] for value in after]
    as_mean = compared(make_pair(*rows))
    in_words = compared(
        make_combined(before, after, combine=np.mean, combine_weighted=weighted_mean)
    )
    assert in_words.draws == 0
    assert in_words.test.name == as_mean.test.name
    assert in_words.test.p == pytest.approx(as_mean.test.p, rel=1e-6)
    assert in_words.influence == pytest.approx(before - after, abs=1e-9)


def test_a_mean_of_clusters_in_other_words_is_tested_as_that_of_clusters():
    rng = np.random.default_rng(3)
    before = rng.random(90)
    after = before - 0.1 * (rng.random(90) - 0.3)
    clusters = np.arange(90) // 3
    rows = [[value] for value in before], [[value] for value in after]
    as_mean = compared(make_pair(*rows), clusters=clusters)
    in_words = compared(
        make_combined(before, after, combine=np.mean), clusters=clusters
    )
    assert in_words.test.name == as_mean.test.name == "clustered paired t"
    assert in_words.test.p == pytest.approx(as_mean.test.p, rel=1e-6)
