"""From a run to a baseline's text and back: the same numbers, and the same bytes."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.baselines import (
    agent_document,
    document,
    is_edited,
    parse,
    render,
    stamped,
    tables,
    values,
)
from pytest_evalmetrics.data import RolloutTable
from pytest_evalmetrics.errors import BaselineError
from pytest_evalmetrics.results import AgentResult, Estimate, Interval

NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1.0, 0.1, 2.0**53, -(2.0**63), 1e300, 5e-324]),
)


def table(tasks: dict[Any, list[float]], name: str = "reward", agent: str = "a") -> RolloutTable:
    counts = [len(scores) for scores in tasks.values()]
    column = np.array([v for scores in tasks.values() for v in scores], dtype=np.float64)
    return RolloutTable(
        agents=(agent,),
        agent=np.zeros(len(column), dtype=np.int32),
        tasks=tuple(tasks),
        task=np.repeat(np.arange(len(counts)), counts),
        sample=np.concatenate([np.arange(n) for n in (0, *counts)]),
        scores={name: column, f"{name}.2": column[::-1].copy()},
    )


def result(**metrics: float) -> AgentResult:
    estimates = {
        name: Estimate(name, value, 3, 6, Interval(value / 3, value, 0.95, "t"))
        for name, value in metrics.items()
    }
    return AgentResult("a", 3, 6, 0, estimates, metrics, {})


def made(rollouts: RolloutTable, **metrics: float) -> str:
    columns = tuple(rollouts.scores)
    described = agent_document(result(**metrics), rollouts, columns)
    return render(document("b", {"a": described}, {"recorded": "now"}))


@given(
    st.dictionaries(
        st.one_of(st.integers(0, 10**12), st.text(max_size=5)).map(str),
        st.lists(NUMBERS, min_size=1, max_size=4),
        min_size=1,
        max_size=6,
    ),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_a_baseline_comes_back_as_it_was(tasks: dict[str, list[float]], value: float) -> None:
    rollouts = table(tasks)
    text = made(rollouts, mean=value)
    doc = parse(text, file="x.json")
    back = tables(doc, file="x.json")["a"]
    assert back.tasks == rollouts.tasks
    np.testing.assert_array_equal(back.offsets, rollouts.offsets)
    np.testing.assert_array_equal(back.sample, rollouts.sample)
    assert set(back.scores) == set(rollouts.scores)
    for name, column in rollouts.scores.items():
        np.testing.assert_array_equal(back.scores[name], column)
    assert values(doc, "a") == {"mean": value}
    again = agent_document(result(mean=values(doc, "a")["mean"]), back, back.scores)
    assert render(document("b", {"a": again}, {"recorded": "now"})) == text
    # an independent reader agrees, to the last digit
    for task, scores in json.loads(text)["agents"]["a"]["tasks"].items():
        expected = [None if math.isnan(v) else v for v in tasks[task]]
        assert scores["reward"] == expected


def test_a_task_is_a_line_and_it_does_not_depend_on_the_others() -> None:
    before = made(table({1: [1.0, 0.0], 2: [1.0, 1.0]}))
    after = made(table({1: [1.0, 0.0], 2: [0.5, math.nan]}))
    lines = before.splitlines(), after.splitlines()
    assert [pair for pair in zip(*lines, strict=True) if pair[0] != pair[1]] == [
        (
            '        "1": {"reward": [1, 0], "reward.2": [1, 1]},',
            '        "1": {"reward": [1, 0], "reward.2": [null, 0.5]},',
        ),
        (
            '        "2": {"reward": [1, 1], "reward.2": [0, 1]}',
            '        "2": {"reward": [0.5, null], "reward.2": [0, 1]}',
        ),
    ]


def test_gated_metrics_come_first_even_where_they_are_no_key_metrics() -> None:
    found = result(z=1.0, b=2.0, a=3.0)
    found = replace(found, key_metrics={"b": 2.0, "a": 3.0})
    described = agent_document(found, table({1: [1.0]}), ("reward",), gated=("z", "b"))
    assert list(described["key_metrics"]) == ["z", "b", "a"]
    assert described["key_metrics"]["a"] == {
        "value": 3,
        "tasks": 3,
        "rollouts": 6,
        "interval": [1, 3],
    }


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_null(value: float) -> None:
    doc = parse(made(table({1: [value]}), mean=value), file="x.json")
    assert doc["agents"]["a"]["key_metrics"]["mean"]["value"] is None
    assert values(doc, "a") == {}
    assert np.isnan(tables(doc, file="x.json")["a"].scores["reward"]).all()


def test_intervals_are_for_the_reader_and_rounded() -> None:
    # the last digits of an interval differ from one numpy to the next
    described = agent_document(result(m=0.1), table({1: [1.0]}), ("reward",))
    assert described["key_metrics"]["m"]["interval"] == [0.0333333, 0.1]
    assert described["key_metrics"]["m"]["value"] == 0.1


def test_an_agent_without_rollouts_or_scores() -> None:
    text = render(document("b", {"a": {"key_metrics": {}, "tasks": {}}}, {}))
    back = tables(parse(text, file="x"), file="x")["a"]
    assert (len(back), back.tasks, dict(back.scores)) == (0, (), {})
    assert values(parse(text, file="x"), "unknown") == {}
    none = render(document("b", {"a": {"key_metrics": {}, "tasks": {"1": {}}}}, {}))
    assert tables(parse(none, file="x"), file="x")["a"].tasks == ("1",)


def test_a_change_of_a_number_is_seen_and_a_change_of_the_layout_is_not() -> None:
    described = agent_document(result(mean=0.5), table({1: [1.0, 0.5], 2: [0.0]}), ("reward",))
    text = render(stamped(document("b", {"a": described}, {})))
    assert not is_edited(parse(text, file="x"))
    assert not is_edited(parse(json.dumps(json.loads(text), sort_keys=True), file="x"))
    assert not is_edited(parse(text.replace('"reward": [0]', '"reward": [0.0]'), file="x"))
    assert is_edited(parse(text.replace("[1, 0.5]", "[1, 0.25]"), file="x"))
    assert is_edited(parse(text.replace('"value": 0.5', '"value": 0.75'), file="x"))
    assert is_edited(parse(made(table({1: [1.0]})), file="x"))  # without a digest


@given(st.text(max_size=60))
def test_no_text_is_a_reason_for_a_traceback(text: str) -> None:
    with pytest.raises(BaselineError) as caught:
        parse(text, file="x.json")
    assert caught.value.file == "x.json"
    assert "--snapshot-update" in str(caught.value.hint)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["agents", "a", "tasks", "value"]), inner, max_size=3),
    ),
    max_leaves=8,
)


@given(st.sampled_from(["agents", "benchmark", "schema_version", "provenance"]), JSON)
def test_nor_is_any_other_json_in_the_place_of_a_part(key: str, value: Any) -> None:
    doc = json.loads(made(table({1: [1.0]}), mean=1.0)) | {key: value}
    try:
        tables(parse(json.dumps(doc), file="x.json"), file="x.json")
    except BaselineError as error:
        assert error.file == "x.json"  # noqa: PT017 - most of these are refused, and some are right
