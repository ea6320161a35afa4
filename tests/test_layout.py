"""How texts are laid out for people."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.layout import visible, visible_lines


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
