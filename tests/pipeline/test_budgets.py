"""A budget: what begins is finished, and nothing begins when it is used up."""

from __future__ import annotations

import pytest

from pytest_evalmetrics.pipeline.attempts import Budget, Spender
from pytest_evalmetrics.spec.model_keys import BudgetSpec
from pytest_evalmetrics.transport import CallError, Price, Tokens


def test_requests_count_those_that_have_begun() -> None:
    budget = Budget(BudgetSpec(requests=3))
    first, second, third = (Spender(budget) for _ in range(3))
    first.admit()
    second.admit()
    first.paid(2, None, None)  # it took a retry
    with pytest.raises(CallError, match="the budget of 3 requests was used up") as raised:
        third.admit()
    assert raised.value.kind == "budget"
    first.admit()  # a scorer's call of what has begun
    first.paid(1, None, None)
    second.paid(1, None, None)


def test_tokens_and_cost_are_counted_when_they_are_known() -> None:
    budget = Budget(BudgetSpec(tokens=100, cost=1.0))
    for _ in range(2):
        spender = Spender(budget)
        spender.admit()
        spender.paid(1, Tokens(40, 10, 50), Price(1, 1))
    with pytest.raises(CallError, match="100 tokens"):
        Spender(budget).admit()
    budget = Budget(BudgetSpec(cost=1.0))
    spender = Spender(budget)
    spender.admit()
    spender.paid(1, Tokens(500_000, 250_000, 750_000), Price(1, 2))
    with pytest.raises(CallError, match="a cost of 1 was"):
        Spender(budget).admit()


def test_seconds_count_from_the_first_call() -> None:
    time = [100.0]
    budget = Budget(BudgetSpec(seconds=5), lambda: time[0])
    Spender(budget).admit()
    time[0] = 104.9
    Spender(budget).admit()
    time[0] = 105.0
    with pytest.raises(CallError, match="5 seconds"):
        Spender(budget).admit()
    time[0] = 0.0
    with pytest.raises(CallError):  # used up is used up
        Spender(budget).admit()
