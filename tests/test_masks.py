"""Whether some or all of a mask is set: as numpy says it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.masks import all_of, any_of


@given(st.lists(st.booleans()))
def test_it_is_what_numpy_says(values):
    mask = np.array(values, bool)
    assert any_of(mask) is bool(mask.any())
    assert all_of(mask) is bool(mask.all())


@pytest.mark.parametrize(
    "values",
    [
        np.zeros((3, 0), bool),
        np.array([[True, False], [True, True]]),
        np.array([0.0, np.nan]),
        np.array([0, 0]),
        np.array([2, -1]),
        np.array([True, False, True])[::2],
    ],
)
def test_whatever_the_array_is(values):
    assert any_of(values) is bool(values.any())
    assert all_of(values) is bool(values.all())
