"""How a work is split among those who do it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.engines import Work
from pytest_evalmetrics.engines.ray_scoring import Seat, most_jobs, room_of_each, seats_wanted
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
    count = seats_wanted(one, cpus)
    assert 1 <= count <= cpus
    most = most_jobs(one, count)
    assert one.stages == 1 + judges
    # what is under way when a budget is used up; else some wait for a place at the endpoint
    assert most == (one.stages if budget else one.stages + 2) * parallelism


@given(most=st.integers(1, 9999), there=st.lists(st.booleans(), min_size=1, max_size=99))
def test_who_does_not_come_leaves_its_room_to_others(most: int, there: list[bool]) -> None:
    seats = [Seat(cast("Any", None), is_expected=is_expected) for is_expected in there]
    each, expected = room_of_each(most, seats), sum(there)
    assert each * max(1, expected) >= most
    assert (each - 1) * max(1, expected) < most


def test_an_agent_gets_cores_and_waiting_takes_none() -> None:
    def seats(*, own: bool) -> int:
        one = work(16, answers=True, budget=False, own=own, judges=False)
        return seats_wanted(one, 8)

    assert (seats(own=True), seats(own=False)) == (8, 2)
    without_calls = work(1, answers=False, budget=False, own=False, judges=False)
    assert seats_wanted(without_calls, 8) == 8
