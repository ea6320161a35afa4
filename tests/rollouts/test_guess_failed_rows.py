"""Rows of an unknown file that state an error: what the guess sees of them."""

import pytest

from pytest_evalmetrics.rollouts.guess.failed_rows import FailedRows, without_errors
from pytest_evalmetrics.rollouts.guess.seen_columns import seen_columns

TIMEOUT = {"error": "timeout"}


@pytest.mark.parametrize(("errors", "is_kept"), [(1, False), (2, True)])
def test_a_fifth_of_the_rows_are_left_out_as_errors(errors, is_kept):
    rows = [{"id": n, "score": 1} for n in range(5 - errors)]
    all_rows = [*rows, *[TIMEOUT] * errors]
    assert without_errors(all_rows) == (all_rows if is_kept else rows)


def scores_of(rows, path):
    """Give the values at a path, without the zeros beside errors."""
    return FailedRows(rows).without_zeros(seen_columns(rows)[path]).values


def test_a_zero_beside_an_error_is_missing():
    rows = [{"score": 0, **TIMEOUT}, {"score": 0}, {"score": 1}]
    assert scores_of(rows, "score") == [None, 0, 1]


def test_a_zero_below_an_error_of_the_row_is_missing():
    rows = [{"grade": {"score": 0.0}, **TIMEOUT}, {"grade": {"score": 1.0}}]
    assert scores_of(rows, "grade.score") == [None, 1.0]


def test_a_zero_beside_an_error_in_its_object_is_missing():
    rows = [
        {"grade": {"score": False, **TIMEOUT}, "cost": 0},
        {"grade": {"score": True}, "cost": 1},
    ]
    assert scores_of(rows, "grade.score") == [None, True]
    assert scores_of(rows, "cost") == [0, 1]


def test_a_zero_beside_an_error_deep_in_a_row_is_missing():
    rows = [{"run": {"grade": {"score": 0, **TIMEOUT}}}] * 2
    assert scores_of(rows, "run.grade.score") == [None, None]


def test_other_values_beside_an_error_are_kept():
    rows = [{"score": value, **TIMEOUT} for value in (0.5, "", None, 1)]
    assert scores_of(rows, "score") == [0.5, "", None, 1]


def test_the_zeros_of_rows_without_an_error_are_kept():
    rows = [{"score": 0, "error": None}, {"score": 1, "error": ""}]
    assert scores_of(rows, "score") == [0, 1]
