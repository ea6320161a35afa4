"""Limits of behaviour and rules for each rollout become checks, in process."""

import math

import pytest
from behaviour.making import CITY, row, run, table_of

from pytest_evalmetrics.behaviour.changes import Sides
from pytest_evalmetrics.behaviour.gate import (
    GateTerms,
    as_recorded,
    check_changes,
    check_rollouts,
)
from pytest_evalmetrics.ext import Verdict
from pytest_evalmetrics.model.bounds import MoveBound, OrderBound, ShareBound
from pytest_evalmetrics.model.reasons import NoBehaviour
from pytest_evalmetrics.model.verdicts import Acceptance, Gate
from pytest_evalmetrics.spec.behaviour_keys import (
    BehaviourSpec,
    LimitSpec,
    SequencesSpec,
    ToolsRuleSpec,
)

LINES = {
    ("behaviour", "tool_calls"): 7,
    ("behaviour", "order"): 8,
    ("behaviour", "tools", "forbid"): 9,
}


def terms_of(alpha=0.01, **keys):
    return GateTerms(
        spec=BehaviourSpec(**keys),
        agent="pilot",
        line_of=lambda *key: LINES.get(key, 1),
        acceptance=Acceptance.SNAPSHOT,
        alpha=alpha,
    )


def sides_of(before, now):
    return Sides(before=table_of(before)[0], now=table_of(now)[0], gate_id="a")


def changed(before, now, **keys):
    return list(check_changes(terms_of(**keys), sides_of(before, now)))


def only(found):
    """Return the only one of some checks or reasons."""
    found = list(found)
    assert len(found) == 1
    return found[0]


RISE = {"tool_calls": LimitSpec(max_rise=0.1)}
ONE_CALL = [row(task, 0, [("plan", CITY)]) for task in range(30)]
TWO_CALLS = [row(task, 0, [("plan", CITY)] * 2) for task in range(30)]


# -- limits against the baseline


def test_a_rise_above_its_limit_fails():
    check = only(changed(ONE_CALL, TWO_CALLS, **RISE))
    assert check.verdict is Verdict.FAIL
    assert check.name == "behaviour tool_calls"
    assert check.value == 2
    assert check.bound == MoveBound(0.1, None, 0.01)


def test_a_check_names_its_agent_its_line_and_how_it_is_accepted():
    check = only(changed(ONE_CALL, TWO_CALLS, **RISE))
    assert check.agent == "pilot"
    assert check.line == 7
    assert check.acceptance is Acceptance.SNAPSHOT


def test_the_reason_holds_how_far_it_moved():
    reason = only(only(changed(ONE_CALL, TWO_CALLS, **RISE)).reasons)
    assert reason.by == 1.0
    assert reason.limit == 0.1
    assert reason.is_proven
    assert (reason.change.before, reason.change.now) == (1, 2)


def test_a_fall_is_no_rise():
    check = only(changed(TWO_CALLS, ONE_CALL, **RISE))
    assert check.verdict is Verdict.PASS
    assert check.reasons == ()


def test_a_fall_above_its_limit_fails():
    check = only(changed(TWO_CALLS, ONE_CALL, tool_calls=LimitSpec(max_fall=0.2)))
    assert check.verdict is Verdict.FAIL
    assert only(check.reasons).by == 0.5


def test_a_rise_to_its_limit_passes():
    check = only(changed(ONE_CALL, TWO_CALLS, tool_calls=LimitSpec(max_rise=1.0)))
    assert check.verdict is Verdict.PASS


def test_a_rise_that_chance_explains_passes_with_its_reason():
    now = [row(0, 0, [("plan", CITY)] * 9), *ONE_CALL[1:]]
    check = only(changed(ONE_CALL, now, **RISE))
    assert check.verdict is Verdict.PASS
    assert not only(check.reasons).is_proven


def test_a_rise_that_chance_hardly_explains_warns():
    check = only(changed(ONE_CALL, TWO_CALLS[:5] + ONE_CALL[5:], **RISE))
    assert check.verdict is Verdict.WARN
    assert not only(check.reasons).is_proven


def test_a_rise_from_zero_has_no_share():
    none = [row(task, 0, []) for task in range(30)]
    reason = only(only(changed(none, ONE_CALL, **RISE)).reasons)
    assert reason.by is None


def test_a_rate_moves_by_points():
    refusing = [
        row(task, 0, [], answer="I'm sorry, but I can't help with that.")
        for task in range(15)
    ]
    now = refusing + ONE_CALL[15:]
    check = only(changed(ONE_CALL, now, refusals=LimitSpec(max_rise=0.4)))
    assert only(check.reasons).by == pytest.approx(0.5)


def test_a_feature_that_is_the_same_in_all_rollouts_passes_without_a_value():
    check = only(changed(ONE_CALL, ONE_CALL, **RISE))
    assert check.verdict is Verdict.PASS
    assert check.value is None


def test_without_a_limit_nothing_is_checked():
    assert changed(ONE_CALL, TWO_CALLS) == []


@pytest.mark.parametrize("before", [ONE_CALL, None])
def test_each_check_belongs_to_the_gate_of_behaviour(before):
    sides = None
    if before is not None:
        sides = sides_of(before, TWO_CALLS)
    checks = list(check_changes(terms_of(order="same", **RISE), sides))
    assert [check.gate for check in checks] == [Gate.BEHAVIOUR] * 2


# -- order


