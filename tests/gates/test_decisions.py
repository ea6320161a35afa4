import math

import numpy as np
import pytest
from gates.making import checked, make_pair, rule, run
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as oracle

from pytest_evalmetrics.ext import Estimate, Verdict
from pytest_evalmetrics.gates import check_value
from pytest_evalmetrics.gates.comparison import Comparison
from pytest_evalmetrics.gates.decisions import decide
from pytest_evalmetrics.results import Interval

PASS, WARN, FAIL, INCONCLUSIVE = (Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.INCONCLUSIVE)


def found(drop=0.05, *, baseline=0.7, se=0.01, n=100, **changed):
    """A comparison with these numbers."""
    pair = make_pair([[0.0]], [[0.0]], value_baseline=baseline, value_current=baseline - drop)
    known = {
        "pair": pair,
        "damage": np.array([drop]),
        "df": n - 1,
        "drop": drop,
        "low": drop - 2 * se,
        "high": drop + 2 * se,
        "se": se,
        "p": 0.001,
        "test": "paired t",
        "units": n,
        "mde": 3.2 * se,
        "span": 1.0,
    }
    return Comparison(**(known | changed))


@pytest.mark.parametrize(
    ("asked", "drop", "p", "verdict"),
    [
        # any drop at all, whatever p; but not what additions round off
        (rule("exact"), 0.001, 0.4, FAIL),
        (rule("exact"), 1e-12, 0.4, PASS),
        (rule("exact"), 0.0, 1.0, PASS),
        (rule("exact"), -0.1, 1.0, PASS),
        # D > delta, with a slack of 1e-9
        (rule("absolute", max_drop=0.02), 0.0201, 0.5, FAIL),
        (rule("absolute", max_drop=0.02), 0.02, 0.001, PASS),
        (rule("absolute", max_drop=0.02), 0.02 + 5e-10, 0.001, PASS),
        (rule("absolute", max_drop=0.02), 0.02 + 2e-9, 0.001, FAIL),
        # more than 10 % of a baseline of 0.7
        (rule("relative", max_drop=0.1), 0.0701, 0.5, FAIL),
        (rule("relative", max_drop=0.1), 0.07, 0.001, PASS),
        # p < alpha
        (rule("statistical"), 0.001, 0.0099, FAIL),
        (rule("statistical"), 0.001, 0.01, WARN),
        (rule("statistical"), 0.001, 0.0499, WARN),
        (rule("statistical"), 0.001, 0.05, PASS),
        (rule("statistical"), -0.001, 0.001, PASS),
        (rule("statistical"), 0.1, math.nan, INCONCLUSIVE),
        (rule("statistical"), 0.0, math.nan, PASS),
        # p under alpha, and a drop of at least max_drop
        (rule("practical"), 0.01, 0.0099, FAIL),
        (rule("practical"), 0.01 - 5e-10, 0.0099, FAIL),
        (rule("practical"), 0.0099, 0.0099, PASS),
        (rule("practical"), 0.01, 0.02, WARN),
        (rule("practical"), 0.0099, 0.02, PASS),
        (rule("practical"), 0.01, 0.05, PASS),
        (rule("practical", max_drop=0.0), 0.0001, 0.0099, FAIL),
        (rule("practical", alpha=0.1, warn_alpha=0.2), 0.02, 0.15, WARN),
        (rule("practical", alpha=0.1, warn_alpha=0.2), 0.02, 0.09, FAIL),
        (rule("practical"), 0.02, math.nan, INCONCLUSIVE),
        # D + t SE <= delta, with t of 99 degrees of freedom at .99
        (rule("noninferior", max_drop=0.08), 0.05, 0.001, PASS),
        (rule("noninferior", max_drop=0.07), 0.05, 0.9, INCONCLUSIVE),
        (rule("noninferior", max_drop=0.04), 0.05, 0.9, FAIL),
        (rule("noninferior", max_drop=0.02), -0.05, 0.9, PASS),
    ],
)
def test_each_rule(asked, drop, p, verdict):
    assert decide(found(drop), asked, p).verdict is verdict


def test_the_bound_of_noninferior_is_students():
    upper = 0.05 + oracle.t(99).ppf(0.99) * 0.01
    for delta, verdict in ((upper + 1e-6, PASS), (upper - 1e-6, INCONCLUSIVE)):
        decision = decide(found(0.05), rule("noninferior", max_drop=delta), 0.5)
        assert decision.verdict is verdict
    assert decision.why == "not_shown"
    assert "the drop may be as large as 0.0736" in decision.reason


def test_noninferior_where_nothing_differs_rests_on_the_flips_that_may_be_unseen():
    unseen = 1 - 0.01 ** (1 / 200)
    pair = make_pair([[1.0]] * 200, [[1.0]] * 200)
    assert checked(pair, rule("noninferior", max_drop=unseen + 1e-6)).verdict is PASS
    assert checked(pair, rule("noninferior", max_drop=unseen - 1e-6)).verdict is INCONCLUSIVE
    one = make_pair([[1.0, 1.0]], [[1.0]])
    assert checked(one, rule("noninferior", max_drop=0.5)).verdict is INCONCLUSIVE


