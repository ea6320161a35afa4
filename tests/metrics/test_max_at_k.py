from __future__ import annotations

from itertools import combinations
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.metrics.max_at_k import MaxAtK
from pytest_evalmetrics.metrics.protocol import MetricOptions

FIRST = MetricOptions(pass_estimator="first_k")  # noqa: S106 - the "pass" of pass@k
REWARD = st.floats(-10, 10)


@given(st.lists(st.lists(REWARD, min_size=3, max_size=6), min_size=1), st.integers(1, 3))
def test_it_is_the_mean_best_over_all_sets_of_k_rollouts(
    rewards: list[list[float]], k: int
) -> None:
    best = mean(mean(max(s) for s in combinations(task, k)) for task in rewards)
    assert MaxAtK(k).compute(rewards) == pytest.approx(best, abs=1e-9)


@given(st.lists(st.lists(REWARD, min_size=1, max_size=6), min_size=1), st.integers(1, 8))
def test_first_k_takes_the_best_of_the_first_k(rewards: list[list[float]], k: int) -> None:
    best = mean(max(task[:k]) for task in rewards)
    assert MaxAtK(k, FIRST).compute(rewards) == pytest.approx(best, abs=1e-9)


def test_negative_rewards_and_empty_tasks() -> None:
    assert MaxAtK(1, FIRST).compute([[-3.0, -1.0], []]) == -3.0
    assert MaxAtK(2).compute([[-3.0, -1.0], []]) == -1.0


def test_too_few_rollouts_are_an_error() -> None:
    with pytest.raises(MetricError, match="max@3 needs 3 rollouts of each task, and 1 of 2"):
        MaxAtK(3).compute([[1, 2, 3], [1, 2]])
