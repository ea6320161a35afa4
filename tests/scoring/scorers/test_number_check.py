"""Comparisons of the last numbers of two texts."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scoring.scorers.offline import entry, make, recorded, refusal


def spec(operation="=="):
    sides = {"left_template": "{{ item.left }}", "right_template": "{{ item.right }}"}
    return entry(type="number-check", operation=operation, **sides)


def check(left, right, operation="=="):
    return (
        make(spec(operation))
        .score(recorded({"left": left, "right": right}))
        .scores["number-check"]
    )


@pytest.mark.parametrize(
    ("spellings", "below", "same", "above"),
    [
        (["equals", "=="], 0, 1, 0),
        (["not equals", "!=", "<>"], 1, 0, 1),
        ([">=", "gte", "greater than or equal"], 0, 1, 1),
        ([">", "gt", "greater than"], 0, 0, 1),
        (["<=", "lte", "less than or equal"], 1, 1, 0),
        (["<", "lt", "less than"], 1, 0, 0),
    ],
)
def test_operations(spellings, below, same, above):
    for operation in spellings:
        assert [check(left, "2", operation) for left in ("1", "2.0", "3")] == [
            below,
            same,
            above,
        ]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("first 3, then 4.", 4),
        ("it is -4.5 degrees", -4.5),
        ("5-3", 3),
        ("between 10-12", 12),
        ("from 10\u201312", 12),
        ("3-5 = -2", -2),
        ("The answer is \u22125.", -5),
        ("\u20135", -5),
        ("\\boxed{-5}", -5),
        ("gpt-4", 4),
        ("1,234", 234),
        ("3,14", 14),
        ("+7", 7),
        (".5", 0.5),
        (4, 4),
        (4.0, 4),
        (1e3, 1000),  # a number that is one already is not taken apart
        (10**400, 10**400),
        ("9007199254740993", 9007199254740993),  # to the digit
    ],
)
def test_the_last_number(text, number):
    assert check(text, number) == 1


# a long text takes no more than its length: its square would take hours
@pytest.mark.parametrize(
    "value",
    ["", "none", "1.2.3", ".", "-", "9" * 5000, "." * 1_000_000, None, True, [1]],
)
def test_what_has_no_number_is_a_failed_row(value):
    assert refusal(spec(), recorded({"left": value, "right": 1})).startswith(
        "no-number: the left value is "
    )


def last_number(text):
    """Read forwards; None without a number."""
    pattern = r"((?:(?<![0-9ax])[+-])?(?:\.?\d+)(?:\.\d+)*)"
    numbers = re.findall(pattern, text)
    if not numbers or numbers[-1].count(".") > 1:
        return None
    return float(numbers[-1])


@given(st.text(alphabet="019.+- ax", max_size=12))
def test_the_last_number_is_the_one_that_reading_forwards_finds_last(text):
    number = last_number(text)
    assume(number is not None)
    assert check(text, number) == 1


@given(st.text(alphabet=".+- ax", max_size=12))
def test_a_text_without_digits_has_no_number(text):
    row = recorded({"left": text, "right": 1})
    assert refusal(spec(), row).startswith("no-number")


def test_the_side_without_a_number_is_named():
    row = recorded({"left": "1", "right": "none"})
    assert refusal(spec(), row) == (
        'no-number: the right value is "none", expected a text with a number'
    )
