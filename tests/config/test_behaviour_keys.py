"""What a benchmark asserts about an agent's behaviour."""

import pytest


def behaviour(load, keys):
    text = f"benchmark:\n  name: a\n  rollouts: r\n  behaviour: {keys}\n"
    (benchmark,) = load(text)
    return benchmark.spec.behaviour


@pytest.mark.parametrize(
    ("keys", "needs_baseline"),
    [
        ("{steps: {max_rise: 10%}}", True),
        ("{steps: {max_fall: 10%}}", True),
        ("{order: same}", True),
        ("{steps: {max: 3}}", False),
        ("true", False),
    ],
)
def test_a_change_is_asserted_against_a_baseline(load, keys, needs_baseline):
    assert behaviour(load, keys).needs_baseline is needs_baseline


@pytest.mark.parametrize(
    ("keys", "has_rules"),
    [
        ("{steps: {max: 3}}", True),
        ("{steps: {min: 1}}", True),
        ("{tools: {forbid: [pay]}}", True),
        ("{tools: {require: [search]}}", True),
        ("{sequences: {forbid: [[book, search]]}}", True),
        ("{sequences: {require: [[search, book]]}}", True),
        ("{limits: {mine: {max: 3}}}", True),
        ("{steps: {max_rise: 10%}}", False),
        ("true", False),
    ],
)
def test_rules_are_asserted_of_single_rollouts(load, keys, has_rules):
    assert behaviour(load, keys).has_rules is has_rules


def test_limits_of_built_in_features_come_first(load):
    keys = "{limits: {mine: {max: 3}}, tool_calls: {max: 2}, steps: {max: 1}}"
    limits = behaviour(load, keys).all_limits
    assert list(limits) == ["steps", "tool_calls", "mine"]
    assert [limit.max for limit in limits.values()] == [1, 2, 3]


def test_features_of_ones_own_are_those_listed_and_limited(load):
    keys = "{features: [a, b], limits: {b: {max: 3}, c: {max: 4}}}"
    assert behaviour(load, keys).own_features == ("a", "b", "c")


def test_a_limit_is_found_where_it_is_written(load):
    spec = behaviour(load, "{steps: {max: 1}, limits: {mine: {max: 3}}}")
    assert spec.path_of("steps") == ("steps",)
    assert spec.path_of("mine") == ("limits", "mine")


def test_limits_may_be_equal(load):
    (limit,) = behaviour(load, "{steps: {min: 2, max: 2}}").all_limits.values()
    assert (limit.min, limit.max) == (2, 2)


def test_false_is_as_if_nothing_were_written(load):
    assert behaviour(load, "false") is None
