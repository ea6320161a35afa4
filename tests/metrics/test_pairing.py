from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pytest_evalmetrics.errors import RegistryError
from pytest_evalmetrics.metrics import pair

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.metrics import Plan


def test_common_tasks_are_paired_by_their_ids(
    planned: Callable[..., Plan], table: Callable[..., RolloutTable]
) -> None:
    baseline = table([[1, 1], [0, 1], [1, 0]], tasks=["a", "b", "c"])
    current = table([[0, 1], [0, 0], [1, 1]], tasks=["b", "c", "d"])
    found = pair(planned(), "mean_reward", baseline, current)
    assert found.tasks == ("b", "c")
    assert found.baseline.tolist() == [0.5, 0.5]
    assert found.current.tolist() == [0.5, 0.0]
    assert (found.value_baseline, found.value_current) == (0.5, 0.25)
    assert found.rewards_baseline.to_lists() == [[0, 1], [1, 0]]
    assert found.rewards_current.to_lists() == [[0, 1], [0, 0]]
    assert found.difference is None  # it is the mean over tasks
    assert not found.bounded
    assert found.excluded == ()


def test_a_task_without_a_value_on_one_side_is_excluded_and_listed(
    planned: Callable[..., Plan], table: Callable[..., RolloutTable]
) -> None:
    baseline = table([[1, 1], [0], [1, 0], [1, 1]], tasks=["a", "b", "c", "d"])
    current = table([[1, 1], [1, 1], [None, 1], [None, None]], tasks=["a", "b", "c", "d"])
    found = pair(planned(), "pass@2", baseline, current)
    assert found.tasks == ("a",)
    assert found.excluded == ("b", "c", "d")
    assert found.bounded
    assert pair(planned(), "mean_reward", baseline, current).excluded == ("d",)
    custom = pair(planned(), "std/reward", baseline, current)
    assert custom.excluded == ("d",)


def test_a_missing_reward_counts_as_the_benchmark_says_on_both_sides(
    planned: Callable[..., Plan], table: Callable[..., RolloutTable]
) -> None:
    made = planned(expect={"missing_reward": 0.0})
    found = pair(made, "mean_reward", table([[1, None]]), table([[None, None]]))
    assert (found.value_baseline, found.value_current) == (0.5, 0.0)


def test_nothing_in_common_has_no_value(
    planned: Callable[..., Plan], table: Callable[..., RolloutTable]
) -> None:
    for name in ("mean_reward", "pass_rate", "median", "std/reward"):
        found = pair(planned(), name, table([[1]], tasks=["a"]), table([[1]], tasks=["b"]))
        assert found.tasks == ()
        assert math.isnan(found.value_baseline)
        assert math.isnan(found.value_current)


@pytest.mark.parametrize("name", ["pass_rate", "median", "worst_task", "max/reward", "std/reward"])
def test_what_is_no_mean_over_tasks_can_be_resampled(
    planned: Callable[..., Plan], table: Callable[..., RolloutTable], name: str
) -> None:
    baseline = table([[1, 1, 0], [0, 1], [1, 0]])
    current = table([[0, 1], [0, 0], [1, 1, 0, 0]])
    found = pair(planned(), name, baseline, current)
    whole = found.difference(np.arange(3))
    assert whole == pytest.approx(found.value_baseline - found.value_current, abs=1e-12)
    twice = found.difference(np.array([0, 0, 2]))
    again = pair(
        planned(),
        name,
        table([[1, 1, 0], [1, 1, 0], [1, 0]]),
        table([[0, 1], [0, 1], [1, 1, 0, 0]]),
    )
    assert twice == pytest.approx(again.value_baseline - again.value_current, abs=1e-12)


def test_a_pooled_rate_with_equal_counts_is_a_mean_over_tasks(
    planned: Callable[..., Plan], table: Callable[..., RolloutTable]
) -> None:
    found = pair(planned(), "pass_rate", table([[1, 0], [1, 1]]), table([[1, 0, 0], [0, 1, 1]]))
    assert found.difference is None
    assert found.baseline.mean() == found.value_baseline == 0.75


def test_a_metric_that_can_not_be_split_has_no_values_by_task(
    planned: Callable[..., Plan], table: Callable[..., RolloutTable]
) -> None:
    found = pair(planned(), "std/reward", table([[1], [0]]), table([[1], [1]]))
    assert found.baseline is None
    assert found.current is None
    assert found.value_current == 0.0


def test_breakdowns_and_other_scores_can_be_paired(
    planned: Callable[..., Plan], table: Callable[..., RolloutTable]
) -> None:
    sides = [table([[1], [0]], accuracy=[a, 1], labels={"level": ["e", "h"]}) for a in (0.25, 0.75)]
    found = pair(planned(), "mean_reward/accuracy[level=e]", *sides)
    assert found.name == "mean_reward/accuracy[level=e]"
    assert (found.tasks, found.value_baseline, found.value_current) == ((0,), 0.25, 0.75)


def test_an_unknown_metric_is_an_error(
    planned: Callable[..., Plan], table: Callable[..., RolloutTable]
) -> None:
    with pytest.raises(RegistryError, match="did you mean 'mean_reward'"):
        pair(planned(), "mean_rewrd", table([[1]]), table([[1]]))
