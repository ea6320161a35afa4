"""The shift of a judge between two runs, from its scores of the same rows."""

import pytest

from pytest_evalmetrics.model.comparison import ComparisonFacts
from pytest_evalmetrics.model.reasons import Attributed, MovedBy
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.pipeline.anchors import (
    AnchorScores,
    attribute,
    judge_shift,
    recorded_scores,
)


def scores(values, labels=None, score="quality"):
    labels = values if labels is None else labels
    rows = {
        f"row {at}": (value, label)
        for at, (value, label) in enumerate(zip(values, labels, strict=True))
    }
    return AnchorScores(score, rows)


BEFORE = scores([4, 3, 5, 2, 4, 3, 5, 1])


def test_a_judge_that_says_the_same_has_not_moved():
    shift = judge_shift(BEFORE, BEFORE)
    assert (shift.shift, shift.low, shift.high) == (0, 0, 0)
    assert not shift.has_moved


def test_a_judge_that_takes_one_off_each_row_has_moved():
    shift = judge_shift(BEFORE, scores([3, 2, 4, 1, 3, 2, 4, 0]))
    assert (shift.shift, shift.low, shift.high) == (-1, -1, -1)
    assert shift.has_moved


def test_a_judge_that_changes_a_few_rows_both_ways_has_not_moved():
    shift = judge_shift(BEFORE, scores([5, 3, 4, 2, 4, 3, 5, 1]))
    assert shift.shift == 0
    assert not shift.has_moved


def test_the_interval_is_students():
    # differences -1, -1, 0, 0: mean -.5, sd .5774, se .2887, t(.995, 3) = 5.8409
    before = scores([4, 4, 4, 4])
    shift = judge_shift(before, scores([3, 3, 4, 4]))
    assert shift.low == pytest.approx(-0.5 - 5.8409 * 0.28868, abs=1e-3)
    assert shift.high == pytest.approx(-0.5 + 5.8409 * 0.28868, abs=1e-3)
    assert not shift.has_moved


def test_only_rows_of_both_runs_count():
    now = AnchorScores("quality", {"row 0": (3, 4), "row 1": (2, 3), "new": (5, 5)})
    assert judge_shift(BEFORE, now) is None
    now = AnchorScores("quality", {**now.rows, "row 2": (4, 5)})
    assert judge_shift(BEFORE, now).anchors == 3


def test_scores_of_two_names_are_not_compared():
    assert judge_shift(BEFORE, scores([4] * 8, score="tone")) is None


def test_agreement_with_people_is_counted_on_both_sides():
    shift = judge_shift(
        scores([4, 3, 5], labels=[4, 3, 4]), scores([4, 2, 5], labels=[4, 3, 4])
    )
    assert (shift.agreed_before, shift.agreed_now) == (2, 1)


def fall(verdict=Verdict.FAIL, name="mean_reward", drop=1.0):
    facts = ComparisonFacts(baseline=4.0, current=4.0 - drop, drop=drop)
    return Check(gate=Gate.BASELINE, name=name, verdict=verdict, comparison=facts)


MOVED = judge_shift(BEFORE, scores([3, 2, 4, 1, 3, 2, 4, 0]))
HELD = judge_shift(BEFORE, BEFORE)
NOISY = judge_shift(BEFORE, scores([3, 2, 5, 2, 4, 3, 5, 1]))


@pytest.mark.parametrize("verdict", [Verdict.PASS, Verdict.WARN, Verdict.FAIL])
def test_where_the_judge_moved_nothing_is_judged(verdict):
    (check,) = attribute([fall(verdict)], MOVED, "quality")
    assert check.verdict is Verdict.INCONCLUSIVE
    assert check.reasons[0] == Attributed(MovedBy.JUDGE, MOVED)


@pytest.mark.parametrize(
    ("shift", "drop", "moved"),
    [
        (HELD, 1.0, MovedBy.SYSTEM),
        (NOISY, 3.0, MovedBy.SYSTEM),
        (NOISY, 0.1, MovedBy.UNCLEAR),
    ],
)
def test_where_the_judge_held_a_fall_says_what_it_is_put_down_to(shift, drop, moved):
    (check,) = attribute([fall(drop=drop)], shift, "quality")
    assert check.verdict is Verdict.FAIL
    assert check.reasons == (Attributed(moved, shift),)


@pytest.mark.parametrize(
    "check",
    [
        fall(name="mean/output_tokens"),
        Check(gate=Gate.BASELINE, name="tasks", verdict=Verdict.FAIL),
        Check(gate=Gate.THRESHOLD, name="mean_reward", verdict=Verdict.FAIL),
    ],
    ids=["another score", "the list of tasks", "a threshold"],
)
def test_what_the_judge_has_no_say_in_stays(check):
    assert attribute([check], MOVED, "quality") == [check]


def test_a_pass_beside_a_judge_that_held_stays():
    check = fall(Verdict.PASS)
    assert attribute([check], HELD, "quality") == [check]


@pytest.mark.parametrize("recorded", [None, 5, {}, {"score": "q", "rows": {"a": "b"}}])
def test_a_baseline_without_usable_scores_has_none(recorded):
    assert recorded_scores(recorded) is None


def test_scores_are_read_back():
    recorded = {"score": "quality", "rows": {"row 0": [4, 3.5]}}
    assert recorded_scores(recorded).rows == {"row 0": (4, 3.5)}
