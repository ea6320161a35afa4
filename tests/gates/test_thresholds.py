from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from pytest_evalmetrics.gates import check_thresholds
from pytest_evalmetrics.gates.expectations import distinct
from pytest_evalmetrics.results import Estimate, Interval, Verdict
from pytest_evalmetrics.spec.gate_keys import Threshold

if TYPE_CHECKING:
    from pytest_evalmetrics.results import Check

PASS, FAIL, INCONCLUSIVE = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def check(threshold: Threshold, value: float, interval: Interval | None = None) -> Check:
    estimate = Estimate("pass@1", value, 10, 40, interval, "" if interval else "there is no spread")
    benchmark = SimpleNamespace(
        spec=SimpleNamespace(thresholds={"pass@1": threshold}), line_of=lambda *path: len(path)
    )
    result = SimpleNamespace(estimates={"pass@1": estimate})
    (found,) = check_thresholds(benchmark, "new", result)
    assert (found.gate, found.name, found.agent, found.line) == ("threshold", "pass@1", "new", 2)
    assert found.estimate is estimate
    return found


@pytest.mark.parametrize(
    ("threshold", "value", "verdict"),
    [
        (Threshold(min=0.7), 0.7, PASS),
        (Threshold(min=0.7), 0.71, PASS),
        (Threshold(min=0.7), 0.6999, FAIL),
        (Threshold(min=0.7), 0.7 - 5e-10, PASS),
        (Threshold(min=0.7), 0.7 - 2e-9, FAIL),
        (Threshold(max=2000), 2000, PASS),
        (Threshold(max=2000), 2000.001, FAIL),
        (Threshold(max=2000), 2000 + 1e-6, PASS),  # a slack of a billionth of the bound
        (Threshold(min=0.2, max=0.3), 0.1 + 0.2, PASS),
        (Threshold(min=0.2, max=0.3), 0.1, FAIL),
        (Threshold(min=0.2, max=0.3), 0.4, FAIL),
        (Threshold(min=-1.0), -1.1, FAIL),
        (Threshold(min=0.0), 0.0, PASS),
    ],
)
def test_a_value_against_its_bounds(threshold, value, verdict):
    found = check(threshold, value)
    assert found.verdict is verdict
    assert found.value == value
    assert bool(found.reason) == (verdict is FAIL)


def test_the_reason_names_value_and_bound():
    assert check(Threshold(min=0.7), 0.65).reason == "pass@1 is 0.65, below 0.7"
    assert check(Threshold(max=2000), 2500.0).reason == "pass@1 is 2500, above 2000"
    assert check(Threshold(min=0.7), 0.65).bound == ">= 0.7"


@pytest.mark.parametrize(
    ("bound", "minimum", "verdict"),
    [("lower", 0.6, PASS), ("lower", 0.61, FAIL), ("upper", 0.8, PASS), ("upper", 0.81, FAIL)],
)
def test_an_end_of_the_interval_against_a_bound(bound, minimum, verdict):
    found = check(Threshold(min=minimum, bound=bound), 0.7, Interval(0.6, 0.8, 0.95, "t"))
    assert found.verdict is verdict
    assert found.value == (0.6 if bound == "lower" else 0.8)
    assert found.bound == f"{bound} end >= {minimum}"
    if verdict is FAIL:
        assert found.reason.startswith(f"the {bound} end of pass@1 is 0.")


def test_without_an_interval_its_end_can_not_be_judged():
    found = check(Threshold(min=0.6, bound="lower"), 0.7)
    assert found.verdict is INCONCLUSIVE
    assert found.reason == "pass@1 has no interval: there is no spread"
    assert found.hint


@pytest.mark.parametrize(
    ("value", "bound", "text"),
    [
        (0.69996, 0.7, "0.69996"),
        (0.5, 0.7, "0.5"),
        (0.699999999, 0.7, "0.699999999"),
        (0.7, 0.7, "0.7"),
    ],
)
def test_a_value_is_never_rounded_into_its_bound(value, bound, text):
    assert distinct(value, bound) == text
