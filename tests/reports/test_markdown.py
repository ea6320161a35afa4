"""Markdown in which no text of a file is interpreted."""

import pytest

from pytest_evalmetrics.reports import markdown


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("pass@1", "pass@1"),
        ("a_b*c", r"a\_b\*c"),
        ("<b> [x](y)", r"\<b\> \[x\]\(y\)"),
        ("@octocat", "<span>@</span>octocat"),
        ("$x$", "<span>$</span>x<span>$</span>"),
        # a line break would begin a block
        ("a\n# b", r"a \# b"),
        ("a\x1bb", r"a\\x1bb"),
    ],
)
def test_a_text_is_escaped(text, escaped):
    assert markdown.plain(text) == escaped


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("<b> & 'c'", "&lt;b&gt; &amp; 'c'"),
        ("@octocat *x*", "<span>@</span>octocat *x*"),
        ("a\nb", "a b"),
    ],
)
def test_a_text_within_html_is_escaped_as_html(text, escaped):
    assert markdown.as_html(text) == escaped


def test_a_link_has_an_escaped_text_and_is_none_without_an_address():
    assert markdown.link("a_b", "https://x/y") == r"[a\_b](https://x/y)"
    assert markdown.link("a_b", "") == r"a\_b"


def test_a_table_leaves_out_the_columns_that_are_empty():
    assert markdown.table(("a", "b", "c"), [("1", "", "2"), ("", "", "3")]) == [
        "| a | c |",
        "| --- | --- |",
        "| 1 | 2 |",
        "|  | 3 |",
    ]


def test_lines_are_folded_below_their_title():
    assert markdown.folded("2 more", ["- a", "- b"]) == [
        "<details>",
        "<summary>2 more</summary>",
        "",
        "- a",
        "- b",
        "",
        "</details>",
    ]


def test_a_paragraph_ends_with_an_empty_line():
    assert markdown.paragraph(["a", "b"]) == ["a", "b", ""]


def test_the_columns_of_a_picture_are_kept_and_its_text_is_no_markup():
    assert markdown.picture(["a  ├─┤", "<b> [x] 'y' @me\x1b"]) == [
        "<pre>",
        "a  ├─┤",
        r"&lt;b&gt; &#91;x] 'y' <span>@</span>me\x1b",
        "</pre>",
    ]


def test_nothing_is_written_without_lines_or_rows():
    assert markdown.table(("a",), []) == []
    assert markdown.folded("title", []) == []
    assert markdown.paragraph([]) == []
    assert markdown.picture([]) == []
