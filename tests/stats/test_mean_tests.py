"""Which test a mean of paired differences gets, and p values that are too small for a number."""

import math

import numpy as np
import pytest
from scipy import stats as oracle

from pytest_evalmetrics.stats import (
    LEAST_P,
    StatsError,
    mean_se,
    mean_test,
    paired_differences,
    paired_t,
    ratio_mean,
    signflip_exact,
    skewed_mean_interval,
    skewed_rate_interval,
    winsorised_t,
)
from pytest_evalmetrics.stats.basics import lattice_step, nonzero, vector
from pytest_evalmetrics.stats.means import MeanSE


def coins(worse, better):
    """The mid-p of so many flips of the same size."""
    fair = oracle.binom(worse + better, 0.5)
    return fair.sf(worse) + fair.pmf(worse) / 2


def flips(worse, better, same):
    return [1.0] * worse + [-1.0] * better + [0.0] * same


# -- which test --------------------------------------------------------------------------


@pytest.mark.parametrize("worse", [1, 12, 17])
def test_fewer_than_twenty_differences_are_tested_by_all_signs(worse):
    result = mean_test(flips(worse, 2, 100), None, 0.95)
    assert result.name == "exact sign flip"
    assert result.p == result.mid_p == pytest.approx(coins(worse, 2))


def test_twenty_differences_are_tested_by_t():
    values = flips(18, 2, 100)
    result = mean_test(values, None, 0.95)
    expected = oracle.ttest_1samp(values, 0, alternative="greater").pvalue
    assert result.name == "paired t"
    assert result.p == pytest.approx(expected)
    assert math.isnan(result.mid_p)


def test_the_interval_beside_all_signs_is_that_of_t():
    values = flips(9, 2, 100)
    result = mean_test(values, None, 0.9)
    low, high = oracle.t.interval(0.9, 110, np.mean(values), oracle.sem(values))
    assert (result.low, result.high) == pytest.approx((low, high))
    assert (result.se, result.df) == pytest.approx((oracle.sem(values), 110))
    assert result.units == 111


@pytest.mark.parametrize(
    ("clusters", "name"),
    [(24, "clustered exact sign flip"), (25, "clustered paired t")],
)
def test_fewer_than_twenty_five_clusters_are_tested_by_all_signs(clusters, name):
    values = np.repeat(flips(clusters - 4, 4, 10), 2)
    codes = np.repeat(np.arange(clusters + 10), 2)
    result = mean_test(values, codes, 0.95)
    assert result.name == name
    if clusters == 24:
        assert result.p == pytest.approx(coins(20, 4))


def test_no_difference_is_tested_by_t_without_an_error():
    result = mean_test([0.0] * 30, None, 0.95)
    assert (result.name, result.p, result.se) == ("paired t", 1.0, 0.0)


# -- losses alone ------------------------------------------------------------------------


def test_losses_that_t_proves_better_than_their_signs_are_left_to_t():
    values = [0.9, 1.0, 1.1] * 8
    result = mean_test(values, None, 0.95)
    assert result.name == "paired t"
    assert result.p < 0.5**24


def test_losses_of_some_tasks_are_proven_by_the_signs_of_these():
    values = [*[1.0] * 24, 900.0, *[0.0] * 5]
    result = mean_test(values, None, 0.95)
    assert result.name == "sign test"
    assert result.p == pytest.approx(0.5**25)
    assert math.isnan(result.log_tail)


def test_losses_of_thousands_of_tasks_have_the_log_of_their_signs():
    values = [1.0] * 1_999 + [1e9]
    result = mean_test(values, None, 0.95)
    assert (result.name, result.p) == ("sign test", LEAST_P)
    assert result.log_tail == pytest.approx(-2_000 * math.log(2))


# -- p values below any number -----------------------------------------------------------

SURE = np.random.default_rng(1).normal(50, 1, 900)


def log_of_t(values):
    """The log of the tail of t, of a density that falls as e^(-t^2 / 2) or slower."""
    t = np.mean(values) / oracle.sem(values)
    df = len(values) - 1
    # the tail is the density by its own slope, far out
    slope = (df + 1) * t / (df + t * t)
    return oracle.t.logpdf(t, df) - math.log(slope)


@pytest.mark.parametrize(
    ("side", "more"), [("greater", 0.0), ("two-sided", math.log(2))]
)
def test_a_t_test_beyond_any_number_has_the_log_of_its_p(side, more):
    result = paired_t(SURE, alternative=side)
    assert result.p == LEAST_P
    assert result.log_tail == pytest.approx(log_of_t(SURE) + more, rel=1e-5)
    assert math.isnan(paired_t(SURE[:20], alternative=side).log_tail)


