"""Tasks, or clusters, that pass or fail as one."""

import numpy as np
import pytest
from comparison.making import make_pair, rule

from pytest_evalmetrics.comparison import ComparisonInput, chance_of_coins
from pytest_evalmetrics.comparison.coins import coins_of
from pytest_evalmetrics.comparison.inputs import measure_damage
from pytest_evalmetrics.model.comparison import Coins


def coins(pair, **settings):
    return coins_of(measure_damage(ComparisonInput(pair=pair, rule=rule(**settings))))


def in_pairs(before, now, **changed):
    """Tasks of one rollout, two of which make a cluster."""
    clusters = np.arange(len(before)) // 2
    rows_before = [[value] for value in before]
    rows_now = [[value] for value in now]
    return make_pair(rows_before, rows_now, clusters=clusters, **changed)


def test_tasks_whose_rollouts_never_differ_may_be_coins():
    pair = make_pair([[1, 1], [1, 1], [0, 0]], [[0, 0]] * 3)
    assert coins(pair) == Coins(count=3, up=2)


def test_tasks_whose_rollouts_differ_are_no_coins():
    assert coins(make_pair([[1, 0], [1, 1]], [[0, 0]] * 2)) is None


def test_clusters_that_pass_or_fail_as_one_may_be_coins():
    pair = in_pairs([1, 1, 1, 1, 0, 0], [0, 0, 0, 0, 0, 0])
    assert coins(pair) == Coins(count=3, up=2)


def test_where_less_is_better_a_cluster_of_failures_has_all_to_lose():
    pair = in_pairs([1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1])
    assert coins(pair, direction="lower") == Coins(count=3, up=2)


@pytest.mark.parametrize(
    ("before", "now", "are_coins"),
    [
        ([0.8, 0.8, 0.2, 0.2], [0.0, 0.0, 0.2, 0.2], True),
        ([0.75, 0.75, 0.2, 0.2], [0.0, 0.0, 0.0, 0.0], False),
        ([0.8, 0.8, 0.25, 0.25], [0.0, 0.0, 0.0, 0.0], False),
        ([0.8, 0.8, 0.2, 0.2], [0.5, 0.5, 0.2, 0.2], False),
    ],
)
def test_a_cluster_is_one_whose_mean_is_nearer_than_a_quarter_to_an_end(
    before, now, are_coins
):
    assert (coins(in_pairs(before, now)) is not None) is are_coins


def test_without_a_known_range_the_most_that_a_task_could_lose_is_it():
    pair = in_pairs([8.0, 8.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], bounded=False)
    assert coins(pair) == Coins(count=2, up=1)
    pair = in_pairs([8.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], bounded=False)
    assert coins(pair) is None


def test_clusters_that_had_nothing_to_lose_are_no_coins():
    pair = in_pairs([5.0] * 4, [5.0] * 4, bounded=False)
    assert coins(pair) is None


def test_coins_come_up_and_then_down_most_often_at_a_half():
    assert chance_of_coins(5, lost=5) == pytest.approx(0.5**10)


def test_some_of_the_coins_may_have_been_down_before():
    chances = np.arange(1, 200) / 200
    # three of three, or two of three, and then none
    up = chances**3 + 3 * chances**2 * (1 - chances)
    expected = (up * (1 - chances) ** 3).max()
    assert chance_of_coins(3, lost=2) == pytest.approx(expected)


def test_coins_that_come_up_more_often_than_not_come_down_less_often():
    expected = 0.75**5 * 0.25**5
    assert chance_of_coins(5, lost=5, least=0.75) == pytest.approx(expected)
