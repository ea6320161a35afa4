"""The two hooks, as plain callables."""

from pathlib import Path

import numpy as np
import pytest

from pytest_evalmetrics.errors import MetricError, RegistryError
from pytest_evalmetrics.metrics import reduce_agent


def reduced(planned, made, *, hook=None, choose=None, **keys):
    keys = {"metrics": ["mean_reward"]} | keys
    return reduce_agent(planned(**keys), "agent", made, compute_metrics=hook, key_metrics=choose)


@pytest.fixture
def made(table):
    return table([[1.0, 0.0], [1.0, None]], tokens=[3, 4, 5, 6], integers=["tokens"])


def test_it_sees_one_list_per_task_with_one_mapping_per_rollout(planned, table):
    made = table(
        [[1.0, None], [0.0]],
        tasks=["a", "b"],
        tokens=[3, 4, 5],
        integers=["tokens"],
        labels={"kind": ["x", "y", "y"]},
    )
    names = ("_ng_task_index", "_ng_rollout_index", "kind", "reward", "tokens")
    seen = []
    reduced(planned, made, hook=seen.append)
    assert seen[0] == [
        [dict(zip(names, row, strict=True)) for row in task]
        for task in ([("a", 0, "x", 1.0, 3), ("a", 1, "y", None, 4)], [("b", 0, "y", 0.0, 5)])
    ]
    assert type(seen[0][0][0]["tokens"]) is int


def test_what_it_gives_is_added_and_its_numbers_can_be_gated(planned, made):
    def hook(_):
        return [None, {"pass@k": np.float64(0.25), "solved": 1}, {"curve": [0.1, {"k": None}]}]

    found = reduced(
        planned,
        made,
        hook=hook,
        key_metrics=["pass@k", "mean_reward"],
        thresholds={"solved": ">= 1"},
    )
    metrics = found.aggregate["agent_metrics"]
    assert list(metrics)[-3:] == ["pass@k", "solved", "curve"]
    assert metrics["curve"] == [0.1, {"k": None}]
    assert type(metrics["pass@k"]) is float
    assert type(metrics["solved"]) is int
    assert found.key_metrics == {"pass@k": 0.25, "mean_reward": 0.75}
    estimate = found.estimates["pass@k"]
    assert (estimate.value, estimate.interval) == (0.25, None)
    assert estimate.reason == "computed by a hook"
    assert found.estimates["solved"].value == 1.0


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"x": float("nan")}, "gave 'x' = nan, where a finite number is expected"),
        ({"x": float("inf")}, "gave 'x' = inf, where a finite number is expected"),
        ({"x": [0, {"y": float("nan")}]}, r"gave 'x[1].y' = nan"),
        ({"x": object()}, "gave 'x' as object, which JSON can't hold"),
        ({"x": np.array([1.0])}, "gave 'x' as ndarray, which JSON can't hold"),
        ({3: 1.0}, "gave a name that is no text: 3"),
        ({"mean_reward": 0.5}, "gave 'mean_reward', which there is already"),
        ({"mean/reward": 0.5}, "gave 'mean/reward', which there is already"),
        ([{"x": 1}, {"x": 1}], "gave 'x', which there is already"),
        ([0.5], "returned float, where a mapping or None is expected"),
    ],
)
def test_what_can_not_be_a_metric_is_an_error_naming_the_hook(planned, made, answer, message):
    with pytest.raises(MetricError) as caught:
        reduced(planned, made, hook=lambda _: answer)
    assert caught.value.message.startswith("hook pytest_evalmetrics_compute_metrics ")
    assert message in caught.value.message


@pytest.mark.parametrize("which", ["hook", "choose"])
def test_a_hook_that_raises_is_an_error_with_its_line(planned, made, which):
    def fails(_):
        raise LookupError("no such thing")

    with pytest.raises(MetricError, match="its call: LookupError: no such thing") as caught:
        reduced(planned, made, **{which: fails})
    name = {"hook": "compute_metrics", "choose": "key_metrics"}[which]
    assert f"hook pytest_evalmetrics_{name} failed" in caught.value.message
    assert Path(caught.value.file or "").name == "test_hooks.py"


def test_text_and_structures_are_reported_and_can_not_be_gated(planned, made):
    hook = lambda _: {"note": "fine", "flag": True}  # noqa: E731 - short
    found = reduced(planned, made, hook=hook)
    assert found.aggregate["agent_metrics"]["note"] == "fine"
    assert found.aggregate["agent_metrics"]["flag"] is True
    for name in ("note", "flag"):
        with pytest.raises(MetricError, match=f"'{name}' is computed by a hook and is no number"):
            reduced(planned, made, hook=hook, thresholds={name: ">= 1"})


def test_a_slip_in_a_hooks_name_is_guessed(planned, made):
    with pytest.raises(RegistryError) as caught:
        reduced(planned, made, hook=lambda _: {"solved": 1}, thresholds={"solvde": ">= 1"})
    assert "did you mean 'solved'? hooks compute: solved" in (caught.value.hint or "")


# -- key metrics ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        ["max/tokens", "mean_reward"],
        ("max/tokens", "mean_reward"),
        {"max/tokens": 6.0, "mean_reward": 0.75},
    ],
)
def test_the_hook_chooses_by_names_or_by_entries(planned, made, answer):
    found = reduced(planned, made, choose=lambda _: answer)
    assert found.key_metrics == {"max/tokens": 6.0, "mean_reward": 0.75}
    assert list(found.key_metrics) == ["max/tokens", "mean_reward"]
    assert set(found.key_metrics) <= set(found.estimates)


def test_a_single_name_is_a_name_and_not_its_letters(planned, made):
    assert reduced(planned, made, choose=lambda _: "mean_reward").key_metrics == {
        "mean_reward": 0.75
    }


def test_it_sees_everything_that_was_computed_and_can_not_change_it(planned, made):
    def choose(known):
        assert {"mean/reward", "mean_reward", "mine"} <= set(known)
        known["mean_reward"] = 1.0

    found = reduced(planned, made, hook=lambda _: {"mine": 1}, choose=choose)
    assert found.aggregate["agent_metrics"]["mean_reward"] == 0.75


def test_the_benchmarks_own_choice_comes_first(planned, made):
    found = reduced(planned, made, choose=lambda _: ["max/tokens"], key_metrics=["mean/tokens"])
    assert found.key_metrics == {"mean/tokens": 4.5}


def test_it_may_give_a_number_a_name_of_its_own(planned, made):
    # as NeMo Gym's servers do: corpus_wer@k=1 becomes wer
    found = reduced(planned, made, choose=lambda known: {"share": known["mean_reward"] * 100})
    assert found.key_metrics == {"share": 75.0}
    assert found.estimates["share"].reason == "computed by a hook"
    assert "share" not in found.aggregate["agent_metrics"]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"mean_reward": 0.9}, "gave 'mean_reward' = 0.9, which is 0.75"),
        ({"mine": float("nan")}, "gave 'mine' = nan, where a finite number is expected"),
        ({"mine": "much"}, "gave 'mine' = 'much', where a finite number is expected"),
        (7, "returned int, where a mapping or names are expected"),
        ([1, 2], "returned list, where a mapping or names are expected"),
    ],
)
def test_a_choice_that_makes_numbers_up_is_an_error(planned, made, answer, message):
    with pytest.raises(MetricError) as caught:
        reduced(planned, made, choose=lambda _: answer)
    assert caught.value.message == f"hook pytest_evalmetrics_key_metrics {message}"
