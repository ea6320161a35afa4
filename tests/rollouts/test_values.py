"""What files hold, taken as numbers, times and names."""

import math

import pytest

from pytest_evalmetrics.ext import FieldMap, Request
from pytest_evalmetrics.rollouts.foreign import (
    agree,
    distinct,
    lookup,
    mapping,
    number,
    objects,
    seconds,
    slim,
    total,
    usage,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1, 1), (0.5, 0.5), (True, 1), (None, None), ("1", None), ([], None), (10**400, math.inf)],
)
def test_number(value, expected):
    assert number(value) == expected


def test_total():
    assert total([1, None, "x", 2.5]) == 3.5
    assert total([None, {}]) is None
    assert total([]) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:10Z", 10),
        ("1970-01-01T01:00:10.5+01:00", 10.5),
        ("soon", None),
        (None, None),
        (5, None),
    ],
)
def test_seconds(text, expected):
    assert seconds(text) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.b", 1),
        ("a", {"b": 1}),
        ("c.d", 2),
        ("l.1.x", 3),
        ("l.9", None),
        ("n", None),
        ("a.b.c", None),
    ],
)
def test_lookup(path, expected):
    record = {"a": {"b": 1}, "c.d": 2, "c": {"d": 0}, "l": [0, {"x": 3}]}
    assert lookup(record, path) == expected


def test_objects_and_mapping():
    assert objects([{"a": 1}, 2, None]) == [{"a": 1}]
    assert objects({"a": 1}) == objects(None) == []
    assert mapping({"a": 1}) == {"a": 1}
    assert mapping([1]) == {}


def test_usage_has_the_sum_only_where_nothing_better_is_known():
    assert usage(prompt_tokens=1, completion_tokens=2, total_tokens=3) == {
        "prompt_tokens": 1,
        "completion_tokens": 2,
    }
    assert usage(prompt_tokens=1, total_tokens=3) == {"prompt_tokens": 1, "total_tokens": 3}
    assert usage() == {}


def test_the_names_of_usage_are_those_that_economics_know():
    from pytest_evalmetrics.metrics.builtin_metrics import ACCEPTED  # noqa: PLC0415 - another room

    every = usage(latency_s=1, prompt_tokens=1, completion_tokens=1, cost_usd=1)
    for names in ACCEPTED.values():
        assert set(names[0]) <= set(every)
    assert ("total_tokens",) in ACCEPTED["tokens_per_task"]


def test_distinct():
    names, contents = ["a", "a", "b", "a"], [{"q": 1}, {"q": 2}, {"q": 1}, {"q": 1}]
    found = distinct(names, contents, lambda content: str(content["q"]))
    assert found == ["a [1]", "a [2]", "b", "a [1]"]


def test_slim_keeps_what_is_asked_for():
    request = Request(FieldMap(task="meta.id"), (), ("label", "a.b"))
    record = {"meta": {"id": 1}, "label": "x", "a": {"b": 2}, "text": "long"}
    assert slim(record, request) == {**record, "text": None}


def test_agree():
    assert agree(1 / 3, 0.3333333)
    assert not agree(0.5, 0.501)
