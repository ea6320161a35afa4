"""Intervals drawn in text: each mark at its place on the scale, and what the marks mean."""

import pytest
from msgspec import structs

from pytest_evalmetrics.failure_lines import Picture
from pytest_evalmetrics.reports.drawing import (
    ASCII,
    LINES,
    Scale,
    drawn,
    legend,
    scale_of,
    share_scale,
)

# a change of -0.4, whose gate fails from -0.1 on
FALL = Picture(
    low=-0.6,
    value=-0.4,
    high=-0.2,
    limit=-0.1,
    shows_zero=True,
    label="",
    text="gate: no drop >= 0.1",
)
# a value of 0.5 that should be 0.7
VALUE = Picture(
    low=0.4,
    value=0.5,
    high=0.8,
    limit=0.7,
    shows_zero=False,
    label="",
    text="0.7000",
)
TENTHS = Scale(-0.6, 0.0, 7)  # one column a tenth


def test_each_mark_stands_at_its_value():
    assert drawn(FALL, TENTHS, ASCII) == "[-o-]:|"


def test_a_value_has_no_zero_of_interest():
    assert drawn(VALUE, Scale(0.4, 0.8, 5), ASCII) == "[o-:]"


def test_a_change_of_which_any_size_matters_has_no_limit():
    exact = structs.replace(FALL, limit=None)
    assert drawn(exact, TENTHS, ASCII) == "[-o-] |"


def test_no_space_stands_behind_the_last_mark():
    assert drawn(FALL, Scale(-0.6, 0.4, 11), ASCII) == "[-o-]:|"


def test_strokes_of_a_terminal_are_lines():
    assert drawn(FALL, TENTHS, LINES) == "├─●─┤┊│"


@pytest.mark.parametrize(
    ("limit", "picture"),
    [
        # above the interval's end, in the column of the end: one to the right
        (-0.16, "[-o-]:|"),
        # below the interval's beginning there is no column left
        (-0.64, ":-o-] |"),
        # the end itself is marked as the limit
        (-0.2, "[-o-: |"),
    ],
)
def test_a_limit_beside_an_end_of_the_interval_has_a_column_of_its_own(limit, picture):
    beside = structs.replace(FALL, limit=limit)
    assert drawn(beside, TENTHS, ASCII) == picture


def test_a_limit_below_the_interval_in_its_column_stands_one_to_the_left():
    beside = structs.replace(FALL, low=-0.5, limit=-0.54)
    assert drawn(beside, TENTHS, ASCII) == ":[o-] |"


def test_a_limit_in_the_last_column_hides_the_end_of_the_interval():
    close = structs.replace(VALUE, low=0.0, high=0.98, limit=1.0)
    assert drawn(close, Scale(0.0, 1.0, 11), ASCII) == "[----o----:"


def test_a_scale_has_every_mark_of_all_pictures():
    small = structs.replace(FALL, low=-0.1, value=0.0, high=0.3, limit=None)
    assert scale_of([FALL, small], 21) == Scale(-0.6, 0.3, 21)
    assert scale_of([VALUE], 21) == Scale(0.4, 0.8, 21)
    assert scale_of([FALL], 21) == Scale(-0.6, 0.0, 21)
    far = structs.replace(VALUE, limit=2.0)
    assert scale_of([far], 21) == Scale(0.4, 2.0, 21)


def test_a_single_value_is_drawn_in_the_middle():
    assert Scale(0.5, 0.5, 21).column(0.5) == 10


@pytest.mark.parametrize(
    ("value", "column"), [(0.0, 0), (0.5, 10), (1.0, 20), (0.26, 5)]
)
def test_values_are_spread_over_all_columns(value, column):
    assert Scale(0.0, 1.0, 21).column(value) == column


@pytest.mark.parametrize(
    ("times", "is_shared"),
    [(1, True), (8, True), (8.1, False), (1 / 8, True), (1 / 8.1, False)],
)
def test_changes_share_a_scale_up_to_eight_times_the_first(times, is_shared):
    other = structs.replace(FALL, low=-0.6 * times, high=-0.2 * times)
    assert share_scale(other, FALL) is is_shared


def test_the_size_of_a_rise_is_that_of_its_upper_end():
    rise = structs.replace(FALL, low=0.2, high=0.6 * 8)
    assert share_scale(rise, FALL)
    assert not share_scale(structs.replace(rise, high=0.61 * 8), FALL)


def test_a_first_change_of_nothing_stands_for_one_of_one():
    nothing = structs.replace(FALL, low=0.0, high=0.0)
    assert share_scale(structs.replace(FALL, low=-1.0), nothing)
    assert not share_scale(structs.replace(FALL, low=-8.1), nothing)


@pytest.mark.parametrize(
    ("picture", "text"),
    [
        (FALL, "| 0  : gate: no drop >= 0.1"),
        (VALUE, ": 0.7000"),
        # what is no place on the scale is not marked
        (
            structs.replace(FALL, limit=None, text="gate: no drop"),
            "| 0  gate: no drop",
        ),
        (structs.replace(FALL, limit=None, text=""), "| 0"),
    ],
)
def test_the_marks_are_explained(picture, text):
    assert legend(picture, ASCII) == text
