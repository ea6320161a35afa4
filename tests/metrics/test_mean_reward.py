from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalmetrics.data import TaskRewards
from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.metrics.mean_reward import Avg, MeanReward

if TYPE_CHECKING:
    from pytest_evalmetrics.metrics.protocol import Metric


FOUR = [[1, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 1]]


@pytest.mark.parametrize("metric", [MeanReward(), Avg()])
def test_each_task_weighs_the_same(metric: Metric) -> None:
    assert metric.compute(FOUR) == 0.5
    assert metric.compute([[1], [0, 0, 0]]) == 0.5


def test_empty_tasks_are_dropped() -> None:
    assert MeanReward().compute([[], [1, 0], []]) == 0.5
    values = MeanReward().task_values(TaskRewards.from_lists([[], [1, 0], []]))
    assert str(values) == "[nan 0.5 nan]"


@pytest.mark.parametrize("nothing", [[], [[]], [[], []]])
def test_nothing_is_an_error_and_never_0(nothing: Any) -> None:
    with pytest.raises(MetricError, match="mean_reward is undefined"):
        MeanReward().compute(nothing)
