"""The last runs of a metric as a row of a table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.reports.lines import sparkline


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
