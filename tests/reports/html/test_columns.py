"""Numbers of a page: those of many are the ones that text of six digits gives."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_evalmetrics.reports.html.picture import numbers


def as_text_gives(x):
    if not math.isfinite(x):
        return None
    return int(x) if x == int(x) and abs(x) < 1e15 else float(f"{x:.6g}")


def assert_as_text_gives(values):
    found = numbers(np.asarray(values, float))
    expected = [as_text_gives(float(x)) for x in values]
    assert found == expected
    assert list(map(type, found)) == list(map(type, expected))


RNG = np.random.default_rng(7)
POWERS = 10.0 ** np.arange(-40, 40)


@pytest.mark.parametrize(
    "values",
    [
        RNG.random(20_000),
        RNG.normal(0, 1e8, 20_000),
        10.0 ** RNG.uniform(-320, 308, 20_000),
        RNG.integers(0, 10**7, 20_000) / 10,  # the seventh digit is a 5: halves
        RNG.integers(0, 10**7, 20_000) / 10**7,
        np.concatenate([POWERS, np.nextafter(POWERS, 0), np.nextafter(POWERS, np.inf), -POWERS]),
        [*RNG.random(100), math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, 1.7e308, 999999.5],
    ],
    ids=["shares", "large", "any-size", "halves", "small-halves", "powers", "odd"],
)
def test_many_numbers_are_what_their_text_is(values):
    assert_as_text_gives(values)


@settings(deadline=None)  # a busy machine is no fault
@given(st.lists(st.floats(), min_size=65, max_size=90))
def test_any_numbers_are_what_their_text_is(values):
    assert_as_text_gives(values)
