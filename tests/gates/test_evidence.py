from __future__ import annotations

import json
import math

import numpy as np
import pytest
from gates.making import checked, flips, make_combined, make_pair, rule, run

KEYS = {
    "baseline",
    "current",
    "drop",
    "drop_low",
    "drop_high",
    "level",
    "se",
    "p",
    "p_rollouts",
    "blind",
    "benchmarks",
    "proven_tasks",
    "p_adjusted",
    "test",
    "tasks",
    "units",
    "clusters",
    "rollouts_baseline",
    "rollouts_current",
    "samples_baseline",
    "samples_current",
    "worse",
    "better",
    "worst_tasks",
    "mde",
    "unseen_flips",
    "draws",
    "seed",
    "improved",
    "excluded",
    "excluded_tasks",
    "added",
    "added_tasks",
    "removed",
    "removed_tasks",
    "rule",
    "direction",
    "alpha",
    "warn_alpha",
    "max_drop",
    "require_mde",
    "allowed_drop",
    "missing",
    "worst_case",
    "min_coverage",
    "why",
}


@pytest.mark.parametrize(
    "pair",
    [
        run(0, 100, 4, 0.2),
        flips(3, 1, 50),
        make_pair([[1.0]] * 9, [[1.0]] * 9),
        make_pair([], []),
        make_pair([[1.0]], [[0.0]]),
        make_combined([0.9, 0.8, 0.4], [0.5, 0.6, 0.1]),
    ],
)
def test_the_keys_are_the_same_whatever_was_found(pair):
    evidence = checked(pair).evidence
    assert set(evidence) == KEYS
    assert json.loads(json.dumps(evidence, allow_nan=False)) == evidence


def test_the_numbers_of_both_sides():
    evidence = checked(make_pair([[1, 1], [0]], [[1, 0, 0], [0, 0]])).evidence
    assert (evidence["baseline"], evidence["current"]) == pytest.approx((0.5, 1 / 6))
    assert (evidence["rollouts_baseline"], evidence["rollouts_current"]) == (3, 5)
    assert (evidence["samples_baseline"], evidence["samples_current"]) == ([1, 2], [2, 3])
    assert (evidence["tasks"], evidence["units"], evidence["clusters"]) == (2, 2, None)
    assert (evidence["worse"], evidence["better"]) == (1, 0)
    assert evidence["level"] == 0.95


def test_clusters_are_counted():
    evidence = checked(flips(30, 10, 20), clusters=np.arange(60) // 5).evidence
    assert (evidence["tasks"], evidence["units"], evidence["clusters"]) == (60, 12, 12)


def test_the_ten_worst_tasks_with_their_rewards_before_and_after():
    baseline = [[1.0, 1.0]] * 30
    current = [[1.0, 1.0], *([[1.0, 0.0]] * 14), [0.0, 0.0], *([[1.0, 1.0]] * 13), [0.0, 0.0]]
    evidence = checked(make_pair(baseline, current)).evidence
    assert evidence["worse"] == 16
    assert [t["task"] for t in evidence["worst_tasks"]] == [15, 29, 1, 2, 3, 4, 5, 6, 7, 8]
    assert evidence["worst_tasks"][0] == {
        "task": 15,
        "baseline": [1, 1],
        "current": [0, 0],
        "drop": 1,
    }
    assert checked(flips(3, 0, 9)).evidence["worst_tasks"][2]["task"] == 2
    assert checked(flips(0, 3, 9)).evidence["worst_tasks"] == []


def test_where_lower_is_better_the_worst_are_those_that_rose():
    pair = make_pair([[10.0]] * 3, [[12.0], [7.0], [11.0]], bounded=False)
    evidence = checked(pair, rule(direction="lower", max_drop=0.0)).evidence
    assert [(t["task"], t["drop"]) for t in evidence["worst_tasks"]] == [(0, 2), (2, 1)]


def test_what_is_not_finite_is_none():
    evidence = checked(make_pair([], [])).evidence
    nones = ("baseline", "current", "drop", "drop_low", "drop_high", "se", "p", "p_adjusted", "mde")
    assert all(evidence[key] is None for key in nones)
    assert evidence["samples_baseline"] is None


def test_zero_flips_print_their_bound():
    evidence = checked(make_pair([[1.0]] * 200, [[1.0]] * 200)).evidence
    assert evidence["unseen_flips"] == pytest.approx(-math.expm1(math.log(0.01) / 200))
    assert checked(flips(1, 0, 199)).evidence["unseen_flips"] is None
    assert checked(make_pair([[1.0]] * 9, [[0.5]] * 9)).evidence["unseen_flips"] is None


def test_the_rule_is_told():
    asked = rule("relative", direction="lower", max_drop=0.1, require_mde=100.0)
    evidence = checked(make_pair([[100.0]] * 30, [[101.0]] * 30, bounded=False), asked).evidence
    told = ("rule", "direction", "alpha", "warn_alpha", "max_drop", "require_mde", "allowed_drop")
    assert [evidence[key] for key in told] == ["relative", "lower", 0.01, 0.05, 0.1, 100, 10]
