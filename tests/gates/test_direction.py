from __future__ import annotations

import pytest

from pytest_evalmetrics.gates import less_is_better


@pytest.mark.parametrize(
    ("metric", "score"),
    [
        ("mean", "output_tokens"),
        ("mean", "outputTokens"),
        ("mean", "response.usage.total_tokens"),
        ("max", "tokens"),
        ("mean", "token_count"),
        ("mean", "total_token"),
        ("mean_reward", "cost"),
        ("mean", "cost_usd"),
        ("mean", "cost-per-token"),
        ("mean", "cost_per_second"),
        ("median", "price"),
        ("mean", "latency_s"),
        ("mean", "latency_ms"),
        ("mean", "time"),
        ("mean", "wall_time_s"),
        ("mean", "duration_seconds"),
        ("mean", "elapsed_s"),
        ("mean", "seconds_per_token"),
        ("time_per_task", None),
        ("tokens_per_task", None),
        ("cost_per_task", None),
    ],
)
def test_tokens_cost_and_time_are_known(metric, score):
    assert less_is_better(metric, score)


@pytest.mark.parametrize(
    ("metric", "score"),
    [
        ("mean_reward", None),
        ("mean", "reward"),
        ("pass@1", None),
        ("pass@1", "on_time"),  # passing is good, whatever has to pass
        ("pass^4", "cost"),
        ("pass_rate", "latency_ok"),
        ("mean", "tokens_per_second"),
        ("mean", "output_tokens_per_s"),
        ("mean", "token_f1"),
        ("mean", "token_accuracy"),
        ("mean", "time_saved"),
        ("mean", "cost_efficiency"),
        ("mean", "sentiment"),
        ("mean", "timeliness"),
        ("mean", "items"),
        ("median", None),
        ("worst_task", "accuracy"),
    ],
)
def test_of_all_else_more_is_better(metric, score):
    assert not less_is_better(metric, score)
