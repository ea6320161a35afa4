"""Sums have the same bytes, whichever NumPy and Python computes them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_evalmetrics import sums

SIZES = [1, 2, 3, 7, 8, 9, 127, 129, 1000, 8191, 8192, 8193, 16384, 50_000, 100_003]


def stretch(values):
    """Add up to 8192 numbers as all versions of NumPy do: by halves, down to 128 in eight lanes."""
    n = len(values)
    if n < 8:
        result = -0.0
        for value in values:
            result += value
        return result
    if n <= 128:
        lanes = values[:8]
        for at in range(8, n - n % 8, 8):
            lanes = [
                lane + value for lane, value in zip(lanes, values[at:], strict=False)
            ]
        a, b, c, d, e, f, g, h = lanes
        result = ((a + b) + (c + d)) + ((e + f) + (g + h))
        for value in values[n - n % 8 :]:
            result += value
        return result
    half = n // 2 - n // 2 % 8
    return stretch(values[:half]) + stretch(values[half:])


@pytest.mark.parametrize("n", SIZES)
def test_a_sum_is_that_of_its_stretches(n):
    values = np.random.default_rng(n).normal(size=n) * 7
    listed = values.tolist()
    parts = [stretch(listed[at : at + 8192]) for at in range(0, n, 8192)]
    assert sums.total(values) == math.fsum(parts)
    # how the numbers lie in memory makes no difference
    assert sums.total(np.column_stack([values, values])[:, 1]) == math.fsum(parts)
    assert sums.mean_of(values) == math.fsum(parts) / n
    assert sums.row_totals(np.stack([values, -values])).tolist() == [
        sums.total(values),
        sums.total(-values),
    ]


@settings(max_examples=40)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300))
def test_sums_and_squares_are_near_the_exact_ones(values):
    array = np.array(values)
    size = sum(map(abs, values))
    assert sums.total(array) == pytest.approx(math.fsum(values), abs=1e-13 * size)
    assert sums.squares(array) == pytest.approx(
        math.fsum(v * v for v in values), rel=1e-13
    )


def test_what_does_not_fit_into_a_float_is_infinite():
    with np.errstate(over="ignore", invalid="ignore"):
        assert sums.total(np.full(20_000, 1e308)) == math.inf
        assert math.isnan(sums.total(np.repeat([math.inf, -math.inf], 10_000)))


def test_powers_and_logarithms_are_those_of_python():
    values = np.array([0.1, 0.7, 1.3])
    assert sums.cubes(values) == 0.1 * 0.1 * 0.1 + 0.7 * 0.7 * 0.7 + 1.3 * 1.3 * 1.3
    fourth = [value * value * (value * value) for value in values.tolist()]
    assert sums.fourth_powers(values) == sum(fourth)
    logs = [math.log(0.1), math.log(0.7), math.log(1.3)]
    assert sums.logarithms(values).tolist() == logs
