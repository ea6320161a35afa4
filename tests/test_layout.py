"""How texts are laid out for people."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.layout import (
    amount,
    capped,
    compact,
    in_natural_order,
    listed,
    many,
    of_many,
    one_per_line,
    shortened,
    shown,
    untrusted,
    visible,
    visible_lines,
)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("plain, naïve, 日本", "plain, naïve, 日本"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x9b2J\u2028\u202e", r"\x9b2J\u2028\u202e"),
    ],
)
def test_control_characters_are_shown_as_escapes(text, escaped):
    assert visible(text) == escaped


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


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("\u2068a\u2069", "\u2068a\u2069"),
        ("\u2068a", r"\u2068a"),
        ("a\u2069", r"a\u2069"),
        ("\u2069a\u2068", r"\u2069a\u2068"),
        ("\u2068\u2068a\u2069\u2069\n", "\u2068\u2068a\u2069\u2069\\n"),
    ],
)
def test_isolates_are_kept_where_each_is_ended(text, escaped):
    assert visible(text) == escaped


def test_each_line_of_a_text_is_made_visible_by_itself():
    assert visible_lines("a\tb\nc") == "a\\tb\nc"


@pytest.mark.parametrize(
    ("count", "verb", "text"),
    [
        (0, "", "0 tasks"),
        (1, "", "1 task"),
        (2, "", "2 tasks"),
        (1, "is", "1 task is"),
        (2, "is", "2 tasks are"),
        (2, "has", "2 tasks have"),
        (2, "was", "2 tasks were"),
        (2, "counts", "2 tasks count"),
    ],
)
def test_things_are_counted_in_words(count, verb, text):
    assert many(count, "task", verb) == text


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (1, 3, "1 of 3 tasks has"),
        (2, 3, "2 of 3 tasks have"),
        (1, 1, "1 of 1 task has"),
    ],
)
def test_the_verb_of_a_part_goes_with_the_part(part, whole, text):
    assert of_many(part, whole, "task", "has") == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234567.0, "1235000"), (0.00001234, "0.00001234"), (2.0, "2"), (0.25, "0.25")],
)
def test_an_amount_has_four_digits_and_no_exponent(value, text):
    assert amount(value) == text


def test_names_are_listed_up_to_a_number():
    assert listed(["a", "b", "c"], 3) == "a, b, c"
    assert listed(["a", "b", "c", "d"], 2) == "a, b and 2 more"


def test_names_are_listed_with_those_that_are_counted_and_not_given():
    assert listed(["a", "b"], 10, count=5) == "a, b and 3 more"


def test_ten_names_are_listed_unless_another_number_is_given():
    assert listed(range(11)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 1 more"


def test_lines_are_capped_with_one_for_the_rest():
    assert capped(["a", "b", "c"], 2, "and {} more") == ["a", "b", "and 1 more"]
    assert capped(["a", "b"], 2, "and {} more") == ["a", "b"]


def test_lines_are_capped_with_those_that_are_counted_and_not_given():
    assert capped(["a"], 2, "and {} more", count=5) == ["a", "and 3 more"]


def test_a_text_is_cut_where_it_is_longer_than_its_line():
    assert shortened("x" * 40) == "x" * 40
    assert shortened("x" * 41) == "x" * 40 + "…"


def test_a_value_in_a_message_is_json_cut_short():
    assert shown({"a": "é"}) == '{"a": "é"}'
    assert shown("x" * 200) == '"' + "x" * 159 + "…"
    assert shown("abcdef", most=3) == '"ab…'


def test_an_object_has_one_entry_a_line_as_far_in_as_it_is_closed():
    text = one_per_line({"a": [1, 0], "b": "é"}, 2)
    assert text == '{\n    "a": [1, 0],\n    "b": "é"\n  }'


def test_an_empty_object_has_no_line():
    assert one_per_line({}, 4) == "{}"


def test_json_for_machines_has_no_spaces():
    assert compact({"a": [1, 0]}) == '{"a":[1,0]}'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": "é"}, '{"a": "é"}'),
        ("a\u202eb", r'"a\u202eb"'),
        ("a\u2028b\nc", r'"a\u2028b\nc"'),
    ],
)
def test_untrusted_data_is_json_without_invisible_characters(value, text):
    assert untrusted(value) == text


def test_digits_are_compared_as_numbers_whatever_zeros_lead_them():
    assert in_natural_order(["a 010", "a 9", "a 0008"]) == ["a 0008", "a 9", "a 010"]
