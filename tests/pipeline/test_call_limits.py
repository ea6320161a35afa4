"""Budgets of a benchmark and of its run: which rollouts begin, and what each one pays."""

import json

import pytest
from pydantic import TypeAdapter

from pytest_evalmetrics.ext import CallError
from pytest_evalmetrics.pipeline.budgets import CallLimits, Spender, budget_of
from pytest_evalmetrics.scoring.door import Budget, Tokens
from pytest_evalmetrics.spec.model_keys import BudgetSpec, PriceSpec


def budget(**limits):
    return budget_of(TypeAdapter(BudgetSpec).validate_json(json.dumps(limits)))


@pytest.mark.parametrize(
    ("limits", "name", "limit", "words"),
    [
        ({"requests": 1}, "requests", 1, "1 request"),
        ({"tokens": 5000}, "tokens", 5000, "5000 tokens"),
        ({"cost": 2.5}, "cost", 2.5, "a cost of 2.5"),
        ({"seconds": 90}, "seconds", 90, "90 seconds"),
    ],
)
def test_the_limits_of_a_file_have_their_words(limits, name, limit, words):
    assert budget(**limits).limits == {name: (limit, words)}


def begin(limits, **paid):
    spender = Spender(limits)
    spender.admit()
    if paid:
        spender.paid(paid["requests"], paid.get("tokens"), paid.get("price"))
    return spender


def test_rollouts_begin_until_the_budget_is_used_up():
    limits = CallLimits(budget(requests=2), None)
    begin(limits, requests=1)
    begin(limits, requests=1)
    with pytest.raises(CallError) as raised:
        begin(limits)
    assert raised.value.kind == "budget"
    assert raised.value.message == ("not asked: the budget of 2 requests was used up")
    assert "run again" in raised.value.hint


def test_rollouts_that_have_begun_leave_no_room_for_more():
    limits = CallLimits(budget(requests=2), None)
    begin(limits)
    begin(limits)
    with pytest.raises(CallError):
        begin(limits)


def test_what_has_begun_is_finished():
    limits = CallLimits(budget(requests=1), None)
    spender = begin(limits, requests=1)
    spender.admit()
    spender.paid(1, None, None)
    assert limits.budgets["the"].spent()["requests"] == 2


def test_a_budget_that_was_used_up_stays_so():
    limits = CallLimits(budget(requests=1), None)
    begin(limits, requests=1)
    with pytest.raises(CallError):
        begin(limits)
    assert limits.reached == "the budget of 1 request was used up"


def test_the_runs_budget_is_named_as_such():
    run = Budget({"requests": (1, "1 request")})
    limits = CallLimits(budget(requests=5), run)
    begin(limits, requests=1)
    with pytest.raises(CallError, match="the run's budget of 1 request was used up"):
        begin(limits)


def test_tokens_and_their_price_are_counted_in_all_budgets():
    run = Budget({"tokens": (100, "100 tokens")})
    limits = CallLimits(budget(cost=9), run)
    price = PriceSpec(input=1_000_000.0, output=2_000_000.0)
    begin(limits, requests=1, tokens=Tokens(2, 3, 5), price=price)
    for one in limits.budgets.values():
        spent = one.spent()
        assert (spent["tokens"], spent["cost"]) == (5, 8.0)
        assert one.begun == 0


def test_an_answer_without_tokens_costs_a_request():
    limits = CallLimits(budget(tokens=5), None)
    begin(limits, requests=2)
    spent = limits.budgets["the"].spent()
    assert (spent["requests"], spent["tokens"], spent["cost"]) == (2, 0, 0.0)


def test_answers_without_tokens_end_a_budget_of_tokens():
    limits = CallLimits(budget(tokens=500), None)
    begin(limits, requests=1).uncounted()
    with pytest.raises(CallError, match="500 tokens") as raised:
        begin(limits)
    assert "paid answers" not in raised.value.hint


def test_answers_without_tokens_leave_a_budget_of_requests_alone():
    limits = CallLimits(budget(requests=5), None)
    begin(limits, requests=1).uncounted()
    begin(limits)
    assert limits.reached == ""
