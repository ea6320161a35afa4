"""Rollouts that a benchmark file lets a run lose: at random, or where they would have failed."""

import numpy as np
import pytest
from comparison.making import flips
from gates.making import checked

from pytest_evalmetrics.model.comparison import LostRollouts
from pytest_evalmetrics.model.reasons import (
    LostWhereItFails,
    ManyMissing,
    MissingDecide,
    UnknownRunNoise,
)
from pytest_evalmetrics.model.verdicts import Verdict

PASS = Verdict.PASS
WARN = Verdict.WARN
FAIL = Verdict.FAIL

SAME = flips(2, 2, 196)
FAILS_AT_WORST = flips(11, 2, 187)
PASSES_AT_WORST = flips(3, 2, 195)
VALUES = np.linspace(0, 1, 60)


def lost_in(tasks):
    """A run that lost half of the rollouts of these tasks of 60, and a baseline of none."""
    now = np.zeros(60)
    now[tasks] = 0.5
    return LostRollouts(before=np.zeros(60), now=now, values=VALUES)


# of 60 tasks that are ordered by their rewards
WORST_TWELVE = slice(0, 12)
EVERY_FIFTH = slice(2, 60, 5)


def judged(tasks, *, pair=SAME, worst=FAILS_AT_WORST, **settings):
    return checked(
        pair, worst=worst, lost=lost_in(tasks), may_lose=True, missing=0.1, **settings
    )


def test_a_loss_of_tasks_that_did_worse_fails_where_it_would_have_turned_the_verdict():
    check = judged(WORST_TWELVE)
    (reason,) = check.reasons
    assert check.verdict is FAIL
    assert isinstance(reason, LostWhereItFails)
    assert reason.metric == "mean_reward"
    assert (reason.baseline, reason.current) == pytest.approx((0.99, 0.945))
    # each of twelve tasks lost more in the run than in the baseline
    assert reason.p_side == pytest.approx(0.5**12)
    assert reason.p_outcome < 0.001


def test_a_loss_of_tasks_that_did_worse_warns_where_the_verdict_stays():
    check = judged(WORST_TWELVE, worst=PASSES_AT_WORST)
    (reason,) = check.reasons
    assert check.verdict is WARN
    assert isinstance(reason, LostWhereItFails)


def test_a_loss_that_only_some_of_many_benchmarks_have_by_chance_warns():
    assert judged(WORST_TWELVE, benchmarks=100).verdict is WARN


def test_a_few_tasks_that_lost_more_do_not_prove_the_side():
    # six of six have a p of .016
    assert judged(slice(0, 6)).verdict is WARN
    # four of four .06
    check = judged(slice(0, 4))
    assert (check.verdict, check.reasons) == (PASS, ())


def test_a_loss_at_random_that_would_turn_the_verdict_warns():
    check = judged(EVERY_FIFTH)
    decides = MissingDecide(
        metric="mean_reward",
        baseline=pytest.approx(0.99),
        current=pytest.approx(0.945),
    )
    assert (check.verdict, check.reasons) == (WARN, (decides,))


def test_a_loss_at_random_that_turns_nothing_is_no_fault():
    check = judged(EVERY_FIFTH, worst=PASSES_AT_WORST)
    assert (check.verdict, check.reasons) == (PASS, ())


def test_a_loss_that_nobody_counted_is_no_fault():
    check = checked(SAME, worst=FAILS_AT_WORST, may_lose=True, missing=0.1)
    assert check.verdict is PASS


def test_a_drop_that_fails_needs_no_loss_to_fail():
    check = judged(WORST_TWELVE, pair=flips(30, 1, 169))
    assert check.verdict is FAIL
    assert not any(isinstance(reason, LostWhereItFails) for reason in check.reasons)


def test_a_loss_is_told_before_the_other_remarks():
    # beyond warn_alpha, and small enough for noise between runs
    check = judged(EVERY_FIFTH, pair=flips(9, 2, 189))
    assert check.verdict is WARN
    assert isinstance(check.reasons[0], MissingDecide)
    assert not any(isinstance(reason, UnknownRunNoise) for reason in check.reasons)


@pytest.mark.parametrize(("missing", "is_judged"), [(0.5, True), (0.51, False)])
def test_up_to_half_may_be_lost_where_the_file_allows_a_loss(missing, is_judged):
    check = checked(SAME, may_lose=True, missing=missing)
    many = ManyMissing(metric="mean_reward", share=missing)
    assert check.reasons == (() if is_judged else (many,))
    assert (check.verdict is PASS) is is_judged
