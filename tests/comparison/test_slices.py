"""Slices of a metric: how it is cut, and how p is shared among the slices."""

import numpy as np
import pytest
from comparison.making import make_combined, make_pair, rule

from pytest_evalmetrics.comparison import ComparisonInput, check_each, slices_of


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
