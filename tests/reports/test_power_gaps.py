"""Why the drop that a gate detects is unknown: a sentence for each kind."""

import math

import pytest

from pytest_evalmetrics.model.blindness import FewUnits
from pytest_evalmetrics.model.results import Power, PowerError, PowerGap, PowerSource
from pytest_evalmetrics.reports.sentences.power_gaps import gap_text

CASES = [
    (None, ""),
    (PowerGap.NO_MEAN, "it is not a mean over tasks"),
    (PowerGap.NO_NUMBER, "no rollout has a number"),
    (
        PowerGap.ONE_ROLLOUT,
        "one rollout of each task doesn't show how much a task varies",
    ),
    (
        PowerGap.ONE_RUN,
        "one run doesn't show how much the tasks of a cluster move together",
    ),
    (PowerGap.ALL_ALIKE, "the rollouts of each task are all alike"),
    (PowerGap.FEW_VARY, "too few tasks pass, or fail, to say which drop is found"),
    (
        PowerGap.ONLY_COLLAPSE,
        (
            "there are too few tasks to test their mean, and their rollouts prove large "
            "losses alone, such as that of everything"
        ),
    ),
    (PowerError("there is no score f1"), "there is no score f1"),
]


def power(unknown):
    return Power(
        agent="",
        metric="pass@1",
        tasks=4,
        rollouts=1,
        mde=math.nan,
        max_drop=0.02,
        needed=None,
        source=PowerSource.ROLLOUTS,
        unknown=unknown,
    )


@pytest.mark.parametrize(("unknown", "text"), CASES)
def test_an_unknown_drop_has_its_reason(unknown, text):
    assert gap_text(power(unknown)) == text


def test_too_few_tasks_are_counted_with_the_least_number():
    few = FewUnits(unit="task", units=4, needed=6, alpha=0.025)
    assert "4 tasks" in gap_text(power(few))
    assert "6" in gap_text(power(few))


def test_each_gap_is_among_the_cases():
    assert {unknown for unknown, _ in CASES} >= set(PowerGap)
