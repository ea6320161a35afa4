"""What decided a check beside its numbers, and how its change is accepted."""

from pytest_evalmetrics.model import reasons as kinds
from pytest_evalmetrics.model.comparison import ComparisonFacts
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.verdicts import Acceptance, Gate, Verdict
from pytest_evalmetrics.reports.check_wording import brief_reason, cause_of
from pytest_evalmetrics.reports.failure import is_accepted_by_update

CONFIRMED = kinds.Confirmation(
    tasks=6,
    controls=5,
    rollouts=4,
    is_confirmed=True,
    p_first=0.002,
    p_both=0.00031,
    drop_first=0.5,
    drop_second=0.25,
)
LOST = kinds.MissingDecide(metric="pass@1", baseline=0.9, current=0.4)


def fallen(*reasons):
    facts = ComparisonFacts(baseline=0.9, current=0.7, tasks=40, p_adjusted=0.002)
    return Check(
        gate=Gate.BASELINE,
        name="pass@1",
        verdict=Verdict.FAIL,
        reasons=reasons,
        comparison=facts,
        acceptance=Acceptance.SNAPSHOT,
    )


def test_a_second_round_that_confirms_a_drop_is_no_other_cause():
    assert cause_of(fallen(CONFIRMED)) == ""


def test_a_confirmed_drop_is_accepted_by_an_update():
    assert is_accepted_by_update(fallen(CONFIRMED))


def test_missing_rewards_are_a_cause_that_no_update_accepts():
    check = fallen(LOST)
    assert cause_of(check).startswith("missing rewards decide the verdict")
    assert not is_accepted_by_update(check)


def test_a_cause_stands_beside_both_values_and_p():
    assert brief_reason(fallen(LOST)) == (
        "pass@1 fell from 0.9 to 0.7, p = 0.002; missing rewards decide the verdict: "
        "at their worst pass@1 would be 0.4 against 0.9"
    )
