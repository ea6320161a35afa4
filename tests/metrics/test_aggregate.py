"""One agent from its table to its result."""

import math

import numpy as np
import pytest

from pytest_evalmetrics.errors import DataError, MetricError, RegistryError


def metrics_of(result):
    return result.aggregate["agent_metrics"]


def test_a_missing_reward_counts_as_the_benchmark_sets_it_everywhere(reduced, table):
    data = table([[1.0, None], [None, 0.0], [1.0, 1.0]], accuracy=[1, None, 1, 1, 1, 1])
    names = ["mean_reward", "pass_rate", "mean/accuracy"]
    result = reduced(data, metrics=names, expect={"missing_reward": 0.0}, expected=3)
    assert [metrics_of(result)[name] for name in ("mean_reward", "pass_rate")] == [
        0.5,
        0.5,
    ]
    assert metrics_of(result)["mean/reward"] == 0.5
    assert (
        metrics_of(result)["mean/accuracy"] == 1.0
    )  # another score's missing ones are left out
    assert result.missing == 3 + 2  # and yet they are missing
    tasks = result.aggregate["group_level_metrics"]
    assert [entry["missing_num_rollouts"] for entry in tasks] == [2, 2, 1]
    assert tasks[0]["mean/reward"] == 0.5


def test_a_listed_metric_of_one_value_is_not_broken_down_again(reduced, table):
    data = table([[1, 1, 0], [1, 0, 0]], labels={"level": list("eeehhh")})
    result = reduced(data, metrics=["pass@1[level=e]", "avg"], breakdown=["level"])
    names = [name for name in metrics_of(result) if "[" in name]
    assert names == ["pass@1[level=e]", "avg[level=e]", "avg[level=h]"]


def test_too_few_rollouts_in_a_breakdown_name_it_and_the_line(reduced, table):
    data = table(
        [[1, 0], [1, 1]], tasks=["a", "b"], labels={"level": ["e", "h", "e", "e"]}
    )
    lines = {("breakdown", 0): 12}
    with pytest.raises(MetricError) as caught:
        reduced(
            data,
            metrics=["pass@2"],
            breakdown=["level"],
            line_of=lambda *path: lines.get(path, 1),
        )
    assert "metric 'pass@2[level=e]' needs 2 rollouts of each task, and 1 of 2" in str(
        caught.value
    )
    assert "a (1)" in str(caught.value)
    assert caught.value.line == 12


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"key_metrics": ["mean_rewrd"]},
            "no metric 'mean_rewrd': did you mean 'mean_reward'",
        ),
        ({"key_metrics": ["mean/rewrd"]}, "score named 'rewrd': did you mean 'reward'"),
        ({"thresholds": {"pas@1": ">= 0"}}, "there is no metric 'pas@1'"),
        ({"thresholds": {"pass@1/acc": ">= 0"}}, "no rollout has a score named 'acc'"),
        ({"thresholds": {"pass@1[level=x]": ">= 0"}}, "no rollout has level = 'x'"),
        (
            {"thresholds": {"pass@1[level=esy]": ">= 0"}},
            "level = 'esy': did you mean 'easy'",
        ),
        (
            {"thresholds": {"pass@1[lvl=easy]": ">= 0"}},
            "'lvl': no rollout has that field",
        ),
        (
            {"thresholds": {"pass@1[empty=x]": ">= 0"}},
            "'empty': no rollout has that field",
        ),
        ({"thresholds": {"mean/": ">= 0"}}, "'mean/' is not a metric's name"),
    ],
)
def test_an_unknown_name_is_an_error_with_its_line_and_never_skipped(
    reduced, table, keys, message
):
    data = table([[1]], labels={"level": ["easy"], "empty": ["(missing)"]})
    with pytest.raises((MetricError, RegistryError)) as caught:
        reduced(data, line_of=lambda *path: 100 + len(path), **keys)
    assert message in caught.value.message
    assert caught.value.line == 102


def test_a_value_of_another_agent_alone_is_none_of_this_agents(reduced, table):
    data = table([[1], [0]], labels={"kind": ["hard", "easy"]})
    part = data.where(np.array([True, False]))
    with pytest.raises(MetricError, match="values of kind: hard"):
        reduced(part, metrics=["pass@1[kind=easy]"])


def test_a_task_in_two_clusters_is_an_error_that_lists_it(reduced, table):
    data = table([[1, 2], [3]], tasks=["x", "y"], labels={"repo": ["r", "s", "s"]})
    with pytest.raises(DataError, match="rollouts of 1 task have different values: x"):
        reduced(data, metrics=["mean_reward"], cluster="repo")


TEN = {"name": "ten", "parser": {"json_path": "$.a"}, "minimum": 0, "maximum": 10}
SCORER = {
    "type": "remote",
    "url": "http://localhost/score",
    "body": {},
    "scores": [TEN],
}
RATED = {"dataset": "d", "scorers": [SCORER]}


@pytest.mark.parametrize(
    ("name", "keys", "ends"),
    [
        (
            "mean_reward",
            {"scale": 1},
            (0, 1),
        ),  # nothing declares it: all rewards lie in it
        ("mean/reward", {"scale": 1}, (0, 1)),
        ("mean_reward", {}, (-math.inf, math.inf)),
        ("mean_reward", {"reward": "ten", **RATED}, (0, 10)),
        ("max@2", {"reward": "ten", **RATED}, (0, 10)),
        ("mean/ten", RATED, (0, 10)),
        ("mean_reward/ten[kind=a]", RATED, (0, 10)),
        ("time_per_task", {}, (0, math.inf)),
    ],
)
@pytest.mark.parametrize("falls", [False, True])
def test_an_interval_stays_in_the_range_that_a_score_declares_or_has(
    reduced, table, name, keys, ends, *, falls
):
    keys = dict(keys)
    scale = keys.pop("scale", 10)
    rows = [[scale, scale]] * 5 + [[0, scale / 2]]
    rows = [[scale - x for x in row] for row in rows] if falls else rows
    flat = [float(x) for row in rows for x in row]
    labels = {"kind": ["a"] * 12}
    reward = keys.get("reward", "reward")
    data = table(rows, score=reward, labels=labels, ten=flat, latency_s=flat)
    result = reduced(data, metrics=[name], **keys).estimates[name]
    assert result.interval is not None
    low, high = result.interval.low, result.interval.high
    assert ends[0] <= low < result.value < high <= ends[1]
    assert not (low > 0 and high < scale)  # Student's t alone would be outside
