"""The parts of checks as people read them."""

import pytest
from msgspec import structs

from pytest_evalmetrics.model.comparison import ComparisonFacts
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.reports.check_wording import comparison_details, seen_losses


def passing(metric, detectable_drop, agent=""):
    facts = ComparisonFacts(baseline=0.9, current=0.9, detectable_drop=detectable_drop)
    return Check(
        gate=Gate.BASELINE,
        name=metric,
        verdict=Verdict.PASS,
        agent=agent,
        comparison=facts,
    )


@pytest.mark.parametrize(
    ("checks", "text"),
    [
        ([passing("pass@1", 0.06)], "sees losses from 0.06 on"),
        (
            [passing("pass@1", 0.06), passing("mean_reward", 0.06)],
            "sees losses from 0.06 on",
        ),
        # a rate and seconds
        (
            [passing("pass@1", 0.06), passing("mean/seconds", 2.1)],
            "sees losses from 0.06 of pass@1, 2.1 of mean/seconds on",
        ),
        (
            [passing("pass@1", 0.06, "a"), passing("pass@1", 0.09, "b")],
            "sees losses from 0.06 to 0.09 on",
        ),
        ([passing("pass@1", None)], ""),
    ],
)
def test_each_metric_sees_losses_in_its_own_unit(checks, text):
    assert seen_losses(checks) == text


def basis_of(**fields):
    facts = ComparisonFacts(
        baseline=0.9,
        current=0.7,
        test="exact sign flip",
        tasks=30,
        units=30,
        rollouts_baseline=120,
        rollouts_current=119,
        **fields,
    )
    check = structs.replace(passing("pass@1", None), comparison=facts)
    return next(comparison_details(check))


BASIS = "exact sign flip over 30 tasks, 120 rollouts before and 119 now"


def test_the_basis_of_a_test_names_it_its_tasks_and_the_rollouts_of_both_sides():
    assert basis_of(p=0.002) == BASIS


def test_a_p_that_other_metrics_raise_is_beside_the_basis():
    text = basis_of(p=0.002, p_adjusted=0.0061)
    assert text == f"{BASIS}; p = 0.0061 adjusted for the other metrics"


def test_a_p_that_no_other_metric_raises_is_not_written_again():
    assert basis_of(p=0.002, p_adjusted=0.002) == BASIS
