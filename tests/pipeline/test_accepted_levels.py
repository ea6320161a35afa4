"""Levels that a file of the repository accepts: which checks they settle, and when."""

import pytest

from pytest_evalmetrics.model.accepted_levels import AcceptedLevel
from pytest_evalmetrics.model.baseline import Provenance
from pytest_evalmetrics.model.bounds import RuleBound, SingleTasksBound
from pytest_evalmetrics.model.comparison import (
    ComparisonFacts,
    RuleName,
    RuleSettings,
)
from pytest_evalmetrics.model.gate_notes import AcceptedBefore, AcceptedNow
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.verdicts import Acceptance, Direction, Gate, Verdict
from pytest_evalmetrics.pipeline.accepted_levels import (
    known_marks,
    notes,
    open_levels,
    with_accepted_levels,
)
from pytest_evalmetrics.pipeline.references import Reference

LEVEL = AcceptedLevel(
    benchmark="b", metric="mean_reward", level=0.6, reason="a new prompt"
)
OTHER = AcceptedLevel(benchmark="b", metric="pass@1", level=0.3, reason="why")


def rule(direction=Direction.HIGHER):
    return RuleBound(
        RuleSettings(
            rule=RuleName.PRACTICAL,
            direction=direction,
            alpha=0.01,
            warn_alpha=0.05,
            max_drop=0.01,
        )
    )


def fall(current=0.6, **changed):
    """Make a metric that fell from .8 against a report."""
    facts = {
        "gate": Gate.BASELINE,
        "name": "mean_reward",
        "verdict": Verdict.FAIL,
        "acceptance": Acceptance.REPORT,
        "comparison": ComparisonFacts(baseline=0.8, current=current),
        "bound": rule(),
    }
    return Check(**{**facts, **changed})


def single_tasks(agent="", verdict=Verdict.FAIL):
    return fall(
        name="single_tasks",
        bound=SingleTasksBound(alpha=0.002),
        agent=agent,
        verdict=verdict,
        comparison=None,
    )


def verdicts(*checks, levels=(LEVEL,)):
    return [check.verdict for check in with_accepted_levels(checks, levels)]


def reference_with(*marks):
    return Reference(provenance=Provenance(accepted_levels=marks or None))


@pytest.mark.parametrize("acceptance", [Acceptance.REPORT, Acceptance.HISTORY])
@pytest.mark.parametrize("current", [0.6, 0.7])
def test_a_metric_that_reaches_its_accepted_level_passes(acceptance, current):
    (check,) = with_accepted_levels([fall(current, acceptance=acceptance)], [LEVEL])
    assert check.verdict is Verdict.PASS
    assert check.accepted


def test_a_metric_below_its_accepted_level_fails():
    assert verdicts(fall(0.59)) == [Verdict.FAIL]


@pytest.mark.parametrize(
    ("current", "verdict"), [(0.6, Verdict.PASS), (0.61, Verdict.FAIL)]
)
def test_where_less_is_better_a_level_is_the_most(current, verdict):
    assert verdicts(fall(current, bound=rule(Direction.LOWER))) == [verdict]


def test_a_rounding_error_does_not_miss_a_level():
    assert verdicts(fall(0.6 - 1e-12)) == [Verdict.PASS]


@pytest.mark.parametrize(
    "check",
    [
        fall(gate=Gate.THRESHOLD),
        fall(acceptance=Acceptance.SNAPSHOT),
        fall(acceptance=None),
        fall(name="pass@1"),
        fall(comparison=None),
        fall(None),
        fall(bound=None),
    ],
    ids=[
        "a threshold",
        "a committed baseline",
        "no reference",
        "another metric",
        "not compared",
        "no value",
        "no rule",
    ],
)
def test_what_a_level_is_not_of_still_fails(check):
    assert with_accepted_levels([check], [LEVEL]) == [check]


def test_a_metric_that_passes_is_not_accepted():
    (check,) = with_accepted_levels([fall(verdict=Verdict.PASS)], [LEVEL])
    assert not check.accepted


def test_the_single_tasks_behind_an_accepted_level_pass_with_it():
    assert verdicts(single_tasks(), fall()) == [Verdict.PASS, Verdict.PASS]


def test_single_tasks_of_another_agent_still_fail():
    checks = (single_tasks(agent="a"), fall(agent="b"))
    assert verdicts(*checks) == [Verdict.FAIL, Verdict.PASS]


def test_single_tasks_without_an_accepted_level_still_fail():
    assert verdicts(single_tasks(), fall(0.5)) == [Verdict.FAIL, Verdict.FAIL]


def test_single_tasks_that_pass_are_not_accepted():
    passing = single_tasks(verdict=Verdict.PASS)
    checks = with_accepted_levels([passing, fall()], [LEVEL])
    assert not checks[0].accepted


def test_a_level_that_an_earlier_run_honoured_is_spent():
    reference = reference_with("mean_reward 0.6: a new prompt")
    assert open_levels([LEVEL, OTHER], reference) == [OTHER]
    assert open_levels([LEVEL, OTHER], reference_with()) == [LEVEL, OTHER]


def test_marks_are_those_of_levels_that_are_honoured_now_or_were_before():
    checks = with_accepted_levels([fall()], [LEVEL])
    nothing = reference_with()
    assert known_marks([LEVEL, OTHER], nothing, checks) == (LEVEL.mark,)
    assert known_marks([LEVEL, OTHER], nothing, [fall()]) == ()
    assert known_marks([LEVEL, OTHER], reference_with(OTHER.mark), []) == (OTHER.mark,)


def test_a_level_that_is_honoured_is_noted_with_both_values():
    checks = with_accepted_levels([fall(0.7)], [LEVEL])
    assert list(notes([LEVEL, OTHER], reference_with(), checks)) == [
        AcceptedNow(metric="mean_reward", before=0.8, now=0.7, words="a new prompt")
    ]


def test_a_level_that_is_spent_is_noted():
    spent = reference_with(LEVEL.mark)
    assert list(notes([LEVEL], spent, [fall()])) == [AcceptedBefore("mean_reward", 0.6)]


def test_a_level_of_a_metric_that_fails_is_not_noted():
    assert list(notes([LEVEL], reference_with(), [fall(0.5)])) == []
