from __future__ import annotations

import pytest

from pytest_evalmetrics.data import TaskRewards
from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.metrics.pass_rate import PassRate
from pytest_evalmetrics.metrics.protocol import MetricOptions


def test_each_rollout_weighs_the_same() -> None:
    assert PassRate().compute([[1, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 1]]) == 0.5
    assert PassRate().compute([[1], [0, 0, 0]]) == 0.25


def test_a_rollout_passes_from_the_threshold_on() -> None:
    rewards = [[0.5, 0.49999, 1.0, -2.0]]
    assert PassRate().compute(rewards) == 0.25
    assert PassRate(MetricOptions(pass_threshold=0.5)).compute(rewards) == 0.5
    assert PassRate(MetricOptions(pass_threshold=-3)).compute(rewards) == 1.0


def test_its_parts_are_passes_and_rollouts() -> None:
    tops, bottoms = PassRate().task_parts(TaskRewards.from_lists([[1, 0], [], [1, 1, 0]]))
    assert tops.tolist() == [1, 0, 2]
    assert bottoms.tolist() == [2, 0, 3]


def test_nothing_is_an_error_and_never_0() -> None:
    with pytest.raises(MetricError, match="pass_rate is undefined"):
        PassRate().compute([[]])
