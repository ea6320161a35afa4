"""The worst task of a benchmark, tested by the rollouts of each."""

import math
from math import comb

import pytest
from comparison.making import compared, make_pair, worst_task
from scipy import stats as oracle

from pytest_evalmetrics.comparison.single_tasks import single_task_test


def test_it_is_corrected_for_the_tasks_that_could_be_as_significant():
    # a broken task, two sound ones, one with at best 1 / C(7, 3), twice the p of the
    # broken one, and one whose rollouts are all the same
    before = [[1] * 4, [1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 0], [1] * 4]
    after = [[0] * 4, [1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 1, 0], [1] * 4]
    pair = make_pair(
        before,
        after,
        name="worst_task",
        extreme="lowest",
        value_baseline=2 / 3,
        value_current=0.0,
    )
    alone = 1 / comb(8, 4)
    assert compared(pair).test.p == pytest.approx(1 - (1 - alone) ** 3, rel=1e-9)


@pytest.mark.parametrize(
    ("tasks", "before", "after"), [(60, 8, 4), (60, 1, 1), (5, 8, 4)]
)
def test_several_tasks_that_break_are_rarer_than_one(tasks, before, after):
    pair = worst_task([[1.0] * before] * tasks, [[0.0] * after] * tasks)
    # each task's rollouts fall like that in one of so many ways to deal them out
    alone = 1 / comb(before + after, before)
    all_of_them = oracle.binom(tasks, alone).sf(tasks - 1)
    assert compared(pair).test.p == pytest.approx(all_of_them, rel=1e-9)


def test_a_task_a_little_beyond_the_worst_of_many_that_vary_explains_nothing():
    before = [[0.5, 0.5]] + [[0.4, 0.6]] * 60
    after = [[0.55, 0.4, 0.5, 0.5]] + [[0.4, 0.6, 0.45, 0.55]] * 60
    assert compared(worst_task(before, after)).test.p > 0.2


def passing(*counts):
    """Tasks of 16 rollouts, so many of which pass."""
    return [[1.0] * count + [0.0] * (16 - count) for count in counts]


def test_a_task_that_is_worse_but_not_the_worst_explains_nothing():
    comparison = compared(worst_task(passing(4, 16, 16), passing(3, 8, 16)))
    assert comparison.proven == ()


def test_the_tasks_that_explain_it_are_named_worst_first():
    comparison = compared(worst_task(passing(14, 15, 16), passing(16, 4, 2)))
    assert comparison.proven == (2, 1)


def test_the_highest_task_is_tested_where_lower_is_better():
    pair = make_pair(
        [[1.0, 2.0]] * 6,
        [[1.0, 2.0]] * 5 + [[9.0, 8.0]],
        bounded=False,
        extreme="highest",
        value_baseline=2.0,
        value_current=9.0,
    )
    comparison = compared(pair, direction="lower")
    # both of the run's rollouts are the highest two of four; six tasks could be so
    alone = 1 / comb(4, 2)
    assert comparison.test.p == pytest.approx(1 - (1 - alone) ** 6, rel=1e-9)


def test_tasks_without_values_are_those_of_their_lowest_or_highest_reward():
    before = [[0.9, 0.8], [0.9, 0.7]]
    now = [[0.9, 0.1], [0.8, 0.9]]
    keys = {"current": None, "value_baseline": 0.7, "value_current": 0.1}
    lowest = make_pair(before, now, extreme="lowest", **keys)
    assert single_task_test(lowest, 1.0).log_p == pytest.approx(
        math.log(1 - (1 / 2) ** 2)
    )


def test_a_metric_that_did_not_get_worse_has_a_p_of_1():
    comparison = compared(worst_task([[0.0, 0.5]] * 4, [[1.0, 0.5]] * 4))
    assert comparison.test.p == 1
    assert comparison.proven == ()
