"""Values of keys: shares, and how a message names what it found."""

import math

import pytest

from pytest_evalmetrics.config.problems import describe

SHARE = "a share from 0 to 1, such as 0.02 or 2%"


@pytest.mark.parametrize(
    ("text", "share"), [("0", 0.0), ("1", 1.0), ("0.02", 0.02), ("2%", 0.02)]
)
def test_a_share_is_a_number_or_a_percentage(load, text, share):
    (benchmark,) = load(
        f"benchmark: {{name: a, rollouts: r, expect: {{max_missing: {text}}}}}\n"
    )
    assert benchmark.spec.expect.max_missing == share


@pytest.mark.parametrize("text", ["-0.01", "1.01", "-1%", "101%", ".nan", "x", "true"])
def test_what_is_no_share_is_refused(refusals, text):
    ((line,),) = refusals(
        [f"benchmark: {{name: a, rollouts: r, expect: {{max_missing: {text}}}}}\n"]
    )
    assert line.startswith(f"1: benchmark.expect.max_missing: expected {SHARE}, found ")


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (None, "nothing"),
        (True, "true"),
        ("x", 'the text "x"'),
        ('say "x"', r'the text "say \"x\""'),
        ([], "an empty list"),
        ({"a": 1}, "a mapping"),
        (math.inf, ".inf"),
        (-math.inf, "-.inf"),
        (math.nan, ".nan"),
        (2.5, "2.5"),
    ],
)
def test_a_message_names_the_value_that_it_found(value, named):
    assert describe(value) == named


def test_a_long_text_is_shortened_and_stays_in_quotes():
    named = describe("x" * 500)
    assert named.startswith('the text "xxx')
    assert named.endswith('x…"')
    assert len(named) < 80
