"""What hooks compute and choose: what they get, and which answers are refused."""

import math

import numpy as np
import pytest

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.metrics.hook_metrics import added_metrics, chosen_keys


def added(table, *answers, taken=()):
    return added_metrics(
        lambda _tasks: list(answers), table([[1]]), dict.fromkeys(taken)
    )


def test_a_hook_gets_a_row_for_each_rollout_of_each_task(table):
    seen = []

    def hook(tasks):
        seen.extend(tasks)
        return []

    data = table(
        [[1, None], [0.5]],
        tasks=["a", "b"],
        labels={"level": ["e", "e", "h"]},
        steps=[3, 4, 5],
        integers=("steps",),
    )
    assert added_metrics(hook, data, {}) == {}
    row = {"_ng_task_index": "a", "_ng_rollout_index": 0, "level": "e"}
    assert seen == [
        [
            {**row, "reward": 1.0, "steps": 3},
            {**row, "_ng_rollout_index": 1, "reward": None, "steps": 4},
        ],
        [{**row, "_ng_task_index": "b", "level": "h", "reward": 0.5, "steps": 5}],
    ]


def test_numbers_of_hooks_are_builtins(table):
    given = {
        "whole": np.int64(3),
        "half": np.float32(0.5),
        "word": "x",
        "none": None,
        "yes": np.bool_(True),
        "deep": {1: [np.int64(2), (0.5,)]},
    }
    metrics = added(table, given)
    assert metrics == {
        "whole": 3,
        "half": 0.5,
        "word": "x",
        "none": None,
        "yes": True,
        "deep": {"1": [2, [0.5]]},
    }
    assert type(metrics["whole"]) is int
    assert type(metrics["half"]) is float


def test_several_hooks_add_to_each_other(table):
    assert added(table, {"a": 1}, {"b": 2}) == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([5], "returned int, where a mapping or None is expected"),
        ([{1: 2}], "gave a name that is not text: 1"),
        ([{"a": 1}, {"a": 2}], "gave 'a', which there is already"),
        ([{"mean/reward": 1}], "gave 'mean/reward', which there is already"),
        ([{"a": math.nan}], "gave 'a' = nan, where a finite number is expected"),
        ([{"a": {"b": [1, math.inf]}}], "gave 'a.b[1]' = inf, where a finite"),
        ([{"a": {1, 2}}], "gave 'a' as set, which JSON can't hold"),
    ],
)
def test_what_a_hook_must_not_add_is_refused(table, answers, message):
    with pytest.raises(MetricError) as raised:
        added(table, *answers, taken=["mean/reward"])
    assert message in raised.value.message


METRICS = {"mean/reward": 0.5, "pass@1": 0.25}


@pytest.mark.parametrize(
    ("answer", "keys"),
    [
        (None, None),
        ("pass@1", {"pass@1": None}),
        (["pass@1", "mean/reward"], {"pass@1": None, "mean/reward": None}),
        ({"pass@1": 0.25}, {"pass@1": None}),
        ({"own": 3}, {"own": 3.0}),
        ({}, {}),
    ],
)
def test_a_hook_chooses_key_metrics_or_gives_its_own(answer, keys):
    assert chosen_keys(lambda _metrics: answer, METRICS) == keys


def test_a_hook_that_chooses_sees_all_metrics():
    assert chosen_keys(list, METRICS) == dict.fromkeys(METRICS)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (5, "returned int, where a mapping or names are expected"),
        ([1], "returned list, where a mapping or names are expected"),
        ({"pass@1": 0.3}, "gave 'pass@1' = 0.3, which is 0.25"),
        ({"own": math.nan}, "gave 'own' = nan, where a finite number is expected"),
        ({"own": "x"}, "gave 'own' = 'x', where a finite number is expected"),
    ],
)
def test_what_a_hook_must_not_choose_is_refused(answer, message):
    with pytest.raises(MetricError) as raised:
        chosen_keys(lambda _metrics: answer, METRICS)
    assert message in raised.value.message


# -- intervals -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rewards", "method"),
    [([0, 1, 1], "wilson"), ([0, 1, 1.5], "t"), ([0, 1, -0.5], "t")],
)
def test_the_interval_of_a_rate_keeps_within_its_range(reduced, table, rewards, method):
    data = table([[reward] for reward in rewards * 5])
    interval = reduced(data, metrics=["mean_reward"]).estimates["mean_reward"].interval
    assert (interval.method == "t") is (method == "t")
