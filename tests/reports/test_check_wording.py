"""The parts of checks as people read them."""

import pytest

from pytest_evalmetrics.model.comparison import ComparisonFacts
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.reports.check_wording import seen_losses


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
