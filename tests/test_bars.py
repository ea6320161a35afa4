"""Bars for sums, which rounding errors do not move."""

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
