"""A baseline that is worsened by what noise between runs may shift a run by."""

import numpy as np
import pytest
from comparison.making import make_pair

from pytest_evalmetrics.comparison import (
    Runs,
    largest_shift,
    shift_of_clusters,
    with_shift,
)
from pytest_evalmetrics.stats import normal_ppf

TEN = [[1.0] * 10, [1.0] * 5 + [0.0] * 5]


def test_passes_fail_in_each_task_as_often_as_the_shift_says():
    worse = with_shift(make_pair(TEN, TEN), 1.0, 0.2)
    # half as much again, for tasks that shift by more than the mean
    good = [sum(task) for task in worse.rewards_baseline.to_lists()]
    assert good == [7, 2]


def test_no_task_loses_more_passes_than_it_has():
    few = [[1.0] + [0.0] * 9]
    worse = with_shift(make_pair(few, few), 1.0, 0.4)
    assert worse.rewards_baseline.values.sum() == 0
    assert worse.value_baseline == 0


def test_where_lower_is_better_failures_become_passes_of_the_bad_kind():
    none = [[0.0] * 10]
    worse = with_shift(make_pair(none, none), -1.0, 0.2)
    assert worse.rewards_baseline.values.sum() == 3


def test_amounts_shift_in_proportion_to_their_task():
    amounts = [[1.0, 1.0], [3.0, 3.0]]
    pair = make_pair(amounts, amounts, bounded=False)
    worse = with_shift(pair, -1.0, 0.2)
    assert worse.baseline == pytest.approx([1.15, 3.45])
    assert worse.rewards_baseline.values == pytest.approx([1.15, 1.15, 3.45, 3.45])


def test_values_of_either_sign_shift_alike():
    values = [[-1.0, 1.0], [2.0, 2.0]]
    pair = make_pair(values, values, bounded=False)
    worse = with_shift(pair, 1.0, 0.2)
    assert worse.baseline == pytest.approx([-0.3, 1.7])


def test_without_a_shift_the_baseline_is_as_it_was():
    pair = make_pair(TEN, TEN)
    assert with_shift(pair, 1.0, 0.0) is pair


def test_one_run_without_stated_noise_shows_no_shift():
    assert largest_shift(None, None, alpha=0.01) == 0


def test_stated_noise_is_that_of_both_runs():
    expected = -normal_ppf(0.01) * 0.02 * np.sqrt(2)
    assert largest_shift(None, 0.02, alpha=0.01) == pytest.approx(expected)


def test_runs_that_scatter_more_shift_more():
    quiet = Runs((0.50, 0.51, 0.50, 0.51), True, 1.0, se=0.005, is_rate=True)
    loud = Runs((0.50, 0.60, 0.45, 0.55), True, 1.0, se=0.005, is_rate=True)
    of_quiet = largest_shift(quiet, None, alpha=0.002)
    assert largest_shift(loud, None, alpha=0.002) > 3 * of_quiet


def test_clusters_that_moved_together_shift_by_their_spread():
    rng = np.random.default_rng(1)
    shifts = np.repeat(rng.normal(0, 0.1, 200), 5)
    before = np.full((1000, 1), 0.5)
    after = before - shifts[:, None]
    pair = make_pair(
        before.tolist(), after.tolist(), clusters=np.repeat(np.arange(200), 5)
    )
    assert shift_of_clusters(pair) == pytest.approx(0.1, rel=0.15)


def test_tasks_without_clusters_share_no_shift():
    assert shift_of_clusters(make_pair(TEN, TEN)) == 0


def test_scores_between_0_and_1_stay_there():
    scores = [[0.9, 0.1], [0.2, 0.4]]
    pair = make_pair(scores, scores)
    worse = with_shift(pair, 1.0, 0.2)
    assert worse.rewards_baseline.values == pytest.approx([0.6, 0.0, 0.0, 0.1])
    assert worse.baseline == pytest.approx([0.2, 0.0])
    assert worse.value_baseline == pytest.approx(0.1)
    higher = with_shift(pair, -1.0, 0.2)
    assert higher.rewards_baseline.values == pytest.approx([1.0, 0.4, 0.5, 0.7])


@pytest.mark.parametrize("missing", ["baseline", "current"])
def test_a_metric_without_values_of_tasks_is_not_shifted(missing):
    pair = make_pair(TEN, TEN, **{missing: None})
    assert with_shift(pair, 1.0, 0.2) is pair


@pytest.mark.parametrize("missing", ["baseline", "current"])
def test_clusters_without_values_share_no_shift(missing):
    clusters = np.array([0, 1])
    pair = make_pair(TEN, TEN[::-1], clusters=clusters, **{missing: None})
    assert shift_of_clusters(pair) == 0


def test_a_lone_cluster_shares_no_shift():
    assert shift_of_clusters(make_pair(TEN, TEN[::-1], clusters=np.array([3, 3]))) == 0


def test_the_shift_of_clusters_is_that_of_their_means_by_the_median():
    before = [[1.0], [1.0], [1.0], [1.0], [1.0]]
    now = [[0.8], [0.6], [0.9], [1.1], [0.0]]
    pair = make_pair(before, now, clusters=np.array([7, 7, 2, 2, 5]))
    # .3, 0 and 1 of the clusters; 1.4826 times the median is a normal deviation
    assert shift_of_clusters(pair) == pytest.approx(1.4826 * 0.3)
