"""Slices of a metric: how it is cut, and how p is shared among the slices."""

import numpy as np
import pytest
from comparison.making import make_combined, make_pair, rule

from pytest_evalmetrics.comparison import (
    ComparisonInput,
    Runs,
    check_each,
    slices_of,
)
from pytest_evalmetrics.model.comparison import Independence


def cut(pair, labels, codes):
    whole = ComparisonInput(pair=pair, rule=rule(), gate_id="g")
    return slices_of(whole, "lang", labels, np.array(codes))


def test_a_slice_has_the_tasks_of_its_label_and_their_mean():
    pair = make_pair([[1.0], [0.0], [1.0], [1.0]], [[1.0], [0.0], [0.0], [1.0]])
    (german,) = cut(pair, ["de", "en"], [0, 0, 0, 1])
    assert german.compared.pair.name == "mean_reward[lang=de]"
    assert german.compared.pair.tasks == (0, 1, 2)
    assert german.compared.pair.value_baseline == pytest.approx(2 / 3)
    assert german.compared.pair.value_current == pytest.approx(1 / 3)
    assert german.compared.pair.rewards_current.values.tolist() == [1.0, 0.0, 0.0]


def test_tasks_without_a_label_are_in_no_slice():
    pair = make_pair([[1.0]] * 7, [[1.0]] * 7)
    (german,) = cut(pair, ["de"], [0, 0, 0, -1, -1, -1, -1])
    assert german.compared.pair.tasks == (0, 1, 2)


def test_one_label_of_all_tasks_is_the_whole_and_no_slice():
    pair = make_pair([[1.0]] * 7, [[1.0]] * 7)
    assert cut(pair, ["de"], [0] * 7) == []


def test_a_metric_that_is_no_mean_has_no_slices():
    assert cut(make_combined([1.0] * 8, [0.0] * 8), ["de", "en"], [0, 1] * 4) == []


def test_p_is_adjusted_for_the_slices_that_are_left():
    before = [[1.0]] * 24
    now = [[0.0]] * 11 + [[1.0]] + [[0.0]] * 9 + [[1.0]] * 3
    pair = make_pair(before, now)
    tests = check_each(cut(pair, ["de", "en"], [0] * 12 + [1] * 12), alpha=0.05)
    # the exact sign flips of eleven, and of nine tasks
    assert [test.p for test in tests] == pytest.approx([2 * 0.5**12, 0.5**10])
    assert [test.slice.value for test in tests] == ["de", "en"]


def test_no_slices_make_no_tests():
    assert check_each([], alpha=0.01) == []


def test_slices_of_costs_whose_runs_show_nothing_are_no_worse():
    """Two runs, of which one cost far more than the other, and unequal rollouts."""
    before = [[1.0 + 0.1 * (task % 3)] for task in range(12)]
    now = [[2.0 + 0.1 * (task % 4), 2.5] for task in range(12)]
    whole = ComparisonInput(
        pair=make_pair(before, now, bounded=False),
        rule=rule(direction="lower"),
        runs=Runs((1e-60, 1e60), pooled=True, more_rollouts=1.0, se=50.0),
        gate_id="g",
    )
    slices = slices_of(whole, "lang", ["de", "en"], np.array([0, 1] * 6))
    assert [test.p for test in check_each(slices, alpha=0.01)] == [1.0, 1.0]


# -- a slice that loses everything -------------------------------------------------------


def first_of(rewards_before, rewards_now, others):
    """Test a slice beside other tasks; p is for two slices."""
    pair = make_pair(rewards_before + others, rewards_now + others)
    codes = [0] * len(rewards_before) + [1] * len(others)
    tests = check_each(cut(pair, ["de", "en"], codes), alpha=0.0012)
    return next(test for test in tests if test.slice.value == "de")


VARIED = [[1.0, 0.0, 1.0, 1.0]] * 20
COPIES = [[1.0] * 4, [0.0] * 4] * 10


def test_three_tasks_of_a_slice_that_lose_all_are_proven_by_independent_rollouts():
    test = first_of([[1.0] * 4] * 3, [[0.0] * 4] * 3, VARIED)
    # all passes of each task are the baseline's
    assert test.p == pytest.approx(2 / 70**3)
    assert test.doubt is None


def test_a_slice_whose_tasks_lost_unequal_amounts_is_proven_by_its_rollouts():
    before = [[1.0] * 4, [1.0] * 4, [1.0, 1.0, 1.0, 0.0]]
    test = first_of(before, [[0.0] * 4] * 3, VARIED)
    assert test.p == pytest.approx(2 * 5 / 70**3)
    assert test.doubt is None


def test_three_tasks_of_a_slice_whose_rollouts_may_be_copies_prove_nothing():
    test = first_of([[1.0] * 4] * 3, [[0.0] * 4] * 3, COPIES)
    assert test.doubt is Independence.UNSHOWN


def test_nine_of_ten_tasks_of_one_rollout_that_lose_all_are_no_coins():
    before = [[1.0]] * 9 + [[0.0]]
    test = first_of(before, [[0.0]] * 10, [[1.0], [0.0]] * 10)
    chances = np.linspace(0, 1, 1001)
    up = 10 * chances**9 * (1 - chances) + chances**10
    assert test.p == pytest.approx(2 * (up * (1 - chances) ** 10).max(), rel=0.01)
    assert test.doubt is None


def test_tasks_with_fewer_rollouts_than_before_are_no_coins_that_came_down():
    before = [[1.0, 0.0, 0.0, 0.0]] * 9 + [[0.0] * 4]
    pair = make_pair(before + VARIED, [[0.0]] * 10 + VARIED)
    tests = check_each(cut(pair, ["de", "en"], [0] * 10 + [1] * 20), alpha=0.0012)
    assert min(test.p for test in tests) > 0.0012
