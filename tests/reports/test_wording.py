"""How numbers and calls are written, and the last runs of a metric drawn."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_evalmetrics.model.scores import CallTotals
from pytest_evalmetrics.reports.sentences.thresholds import distinct
from pytest_evalmetrics.reports.wording import (
    calls_line,
    number,
    size_of_loss,
    sparkline,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (2000.0, "2000"),
        (0.61234, "0.6123"),
        (-0.06875, "-0.0688"),
        (1234.5678, "1234.6"),
        (123456.789, "123457"),
        (0.000012345, "1.2345e-05"),
        (None, ""),
    ],
)
def test_numbers(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.10853, "0.11"), (13.2593, "13"), (132.6, "130"), (1.0, "1"), (None, "")],
)
def test_a_loss_that_would_be_seen_has_two_digits_and_no_exponent(value, text):
    assert size_of_loss(value) == text


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_a_value_is_never_written_as_the_bound_that_it_misses(value, bound):
    assume(value != bound)
    written = distinct(value, bound)
    assert float(written) != bound or written == repr(value)


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


def totals(**numbers):
    """Make the totals of a benchmark's calls, all zero but for these."""
    counts = ("calls", "from_journal", "failed", "requests", "total_tokens")
    costs = {"cost_now": None, "cost": None}
    return CallTotals(**{**dict.fromkeys(counts, 0), **costs, **numbers})


def test_without_calls_there_is_no_line():
    assert calls_line([]) == []


def test_the_calls_of_all_benchmarks_are_summed_up():
    one = totals(calls=5, from_journal=2, requests=4, failed=1, cost_now=0.5)
    other = totals(calls=1, requests=1, total_tokens=70, cost_now=0.25)
    assert calls_line([one, other]) == [
        "calls: 6 answered (2 by the journal), 1 failed, 5 requests sent, 70 tokens, cost 0.75"
    ]


def test_what_the_journal_saved_is_the_worth_of_its_answers():
    saving = totals(calls=4, from_journal=3, requests=1, cost=1.0, cost_now=0.25)
    assert calls_line([saving]) == [
        "calls: 4 answered (3 by the journal), 1 request sent, cost 0.25, saved 0.75"
    ]


def test_an_unknown_cost_leaves_the_sum_out():
    known = totals(calls=5, requests=4, cost_now=0.5)
    assert calls_line([known, totals(calls=1)]) == [
        "calls: 6 answered, 4 requests sent"
    ]
