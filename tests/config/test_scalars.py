from __future__ import annotations

import math

import pytest

from pytest_evalmetrics.config.yaml_reader import read_scalar

# YAML 1.2.2, example 10.9 ("Core Tag Resolution"), and the table of section 10.3.2
OF_THE_SPEC = {
    "null": None,
    "Null": None,
    "NULL": None,
    "~": None,
    "": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
    "0": 0,
    "0o7": 7,
    "0x3A": 58,
    "-19": -19,
    "+3": 3,
    "0.": 0.0,
    "-0.0": -0.0,
    ".5": 0.5,
    "+12e03": 12000.0,
    "-2E+05": -200000.0,
    ".inf": math.inf,
    "-.Inf": -math.inf,
    "+.INF": math.inf,
}


@pytest.mark.parametrize(("text", "value"), OF_THE_SPEC.items())
def test_a_scalar_of_the_core_schema(text: str, value: object) -> None:
    read = read_scalar(text)
    assert read == value
    assert type(read) is type(value)
    if value == 0 and isinstance(read, float):
        assert math.copysign(1, read) == (-1 if text[0] == "-" else 1)


@pytest.mark.parametrize("text", [".nan", ".NaN", ".NAN"])
def test_not_a_number(text: str) -> None:
    read = read_scalar(text)
    assert isinstance(read, float)
    assert math.isnan(read)


def test_the_number_that_yaml_1_1_takes_for_text() -> None:
    assert read_scalar("1e3") == 1000.0


def test_a_leading_zero_is_no_octal_number() -> None:
    assert read_scalar("010") == 10


@pytest.mark.parametrize(
    "text",
    [
        *("yes", "no", "on", "off", "y", "n", "Yes", "tRUE", "nUll"),  # booleans of YAML 1.1
        *("1:30", "190:20:30", "2024-01-01", "2024-01-01T00:00:00Z"),  # base 60, dates
        *("1_000", "0b101", "0o8", "0xG", "-0x1", "+0o7", "1e", "e3", ".", "-", "+", "1.2.3"),
        *("-.nan", ".infinity", "inf", "nan", "NaN", "2%", ">= 0.7", "\u0663", "1 2"),
    ],
)
def test_everything_else_is_text(text: str) -> None:
    assert read_scalar(text) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1e999", "the number 1e999 is out of range"),
        ("-1e999", "the number -1e999 is out of range"),
        ("9" * 5000, "a number of 5000 digits is out of range"),
        ("0x" + "F" * 290, f"the number 0x{'F' * 58} is out of range"),
    ],
)
def test_a_number_beyond_a_float_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match="out of range") as caught:
        read_scalar(text)
    assert str(caught.value) == message
