import math

import numpy as np
import pytest
from gates.making import checked, compared, flips, make_pair, rule, run
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from scipy import stats as oracle

from pytest_evalmetrics.ext import Estimate, Verdict
from pytest_evalmetrics.gates import Gated, check_value
from pytest_evalmetrics.gates.comparison import Comparison
from pytest_evalmetrics.gates.decisions import decide
from pytest_evalmetrics.model.results import Interval

PASS, WARN, FAIL, INCONCLUSIVE = (
    Verdict.PASS,
    Verdict.WARN,
    Verdict.FAIL,
    Verdict.INCONCLUSIVE,
)
UPPER = 0.05 + oracle.t(99).ppf(0.99) * 0.01  # the end of a drop of 0.05 of 100 tasks


def comparison(drop=0.05, *, baseline=0.7, se=0.01, **changed):
    """A comparison of 100 tasks with these numbers."""
    pair = make_pair(
        [[0.5]], [[0.5]], value_baseline=baseline, value_current=baseline - drop
    )
    result = compared(pair).result
    baseline_value = {
        "gated": Gated(pair, rule()),
        "damage": np.full(100, drop),
        "drop": drop,
        "result": structs.replace(result, p=0.001, df=99, se=se).around(drop, 2 * se),
        "units": 100,
        "mde": 3.2 * se,
        "span": 1.0,
    }
    return Comparison(**(baseline_value | changed))


@pytest.mark.parametrize(
    ("wanted", "drop", "p", "verdict"),
    [
        # any drop at all, whatever p; but not what additions round off
        (rule("exact"), 0.001, 0.4, FAIL),
        (rule("exact"), 1e-12, 0.4, PASS),
        (rule("exact"), -0.1, 1.0, PASS),
        # D > delta, with a slack of 1e-9
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
        (rule("practical"), 0.01 - 5e-10, 0.0099, FAIL),
        (rule("practical"), 0.0099, 0.0099, PASS),
        (rule("practical"), 0.01, 0.02, WARN),
        (rule("practical"), 0.0099, 0.02, PASS),
        (rule("practical"), 0.01, 0.05, PASS),
        (rule("practical", max_drop=0.0), 0.0001, 0.0099, FAIL),
        (rule("practical"), 0.02, math.nan, INCONCLUSIVE),
        # D + t SE <= delta
        (rule("noninferior", max_drop=UPPER + 1e-6), 0.05, 0.001, PASS),
        (rule("noninferior", max_drop=UPPER - 1e-6), 0.05, 0.9, INCONCLUSIVE),
        (rule("noninferior", max_drop=0.04), 0.05, 0.9, FAIL),
        (rule("noninferior", max_drop=0.02), -0.05, 0.9, PASS),
    ],
)
def test_each_rule(wanted, drop, p, verdict):
    assert decide(comparison(drop), wanted, p).verdict is verdict


def test_noninferior_where_nothing_differs_rests_on_the_flips_that_may_be_unseen():
    unseen = 1 - 0.01 ** (1 / 200)
    pair = make_pair([[1.0]] * 200, [[1.0]] * 200)
    assert checked(pair, rule("noninferior", max_drop=unseen + 1e-6)).verdict is PASS
    assert (
        checked(pair, rule("noninferior", max_drop=unseen - 1e-6)).verdict
        is INCONCLUSIVE
    )
    one = make_pair([[1.0, 1.0]], [[1.0]])
    assert checked(one, rule("noninferior", max_drop=0.5)).verdict is INCONCLUSIVE


@pytest.mark.parametrize(("worse", "better"), [(0, 1), (1, 0), (2, 3)])
def test_noninferior_where_few_tasks_differ_is_not_as_sure_as_t(worse, better):
    # with a true drop of 5 points t would pass 3 % of such runs
    upper = oracle.beta.ppf(0.99, worse + 1, 100 - worse) - better / 100
    pair = flips(worse, better, 100 - worse - better)
    assert checked(pair, rule("noninferior", max_drop=upper + 1e-6)).verdict is PASS
    assert (
        checked(pair, rule("noninferior", max_drop=upper - 1e-6)).verdict
        is INCONCLUSIVE
    )


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.floats(-1000, 1000), st.floats(-1000, 1000)),
        min_size=1,
        max_size=30,
    ),
    st.floats(0, 0.9),
    st.sampled_from(["higher", "lower"]),
)
def test_relative_is_a_share_of_the_size_of_the_baseline(tasks, share, direction):
    baseline, current = ([[pair[side]] for pair in tasks] for side in (0, 1))
    drop = np.mean(baseline) - np.mean(current)
    # (1 - share) b - c alone would call a negative number worse that is the same
    beyond = (drop if direction == "higher" else -drop) - share * abs(np.mean(baseline))
    if abs(beyond) < 1e-6:
        return
    wanted = rule("relative", direction=direction, max_drop=share)
    assert (checked(make_pair(baseline, current), wanted).verdict is FAIL) == (
        beyond > 0
    )


def test_relative_to_a_baseline_of_0_is_any_drop_at_all():
    wanted = rule("relative", direction="lower", max_drop=0.1)
    assert decide(comparison(1e-6, baseline=0.0), wanted, 0.5).verdict is FAIL
    wanted = rule("relative", max_drop=0.1)
    assert decide(comparison(0.0, baseline=-10.0), wanted, 0.5).verdict is PASS


