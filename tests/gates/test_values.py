from __future__ import annotations

import pytest
from gates.making import rule

from pytest_evalmetrics.gates import check_value
from pytest_evalmetrics.results import Estimate, Interval, Verdict

PASS, FAIL, INCONCLUSIVE = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


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
