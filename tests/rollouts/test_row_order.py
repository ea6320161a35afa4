"""The order of a table's rows: sorted by agent, task and attempt, which is numbered if need be."""

import numpy as np
import pytest

from pytest_evalmetrics.rollouts.coded_column import CodedColumn
from pytest_evalmetrics.rollouts.row_order import RowKeys, numbered, start_times


def keys(*rows):
    agent, task, sample = (np.array(column) for column in zip(*rows, strict=True))
    return RowKeys(agent, task, sample)


def test_sorted_rows_keep_their_order():
    assert keys((0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0)).order() is None


def test_rows_are_sorted_by_agent_then_task_then_sample():
    unsorted = keys((1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0))
    assert unsorted.order().tolist() == [3, 2, 1, 0]


def test_two_rows_of_one_attempt_are_not_sorted():
    twice = keys((0, 0, 0), (0, 0, 0))
    order = twice.order()
    assert twice.same_attempt(order) == (0, 1)


def test_the_pair_whose_second_row_comes_first_is_named():
    rows = keys((0, 1, 0), (0, 0, 0), (0, 0, 0), (0, 1, 0))
    assert rows.same_attempt(rows.order()) == (1, 2)


def test_different_attempts_are_no_pair():
    rows = keys((0, 1, 0), (0, 0, 0))
    assert rows.same_attempt(rows.order()) is None


def test_a_failed_attempt_counts_only_where_no_other_row_is_of_it():
    rows = keys((0, 0, 0), (0, 0, 0), (0, 1, 0))
    assert rows.made_again([0, 2]) == {0}


def test_the_last_of_several_failures_of_an_attempt_counts():
    rows = keys((0, 0, 0), (0, 0, 0), (0, 0, 1))
    assert rows.made_again([0, 1]) == {0}


def test_attempts_are_numbered_as_they_come_by_agent_and_task():
    agent = np.array([0, 0, 1, 0, 1])
    task = np.array([0, 1, 0, 0, 0])
    assert numbered(agent, task, None).tolist() == [0, 0, 0, 1, 1]


def test_attempts_are_numbered_by_their_start_where_it_is_known():
    agent = np.zeros(3, int)
    task = np.zeros(3, int)
    started = np.array([30.0, 10.0, 20.0])
    assert numbered(agent, task, started).tolist() == [2, 0, 1]


def test_blocks_without_start_times_have_none():
    times = start_times(4, {1: np.array([5.0, 6.0])})
    assert np.isnan(times).tolist() == [True, False, False, True]
    assert times[1:3].tolist() == [5.0, 6.0]


def test_no_start_times_are_no_column():
    assert start_times(4, {}) is None


def test_values_are_coded_in_the_order_in_which_they_are_met():
    column = CodedColumn(np.int32)
    column.extend(["b", "a"])
    column.extend(["c", "b"])
    assert column.values == ("b", "a", "c")
    assert column.rows.tolist() == [0, 1, 2, 0]


def test_rows_without_a_value_have_the_one_that_stands_for_it():
    column = CodedColumn(np.int32, absent="(missing)")
    column.extend([None, "a", None])
    assert column.values == ("(missing)", "a")
    assert column.rows.tolist() == [0, 1, 0]


def test_numbers_of_numpy_are_coded_as_numbers():
    column = CodedColumn(np.int64)
    column.extend(list(np.array([7, 8])))
    column.extend([7])
    assert [type(value) for value in column.values] == [int, int]
    assert column.rows.tolist() == [0, 1, 0]


def test_a_row_without_a_task_is_refused():
    with pytest.raises(ValueError, match="no task"):
        CodedColumn(np.int64).extend([None])
