"""Bars for sums, which rounding errors do not move, and sums of vectors of any length."""

import math

import numpy as np
import pytest

from pytest_evalmetrics import sums

TENTHS = 0.1 + 0.2  # 0.30000000000000004


def test_a_number_that_misses_a_bar_by_rounding_alone_reaches_it():
    assert sums.reaches(0.3, TENTHS)
    assert sums.reaches(0.3, 0.3)
    assert not sums.reaches(0.2999, 0.3)


def test_a_number_that_exceeds_a_bar_by_rounding_alone_stays_within():
    assert sums.stays_within(TENTHS, 0.3)
    assert sums.stays_within(0.3, 0.3)
    assert not sums.stays_within(0.3001, 0.3)


def test_each_number_of_an_array_is_compared():
    assert sums.reaches(np.array([0.2, 0.3]), 0.3).tolist() == [False, True]
    assert sums.stays_within(np.array([0.3, 0.4]), 0.3).tolist() == [True, False]


@pytest.mark.parametrize("bar", [0.0, 0.3, -2.0, 1e6])
def test_what_falls_short_of_a_bar_is_close_and_does_not_reach_it(bar):
    short = sums.short_of(bar)
    assert not sums.reaches(short, bar)
    assert short == pytest.approx(bar, rel=1e-8, abs=1e-8)


def test_a_large_bar_is_as_wide_as_its_digits():
    assert sums.reaches(1e12 - 1, 1e12)
    assert not sums.reaches(1e12 - 10_000, 1e12)


# -- sums ------------------------------------------------------------------------------------

LENGTHS = [0, 1, 8191, 8192, 8193, 20_000]


def drawn(length):
    return np.random.default_rng(length).uniform(-1, 1, length)


@pytest.mark.parametrize("length", LENGTHS)
def test_a_vector_of_any_length_has_its_sum(length):
    values = drawn(length)
    assert sums.total(values) == pytest.approx(math.fsum(values), abs=1e-12)


@pytest.mark.parametrize("length", LENGTHS[1:])
def test_means_and_sums_of_powers_are_those_of_all_values(length):
    values = drawn(length)
    exact = [math.fsum(values**power) for power in (1, 2, 3, 4)]
    assert sums.mean_of(values) == pytest.approx(exact[0] / length, abs=1e-12)
    assert sums.squares(values) == pytest.approx(exact[1])
    assert sums.cubes(values) == pytest.approx(exact[2], abs=1e-12)
    assert sums.fourth_powers(values) == pytest.approx(exact[3])


def test_every_other_value_is_summed_in_the_order_of_the_values():
    values = drawn(40_000)
    assert sums.total(values[::2]) == sums.total(values[::2].copy())


@pytest.mark.parametrize("length", [10, 20_000])
def test_a_sum_that_does_not_fit_is_infinite(length):
    both = np.tile([math.inf, -math.inf], length // 2)
    with np.errstate(over="ignore", invalid="ignore"):
        assert sums.total(np.full(length, 1e308)) == math.inf
        assert math.isnan(sums.total(both))


@pytest.mark.parametrize("columns", [0, 3, 8192, 10_000])
def test_each_row_of_a_matrix_has_its_sum(columns):
    block = np.random.default_rng(1).uniform(-1, 1, (3, columns))
    exact = [math.fsum(row) for row in block]
    assert sums.row_totals(block) == pytest.approx(exact, abs=1e-12)


def test_logarithms_are_those_of_each_value():
    assert sums.logarithms(np.array([1.0, math.e, 10.0])).tolist() == [
        0.0,
        1.0,
        math.log(10),
    ]
