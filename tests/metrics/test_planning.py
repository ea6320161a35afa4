from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_evalmetrics.errors import MetricError, RegistryError
from pytest_evalmetrics.metrics import plan

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.metrics import Plan
    from pytest_evalmetrics.spec import BenchmarkSpec


def test_the_scores_and_the_fields_that_are_needed(planned: Callable[..., Plan]) -> None:
    made = planned(
        reward="score",
        metrics=["mean_reward", "pass@1/accuracy", "mean/output_tokens[split=test]"],
        key_metrics=["max/latency_s", "pass@9/from_a_hook"],
        thresholds={"mean/tokens": "<= 9", "pass@1[kind=x]": ">= 0", "/broken": ">= 0"},
        breakdown=["difficulty", "kind"],
        cluster="repo",
    )
    assert made.scores == ("score", "accuracy", "output_tokens")
    assert made.categories == ("difficulty", "kind", "repo", "split")


def test_metrics_of_a_baseline_are_asked_for_as_well(spec: Callable[..., BenchmarkSpec]) -> None:
    made = plan(spec(), also=["mean/cost[set=a]"])
    assert made.also == ("mean/cost[set=a]",)
    assert made.scores == ("reward",)
    assert made.categories == ("set",)


def test_an_unknown_metric_is_told_before_anything_is_read_with_its_line(
    spec: Callable[..., BenchmarkSpec],
) -> None:
    lines = {("metrics",): 7, ("metrics", 1): 9}
    with pytest.raises(RegistryError, match="did you mean 'mean_reward'") as caught:
        plan(spec(metrics=["pass@1", "mean_rewrd"]), line_of=lambda *path: lines[path])
    assert caught.value.line == 9
    assert caught.value.file is None


def test_a_name_of_other_keys_may_be_a_hooks(planned: Callable[..., Plan]) -> None:
    planned(key_metrics=["whatever"], thresholds={"else": ">= 1"})


def test_a_user_metrics_own_line_is_kept(
    spec: Callable[..., BenchmarkSpec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "planned_metrics_of_tests.py").write_text("\nclass Bad:\n    pass\n")
    with pytest.raises(MetricError) as caught:
        plan(spec(metrics=["planned_metrics_of_tests:Bad"]), line_of=lambda *_: 9)
    assert caught.value.where == "planned_metrics_of_tests.py:2"


def test_the_columns_that_metrics_are_computed_from(
    planned: Callable[..., Plan], table: Callable[..., RolloutTable]
) -> None:
    made = table([[1]], b=[1], total_tokens=[1], a=[1], input_tokens=[1], output_tokens=[2])
    found = planned(metrics=["mean_reward"])
    assert found.columns(["mean/a", "pass@1", "unknown"], made) == ("reward", "a")
    assert found.columns(["tokens_per_task", "max@2/b"], made) == (
        "b", "total_tokens", "input_tokens", "output_tokens",
    )  # fmt: skip