@pytest.mark.parametrize(
    ("side", "halvings"), [("greater", 2_000), ("two-sided", 1_999)]
)
def test_differences_that_are_all_the_same_have_the_log_of_their_signs(side, halvings):
    result = paired_t([0.5] * 2_000, alternative=side)
    assert result.p == LEAST_P
    assert result.log_tail == pytest.approx(-halvings * math.log(2))


def test_one_difference_on_both_sides_is_no_more_than_certain():
    assert paired_t([0.5, 0.5], alternative="two-sided").p == 0.5
    assert paired_t([-0.5] * 2_000, alternative="greater").p == 1


def test_clipped_differences_beyond_any_number_have_the_log_of_their_p():
    result = winsorised_t(SURE)
    assert result.p == LEAST_P
    assert result.log_tail <= log_of_t(SURE) * (1 - 1e-5)
    assert (result.name, result.units) == ("winsorised paired t", 900)
    assert result.df == 899


# -- differences -------------------------------------------------------------------------


def test_no_tasks_have_no_differences():
    assert paired_differences([], []).tolist() == []


def test_differences_have_no_negative_zero():
    gap = paired_differences([0.5, 1e9], [0.5, 1e9])
    assert [math.copysign(1, value) for value in gap] == [1.0, 1.0]


def test_small_values_beside_large_ones_differ_by_their_own_size():
    before = [1e-15, 2e-15, 1e9]
    after = [2e-15, 2e-15 * (1 + 1e-13), 1e9]
    assert paired_differences(before, after).tolist() == [-1e-15, 0.0, 0.0]


def test_a_difference_that_is_rounding_beside_the_largest_is_none():
    values = np.array([0.5, -1e-13, 2e-12, 0.0])
    assert nonzero(values).tolist() == [0.5, 2e-12]
    assert nonzero(np.zeros(0)).tolist() == []


def test_numbers_that_are_not_finite_are_counted_and_the_first_is_shown():
    with pytest.raises(StatsError) as refused:
        vector([1.0, math.inf, math.nan], "rewards")
    assert str(refused.value) == (
        "rewards holds 2 values that are not finite, the first, inf, at index 1"
    )


def test_too_many_differences_for_all_signs_name_the_way_out():
    with pytest.raises(StatsError) as refused:
        signflip_exact(np.arange(1.0, 34.0))
    assert str(refused.value) == "33 differences have too many signs: take the t test"


HALF = MeanSE(mean=0.5, se=0.1, df=19, units=20)
TWENTY = [0.0] * 19 + [1.0]


@pytest.mark.parametrize(
    ("refused", "name"),
    [
        (lambda: paired_differences([math.nan], [1.0]), "a"),
        (lambda: paired_differences([1.0], [math.nan]), "b"),
        (lambda: signflip_exact([math.nan]), "d"),
        (lambda: lattice_step([math.nan]), "d"),
        (lambda: mean_test([math.nan], None, 0.95), "x"),
        (lambda: ratio_mean([math.nan], [1.0]), "sums"),
        (lambda: ratio_mean([1.0], [math.nan]), "counts"),
        (lambda: skewed_rate_interval(HALF, [math.nan], None, 0.95), "errors"),
        (lambda: skewed_mean_interval(HALF, [math.nan], 0.95), "errors"),
        (
            lambda: skewed_mean_interval(HALF, TWENTY, 0.95, values=[math.nan]),
            "values",
        ),
    ],
)
def test_the_argument_that_is_refused_is_named(refused, name):
    with pytest.raises(StatsError) as error:
        refused()
    assert str(error.value) == (
        f"{name} holds 1 values that are not finite, the first, nan, at index 0"
    )


# -- clusters without outliers -----------------------------------------------------------


def test_clusters_are_clipped_at_the_ranks_of_fibonacci():
    rng = np.random.default_rng(4)
    values = rng.lognormal(0, 1, 60) - 1.2
    clusters = np.arange(60) // 3
    ordered = np.sort(values)[::-1]
    tests = []
    for rank in (0, 1, 2, 3, 5, 8, 13, 21):
        clipped = mean_se(np.minimum(values, ordered[rank]), clusters)
        p = oracle.t.sf(clipped.mean / clipped.se, clipped.df)
        low = clipped.mean - oracle.t.ppf(0.95, clipped.df) * clipped.se
        tests.append((p, low))
    result = winsorised_t(values, clusters, level=0.9)
    assert (result.p, result.low) == pytest.approx(min(tests), rel=1e-9)
