"""Numbers without tasks: a hook's, and those of a history."""

import math

import pytest
from comparison.making import rule

from pytest_evalmetrics.gates.recorded_values import check_value
from pytest_evalmetrics.model.bounds import RuleBound
from pytest_evalmetrics.model.estimates import Estimate, Interval
from pytest_evalmetrics.model.reasons import (
    NotShown,
    NoValue,
    Undefined,
    Untested,
    ValueChanged,
)
from pytest_evalmetrics.model.verdicts import Acceptance, Gate, Verdict

PASS = Verdict.PASS
FAIL = Verdict.FAIL
INCONCLUSIVE = Verdict.INCONCLUSIVE

HOOK = Estimate("any_pass", 0.7, tasks=10, rollouts=40, by_hook=True)
BEST = {"against": "best", "anchor": "the best of 7 runs", "runs": 7}


def checked(estimate, recorded, settings, **history):
    return check_value(
        estimate,
        recorded,
        settings,
        agent="",
        line=3,
        acceptance=Acceptance.SNAPSHOT,
        **history,
    )


@pytest.mark.parametrize(
    ("recorded", "settings", "verdict"),
    [
        (0.7, rule("exact"), PASS),
        (0.8, rule("exact"), FAIL),
        (0.71, rule("absolute", max_drop=0.02), PASS),
        (0.73, rule("absolute", max_drop=0.02), FAIL),
        (0.77, rule("relative", max_drop=0.1), PASS),
        (0.78, rule("relative", max_drop=0.1), FAIL),
        (0.6, rule("exact", direction="lower"), FAIL),
        (0.8, rule("exact", direction="lower"), PASS),
    ],
)
def test_a_hooks_number_is_judged_by_rules_without_a_test(recorded, settings, verdict):
    assert checked(HOOK, recorded, settings).verdict is verdict


def test_a_number_that_is_worse_tells_both_values():
    check = checked(HOOK, 0.8, rule("exact"))
    assert check.reasons == (ValueChanged(metric="any_pass", before=0.8, now=0.7),)


def test_a_number_that_passes_needs_no_reason():
    assert checked(HOOK, 0.7, rule("exact")).reasons == ()


@pytest.mark.parametrize("name", ["practical", "statistical", "noninferior"])
def test_a_hooks_number_cannot_be_tested(name):
    check = checked(HOOK, 0.8, rule(name))
    untested = Untested(cause="by_hook", metric="any_pass", rule=name, max_drop=0.01)
    assert check.verdict is INCONCLUSIVE
    assert check.reasons == (untested,)


def test_a_number_that_the_baseline_lacks_is_not_judged():
    check = checked(HOOK, None, rule("exact"))
    assert check.verdict is INCONCLUSIVE
    assert check.reasons == (NoValue(metric="any_pass"),)
    assert check.comparison.baseline is None
    assert check.comparison.drop is None


def test_a_number_that_is_none_is_not_judged():
    undefined = Estimate("any_pass", math.nan, tasks=0, rollouts=0, reason="no rollout")
    check = checked(undefined, 0.8, rule("exact"))
    assert check.verdict is INCONCLUSIVE
    assert check.reasons == (Undefined(metric="any_pass", words="no rollout"),)
    assert check.value is None


def test_the_numbers_are_kept():
    facts = checked(HOOK, 0.6, rule("exact", direction="lower")).comparison
    assert facts.baseline == 0.6
    assert facts.current == 0.7
    assert facts.drop == pytest.approx(0.1)


def test_the_rule_and_the_way_to_accept_are_kept():
    settings = rule("exact")
    check = checked(HOOK, 0.7, settings)
    assert check.bound == RuleBound(settings)
    assert check.acceptance is Acceptance.SNAPSHOT
    assert check.line == 3


# -- a history ---------------------------------------------------------------------------


def measured(interval=None, reason=""):
    return Estimate("pass@1", 0.7, 10, 40, interval=interval, reason=reason)


@pytest.mark.parametrize(
    ("recorded", "ends", "max_drop", "direction", "verdict"),
    [
        # the interval's end on the bad side, against the number less max_drop
        (0.72, (0.66, 0.74), 0.06, "higher", PASS),
        (0.72, (0.65, 0.74), 0.06, "higher", INCONCLUSIVE),
        (0.60, (0.50, 0.90), 0.1, "higher", PASS),
        (0.78, (0.69, 0.71), 0.06, "higher", FAIL),
        (0.68, (0.60, 0.74), 0.06, "lower", PASS),
        (0.68, (0.60, 0.75), 0.06, "lower", INCONCLUSIVE),
        (0.63, (0.69, 0.71), 0.06, "lower", FAIL),
    ],
)
def test_noninferior_is_judged_by_the_interval(
    recorded, ends, max_drop, direction, verdict
):
    interval = Interval(*ends, level=0.95, method="t")
    settings = rule("noninferior", max_drop=max_drop, direction=direction)
    check = checked(measured(interval), recorded, settings, **BEST)
    assert check.verdict is verdict


def test_a_drop_that_is_not_shown_to_be_small_tells_how_large_it_may_be():
    interval = Interval(0.65, 0.74, level=0.95, method="t")
    settings = rule("noninferior", max_drop=0.06)
    (reason,) = checked(measured(interval), 0.72, settings, **BEST).reasons
    assert reason == NotShown(upper=pytest.approx(0.07), max_drop=0.06)


def test_noninferior_without_an_interval_tells_why_there_is_none():
    settings = rule("noninferior", max_drop=0.06)
    check = checked(measured(reason="too few tasks"), 0.72, settings, **BEST)
    untested = Untested(
        cause="no_interval",
        words="too few tasks",
        metric="pass@1",
        rule="noninferior",
        max_drop=0.06,
    )
    assert check.verdict is INCONCLUSIVE
    assert check.reasons == (untested,)


def test_a_worse_number_tells_which_of_the_history_it_is_held_against():
    (reason,) = checked(measured(), 0.8, rule("exact"), **BEST).reasons
    assert reason.against == "the best of 7 runs"


def test_the_history_is_kept():
    facts = checked(measured(), 0.7, rule("exact"), **BEST).comparison
    assert facts.against == "best"
    assert facts.anchor == "the best of 7 runs"
    assert facts.runs == 7


def test_a_history_without_a_number_tells_why():
    check = checked(measured(), None, rule("exact"), anchor="no run is usable yet")
    assert check.reasons == (NoValue(metric="pass@1", words="no run is usable yet"),)


def test_a_check_names_what_was_compared():
    check = check_value(
        HOOK,
        0.8,
        rule("absolute", max_drop=0.02),
        agent="blue",
        line=7,
        acceptance=Acceptance.HISTORY,
        **BEST,
    )
    assert (check.gate, check.name) == (Gate.BASELINE, "any_pass")
    assert (check.agent, check.line) == ("blue", 7)
    assert check.acceptance is Acceptance.HISTORY
    assert check.bound == RuleBound(rule("absolute", max_drop=0.02))
    assert check.estimate is HOOK
    assert check.value == 0.7
    facts = check.comparison
    assert (facts.baseline, facts.current) == (0.8, 0.7)
    assert facts.drop == pytest.approx(0.1)
    assert (facts.against, facts.anchor, facts.runs) == (
        "best",
        "the best of 7 runs",
        7,
    )
