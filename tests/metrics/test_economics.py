from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.metrics import reduce_agent
from pytest_evalmetrics.metrics.economics import ACCEPTED, TokensPerTask

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.metrics import Plan


def economics(planned: Callable[..., Plan], made: RolloutTable, **keys: Any) -> dict[str, float]:
    found = reduce_agent(planned(metrics=["mean_reward"], **keys), "agent", made)
    return {k: v for k, v in found.aggregate["agent_metrics"].items() if k in ACCEPTED}


def test_a_documented_case(
    table: Callable[..., RolloutTable], planned: Callable[..., Plan]
) -> None:
    made = table(
        [[1], [0]],
        latency_s=[1.0, 1.0],
        prompt_tokens=[5, 5],
        completion_tokens=[2, 2],
        cost_usd=[0.01, 0.01],
    )
    assert economics(planned, made) == {
        "time_per_task": 1.0,
        "tokens_per_task": 7.0,
        "cost_per_task": 0.01,
    }


def test_the_mean_is_within_the_task_then_over_the_tasks_that_report(
    table: Callable[..., RolloutTable], planned: Callable[..., Plan]
) -> None:
    made = table([[1, 1, 1], [0], [1]], cost_usd=[1, 2, None, 10, None])
    assert economics(planned, made) == {"cost_per_task": (1.5 + 10) / 2}


def test_they_are_absent_where_nothing_reports(
    table: Callable[..., RolloutTable], planned: Callable[..., Plan]
) -> None:
    assert economics(planned, table([[1]])) == {}
    assert economics(planned, table([[1]], cost_usd=[None], prompt_tokens=[3])) == {}


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"prompt_tokens": [5, 1], "completion_tokens": [2, 1]}, [7, 2]),
        ({"input_tokens": [5, 1], "output_tokens": [2, 1]}, [7, 2]),
        ({"total_tokens": [9, 8]}, [9, 8]),
        # the parts are preferred to the total; a row that lacks one of them says its total
        (
            {
                "input_tokens": [5, 1],
                "output_tokens": [2, np.nan],
                "total_tokens": [9, 8],
            },
            [7, 8],
        ),
        ({"prompt_tokens": [5, np.nan], "completion_tokens": [2, 1]}, [7, np.nan]),
        ({"prompt_tokens": [5, 1]}, None),
    ],
)
def test_the_accepted_columns(columns: Any, expected: Any) -> None:
    found = TokensPerTask().column({k: np.array(v, dtype=float) for k, v in columns.items()})
    if expected is None:
        assert found is None
    else:
        assert found.tolist() == pytest.approx(expected, nan_ok=True)


def test_they_are_metrics_as_well(
    table: Callable[..., RolloutTable], planned: Callable[..., Plan]
) -> None:
    made = table([[1, 0], [1, 1]], cost_usd=[1, 2, 3, 4], labels={"kind": ["a", "a", "b", "b"]})
    found = reduce_agent(
        planned(
            metrics=["cost_per_task"],
            thresholds={"cost_per_task[kind=b]": "<= 9"},
            key_metrics=["cost_per_task"],
        ),
        "agent",
        made,
    )
    assert found.key_metrics == {"cost_per_task": 2.5}
    assert found.estimates["cost_per_task"].interval.method == "t"
    assert found.estimates["cost_per_task[kind=b]"].value == 3.5


def test_one_that_is_asked_for_and_not_reported_is_an_error(
    table: Callable[..., RolloutTable], planned: Callable[..., Plan]
) -> None:
    with pytest.raises(MetricError) as caught:
        reduce_agent(planned(metrics=["tokens_per_task"]), "agent", table([[1]]))
    assert caught.value.message == "metric 'tokens_per_task': no rollout says what it needs"
    assert "prompt_tokens + completion_tokens, input_tokens + output_tokens, total_tokens" in str(
        caught.value
    )


def test_one_of_a_score_is_an_error(
    table: Callable[..., RolloutTable], planned: Callable[..., Plan]
) -> None:
    with pytest.raises(MetricError, match="leave /reward out"):
        reduce_agent(planned(metrics=["cost_per_task/reward"]), "agent", table([[1]], cost=[1]))
