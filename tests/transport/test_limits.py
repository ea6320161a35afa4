from __future__ import annotations

import asyncio
from typing import Any

import pytest
from transport.fakes import FakeTime

from pytest_evalmetrics.transport.exchange import AdaptiveLimit, RetryPolicy


def make(ceiling: Any = 8) -> tuple[AdaptiveLimit, FakeTime]:
    time = FakeTime()
    return AdaptiveLimit(ceiling, time.clock, RetryPolicy()), time


def test_it_starts_at_the_ceiling_and_is_halved_down_to_one() -> None:
    limit, _ = make(8)
    seen = []
    for round_ in range(5):
        limit.overloaded(round_)
        seen.append(limit.limit)
    assert seen == [4, 2, 1, 1, 1]


def test_what_was_sent_before_a_halving_does_not_halve_again() -> None:
    async def storm() -> Any:
        limit, _ = make(8)
        rounds = [await limit.acquire() for _ in range(8)]
        for sent_in in rounds:
            limit.release()
            limit.overloaded(sent_in)
        return limit.limit

    assert asyncio.run(storm()) == 4


def test_it_grows_by_one_for_a_round_of_successes_and_not_over_the_ceiling() -> None:
    limit, _ = make(8)
    limit.overloaded(0)
    for _ in range(4):
        limit.succeeded()
    assert 4.8 < limit.limit <= 5
    for _ in range(1000):
        limit.succeeded()
    assert limit.limit == 8


def test_a_later_benchmark_may_raise_the_ceiling_but_not_lower_it() -> None:
    limit, _ = make(4)
    limit.allow(2)
    assert (limit.ceiling, limit.limit) == (4, 4)
    limit.allow(6)
    assert (limit.ceiling, limit.limit) == (6, 6)


def test_no_more_are_in_flight_than_it_says_and_all_get_through() -> None:
    async def crowd() -> Any:
        limit, _ = make(3)
        most = done = 0

        async def one(n: int) -> None:
            nonlocal most, done
            sent_in = await limit.acquire()
            most = max(most, limit.in_flight)
            for _ in range(n % 4):
                await asyncio.sleep(0)
            limit.release()
            if n % 7 == 0:
                limit.overloaded(sent_in)
            else:
                limit.succeeded()
            done += 1

        await asyncio.gather(*(one(n) for n in range(200)))
        return most, done, limit.in_flight

    assert asyncio.run(crowd()) == (3, 200, 0)


def test_one_who_leaves_the_queue_passes_his_place_on() -> None:
    async def queue() -> Any:
        limit, _ = make(1)
        await limit.acquire()
        first, second = (asyncio.ensure_future(limit.acquire()) for _ in range(2))
        await asyncio.sleep(0)
        limit.release()  # wakes the first ...
        first.cancel()  # ... who is cancelled before he can go
        await asyncio.wait([first, second], timeout=5)
        return first.cancelled(), second.done(), limit.in_flight

    assert asyncio.run(queue()) == (True, True, 1)


def test_one_who_leaves_the_queue_early_is_not_waited_for() -> None:
    async def queue() -> Any:
        limit, _ = make(1)
        await limit.acquire()
        first, second = (asyncio.ensure_future(limit.acquire()) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        limit.release()
        await asyncio.wait([first, second], timeout=5)
        return second.done()

    assert asyncio.run(queue())


def test_an_endpoint_that_asks_for_a_pause_gets_it_from_everybody() -> None:
    async def pause() -> Any:
        limit, time = make(4)
        limit.overloaded(0, pause_s=7.0)
        limit.overloaded(0, pause_s=2.0)  # a shorter one does not shorten it
        start = time.now
        await asyncio.gather(*(limit.acquire() for _ in range(2)))
        return time.now - start

    assert asyncio.run(pause()) >= 7.0


@pytest.mark.parametrize(
    ("attempts", "apart", "good", "failing"),
    [
        (100, 0.1, 0, False),  # 10 s
        (15, 10.0, 0, False),  # too few of them in 50 s
        (20, 3.0, 0, True),
        (100, 1.0, 20, False),  # one in five is answered
        (100, 1.0, 4, True),
    ],
)
def test_it_fails_where_nearly_all_attempts_of_some_time_do(
    attempts: int, apart: float, good: int, failing: bool
) -> None:
    limit, time = make()
    for n in range(attempts):
        limit.count(failed=not good or n % (attempts // good) > 0)
        time.now += apart
    assert limit.is_failing is failing


def test_it_fails_no_more_once_most_are_answered() -> None:
    limit, time = make()
    for _ in range(60):
        limit.count(failed=True)
        time.now += 1.0
    assert limit.is_failing
    for _ in range(10):
        limit.count(failed=False)
    assert not limit.is_failing