@pytest.mark.parametrize(
    ("direction", "baseline", "current", "verdict"),
    [
        ("lower", 1000.0, 1100.0, PASS),
        ("lower", 1000.0, 1101.0, FAIL),
        ("higher", 1000.0, 900.0, PASS),
        ("higher", 1000.0, 899.0, FAIL),
        ("higher", -10.0, -11.0, PASS),
        ("higher", -10.0, -11.1, FAIL),
        ("higher", -10.0, -10.0, PASS),  # (1 - rho) b - c alone would call it worse
        ("lower", 0.0, 1e-6, FAIL),
    ],
)
def test_relative_is_a_share_of_the_size_of_the_baseline(direction, baseline, current, verdict):
    drop = (baseline - current) * (1 if direction == "higher" else -1)
    made = found(drop, baseline=baseline)
    asked = rule("relative", direction=direction, max_drop=0.1)
    assert decide(made, asked, 0.5).verdict is verdict


@given(
    st.lists(st.tuples(st.floats(0, 1000), st.floats(0, 1000)), min_size=1, max_size=30),
    st.floats(0, 0.9),
    st.sampled_from(["higher", "lower"]),
)
def test_relative_is_the_mean_over_tasks_of_what_is_left_of_the_baseline(tasks, share, direction):
    baseline, current = ([[pair[side]] for pair in tasks] for side in (0, 1))
    b, c = (np.ravel(side) for side in (baseline, current))
    beyond = (1 - share) * b - c if direction == "higher" else c - (1 + share) * b
    if abs(beyond.mean()) < 1e-6:
        return
    check = checked(
        make_pair(baseline, current), rule("relative", direction=direction, max_drop=share)
    )
    assert (check.verdict is FAIL) == (beyond.mean() > 0)


def test_require_mde_makes_a_pass_that_means_nothing_red():
    made = found(0.0, se=0.02)  # sees 0.064
    for name in ("practical", "statistical", "absolute", "exact"):
        asked = rule(name, max_drop=0.01)
        assert decide(made, asked, 0.5).verdict is PASS
        decision = decide(made, rule(name, max_drop=0.01, require_mde=0.06), 0.5)
        assert (decision.verdict, decision.why) == (INCONCLUSIVE, "require_mde")
        assert "80 % power to see drops of 0.064 or more" in decision.reason
        assert decide(made, rule(name, max_drop=0.01, require_mde=0.065), 0.5).verdict is PASS
    warned = decide(found(se=0.02), rule(require_mde=0.06), 0.02)
    assert warned.verdict is INCONCLUSIVE


def test_require_mde_never_hides_a_regression():
    assert decide(found(0.3, se=0.05), rule(require_mde=0.01), 0.001).verdict is FAIL
    assert checked(make_pair([[0.9]] * 200, [[0.6]] * 200), rule(require_mde=0.01)).verdict is FAIL


def test_require_mde_where_nothing_differs_or_nothing_can_be_told():
    alike = make_pair([[1.0]] * 200, [[1.0]] * 200)
    assert checked(alike, rule(require_mde=0.03)).verdict is PASS
    check = checked(alike, rule(require_mde=0.02))  # 1 - .01^(1/200) = 0.0228
    assert check.verdict is INCONCLUSIVE
    assert "a drop of 0.0228 may go unseen" in check.reason
    unknown = decide(found(0.0, mde=math.nan), rule(require_mde=0.5), 0.5)
    assert unknown.verdict is INCONCLUSIVE


def test_a_real_drop_that_is_too_small_to_matter_is_told():
    decision = decide(found(0.004), rule(), 0.0001)
    assert decision.verdict is PASS
    assert decision.reason == "a real drop (p = 0.0001), but under max_drop 0.01"


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (rule("exact"), "no drop (exact)"),
        (rule("absolute", max_drop=0.02), "drop <= 0.02 (absolute)"),
        (rule("relative", max_drop=0.1), "drop <= 10 % of the baseline (relative)"),
        (rule("statistical"), "no drop at p < 0.01 (statistical)"),
        (rule(), "no drop >= 0.01 at p < 0.01 (practical)"),
        (rule("noninferior"), "drop shown to be <= 0.01 (noninferior)"),
    ],
)
def test_a_rule_is_told_in_words(asked, told):
    assert str(asked) == told


def test_small_units_are_judged_by_their_own_size():
    cost = make_pair([[2e-7]] * 30, [[3e-7]] * 30)
    assert checked(cost, rule("exact", direction="lower")).verdict is FAIL
    assert checked(cost, rule(direction="lower", max_drop=0.0)).verdict is FAIL
    size = make_pair([[1e9 + 0.25]] * 3, [[1e9]] * 3)
    assert checked(size, rule("exact")).verdict is PASS  # a billionth of it


