from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.data import TaskRewards
from pytest_evalmetrics.metrics.lookup import Names
from pytest_evalmetrics.metrics.sides import reward_range, side_of

if TYPE_CHECKING:
    from pytest_evalmetrics.metrics.lookup import BoundMetric

TASKS = st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0]), max_size=3), min_size=1, max_size=8)


def bound(name: str) -> BoundMetric:
    return Names().bind(name)


@given(TASKS, st.data())
def test_tasks_are_selected_with_their_rewards(tasks, data):
    rewards = TaskRewards.from_lists(tasks)
    picked = data.draw(st.permutations(range(len(tasks))))[: data.draw(st.integers(0, len(tasks)))]
    side = side_of(bound("mean_reward"), rewards, np.array(picked, dtype=np.int64))
    assert side.rewards.to_lists() == [tasks[i] for i in picked]
    means = [sum(tasks[i]) / len(tasks[i]) if tasks[i] else math.nan for i in picked]
    assert side.values == pytest.approx(means, nan_ok=True)
    assert side.usable.tolist() == [bool(tasks[i]) for i in picked]
    kept = side.take(np.flatnonzero(side.usable))
    assert kept.rewards.to_lists() == [tasks[i] for i in picked if tasks[i]]
    if len(kept.rewards):
        assert kept.value() == pytest.approx(np.nanmean(means))
    else:
        assert math.isnan(kept.value())


def test_a_task_with_too_few_rollouts_is_not_usable():
    side = side_of(bound("pass@2"), TaskRewards.from_lists([[1], [1, 0], []]), None)
    assert side.usable.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [([[0.2], [0.4]], (0, 1)), ([[-1], [1]], (-1, 1)), ([[0, 7]], (0, 7)), ([[]], (0, 1))],
)
def test_a_missing_reward_may_be_anything_that_rewards_are(tasks, expected):
    assert reward_range(TaskRewards.from_lists(tasks)) == expected
