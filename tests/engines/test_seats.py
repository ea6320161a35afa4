"""How a work is split among those who do it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.engines import Work
from pytest_evalmetrics.engines.seats import seats_for
from pytest_evalmetrics.scorers import Terms
from pytest_evalmetrics.spec import BenchmarkSpec, TargetSpec


def work(parallelism: int, *, answers: bool, budget: bool, own: bool, judges: bool) -> Work:
    anything = cast("Any", None)
    scorer = cast("Any", SimpleNamespace(calls=judges, foreign=False))
    target = TargetSpec(function="agents:answer") if own else None
    return Work(
        iter(()),
        (scorer,),
        cast("Any", object()) if answers else None,
        BenchmarkSpec(name="a", target=target),
        Terms(parallelism),
        anything,
        "a",
        anything,
        cast("Any", object) if budget else None,
    )


@given(
    parallelism=st.integers(1, 4096),
    cpus=st.integers(1, 500),
    budget=st.booleans(),
    own=st.booleans(),
    judges=st.booleans(),
)
def test_all_together_have_no_more_than_one_would(
    parallelism: int, cpus: int, budget: bool, own: bool, judges: bool
) -> None:
    one = work(parallelism, answers=True, budget=budget, own=own, judges=judges)
    seats = seats_for(one, cpus)
    assert 1 <= len(seats) <= cpus
    assert sum(seat.share for seat in seats) == parallelism
    if budget:  # what is under way when it is used up
        assert sum(seat.window for seat in seats) == one.stages * parallelism
    assert one.stages == 1 + judges


def test_an_agent_gets_cores_and_waiting_takes_none() -> None:
    def seats(*, own: bool) -> int:
        one = work(16, answers=True, budget=False, own=own, judges=False)
        return len(seats_for(one, 8))

    assert (seats(own=True), seats(own=False)) == (8, 2)
    without_calls = work(1, answers=False, budget=False, own=False, judges=False)
    assert len(seats_for(without_calls, 8)) == 8