def test_another_order_fails():
    before = [row(task, 0, [("plan", CITY), ("book", CITY)]) for task in range(30)]
    now = [row(task, 0, [("book", CITY), ("plan", CITY)]) for task in range(30)]
    check = only(changed(before, now, order="same"))
    assert check.verdict is Verdict.FAIL
    assert check.name == "behaviour order"
    assert check.bound == OrderBound(0.01)
    assert check.line == 8
    change = only(only(check.reasons).changes)
    assert (change.name, change.second) == ("book", "plan")


def test_the_same_order_passes():
    check = only(changed(run(1), run(2), order="same"))
    assert check.verdict is Verdict.PASS
    assert check.reasons == ()


# -- what is not known


def test_a_baseline_without_behaviour_is_inconclusive_for_each_limit():
    checks = list(check_changes(terms_of(order="same", **RISE), None))
    assert [check.name for check in checks] == [
        "behaviour tool_calls",
        "behaviour order",
    ]
    for check in checks:
        assert check.verdict is Verdict.INCONCLUSIVE
        assert check.reasons == (NoBehaviour(in_baseline=True),)
        assert check.agent == "pilot"
        assert check.acceptance is Acceptance.SNAPSHOT
    assert [check.line for check in checks] == [7, 8]


def test_a_feature_that_the_baseline_lacks_is_inconclusive():
    sides = sides_of(ONE_CALL, TWO_CALLS)
    sides.before.scores["tool_calls"][:] = math.nan
    check = only(check_changes(terms_of(**RISE), sides))
    assert check.verdict is Verdict.INCONCLUSIVE
    assert check.name == "behaviour tool_calls"


# -- rules for each rollout


def ruled(rows, **keys):
    return only(check_rollouts(terms_of(**keys), table_of(rows)[0]))


FORBID = {"tools": ToolsRuleSpec(forbid=("del*",))}
DELETES = [row(0, 0, [("delete", CITY)]), *ONE_CALL[1:]]


def test_a_forbidden_tool_fails_with_the_share_of_rollouts():
    check = ruled(DELETES, **FORBID)
    assert check.verdict is Verdict.FAIL
    assert check.gate is Gate.BEHAVIOUR
    assert check.name == "behaviour tools forbid"
    assert check.value == 0.0333333
    assert check.bound == ShareBound(0.0)
    assert check.line == 9
    assert check.agent == "pilot"


def test_the_reason_of_a_broken_rule_names_its_tasks():
    reason = only(ruled(DELETES, **FORBID).reasons)
    assert reason.count == 1
    assert reason.rollouts == 30
    assert reason.tasks == ("0",)
    assert reason.task_count == 1


def test_an_allowed_share_passes_and_keeps_its_reason():
    check = ruled(DELETES, allow=0.05, **FORBID)
    assert check.verdict is Verdict.PASS
    assert only(check.reasons).count == 1


def test_a_rule_that_all_keep_passes_with_a_share_of_0():
    check = ruled(ONE_CALL, **FORBID)
    assert check.verdict is Verdict.PASS
    assert check.value == 0.0
    assert check.reasons == ()


def test_a_required_tool_fails_where_it_is_missing():
    check = ruled(ONE_CALL, tools=ToolsRuleSpec(require=("book",)))
    assert check.verdict is Verdict.FAIL
    assert check.value == 1.0


@pytest.mark.parametrize(
    ("calls", "verdict"),
    [
        (["plan", "search", "book"], Verdict.PASS),
        (["book", "plan"], Verdict.FAIL),
        (["plan"], Verdict.FAIL),
    ],
)
def test_a_required_sequence_may_have_calls_between(calls, verdict):
    rows = [row(0, 0, [(name, CITY) for name in calls])]
    sequences = SequencesSpec(require=(("plan", "book"),))
    assert ruled(rows, sequences=sequences).verdict is verdict


@pytest.mark.parametrize(
    ("calls", "verdict"),
    [(["book", "plan"], Verdict.PASS), (["plan", "x", "book"], Verdict.FAIL)],
)
def test_a_forbidden_sequence(calls, verdict):
    rows = [row(0, 0, [(name, CITY) for name in calls])]
    sequences = SequencesSpec(forbid=(("plan", "book"),))
    assert ruled(rows, sequences=sequences).verdict is verdict


@pytest.mark.parametrize(
    ("limit", "verdict"),
    [
        (LimitSpec(max=2), Verdict.PASS),
        (LimitSpec(max=1), Verdict.FAIL),
        (LimitSpec(min=2), Verdict.PASS),
        (LimitSpec(min=3), Verdict.FAIL),
    ],
)
def test_a_number_of_each_rollout_has_bounds(limit, verdict):
    assert ruled(TWO_CALLS, tool_calls=limit).verdict is verdict


def test_rows_without_a_transcript_are_inconclusive():
    table = table_of(ONE_CALL)[0]
    table.scores["steps"][:] = math.nan
    check = only(check_rollouts(terms_of(**FORBID), table))
    assert check.verdict is Verdict.INCONCLUSIVE
    assert check.value is None
    assert check.reasons == (NoBehaviour(in_baseline=False),)


def test_a_run_that_records_lets_a_change_pass():
    failed = only(changed(ONE_CALL, TWO_CALLS, **RISE))
    recorded = as_recorded(failed)
    assert recorded.verdict is Verdict.PASS
    assert recorded.reasons == ()
    assert recorded.accepted
