"""Estimates of sorted values: quantiles with their intervals, and the trimmed mean."""

import math

import numpy as np
import pytest
from scipy import stats as oracle

from pytest_evalmetrics.stats import quantile7, quantile_interval, trimmed_mean

VALUES = np.random.default_rng(5).normal(size=41).round(3)


@pytest.mark.parametrize("q", [0.01, 0.25, 0.5, 0.9])
def test_a_quantile_is_numpys(q):
    assert quantile7(VALUES, q) == np.quantile(VALUES, q)


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("q", [0.25, 0.5, 0.7])
def test_the_interval_of_a_quantile_is_scipys(q, level):
    theirs = oracle.quantile_test(VALUES, p=q).confidence_interval(level)
    assert quantile_interval(VALUES, q, level) == (theirs.low, theirs.high)


def test_the_interval_of_a_median_by_hand():
    # of 6 values: P(B = 0) = 1/64 at either end, which is below 2.5 %
    assert quantile_interval([1, 2, 3, 4, 5, 6], 0.5) == (1, 6)


@pytest.mark.parametrize("values", [[1, 2, 3, 4, 5], [7.0] * 30])
def test_too_few_or_equal_values_have_no_interval(values):
    low, high = quantile_interval(values, 0.5)
    assert math.isnan(low)
    assert math.isnan(high)


def test_an_interval_that_ties_make_a_point_reaches_to_the_next_values():
    values = [1.0, 2.0, *[5.0] * 30, 7.0, 9.0]
    assert quantile_interval(values, 0.5) == (2, 7)


def test_an_interval_at_the_largest_value_reaches_down_alone():
    values = [1.0, 2.0, *[5.0] * 30]
    assert quantile_interval(values, 0.5) == (2, 5)


@pytest.mark.parametrize(("n", "share", "cut"), [(20, 0.1, 2), (40, 0.2, 8)])
def test_a_trimmed_mean_is_scipys(n, share, cut):
    values = np.random.default_rng(n).exponential(size=n)
    result = trimmed_mean(values, share)
    error = float(oracle.mstats.trimmed_stde(values, limits=(share, share)))
    assert result.mean == pytest.approx(oracle.trim_mean(values, share), rel=1e-12)
    assert result.se == pytest.approx(error, rel=1e-12)
    assert result.df == n - 2 * cut - 1
    assert result.units == n


def test_one_value_at_either_end_is_left_out_at_least():
    assert trimmed_mean([1, 2, 6, 100]).mean == 4


def test_two_values_have_no_trimmed_mean():
    result = trimmed_mean([1, 2])
    assert math.isnan(result.mean)
    assert math.isnan(result.se)
