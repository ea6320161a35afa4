"""What the tasks that got worse have in common, against counts done by hand."""

import pytest

from pytest_evalmetrics.pipeline.separators import fisher_p, groups_of, separators
from pytest_evalmetrics.spec import FieldMap


def test_the_value_that_separates_best_is_found_with_its_counts():
    # 6 tasks of 20 got worse; 5 of them are among the 5 in French
    groups = {
        ("language", "fr"): frozenset({0, 1, 2, 3, 4}),
        ("language", "en"): frozenset(range(5, 20)),
        ("level", "hard"): frozenset({0, 6, 7, 8}),
    }
    (found,) = separators(groups, worse=range(6), tasks=20)
    assert (found.field, found.value) == ("language", "fr")
    assert (found.worse_with, found.tasks_with) == (5, 5)
    assert (found.worse_without, found.tasks_without) == (1, 15)
    assert (found.fields, found.values) == (2, 3)
    # by hand: C(6, 5) C(14, 0) / C(20, 5) = 6 / 15504, of three values
    assert found.p == pytest.approx(3 * 6 / 15504)
    # by hand: (5 + .5) (14 + .5) / ((0 + .5) (1 + .5))
    assert found.odds == pytest.approx(5.5 * 14.5 / (0.5 * 1.5))


def test_fishers_p_is_that_of_the_lady_tasting_tea():
    # Fisher 1935: all of four cups right by chance once in 70, three or more 17 in 70 times
    assert fisher_p(4, 4, 4, 8) == pytest.approx(1 / 70)
    assert fisher_p(3, 4, 4, 8) == pytest.approx(17 / 70)


def test_nothing_is_named_that_chance_explains():
    groups = {("level", "hard"): frozenset({0, 1, 7, 8})}
    assert separators(groups, worse=range(4), tasks=20) == ()


def test_of_values_that_separate_alike_a_length_comes_last():
    worse = frozenset(range(6))
    groups = {
        ("answer", "longer than 17 characters"): worse,
        ("reason has the word", "city"): worse,
        ("calls tool", "search"): worse,
    }
    found = separators(groups, worse=worse, tasks=20)
    fields = [separator.field for separator in found]
    assert fields == ["calls tool", "reason has the word", "answer"]


def test_rows_are_grouped_by_category_tool_and_words_of_reasons():
    call = {"id": "1", "function": {"name": "search", "arguments": "{}"}}
    asked = {"role": "user", "content": "?"}
    rows = [
        {
            "id": str(task),
            "kind": "a" if task < 4 else "b",
            "verdict": "fail" if task < 4 else "pass",
            "messages": [
                asked,
                {
                    "role": "assistant",
                    "content": "x" * 9 if task < 4 else "x",
                    "tool_calls": [call] if task < 4 else [],
                },
            ],
        }
        for task in range(10)
    ]
    reasons = ["wrong city"] * 4 + [""] * 6
    groups = groups_of(rows, reasons, FieldMap(task="id"), {"reward"})
    first = frozenset(range(4))
    assert groups["kind", "a"] == first
    assert groups["calls tool", "search"] == first
    assert groups["reason has the word", "city"] == first
    assert not any(field in ("id", "verdict") for field, _ in groups)
