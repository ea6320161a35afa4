"""How texts are laid out for people."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.layout import in_natural_order, visible, visible_lines


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, naïve, 日本", "plain, naïve, 日本"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x9b2J\u2028\u202e", r"\x9b2J\u2028\u202e"),
    ],
)
def test_control_characters_are_shown_as_escapes(text, shown):
    assert visible(text) == shown


@given(st.text())
def test_nothing_of_any_text_paints_or_breaks_a_line(text):
    assert visible(text).isprintable()
    assert visible_lines(text).count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "ordered",
    [
        ["task 2", "task 10", "task 100"],
        ["a/2/9", "a/2/10", "a/10/1"],
        [2, 10],
        ["2", "10", "x"],
        ["v1.9", "v1.10"],
        ["a", "a1", "b"],
        ["9" * 5_000, "1" + "0" * 5_000],
    ],
)
def test_names_are_sorted_as_people_count(ordered):
    assert in_natural_order(reversed(ordered)) == ordered