def test_require_mde_makes_a_pass_that_means_nothing_red():
    for name in ("practical", "statistical", "absolute", "exact"):
        for mde, verdict in ((None, PASS), (0.06, INCONCLUSIVE), (0.065, PASS)):
            wanted = rule(name, require_mde=mde)
            decision = decide(comparison(0.0, se=0.02), wanted, 0.5)  # sees 0.064
            assert decision.verdict is verdict
    assert (
        decide(comparison(se=0.02), rule(require_mde=0.06), 0.02).verdict
        is INCONCLUSIVE
    )
    assert (
        decide(comparison(0.0, mde=math.nan), rule(require_mde=0.5), 0.5).verdict
        is INCONCLUSIVE
    )
    # it never hides a regression
    assert (
        decide(comparison(0.3, se=0.05), rule(require_mde=0.01), 0.001).verdict is FAIL
    )
    assert (
        checked(make_pair([[0.9]] * 200, [[0.6]] * 200), rule(require_mde=0.01)).verdict
        is FAIL
    )
    # where nothing differs, 1 - .01^(1/200) = 0.0228 may go unseen
    alike = make_pair([[1.0]] * 200, [[1.0]] * 200)
    assert checked(alike, rule(require_mde=0.03)).verdict is PASS
    check = checked(alike, rule(require_mde=0.02))
    assert (check.verdict, check.evidence["why"]) == (INCONCLUSIVE, "require_mde")
    assert "a drop of 0.0228 may go unseen" in check.reason


def test_a_rule_is_described_in_words():
    rules = [
        rule("exact"),
        rule("absolute"),
        rule("relative", max_drop=0.1),
        rule("statistical"),
    ]
    assert [str(each) for each in (*rules, rule(), rule("noninferior"))] == [
        "no drop (exact)",
        "drop <= 0.01 (absolute)",
        "drop <= 10 % of the baseline (relative)",
        "no drop at p < 0.01 (statistical)",
        "no drop >= 0.01 at p < 0.01 (practical)",
        "drop shown to be <= 0.01 (noninferior)",
    ]


def test_small_units_are_judged_by_their_own_size():
    cost = make_pair([[2e-7]] * 30, [[3e-7]] * 30)
    for name in ("exact", "practical"):
        assert (
            checked(cost, rule(name, direction="lower", max_drop=0.0)).verdict is FAIL
        )
    size = make_pair([[1e9 + 0.25]] * 3, [[1e9]] * 3)
    assert checked(size, rule("exact")).verdict is PASS  # a billionth of it


@settings(max_examples=30)
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


# -- numbers without tasks: a hook's, and those of a history ------------------------------------


@pytest.mark.parametrize(
    ("baseline_value", "wanted", "verdict", "reason"),
    [
        (0.7, rule("exact"), PASS, ""),
        (0.8, rule("exact"), FAIL, "any_pass fell from 0.8 to 0.7"),
        (0.71, rule("absolute", max_drop=0.02), PASS, ""),
        (0.73, rule("absolute", max_drop=0.02), FAIL, "any_pass fell"),
        (0.77, rule("relative", max_drop=0.1), PASS, ""),
        (0.78, rule("relative", max_drop=0.1), FAIL, "any_pass fell"),
        (0.6, rule("exact", direction="lower"), FAIL, "any_pass rose from 0.6 to 0.7"),
        (0.8, rule(), INCONCLUSIVE, "any_pass is computed by a hook"),
        (0.7, rule("statistical"), INCONCLUSIVE, "any_pass is computed by a hook"),
        (0.7, rule("noninferior"), INCONCLUSIVE, "any_pass is computed by a hook"),
        (None, rule("exact"), INCONCLUSIVE, "the baseline has no any_pass"),
    ],
)
def test_a_hooks_number_is_judged_by_rules_without_a_test(
    baseline_value, wanted, verdict, reason
):
    estimate = Estimate("any_pass", 0.7, 10, 40, by_hook=True)
    check = check_value(estimate, baseline_value, wanted, agent="", line=3)
    assert check.verdict is verdict
    assert check.reason.startswith(reason)
    assert bool(check.reason) == bool(check.hint) == verdict.fails
    assert check.evidence["baseline"] == baseline_value


@pytest.mark.parametrize(
    ("baseline_value", "interval", "max_drop", "direction", "verdict"),
    [
        # the interval's end on the bad side, against the number less max_drop
        (0.72, (0.66, 0.74), 0.06, "higher", PASS),
        (0.72, (0.65, 0.74), 0.06, "higher", INCONCLUSIVE),
        (0.60, (0.50, 0.90), 0.1, "higher", PASS),
        (0.78, (0.69, 0.71), 0.06, "higher", FAIL),
        (0.68, (0.60, 0.74), 0.06, "lower", PASS),
        (0.68, (0.60, 0.75), 0.06, "lower", INCONCLUSIVE),
        (0.63, (0.69, 0.71), 0.06, "lower", FAIL),
        (0.72, None, 0.06, "higher", INCONCLUSIVE),
    ],
)
def test_noninferior_to_a_history_is_judged_by_the_interval(
    baseline_value, interval, max_drop, direction, verdict
):
    interval = interval and Interval(*interval, 0.95, "t")
    estimate = Estimate(
        "pass@1", 0.7, 10, 40, interval, "" if interval else "too few tasks"
    )
    wanted = rule("noninferior", max_drop=max_drop, direction=direction)
    check = check_value(
        estimate, baseline_value, wanted, agent="", line=3, against="the best of 7 runs"
    )
    assert check.verdict is verdict
    assert bool(check.reason) == bool(check.hint) == verdict.fails
    assert ("too few tasks" in check.reason) == (interval is None)
    assert ("the best of 7 runs" in check.reason) == (verdict is FAIL)
