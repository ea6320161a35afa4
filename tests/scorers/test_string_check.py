"""Comparisons of two texts."""

from __future__ import annotations

from typing import Any

import pytest
from scorers.offline import made, recorded, refusal

from pytest_evalmetrics.spec.scorer_keys import StringCheckSpec


def spec(operation: Any) -> StringCheckSpec:
    return StringCheckSpec(
        type="string-check",
        operation=operation,
        left_template="{{ item.left }}",
        right_template="{{ item.right }}",
    )


@pytest.mark.parametrize(
    ("operation", "left", "right", "expected"),
    [
        ("equals", "a", "a", 1),
        ("==", "a", "a ", 0),
        ("!=", "a", "b", 1),
        ("<>", "a", "a", 0),
        ("not equals", "a", "b", 1),
        ("contains", "abc", "b", 1),
        ("contains", "b", "abc", 0),
        ("not contains", "abc", "d", 1),
        ("startswith", "abc", "ab", 1),
        ("startswith", "abc", "bc", 0),
        ("endswith", "abc", "bc", 1),
        ("endswith", "abc", "ab", 0),
    ],
)
def test_operations(operation: Any, left: str, right: str, expected: float) -> None:
    found = made(spec(operation)).score(recorded({"left": left, "right": right}))
    assert found == {"string-check": expected}


def test_a_side_that_is_no_text_is_a_failed_row() -> None:
    assert refusal(spec("=="), recorded({"left": "5", "right": 5})) == (
        "no-text: the right value is 5, expected text"
    )
