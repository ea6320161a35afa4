"""How texts are laid out for people."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.layout import many, of_many, visible, visible_lines


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


def test_one_is_one_and_more_are_more():
    assert [many(n, "task") for n in (0, 1, 2)] == ["0 tasks", "1 task", "2 tasks"]
    assert [many(n, "row", "has") for n in (1, 2)] == ["1 row has", "2 rows have"]
    assert of_many(1, 3, "task", "is") == "1 of 3 tasks is"
    assert of_many(2, 3, "task", "was") == "2 of 3 tasks were"
    assert of_many(1, 1, "answer") == "1 of 1 answer"


@given(st.text())
def test_nothing_of_any_text_paints_or_breaks_a_line(text):
    assert visible(text).isprintable()
    assert visible_lines(text).count("\n") == text.count("\n")
