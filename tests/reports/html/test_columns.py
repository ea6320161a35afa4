"""Numbers of a page: those of many are the ones that text of six digits gives."""

import math

import numpy as np
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


@settings(deadline=None)  # a busy machine is no fault
@given(st.lists(st.floats(), min_size=65, max_size=90))
def test_any_numbers_are_what_their_text_is(values):
    assert_as_text_gives(values)
