"""Quantiles of groups of values: each is that of the values themselves."""

import numpy as np
import pytest

from pytest_evalmetrics.comparison.grouped_quantiles import GroupedValues


def expected_quantiles(values, groups, times, share):
    """Repeat each value as often as its group occurs, and take the quantile of all."""
    quantiles = []
    for of_draw in times.astype(int):
        repeated = np.repeat(values, of_draw[groups])
        quantiles.append(np.quantile(repeated, share))
    return quantiles


@pytest.mark.parametrize("share", [0.01, 0.5, 0.95, 0.99])
def test_quantiles_of_chosen_groups_are_those_of_their_values(share):
    rng = np.random.default_rng(1)
    values = rng.lognormal(0, 1, 5_000)
    groups = rng.integers(0, 40, 5_000)
    times = (rng.random((30, 40)) < 0.5).astype(float)

    grouped = GroupedValues.of(values, groups.astype(np.int32), count=40)

    expected = expected_quantiles(values, groups, times, share)
    assert grouped.quantiles(times, share) == pytest.approx(expected, rel=1e-12)


def test_groups_may_occur_several_times():
    rng = np.random.default_rng(2)
    values = rng.integers(0, 7, 3_000) / 7  # with many ties
    groups = np.arange(3_000) // 3
    times = rng.poisson(1, (20, 1_000)).astype(float)

    grouped = GroupedValues.of(values, groups.astype(np.int32), count=1_000)

    expected = expected_quantiles(values, groups, times, 0.9)
    assert grouped.quantiles(times, 0.9) == pytest.approx(expected, rel=1e-12)


def test_quantiles_far_apart_are_all_found():
    values = np.arange(20_000.0)
    groups = np.arange(20_000) // 10_000  # the lower half, and the upper one
    times = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])

    grouped = GroupedValues.of(values, groups.astype(np.int32), count=2)

    medians = grouped.quantiles(times, 0.5)
    assert medians.tolist() == [4_999.5, 14_999.5, 9_999.5]


def test_the_quantile_of_one_value_is_that_value():
    grouped = GroupedValues.of(np.array([3.0]), np.zeros(1, np.int32), count=1)

    assert grouped.quantiles(np.ones((1, 1)), 0.95).tolist() == [3.0]
