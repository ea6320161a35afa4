"""Losses of everything: what the tasks of a baseline had to lose, and whether it is gone."""

import numpy as np
import pytest
from comparison.making import make_combined, make_pair, rule

from pytest_evalmetrics.comparison import ComparisonInput
from pytest_evalmetrics.comparison.collapses import (
    had_most_to_lose,
    is_all_lost,
    losable_of,
    loses_all,
    tasks_with_room,
)
from pytest_evalmetrics.comparison.inputs import measure_damage


def damage_of(pair, **settings):
    return measure_damage(
        ComparisonInput(pair=pair, rule=rule(**settings), gate_id="g")
    )


def single(*rewards):
    return [[reward] for reward in rewards]


def test_a_rate_has_its_value_to_lose():
    losable = losable_of(damage_of(make_pair(single(1.0, 0.25), single(0.0, 0.0))))
    assert losable.amounts.tolist() == [1.0, 0.25]
    assert losable.range == 1.0


def test_where_less_is_better_a_rate_has_the_rest_to_lose():
    pair = make_pair(single(1.0, 0.25), single(0.0, 0.0))
    losable = losable_of(damage_of(pair, direction="lower"))
    assert losable.amounts.tolist() == [0.0, 0.75]


def test_other_numbers_have_what_is_above_the_worst_seen_to_lose():
    pair = make_pair(single(5.0, 3.0), single(2.0, 4.0), bounded=False)
    losable = losable_of(damage_of(pair))
    assert losable.amounts.tolist() == [3.0, 1.0]
    assert losable.range is None
    lower = losable_of(damage_of(pair, direction="lower"))
    assert lower.amounts.tolist() == [0.0, 2.0]


def test_a_metric_without_values_of_tasks_has_their_mean_rewards_to_lose():
    pair = make_combined([1.0, 0.5], [0.0, 0.0], baseline=None, current=None)
    losable = losable_of(damage_of(pair))
    assert losable.amounts.tolist() == [1.0, 0.5]
    assert losable.range == 1.0
    wide = make_combined([4.0, 3.0], [1.0, 2.0], baseline=None, current=None)
    losable = losable_of(damage_of(wide))
    assert losable.amounts.tolist() == [3.0, 2.0]
    assert losable.range is None


@pytest.mark.parametrize(
    ("now", "is_all"),
    [
        ([0.0] * 10, True),
        ([1.0] + [0.0] * 9, True),
        ([1.0] * 2 + [0.0] * 8, False),
        ([1.0] * 10, False),
    ],
)
def test_a_rate_is_lost_where_a_tenth_is_left(now, is_all):
    pair = make_pair(single(*[1.0] * 10), single(*now))
    assert is_all_lost(damage_of(pair)) is is_all


@pytest.mark.parametrize(
    ("before", "now", "is_all"),
    [
        # nothing is left of something
        ([3.0, 2.0], [0.0, 0.0], True),
        ([3.0, 0.0], [0.0, 0.0], False),
        ([3.0, 2.0], [0.0, 0.1], False),
        # three tasks fell to one value
        ([5.0, 4.0, 3.0], [1.0, 1.0, 1.0], True),
        ([5.0, 4.0, 1.0], [1.0, 1.0, 1.0], False),
        # of one value each
        ([5.0, 5.0], [1.0, 1.0], True),
        ([5.0], [1.0], False),
        # better
        ([1.0, 1.0], [5.0, 5.0], False),
    ],
)
def test_other_numbers_are_lost_where_the_run_shows_their_end(before, now, is_all):
    pair = make_pair(single(*before), single(*now), bounded=False)
    assert is_all_lost(damage_of(pair)) is is_all


def test_a_metric_without_values_of_tasks_is_lost_where_all_mean_rewards_are_one():
    fallen = make_combined(
        [5.0, 4.0, 3.0], [1.0, 1.0, 1.0], baseline=None, current=None, bounded=False
    )
    assert is_all_lost(damage_of(fallen))
    spread = make_combined(
        [5.0, 4.0, 3.0], [1.0, 1.0, 1.1], baseline=None, current=None, bounded=False
    )
    assert not is_all_lost(damage_of(spread))


@pytest.mark.parametrize(("now", "is_all"), [(0.0, True), (0.5, False)])
def test_whether_all_is_lost_is_known_before_anything_is_tested(now, is_all):
    pair = make_pair(single(1.0, 1.0), single(now, now))
    given = ComparisonInput(pair=pair, rule=rule(), gate_id="g")
    assert loses_all(given) is is_all


@pytest.mark.parametrize(
    ("before", "most"),
    [([0.5, 1.0], True), ([0.49, 1.0], False), ([0.0, 0.0], False)],
)
def test_tasks_had_most_to_lose_from_half_of_the_range_on(before, most):
    damage = damage_of(make_pair(single(*before), single(0.0, 0.0)))
    assert had_most_to_lose(damage) is most


def test_without_a_known_range_the_most_that_a_task_has_is_it():
    pair = make_pair(single(6.0, 3.5), single(1.0, 1.0), bounded=False)
    assert had_most_to_lose(damage_of(pair))
    pair = make_pair(single(6.0, 3.0), single(1.0, 1.0), bounded=False)
    assert not had_most_to_lose(damage_of(pair))


def test_tasks_that_had_something_to_lose_are_counted():
    pair = make_pair(single(1.0, 0.0, 0.5), single(1.0, 0.0, 0.0))
    assert tasks_with_room(damage_of(pair)) == 2


def test_a_task_that_got_better_from_nothing_counts():
    pair = make_pair(single(1.0, 0.0), single(0.0, 1.0))
    assert tasks_with_room(damage_of(pair)) == 2


def test_without_tasks_a_metric_of_no_values_has_nothing_to_lose():
    losable = losable_of(damage_of(make_pair([], [], baseline=None, current=None)))
    assert losable.amounts.tolist() == []
    assert losable.range is None


def test_without_tasks_there_is_nothing_to_lose():
    damage = damage_of(make_pair([], [], baseline=np.zeros(0), current=np.zeros(0)))
    assert tasks_with_room(damage) == 0
    assert not had_most_to_lose(damage)
    assert not is_all_lost(damage)


def test_values_of_tasks_fall_to_one_whatever_their_rewards():
    pair = make_pair(
        single(5.0, 4.0, 3.0),
        single(1.0, 2.0, 3.0),
        bounded=False,
        current=np.ones(3),
    )
    assert is_all_lost(damage_of(pair))
    other = make_pair(
        single(5.0, 4.0, 3.0),
        single(1.0, 1.0, 1.0),
        bounded=False,
        current=np.array([1.0, 2.0, 2.5]),
    )
    assert not is_all_lost(damage_of(other))
