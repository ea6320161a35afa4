import math
from dataclasses import replace

import numpy as np
import pytest
from gates.making import checked, flips, make_combined, make_pair, rule, run
from statsmodels.stats.multitest import multipletests

from pytest_evalmetrics.ext import Verdict
from pytest_evalmetrics.gates import Gated, check_regression

PASS, WARN, FAIL, INCONCLUSIVE = (Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.INCONCLUSIVE)


def several(pairs, rules=None, **changed):
    rules = rules or [rule()] * len(pairs)
    return check_regression(
        [Gated(p, r, gate_id="g") for p, r in zip(pairs, rules, strict=True)], **changed
    )


def test_p_values_of_metrics_that_share_nothing_are_adjusted_as_holm_sidak_does():
    pairs = [replace(run(i, 200, 4, loss=0.06), name=f"m{i}") for i in range(5)]
    checks = several(pairs)
    raw = [c.evidence["p"] for c in checks]
    known = multipletests(raw, method="holm-sidak")[1]
    assert [c.evidence["p_adjusted"] for c in checks] == pytest.approx(known, rel=0.1)
    assert len(set(raw)) == 5
    agents = check_regression([Gated(p, rule(), gate_id=p.name) for p in pairs])
    assert [c.evidence["p_adjusted"] for c in agents] == pytest.approx(known, rel=1e-9)


def test_another_name_for_the_same_number_costs_nothing():
    pair = run(1, 200, 4, loss=0.1)
    checks = several([replace(pair, name=f"m{i}") for i in range(4)])
    (alone,) = several([pair])
    assert [c.evidence["p_adjusted"] for c in checks] == [alone.evidence["p"]] * 4
    # and one that is nearly the same costs little
    near = run(1, 200, 4, loss=0.1)
    near.current[:3] = near.baseline[:3]
    one, _ = several([pair, replace(near, name="near")])
    assert one.evidence["p"] <= one.evidence["p_adjusted"] < 1.5 * one.evidence["p"]


def test_the_verdict_is_that_of_the_adjusted_p():
    regression = flips(9, 1, 100)  # mid-p 0.0059
    assert checked(regression).verdict is FAIL
    alone, _ = several([regression, flips(10, 10, 90)])
    assert alone.verdict is WARN
    assert alone.evidence["p_adjusted"] == pytest.approx(2 * alone.evidence["p"], rel=0.05)


def test_only_the_metrics_that_are_tested_share_the_level():
    regression = flips(9, 1, 100)
    others = [rule(name, max_drop=0.5) for name in ("exact", "absolute", "relative", "noninferior")]
    check, *rest = several([regression] + [flips(1, 1, 100)] * 4, [rule(), *others])
    assert check.verdict is FAIL
    assert check.evidence["p_adjusted"] == check.evidence["p"]
    assert all(c.evidence["p_adjusted"] == c.evidence["p"] for c in rest)
    untested, check = several([make_combined([1.0], [0.5]), flips(12, 1, 100)])
    assert (untested.verdict, check.verdict) == (INCONCLUSIVE, FAIL)
    assert untested.evidence["why"] == "blind"


def test_a_check_tells_the_change_on_one_line():
    check = checked(flips(30, 10, 160), line=7, agent="new")
    assert (check.gate, check.name, check.agent, check.line) == (
        "baseline",
        "mean_reward",
        "new",
        7,
    )
    assert check.bound == "no drop >= 0.01 at p < 0.01 (practical)"
    assert check.value == pytest.approx(170 / 200)
    assert check.reason == (
        "mean_reward fell from 0.95 to 0.85: a loss of 0.1 [0.03907, 0.1609], p = 0.00071 "
        "(paired t, 200 tasks), 30 worse and 10 better"
    )
    assert check.hint == (
        "fix the regression; or, if the change is intended, accept it with --snapshot-update"
    )


def test_where_lower_is_better_it_rose():
    baseline, current = [[100.0]] * 30, [[100.0 + i % 7 + 5] for i in range(30)]
    check = checked(
        make_pair(baseline, current, bounded=False), rule(direction="lower", max_drop=0.0)
    )
    assert check.verdict is FAIL
    assert check.reason.startswith("mean_reward rose from 100 to 107.8: a loss of 7.833 [")
    assert check.evidence["direction"] == "lower"


def test_a_warning_is_told_and_is_not_red():
    check = checked(flips(5, 0, 100))
    assert check.verdict is WARN
    assert not check.verdict.fails
    assert "p = 0.016 (exact sign flip, 105 tasks), 5 worse and 0 better" in check.reason
    assert check.hint == ""


def test_a_pass_tells_what_could_have_been_seen():
    check = checked(run(0, 200, 4))
    assert check.verdict is PASS
    assert check.reason == f"80 % power to see a loss of {check.evidence['mde']:.3g} or more"
    alike = checked(make_pair([[1.0]] * 200, [[1.0]] * 200))
    assert alike.reason == "no task differs: up to 2.3 % of them may flip unseen"


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
    assert "complete the run" in check.hint
    assert checked(pair, removed=(*gone, "u"), min_coverage=0.5).verdict is PASS
    # 0.55 * 100 is 55.00000000000001
    lost = tuple(range(45))
    assert checked(flips(0, 0, 55), removed=lost, min_coverage=0.55).verdict is PASS


