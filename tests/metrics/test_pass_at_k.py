from __future__ import annotations

from itertools import combinations
from statistics import mean
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.metrics.pass_at_k import PassAtK, PassHatK
from pytest_evalmetrics.metrics.protocol import MetricOptions

if TYPE_CHECKING:
    from pytest_evalmetrics.metrics.protocol import Metric


FOUR = [[1, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 1]]
FIRST = MetricOptions(pass_estimator="first_k")  # noqa: S106 - the "pass" of pass@k


def test_first_k_looks_at_the_first_k_and_at_what_there_is() -> None:
    assert PassAtK(1, FIRST).compute(FOUR) == 0.75
    assert PassAtK(3, FIRST).compute(FOUR) == 0.75
    assert PassHatK(3, FIRST).compute(FOUR) == 0.25
    # the passing rollout is the second: out of sight of pass@1
    assert PassAtK(1, FIRST).compute([[0, 1]]) == 0
    assert PassAtK(2, FIRST).compute([[0, 1]]) == 1
    assert PassHatK(1, FIRST).compute([[1, 0]]) == 1
    # fewer than k, and none
    assert PassAtK(5, FIRST).compute([[0, 1], [], [0]]) == 0.5
    assert PassHatK(5, FIRST).compute([[1, 1], [], [0]]) == 0.5


def test_unbiased_by_hand() -> None:
    # Chen et al. 2021: 1 - C(n - c, k) / C(n, k)
    assert PassAtK(1).compute(FOUR) == 0.5
    assert PassAtK(2).compute(FOUR) == pytest.approx((1 + 2 / 3 + 0 + 1) / 4, abs=1e-15)
    assert PassHatK(2).compute(FOUR) == pytest.approx((1 / 3 + 0 + 0 + 1) / 4, abs=1e-15)
    assert PassHatK(3).compute(FOUR) == 0.25


@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.4, 1.0]), min_size=3, max_size=7), min_size=1),
    st.integers(1, 3),
    st.sampled_from([0.3, 1.0]),
)
def test_unbiased_is_the_mean_over_all_sets_of_k_rollouts(
    rewards: list[list[float]], k: int, threshold: float
) -> None:
    options = MetricOptions(pass_threshold=threshold)
    sets = [[[r >= threshold for r in s] for s in combinations(task, k)] for task in rewards]
    any_of = mean(mean(any(s) for s in task) for task in sets)
    all_of = mean(mean(all(s) for s in task) for task in sets)
    assert PassAtK(k, options).compute(rewards) == pytest.approx(any_of, abs=1e-12)
    assert PassHatK(k, options).compute(rewards) == pytest.approx(all_of, abs=1e-12)


@pytest.mark.parametrize("metric", [PassAtK(3), PassHatK(3)])
def test_too_few_rollouts_are_an_error_that_lists_the_tasks_and_the_ways_out(
    metric: Metric,
) -> None:
    with pytest.raises(MetricError) as caught:
        metric.compute([[1, 1, 1]] + [[1, 0]] * 11 + [[]])
    text = str(caught.value)
    assert f"{metric.name} needs 3 rollouts of each task, and 11 of 13 tasks have fewer" in text
    assert "1 (2), 2 (2)" in text
    assert "10 (2) and 1 more" in text
    assert "more rollouts" in text
    assert "smaller k" in text
    assert "pass_estimator: first_k" in text


@pytest.mark.parametrize("options", [MetricOptions(), FIRST])
def test_nothing_is_an_error_and_never_0(options: MetricOptions) -> None:
    with pytest.raises(MetricError, match="pass@1 is undefined"):
        PassAtK(1, options).compute([[], []])
    with pytest.raises(MetricError, match=r"pass\^1 is undefined"):
        PassHatK(1, options).compute([])
