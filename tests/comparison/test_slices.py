"""Slices of a metric: how it is cut, and how p is shared among the slices."""

import numpy as np
import pytest
from comparison.making import make_combined, make_pair, rule
from msgspec.structs import replace

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


@pytest.mark.parametrize("left", [1, 4])
def test_a_slice_of_which_anything_is_left_is_no_coins(left):
    before = [[1.0]] * 10
    now = [[0.01 * left]] + [[0.0]] * 9
    test = first_of(before, now, [[1.0], [0.0]] * 10)
    # the signs of ten tasks, of two slices
    assert test.p == pytest.approx(2 * 0.5**10)


def test_where_less_is_better_a_slice_that_rises_to_1_is_lost():
    before = [[0.0]] * 9 + [[1.0]]
    pair = make_pair(before + [[1.0], [0.0]] * 10, [[1.0]] * 10 + [[1.0], [0.0]] * 10)
    whole = ComparisonInput(pair=pair, rule=rule(direction="lower"), gate_id="g")
    slices = slices_of(whole, "lang", ["de", "en"], np.array([0] * 10 + [1] * 20))
    test = check_each(slices, alpha=0.0012)[0]
    chances = np.linspace(0, 1, 1001)
    down = 10 * chances**9 * (1 - chances) + chances**10
    assert test.p == pytest.approx(2 * (down * (1 - chances) ** 10).max(), rel=0.01)


# -- noise between runs ------------------------------------------------------------------


def p_of_first(pair, **keys):
    """The p of the first half of the tasks, as one of two slices."""
    direction = keys.pop("direction", "higher")
    settings = rule(direction=direction, name="statistical")
    whole = ComparisonInput(pair=pair, rule=settings, gate_id="g", **keys)
    half = len(pair.tasks) // 2
    codes = np.array([0] * half + [1] * half)
    tests = check_each(slices_of(whole, "lang", ["de", "en"], codes), alpha=0.01)
    return next(test.p for test in tests if test.slice.value == "de")


def test_a_slice_of_a_rate_is_tested_beyond_stated_points():
    before = [[1.0] * 20] * 20
    now = [[1.0] * 15 + [0.0] * 5, [1.0] * 16 + [0.0] * 4] * 10
    pair = make_pair(before, now)
    # 2.33 * sqrt(2) * .02, and half as much again, is two rollouts of 20
    assert p_of_first(pair) < 0.01
    assert p_of_first(pair, run_noise=0.02, is_rate=True) < 0.01
    # of .06 six, more than any task lost
    assert p_of_first(pair, run_noise=0.06, is_rate=True) > 0.5


def test_a_slice_of_amounts_is_tested_beyond_a_stated_share_of_the_baseline():
    before = [[100.0 + task] for task in range(20)]
    now = [[120.0 + 1.1 * task] for task in range(20)]
    pair = make_pair(before, now, bounded=False)
    assert p_of_first(pair, direction="lower", run_noise=0.01) < 0.01
    assert p_of_first(pair, direction="lower", run_noise=0.1) > 0.5


def test_a_slice_of_values_that_are_rewards_keeps_them_once():
    rewards = np.arange(8.0)[:, None]
    pair = make_pair(rewards, rewards + 1, bounded=False)
    shared = replace(
        pair,
        baseline=pair.rewards_baseline.values,
        current=pair.rewards_current.values,
    )
    (first, _) = cut(shared, ["de", "en"], [0, 1] * 4)
    assert first.compared.pair.baseline is first.compared.pair.rewards_baseline.values
    assert first.compared.pair.current is first.compared.pair.rewards_current.values
    assert first.compared.pair.baseline.tolist() == [0.0, 2.0, 4.0, 6.0]
    assert first.compared.pair.current.tolist() == [1.0, 3.0, 5.0, 7.0]


def test_a_slice_has_the_clusters_of_its_tasks():
    pair = make_pair([[1.0]] * 8, [[0.0]] * 8, clusters=np.array([4, 4, 5, 5] * 2))
    (first,) = cut(pair, ["de", "en"], [0, 0, 0, 1] * 2)
    assert first.compared.pair.clusters.tolist() == [4, 4, 5, 4, 4, 5]


def test_a_slice_has_no_tasks_of_one_side_alone():
    pair = make_pair(
        [[1.0]] * 7, [[0.0]] * 7, excluded=("a",), added=("b",), removed=("c",)
    )
    (first, _) = cut(pair, ["de", "en"], [0, 0, 0, 0, 1, 1, 1])
    compared = first.compared.pair
    assert (compared.excluded, compared.added, compared.removed) == ((), (), ())


def test_a_slice_draws_its_own_random_numbers():
    pair = make_pair([[1.0]] * 7, [[0.0]] * 7)
    (first, second) = cut(pair, ["de", "en"], [0, 0, 0, 0, 1, 1, 1])
    assert first.compared.gate_id == "g[de]"
    assert second.compared.gate_id == "g[en]"
    assert first.whole.pair is pair


@pytest.mark.parametrize("missing", ["baseline", "current"])
def test_a_metric_without_values_of_tasks_has_no_slices(missing):
    pair = make_pair([[1.0]] * 8, [[0.0]] * 8, **{missing: None})
    assert cut(pair, ["de", "en"], [0, 1] * 4) == []


@pytest.mark.parametrize(("tasks", "labels"), [(2, ["en"]), (3, ["de", "en"])])
def test_three_tasks_are_a_slice(tasks, labels):
    pair = make_pair([[1.0]] * 8, [[0.0]] * 8)
    slices = cut(pair, ["de", "en"], [0] * tasks + [1] * (8 - tasks))
    assert [one.value for one in slices] == labels


@pytest.mark.parametrize("changed", ["no range", "clusters"])
def test_amounts_and_tasks_of_clusters_are_no_coins(changed):
    """Ten amounts that fall to 0 are as rare as their signs, and tasks of clusters as these."""
    before = [[1.0]] * 10 + [[1.0], [0.0]] * 10
    now = [[0.0]] * 10 + [[1.0], [0.0]] * 10
    keys = {"bounded": False}
    if changed == "clusters":
        keys = {"clusters": np.arange(30)}
    pair = make_pair(before, now, **keys)
    tests = check_each(cut(pair, ["de", "en"], [0] * 10 + [1] * 20), alpha=0.0012)
    first = next(test for test in tests if test.slice.value == "de")
    assert first.p == pytest.approx(2 * 0.5**10)
