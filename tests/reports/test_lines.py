"""How numbers are written, and the last runs of a metric drawn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.gates.expectations import distinct
from pytest_evalmetrics.reports.lines import number, sparkline


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (2000.0, "2000"),
        (0.61234, "0.6123"),
        (-0.06875, "-0.0688"),
        (1234.5678, "1234.57"),
        (0.000012345, "1.2345e-05"),
        (None, ""),
    ],
)
def test_numbers(value, text):
    assert number(value) == text


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_a_value_is_never_written_as_the_bound_that_it_misses(value, bound):
    if value != bound:
        assert float(distinct(value, bound)) != bound or repr(value) == distinct(value, bound)


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        ([], ""),
        ([0.5], "▄"),
        ([1, 1, 1], "▄▄▄"),
        ([0, 1], "▁█"),
        ([3, 1, 2], "█▁▅"),
        ([0, 1, 2, 3, 4, 5, 6, 7], "▁▂▃▄▅▆▇█"),
    ],
)
def test_the_lowest_is_the_lowest_bar(values, drawn):
    assert sparkline(values) == drawn


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_a_higher_value_is_never_a_lower_bar(values):
    drawn = sparkline(values)
    assert len(drawn) == len(values)
    pairs = sorted(zip(values, drawn, strict=True))
    assert [bar for _, bar in pairs] == sorted(drawn)
