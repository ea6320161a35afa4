"""Text that fits a terminal: columns, cuts, broken lines, directions and links."""

import pytest

from pytest_evalmetrics.reports.console import (
    beginning,
    both_ends,
    broken,
    columns_of,
    filled,
    isolated,
    limited,
    linked,
    opens_links,
    padded,
)
from pytest_evalmetrics.reports.paragraphs import fitted

COMBINED = "e\u0301"  # an accent on its letter
ARABIC = "\u0645"
ARABIC_DIGIT = "\u0661"
HEBREW = "\u05e9\u05dc\u05d5\u05dd"


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("abc", 3),
        ("日本", 4),
        (COMBINED, 1),
        ("a\u200bb", 2),
        # joins marks, and is none of the combining classes
        ("a\u034f", 1),
        ("é", 1),
        ("\uff21\uff22", 4),
    ],
)
def test_wide_letters_take_two_columns_and_combining_ones_none(text, columns):
    assert columns_of(text) == columns


def test_a_text_is_filled_up_to_its_columns():
    assert padded("日本", 6) == "日本  "
    assert padded("abcdef", 3) == "abcdef"


@pytest.mark.parametrize(
    ("text", "width", "kept"),
    [
        ("as long", 7, "as long"),
        ("one two three", 11, "one two..."),
        ("one, two", 7, "one..."),
        ("MAX, two", 7, "MAX..."),
        ("abcdefgh", 6, "abc..."),
        ("日本語の文", 8, "日本..."),
        # the indent of a line is no word
        ("  abcdefgh", 8, "  abc..."),
    ],
)
def test_the_beginning_of_a_text_ends_with_a_word(text, width, kept):
    assert beginning(text, width) == kept


@pytest.mark.parametrize(
    ("text", "width", "kept"),
    [
        ("as long", 7, "as long"),
        ("abcdefghij", 7, "ab...ij"),
        ("abcdefghij", 8, "ab...ij"),
        ("日本語の文", 9, "日...文"),
        ("ab日本語c", 8, "ab...c"),
    ],
)
def test_both_ends_of_a_text_are_kept(text, width, kept):
    assert both_ends(text, width) == kept


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", None, ["one two three"]),
        ("one two three", 13, ["one two three"]),
        ("one two three", 8, ["one two", "      three"]),
        ("  one two three", 10, ["  one two", "      three"]),
        ("unbreakable", 4, ["unbreakable"]),
        ("  unbreakable", 4, ["  unbreakable"]),
        ("a  b", 4, ["a  b"]),
    ],
)
def test_a_text_is_broken_between_words(text, width, lines):
    assert broken(text, width) == lines


@pytest.mark.parametrize(
    ("most", "width", "kept"),
    [
        (3, 9, ["one two", "  three", "  four"]),
        (2, 10, ["one two", "  three..."]),
        (2, 20, ["one two", "  three four"]),
        (1, 12, ["one two..."]),
        # a log has lines of any width
        (1, None, ["one two", "  three", "  four"]),
    ],
)
def test_of_many_lines_the_last_one_that_is_kept_is_cut(most, width, kept):
    assert limited(["one two", "  three", "  four"], most, width) == kept


def test_parts_fill_a_line_to_its_last_column():
    assert filled(["ab", "cd"], 5) == ["ab cd"]
    assert filled(["ab", "cd"], 4) == ["ab", "      cd"]
    assert filled(["ab", "cd"], 7, indent=2, begins="- ") == ["- ab cd"]


def test_a_part_that_is_longer_than_a_line_has_one_of_its_own():
    assert filled(["a", "much-too-long", "b"], 5, indent=1) == [
        "a",
        " much-too-long",
        " b",
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("abc", "abc"),
        ("é", "é"),
        (HEBREW, f"\u2068{HEBREW}\u2069"),
        (f"a{ARABIC}1", f"\u2068a{ARABIC}1\u2069"),
        (ARABIC_DIGIT, f"\u2068{ARABIC_DIGIT}\u2069"),
        # marks that turn the direction: embedding, override, isolate
        ("\u202ba", "\u2068\u202ba\u2069"),
        ("\u202ea", "\u2068\u202ea\u2069"),
        ("\u2067a", "\u2068\u2067a\u2069"),
    ],
)
def test_a_text_from_right_to_left_is_isolated(text, shown):
    assert isolated(text) == shown


@pytest.mark.parametrize(
    ("environ", "is_terminal", "opens"),
    [
        ({"TERM": "xterm"}, True, True),
        ({"TERM": "xterm"}, False, False),
        ({"TERM": "dumb"}, True, False),
        ({"TERM": "linux"}, True, False),
        ({"TERM": "emacs"}, True, False),
        ({}, True, False),
        ({"FORCE_HYPERLINK": "1"}, False, True),
        ({"FORCE_HYPERLINK": "0", "TERM": "xterm"}, True, False),
        ({"FORCE_HYPERLINK": "", "TERM": "xterm"}, True, False),
    ],
)
def test_links_are_written_where_a_terminal_opens_them(environ, is_terminal, opens):
    assert opens_links(environ, is_terminal=is_terminal) is opens


def test_a_link_has_its_text_between_its_marks():
    assert linked("a", "file:///x") == "\x1b]8;;file:///x\x1b\\a\x1b]8;;\x1b\\"


# -- paragraphs of commands ------------------------------------------------------------------


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("LINES", "24")


@pytest.mark.usefixtures("narrow")
def test_a_paragraph_goes_on_below_itself():
    assert fitted("one two three four five") == "one two three four\n    five\n"


@pytest.mark.usefixtures("narrow")
def test_a_table_goes_on_below_its_last_column():
    assert fitted("a    one two three four") == "a    one two three\n     four\n"


@pytest.mark.usefixtures("narrow")
def test_a_wide_column_leaves_no_room_below_itself():
    assert fitted("a-very-wide-one   two three") == "a-very-wide-one\n    two three\n"


def test_a_log_has_lines_of_any_width(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    text = "a line of a log that is wider than any terminal " * 4
    assert fitted(text) == text
