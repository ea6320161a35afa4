import math

import numpy as np
import pytest
from gates.making import checked, flips, make_combined, make_pair, rule, run, several
from msgspec.structs import replace
from statsmodels.stats.multitest import multipletests

from pytest_evalmetrics.ext import Verdict

PASS, WARN, FAIL, INCONCLUSIVE = (
    Verdict.PASS,
    Verdict.WARN,
    Verdict.FAIL,
    Verdict.INCONCLUSIVE,
)
RULES = ("exact", "absolute", "relative", "statistical", "practical")


def test_p_values_of_metrics_that_share_nothing_are_adjusted_as_holm_sidak_does():
    pairs = [replace(run(i, 200, 4, loss=0.06), name=f"m{i}") for i in range(5)]
    checks = several(pairs)
    raw = [c.evidence["p"] for c in checks]
    expected = multipletests(raw, method="holm-sidak")[1]
    assert [c.evidence["p_adjusted"] for c in checks] == pytest.approx(
        expected, rel=0.1
    )
    assert len(set(raw)) == 5
    agents = several(pairs, ids=[pair.name for pair in pairs])
    assert [c.evidence["p_adjusted"] for c in agents] == pytest.approx(
        expected, rel=1e-9
    )


@pytest.mark.parametrize(
    ("tasks", "loss"), [(200, 0.1), (1_100, 0.03)]
)  # these in blocks
def test_a_metric_that_is_nearly_another_costs_little(tasks, loss):
    pair, near = (run(1, tasks, 4, loss=loss) for _ in range(2))
    near.current[:3] = near.baseline[:3]
    one, _, again = several(
        [pair, replace(near, name="near"), replace(pair, name="again")]
    )
    assert one.evidence["p"] <= one.evidence["p_adjusted"] < 1.5 * one.evidence["p"]
    assert (
        again.evidence["p_adjusted"] == one.evidence["p_adjusted"]
    )  # and a synonym nothing


def test_the_metrics_that_are_tested_share_the_level():
    regression = flips(9, 1, 100)  # mid-p 0.0059
    shared, _ = several([regression, flips(10, 10, 90)])
    assert shared.verdict is WARN
    assert shared.evidence["p_adjusted"] == pytest.approx(
        2 * shared.evidence["p"], rel=0.05
    )
    others = [
        rule(name, max_drop=0.5)
        for name in ("exact", "absolute", "relative", "noninferior")
    ]
    check, *rest = several([regression] + [flips(1, 1, 100)] * 4, [rule(), *others])
    assert check.verdict is FAIL
    assert all(c.evidence["p_adjusted"] == c.evidence["p"] for c in (check, *rest))
    untested, check = several([make_combined([1.0], [0.5]), flips(12, 1, 100)])
    assert (untested.verdict, check.verdict) == (INCONCLUSIVE, FAIL)
    assert untested.evidence["why"] == "blind"


def test_coverage_is_of_the_baselines_tasks():
    pair = flips(0, 0, 90)
    gone = tuple(f"t{i}" for i in range(10))
    assert checked(pair, removed=gone).verdict is PASS
    check = checked(pair, removed=(*gone, "u"))
    assert (check.verdict, check.evidence["why"]) == (INCONCLUSIVE, "coverage")
    assert check.reason == (
        "mean_reward can't be compared: 90 of the baseline's 101 tasks are compared, and "
        "min_coverage is 90 %; gone: t0, t1, t2, t3, t4, t5, t6, t7, t8, t9 and 1 more"
    )
    # 0.55 * 100 is 55.00000000000001
    lost = tuple(range(45))
    assert checked(flips(0, 0, 55), removed=lost, min_coverage=0.55).verdict is PASS


def test_nothing_in_common_is_no_pass():
    check = checked(make_pair([], []), removed=(1, 2), added=(3,))
    assert (check.evidence["why"], check.value) == ("no_pairs", None)
    assert "the run and its baseline have no task in common" in check.reason
    for name in (*RULES, "noninferior"):
        assert (
            checked(make_pair([], []), rule(name), removed=(1,)).verdict is INCONCLUSIVE
        )


def test_tasks_that_are_not_compared_are_listed():
    sides = {"removed": ("old",), "added": ("new", "newer")}
    pair = replace(flips(30, 10, 160), excluded=("a", "b"))
    check = checked(pair, **sides)
    assert check.verdict is FAIL
    for kind, tasks in (*sides.items(), ("excluded", ("a", "b"))):
        assert check.evidence[kind] == len(tasks)
        assert check.evidence[f"{kind}_tasks"] == list(tasks)
    passed = checked(replace(flips(0, 0, 100), excluded=("a", "b")), **sides)
    assert "1 task is only in the baseline: old" in passed.reason
    assert "2 tasks are only in this run: new, newer" in passed.reason
    assert "2 tasks are left out, without a value on one side: a, b" in passed.reason
    none = checked(replace(make_pair([], []), excluded=tuple(range(200))))
    assert (none.verdict, none.evidence["why"]) == (INCONCLUSIVE, "no_pairs")
    assert "none of its 200 common tasks has a value on both sides" in none.reason
    assert len(none.evidence["excluded_tasks"]) == 100


