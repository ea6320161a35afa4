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

FOUR = [[1, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 1]]


def metrics_of(found):
    return found.aggregate["agent_metrics"]


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
