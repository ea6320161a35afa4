"""One agent from its table to its result."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from pydantic import TypeAdapter

from pytest_evalmetrics.data import Category
from pytest_evalmetrics.errors import MetricError, RegistryError
from pytest_evalmetrics.ext import BenchmarkSpec
from pytest_evalmetrics.metrics import plan, reduce_agent
from pytest_evalmetrics.spec.metric_names import STATISTICS

FOUR = [[1, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 1]]


def metrics_of(found):
    return found.aggregate["agent_metrics"]


def test_a_whole_result(planned, table):
    made = table(FOUR, cost_usd=[0.5] * 12)
    found = reduce_agent(
        planned(metrics=["mean_reward", "pass_rate", "pass@3", "pass^3"]), "math", made, expected=3
    )
    assert (found.agent, found.tasks, found.rollouts, found.missing) == ("math", 4, 12, 0)
    assert found.aggregate["agent_ref"] == {"name": "math"}
    assert list(metrics_of(found)) == [
        *(f"{s}/{c}" for s in STATISTICS for c in ("reward", "cost_usd")),
        "mean_reward", "pass_rate", "pass@3", "pass^3", "cost_per_task",
    ]  # fmt: skip
    values = {name: estimate.value for name, estimate in found.estimates.items()}
    assert values == {
        "mean_reward": 0.5, "pass_rate": 0.5, "pass@3": 0.75, "pass^3": 0.25,
        "mean/reward": 0.5, "mean/cost_usd": 0.5,
    }  # fmt: skip
    assert [name for name, e in found.estimates.items() if e.name != name] == []
    assert len(found.aggregate["group_level_metrics"]) == 4
    entries = list(found.aggregate["group_level_metrics"])
    json.dumps({**found.aggregate, "group_level_metrics": entries}, allow_nan=False)


def test_key_metrics_and_thresholds_are_computed_though_not_listed(planned, table):
    found = reduce_agent(
        planned(
            metrics=["mean_reward"],
            key_metrics=["pass@2", "max/reward"],
            thresholds={"pass^2": ">= 0.1"},
        ),
        "agent",
        table(FOUR),
    )
    assert found.key_metrics == {"pass@2": pytest.approx(2 / 3), "max/reward": 1.0}
    assert list(found.estimates) == ["mean_reward", "pass@2", "max/reward", "pass^2"]
    assert metrics_of(found)["pass^2"] == pytest.approx(1 / 3)


def test_a_users_metric_is_there_by_its_name_and_as_it_is_written(
    planned, table, tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "aggregate_metrics_of_tests.py").write_text(
        "class Spread:\n    name = 'spread'\n    def compute(self, task_rewards):\n"
        "        means = [sum(t) / len(t) for t in task_rewards]\n"
        "        return max(means) - min(means)\n"
    )
    written = "aggregate_metrics_of_tests:Spread"
    found = reduce_agent(
        planned(metrics=[written], thresholds={written: ">= 0", "spread": ">= 0"}),
        "agent",
        table(FOUR),
    )
    assert metrics_of(found)["spread"] == 1.0
    assert written not in metrics_of(found)
    assert found.estimates[written] is found.estimates["spread"]
    assert list(found.key_metrics) == ["mean/reward", "spread"]


# -- missing rewards -----------------------------------------------------------------------

MISSING = [[1.0, None], [None, 0.0], [1.0, 1.0]]


def test_a_missing_reward_counts_as_what_the_benchmark_says_everywhere(planned, table):
    made = table(MISSING, accuracy=[1, None, 1, 1, 1, 1])
    found = reduce_agent(
        planned(
            metrics=["mean_reward", "pass_rate", "mean/accuracy"], expect={"missing_reward": 0.0}
        ),
        "agent",
        made,
        expected=3,
    )
    assert metrics_of(found)["mean_reward"] == 0.5
    assert metrics_of(found)["pass_rate"] == 0.5
    assert metrics_of(found)["mean/reward"] == 0.5
    assert metrics_of(found)["mean/accuracy"] == 1.0  # another score's missing ones are left out
    assert found.missing == 3 + 2  # and yet they are missing
    assert [e["missing_num_rollouts"] for e in found.aggregate["group_level_metrics"]] == [2, 2, 1]
    assert found.aggregate["group_level_metrics"][0]["mean/reward"] == 0.5


def test_a_replaced_reward_is_written_as_any_number_with_a_fraction(planned, table):
    made = table([[1, None]], integers=["reward"])
    found = reduce_agent(planned(expect={"missing_reward": 0.5}), "agent", made)
    assert metrics_of(found)["min/reward"] == 0.5


def test_failed_rollouts_with_null_rewards_never_make_a_perfect_score_unsaid(planned, table):
    # the silent fault: 0.6 becomes 1.0, missing = 0
    made = table([[1.0]] * 12 + [[None]] * 8)
    found = reduce_agent(planned(metrics=["mean_reward"]), "agent", made)
    assert found.missing == 8
    assert found.estimates["mean_reward"].tasks == 12
    filled = planned(metrics=["mean_reward"], expect={"missing_reward": 0.0})
    assert reduce_agent(filled, "agent", made).estimates["mean_reward"].value == 0.6


@pytest.mark.parametrize(
    "name", ["mean_reward", "pass_rate", "pass@1", "worst_task", "mean/reward"]
)
def test_no_reward_at_all_is_an_error(planned, table, name):
    with pytest.raises(MetricError, match=f"metric '{name}' is undefined"):
        reduce_agent(planned(metrics=[name]), "agent", table([[None], [None]]))


# -- breakdown -----------------------------------------------------------------------------


def test_each_listed_metric_for_each_value_of_each_field(planned, table):
    made = table(FOUR, labels={"level": list("eeehhheeehhh"), "set": ["x"] * 12})
    found = reduce_agent(
        planned(
            metrics=["mean_reward", "pass@1", "mean/reward"],
            breakdown=["level", "set"],
            thresholds={"pass@1[level=h]": ">= 0.1"},
        ),
        "agent",
        made,
    )
    names = [name for name in metrics_of(found) if "[" in name]
    assert names == [
        "mean_reward[level=e]", "pass@1[level=e]", "mean/reward[level=e]",
        "mean_reward[level=h]", "pass@1[level=h]", "mean/reward[level=h]",
        "mean_reward[set=x]", "pass@1[set=x]", "mean/reward[set=x]",
    ]  # fmt: skip
    assert metrics_of(found)["mean_reward[level=e]"] == pytest.approx(1 / 3)
    assert metrics_of(found)["pass@1[level=h]"] == pytest.approx(2 / 3)
    assert list(found.key_metrics) == ["mean/reward", "mean_reward", "pass@1"]
    hard = found.estimates["pass@1[level=h]"]
    assert (hard.value, hard.tasks, hard.rollouts) == (metrics_of(found)["pass@1[level=h]"], 2, 6)


def test_a_listed_metric_of_one_value_is_not_broken_down_again(planned, table):
    made = table(FOUR, labels={"level": list("eeehhheeehhh")})
    found = reduce_agent(
        planned(metrics=["pass@1[level=e]", "avg"], breakdown=["level"]), "agent", made
    )
    names = [name for name in metrics_of(found) if "[" in name]
    assert names == ["pass@1[level=e]", "avg[level=e]", "avg[level=h]"]


def test_too_few_rollouts_in_a_breakdown_name_it_and_the_line(spec, table):
    made = table([[1, 0], [1, 1]], tasks=["a", "b"], labels={"level": ["e", "h", "e", "e"]})
    lines = {("breakdown", 0): 12}
    found = plan(
        spec(metrics=["pass@2"], breakdown=["level"]), line_of=lambda *path: lines.get(path, 1)
    )
    with pytest.raises(MetricError) as caught:
        reduce_agent(found, "agent", made)
    assert "metric 'pass@2[level=e]' needs 2 rollouts of each task, and 1 of 2" in str(caught.value)
    assert "a (1)" in str(caught.value)
    assert caught.value.line == 12


def test_a_breakdown_by_a_field_that_no_row_has_is_an_error(planned, table):
    made = table([[1]], labels={"level": ["(missing)"]})
    with pytest.raises(MetricError, match="breakdown 'level': no rollout has that field"):
        reduce_agent(planned(breakdown=["level"]), "agent", made)


# -- unknown names -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"key_metrics": ["mean_rewrd"]}, "no metric 'mean_rewrd': did you mean 'mean_reward'"),
        ({"key_metrics": ["mean/rewrd"]}, "score named 'rewrd': did you mean 'reward'"),
        ({"thresholds": {"pas@1": ">= 0"}}, "there is no metric 'pas@1'"),
        ({"thresholds": {"pass@1/acc": ">= 0"}}, "no rollout has a score named 'acc'"),
        ({"thresholds": {"pass@1[level=x]": ">= 0"}}, "no rollout has level = 'x'"),
        ({"thresholds": {"pass@1[lvl=e]": ">= 0"}}, "'lvl': no rollout has that field"),
        ({"thresholds": {"mean/": ">= 0"}}, "'mean/' is no metric's name"),
    ],
)
def test_an_unknown_name_is_an_error_with_its_line_and_never_skipped(spec, table, keys, message):
    made = table([[1]], labels={"level": ["e"]})
    found = plan(spec(**keys), line_of=lambda *path: 100 + len(path))
    with pytest.raises((MetricError, RegistryError)) as caught:
        reduce_agent(found, "agent", made)
    assert message in caught.value.message
    assert caught.value.line == 102


RATED = {
    "dataset": "d",
    "scorers": [
        {
            "type": "remote",
            "url": "http://localhost/score",
            "body": {},
            "scores": [
                {"name": "ten", "parser": {"json_path": "$.a"}, "minimum": 0, "maximum": 10}
            ],
        }
    ],
}


@pytest.mark.parametrize(
    ("keys", "name", "scale", "ends"),
    [
        ({}, "mean_reward", 1, (0, 1)),  # nothing declares it: all rewards lie in it
        ({}, "mean/reward", 1, (0, 1)),
        ({}, "mean_reward", 10, (-math.inf, math.inf)),
        ({"reward": "ten", **RATED}, "mean_reward", 10, (0, 10)),
        ({"reward": "ten", **RATED}, "max@2", 10, (0, 10)),
        (RATED, "mean/ten", 10, (0, 10)),
        (RATED, "mean_reward/ten[kind=a]", 10, (0, 10)),
        ({}, "time_per_task", 10, (0, math.inf)),
    ],
)
@pytest.mark.parametrize("falls", [False, True])
def test_an_interval_stays_in_the_range_that_a_score_declares_or_has(
    table, keys, name, scale, ends, *, falls
):
    made_spec = TypeAdapter(BenchmarkSpec).validate_json(
        json.dumps({"name": "a", "metrics": [name], **({} if keys else {"rollouts": "r"}), **keys})
    )
    rows = [[scale, scale]] * 5 + [[0, scale / 2]]
    rows = [[scale - x for x in row] for row in rows] if falls else rows
    flat = [float(x) for row in rows for x in row]
    made = table(rows, score=keys.get("reward", "reward"), ten=flat, latency_s=flat)
    made = replace(made, categories={"kind": Category(np.zeros(12, np.int32), ("a",))})
    found = reduce_agent(plan(made_spec), "agent", made).estimates[name]
    assert found.interval is not None
    low, high = found.interval.low, found.interval.high
    assert ends[0] <= low < found.value < high <= ends[1]
    assert not (low > 0 and high < scale)  # Student's t alone would be outside