@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.1, 0.5]))
def test_a_stricter_rule_never_passes_what_a_laxer_one_fails(seed, loss):
    pair = run(seed, 30, 2, loss)
    verdicts = {
        name: checked(pair, rule(name, max_drop=0.05)).verdict
        for name in ("exact", "absolute", "statistical", "practical", "noninferior")
    }
    if verdicts["practical"] is FAIL:
        assert verdicts["statistical"] is FAIL
    if verdicts["statistical"] is FAIL or verdicts["absolute"] is FAIL:
        assert verdicts["exact"] is FAIL
    if verdicts["absolute"] is FAIL:
        assert verdicts["noninferior"] is FAIL


@pytest.mark.parametrize(
    ("known", "asked", "verdict"),
    [
        (0.7, rule("exact"), PASS),
        (0.71, rule("exact"), FAIL),
        (0.71, rule("absolute", max_drop=0.02), PASS),
        (0.73, rule("absolute", max_drop=0.02), FAIL),
        (0.77, rule("relative", max_drop=0.1), PASS),
        (0.78, rule("relative", max_drop=0.1), FAIL),
        (0.6, rule("exact", direction="lower"), FAIL),
        (0.7, rule(), INCONCLUSIVE),
        (0.7, rule("statistical"), INCONCLUSIVE),
        (0.7, rule("noninferior"), INCONCLUSIVE),
        (None, rule("exact"), INCONCLUSIVE),
    ],
)
def test_a_number_without_tasks_is_judged_by_rules_without_a_test(known, asked, verdict):
    estimate = Estimate("any_pass", 0.7, 10, 40, by_hook=True)
    check = check_value(estimate, known, asked, agent="", line=3)
    assert check.verdict is verdict
    assert bool(check.reason) == verdict.fails
    assert bool(check.hint) == verdict.fails
    assert check.evidence["baseline"] == known


def test_a_number_without_tasks_tells_how_it_changed():
    estimate = Estimate("any_pass", 0.7, 10, 40, by_hook=True)
    fell = check_value(estimate, 0.8, rule("exact"), agent="", line=None)
    assert fell.reason == "any_pass fell from 0.8 to 0.7"
    unsure = check_value(estimate, 0.8, rule(max_drop=0.02), agent="", line=None)
    assert "computed by a hook" in unsure.reason
    assert "{rule: absolute, max_drop: 0.02}" in unsure.hint
    new = check_value(estimate, None, rule("exact"), agent="", line=None)
    assert new.reason == "the baseline has no any_pass"
    assert "--snapshot-update" in new.hint


@pytest.mark.parametrize(
    ("known", "low", "high", "asked", "verdict"),
    [
        # the interval's end on the bad side, against the number less max_drop
        (0.72, 0.66, 0.74, rule("noninferior", max_drop=0.06), PASS),
        (0.72, 0.65, 0.74, rule("noninferior", max_drop=0.06), INCONCLUSIVE),
        (0.60, 0.50, 0.90, rule("noninferior", max_drop=0.1), PASS),
        (0.78, 0.69, 0.71, rule("noninferior", max_drop=0.06), FAIL),
        (0.68, 0.60, 0.74, rule("noninferior", max_drop=0.06, direction="lower"), PASS),
        (0.68, 0.60, 0.75, rule("noninferior", max_drop=0.06, direction="lower"), INCONCLUSIVE),
        (0.63, 0.69, 0.71, rule("noninferior", max_drop=0.06, direction="lower"), FAIL),
    ],
)
def test_noninferior_is_judged_by_the_interval(known, low, high, asked, verdict):
    estimate = Estimate("pass@1", 0.7, 10, 40, Interval(low, high, 0.95, "t"))
    check = check_value(estimate, known, asked, agent="", line=3, against="the best of 7 runs")
    assert check.verdict is verdict
    assert bool(check.reason) == bool(check.hint) == verdict.fails


def test_a_number_of_the_history_says_what_it_is():
    estimate = Estimate("pass@1", 0.7, 10, 40, reason="too few tasks")
    fell = check_value(
        estimate, 0.8, rule("exact"), agent="", line=None, against="the best of 7 runs"
    )
    assert fell.reason == "pass@1 fell from 0.8 to 0.7 (the best of 7 runs)"
    unsure = check_value(
        estimate, 0.8, rule("noninferior"), agent="", line=None, against="the best of 7 runs"
    )
    assert unsure.reason == (
        "pass@1 has no interval: too few tasks: the rule noninferior can't judge it"
    )
    new = check_value(estimate, None, rule("exact"), agent="", line=None, against="there is none")
    assert new.reason == "there is none"