def test_tasks_of_one_side_are_listed_and_the_common_ones_compared():
    check = checked(flips(30, 10, 160), removed=("old",), added=("new", "newer"))
    assert check.verdict is FAIL
    evidence = check.evidence
    assert (evidence["removed"], evidence["removed_tasks"]) == (1, ["old"])
    assert (evidence["added"], evidence["added_tasks"]) == (2, ["new", "newer"])
    passed = checked(flips(0, 0, 100), removed=("old",), added=("new", "newer"))
    assert "one task is only in the baseline: old" in passed.reason
    assert "2 tasks are only in this run: new, newer" in passed.reason


def test_nothing_in_common_is_no_pass():
    check = checked(make_pair([], []), removed=(1, 2), added=(3,))
    assert (check.verdict, check.evidence["why"]) == (INCONCLUSIVE, "no_pairs")
    assert "the run and its baseline have no task in common" in check.reason
    assert check.value is None
    for name in ("exact", "absolute", "relative", "statistical", "noninferior"):
        assert checked(make_pair([], []), rule(name), removed=(1,)).verdict is INCONCLUSIVE


def test_excluded_tasks_are_listed_and_none_left_is_an_error():
    pair = replace(flips(30, 10, 160), excluded=("a", "b"))
    check = checked(pair)
    assert check.verdict is FAIL
    assert (check.evidence["excluded"], check.evidence["excluded_tasks"]) == (2, ["a", "b"])
    passed = checked(replace(flips(0, 0, 20), excluded=("a", "b")))
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
    fine, feared = flips(2, 2, 196), flips(11, 2, 187)
    check = checked(fine, worst=feared, missing=0.035)
    assert (check.verdict, check.evidence["why"]) == (INCONCLUSIVE, "missing_decides")
    assert (
        "missing rewards decide the verdict: at their worst mean_reward would be 0.945 against "
        "0.99" in check.reason
    )
    assert check.evidence["worst_case"]["verdict"] == "FAIL"
    assert check.hint == "complete the run: score what has no reward"
    # those that would not are no matter
    assert checked(fine, worst=flips(3, 2, 195), missing=0.005).verdict is PASS
    assert checked(flips(30, 10, 160), worst=flips(33, 10, 157), missing=0.02).verdict is FAIL
    # a pass that would only warn stays one; one that could not be judged does not
    warned = checked(fine, worst=flips(8, 2, 190), missing=0.03)
    assert (warned.verdict, warned.evidence["worst_case"]["verdict"]) == (PASS, "WARN")
    asked = rule("noninferior", max_drop=0.03)
    unsure = checked(fine, asked, worst=flips(5, 2, 193), missing=0.015)
    assert unsure.evidence["worst_case"]["verdict"] == "INCONCLUSIVE"
    assert unsure.verdict is INCONCLUSIVE


def test_an_improvement_is_told():
    check = checked(flips(0, 40, 160))
    assert check.verdict is PASS
    assert check.evidence["improved"]
    assert check.reason.startswith("better than the baseline: 40 tasks better and 0 worse")
    assert not checked(flips(2, 3, 195)).evidence["improved"]


def test_identical_runs_never_fail():
    rng = np.random.default_rng(0)
    for seed in range(100):
        n = int(rng.integers(1, 80))
        k = rng.integers(1, 6, n)
        rewards = [rng.random(m).round(int(rng.integers(0, 3))).tolist() for m in k]
        pair = make_pair(rewards, rewards)
        clusters = rng.integers(0, 9, n) if seed % 3 == 0 else None
        names = ("exact", "absolute", "relative", "statistical", "practical")
        gated = [Gated(pair, rule(name), clusters=clusters) for name in names]
        values = pair.baseline
        combined = make_combined(values, values)
        gated.append(Gated(combined, rule(), clusters=clusters))
        assert {c.verdict for c in check_regression(gated)} == {PASS}


def test_a_drop_that_is_no_number_is_never_a_pass():
    pair = make_pair([[1.0]] * 30, [[0.5]] * 30)
    pair.current[3] = math.nan
    for name in ("exact", "absolute", "relative", "statistical", "practical", "noninferior"):
        assert checked(pair, rule(name)).verdict is INCONCLUSIVE


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


def test_zero_flips_print_their_bound():
    evidence = checked(make_pair([[1.0]] * 200, [[1.0]] * 200)).evidence
    assert evidence["unseen_flips"] == pytest.approx(-math.expm1(math.log(0.01) / 200))
    assert checked(flips(1, 0, 199)).evidence["unseen_flips"] is None
    assert checked(make_pair([[1.0]] * 9, [[0.5]] * 9)).evidence["unseen_flips"] is None
