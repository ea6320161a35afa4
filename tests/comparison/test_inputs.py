"""What is compared: the damage of each task, and how much it could be."""

import math

import numpy as np
import pytest
from comparison.making import make_combined, make_pair, rule

from pytest_evalmetrics.comparison import ComparisonInput, gate_seed, means_of
from pytest_evalmetrics.comparison.inputs import measure_damage
from pytest_evalmetrics.model.rollout_table import TaskRewards


def damage_of(pair, direction="higher"):
    return measure_damage(ComparisonInput(pair=pair, rule=rule(direction=direction)))


def single(*rewards):
    return [[reward] for reward in rewards]


# -- the damage --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("direction", "values", "drop"),
    [("higher", [0.5, -0.25, 0.0], 0.25 / 3), ("lower", [-0.5, 0.25, 0.0], -0.25 / 3)],
)
def test_damage_is_a_fall_where_more_is_better_and_a_rise_where_less_is(
    direction, values, drop
):
    damage = damage_of(make_pair(single(1, 0.5, 0), single(0.5, 0.75, 0)), direction)
    assert damage.values.tolist() == values
    assert damage.drop == pytest.approx(drop)


@pytest.mark.parametrize("direction", ["higher", "lower"])
def test_no_damage_has_no_sign(direction):
    damage = damage_of(make_pair(single(0.5, 1), single(0.5, 1)), direction)
    signs = [math.copysign(1, value) for value in (*damage.values, damage.drop)]
    assert signs == [1.0, 1.0, 1.0]


def test_the_drop_of_a_metric_that_is_no_mean_is_that_of_its_value():
    damage = damage_of(make_combined([0.1, 0.5, 0.9], [0.2, 0.3, 0.9]))
    assert damage.drop == pytest.approx(0.2)
    rise = damage_of(make_combined([0.1, 0.5, 0.9], [0.2, 0.3, 0.9]), "lower")
    assert rise.drop == pytest.approx(-0.2)


def test_no_tasks_have_no_drop():
    assert math.isnan(damage_of(make_pair([], [])).drop)


# -- clusters ----------------------------------------------------------------------------


def test_clusters_are_numbered_as_they_appear():
    rewards = single(1, 1, 1, 0)
    damage = damage_of(make_pair(rewards, rewards, clusters=np.array([7, 3, 7, 5])))
    assert damage.clusters.tolist() == [0, 1, 0, 2]
    assert damage.units == 3


def test_without_clusters_each_task_is_independent():
    damage = damage_of(make_pair(single(1, 0), single(1, 0)))
    assert damage.clusters is None
    assert damage.units == 2


def test_clusters_that_could_get_worse_are_counted():
    before = single(1, 0, 0, 0, 0)
    pair = make_pair(before, before, clusters=np.array([0, 0, 1, 1, 2]))
    assert damage_of(pair).units_with_room == 1
    assert damage_of(pair, "lower").units_with_room == 3


# -- the range ---------------------------------------------------------------------------


def test_a_task_of_a_rate_may_change_by_one():
    assert damage_of(make_pair(single(0.5), single(0.5))).span == 1


def test_other_values_may_change_by_as_much_as_they_differ():
    pair = make_pair(single(3.0, 7.0), single(9.0, 4.0), bounded=False)
    assert damage_of(pair).span == 6


def test_without_values_of_tasks_rewards_show_the_range():
    pair = make_combined(
        [3.0, 7.0], [9.0, 4.0], bounded=False, baseline=None, current=None
    )
    assert damage_of(pair).span == 6


def test_without_tasks_there_is_no_range():
    assert math.isnan(damage_of(make_pair([], [], bounded=False)).span)


def test_without_tasks_nothing_could_get_worse():
    assert damage_of(make_pair([], [], bounded=False)).room is None


@pytest.mark.parametrize(
    ("direction", "with_room"),
    [("higher", [True, True, False]), ("lower", [False, True, True])],
)
def test_a_task_at_the_worst_value_has_no_room(direction, with_room):
    pair = make_pair(single(1.0, 0.5, 0.0), single(1.0, 0.5, 0.0))
    assert damage_of(pair, direction).has_room.tolist() == with_room


def test_a_task_that_moved_had_room():
    pair = make_pair(single(0.0, 0.0), single(1.0, 0.0))
    assert damage_of(pair).has_room.tolist() == [True, False]


def test_a_metric_without_values_of_tasks_may_always_get_worse():
    pair = make_combined([0.0, 0.0], [0.0, 0.0], baseline=None, current=None)
    assert damage_of(pair).has_room.tolist() == [True, True]


# -- mean rewards, and seeds -------------------------------------------------------------


def test_an_empty_task_has_a_mean_reward_of_0():
    rewards = TaskRewards.from_lists([[1.0, 0.0], [], [0.25, 0.75], []])
    assert means_of(rewards).tolist() == [0.5, 0.0, 0.5, 0.0]


def test_tasks_of_one_rollout_are_their_own_means():
    rewards = TaskRewards.from_lists([[1.0], [0.25]])
    assert means_of(rewards) is rewards.numbers


def seed_of(tasks, gate_id="g", **changed):
    rewards = [[1.0]] * len(tasks)
    pair = make_pair(rewards, rewards, tasks=tuple(tasks), **changed)
    return gate_seed(ComparisonInput(pair=pair, rule=rule(), gate_id=gate_id))


def test_random_numbers_are_the_same_for_the_same_gate():
    assert seed_of(["a", "b"]) == seed_of(["a", "b"])


@pytest.mark.parametrize(
    "other",
    [
        seed_of(["a", "c"]),
        seed_of(["ab", ""]),
        seed_of(["a", "b"], gate_id="h"),
        seed_of(["a", "b"], name="other"),
    ],
    ids=["task", "cut", "gate", "metric"],
)
def test_another_gate_has_other_random_numbers(other):
    assert seed_of(["a", "b"]) != other


def test_a_task_id_of_half_a_surrogate_pair_is_a_seed_like_any_other():
    assert seed_of(["\ud800"]) != seed_of(["\ud801"])