def test_more_than_five_percent_missing_can_not_be_judged():
    pair = flips(30, 10, 160)
    assert checked(pair, missing=0.05).verdict is FAIL
    check = checked(pair, missing=0.0501)
    assert (check.verdict, check.evidence["why"]) == (INCONCLUSIVE, "missing")
    assert "5.01 % of its rewards are missing" in check.reason
    assert check.evidence["missing"] == 0.0501


def test_missing_rewards_that_would_turn_the_verdict_make_it_inconclusive():
    fine, unsure = flips(2, 2, 196), rule("noninferior", max_drop=0.03)
    cases = [
        # what there is, at the worst, the verdict of the worst case, the verdict
        (fine, flips(11, 2, 187), rule(), "FAIL", INCONCLUSIVE),
        (fine, flips(3, 2, 195), rule(), None, PASS),
        (flips(30, 10, 160), flips(33, 10, 157), rule(), None, FAIL),
        # a pass that would only warn stays one; one that could not be judged does not
        (fine, flips(8, 2, 190), rule(), "WARN", PASS),
        (fine, flips(5, 2, 193), unsure, "INCONCLUSIVE", INCONCLUSIVE),
    ]
    for pair, worst, wanted, at_worst, verdict in cases:
        check = checked(pair, wanted, worst=worst, missing=0.035)
        assert at_worst is None or check.evidence["worst_case"]["verdict"] == at_worst
        assert check.verdict is verdict
    check = checked(fine, worst=flips(11, 2, 187), missing=0.035)
    assert check.evidence["why"] == "missing_decides"
    assert "at their worst mean_reward would be 0.945 against 0.99" in check.reason
    assert check.hint == "complete the run: score what has no reward"


def test_identical_runs_never_fail():
    rng = np.random.default_rng(0)
    for seed in range(30):
        n = int(rng.integers(1, 80))
        k = rng.integers(1, 6, n)
        rewards = [rng.random(m).round(int(rng.integers(0, 3))).tolist() for m in k]
        pair = make_pair(rewards, rewards)
        clusters = rng.integers(0, 9, n) if seed % 3 == 0 else None
        pairs = [pair] * 5 + [make_combined(pair.baseline, pair.baseline)]
        checks = several(
            pairs, [rule(name) for name in (*RULES, "practical")], clusters=clusters
        )
        assert {check.verdict for check in checks} == {PASS}


def test_a_drop_that_is_no_number_is_never_a_pass():
    pair = make_pair([[1.0]] * 30, [[0.5]] * 30)
    pair.current[3] = math.nan
    for name in (*RULES, "noninferior"):
        assert checked(pair, rule(name)).verdict is INCONCLUSIVE


def test_the_ten_worst_tasks_with_their_rewards_before_and_after():
    current = [
        [1.0, 1.0],
        *([[1.0, 0.0]] * 14),
        [0.0, 0.0],
        *([[1.0, 1.0]] * 13),
        [0.0, 0.0],
    ]
    evidence = checked(make_pair([[1.0, 1.0]] * 30, current)).evidence
    assert evidence["worse"] == 16
    worst = evidence["worst_tasks"]
    assert [each["task"] for each in worst] == [15, 29, 1, 2, 3, 4, 5, 6, 7, 8]
    assert worst[0] == {"task": 15, "baseline": [1, 1], "current": [0, 0], "drop": 1}
    assert checked(flips(0, 3, 9)).evidence["worst_tasks"] == []


@pytest.mark.parametrize("tasks", [7, 200])
def test_zero_flips_have_a_bound_and_no_interval_of_no_width(tasks):
    check = checked(make_pair([[1.0, 0.0]] * tasks, [[1.0, 0.0]] * tasks))
    unseen = 1 - 0.01 ** (1 / tasks)
    assert check.evidence["unseen_flips"] == pytest.approx(unseen)
    assert (check.evidence["p"], check.evidence["drop"]) == (1, 0)
    assert [check.evidence[key] for key in ("drop_low", "drop_high", "mde")] == [
        None
    ] * 3
    assert (
        f"no task differs: up to {100 * unseen:.2g} % of them may flip unseen"
        in check.reason
    )
    assert checked(flips(1, 0, 199)).evidence["unseen_flips"] is None
    assert checked(make_pair([[1.0]] * 9, [[0.5]] * 9)).evidence["unseen_flips"] is None
