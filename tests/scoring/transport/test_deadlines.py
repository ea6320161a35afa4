"""Cancelled calls and nested time limits: each ends what it bounds, and nothing else."""

import asyncio

import pytest
from scoring.transport.fakes import answers_in, ok

from pytest_evalmetrics.ext import CallError

SHORT_S = (
    0.02  # long enough for a call to be sent; a request that hangs never ends before it
)


@pytest.fixture
def slow(client):
    """An endpoint that never answers the bodies that hold "hang", one call at a time."""

    async def answer(request):
        slow.arrived.set()
        if b"hang" in request.body:
            await asyncio.get_running_loop().create_future()
        return ok()

    slow = client(answer, mode="normal")
    slow.arrived = asyncio.Event()
    return slow


def call(slow, body, timeout_s=3600.0, max_retries=0):
    return slow.call(body, timeout_s=timeout_s, max_retries=max_retries, parallelism=1)


async def answered(slow):
    """Prove that the endpoint's only place is free again."""
    assert slow.sender.in_flight == 0
    assert (await call(slow, "next")).body == {"score": 1.0}


def test_a_caller_s_shorter_limit_ends_the_call_and_is_no_failure_of_the_endpoint(
    slow, path
):
    async def work():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(SHORT_S):
                await call(slow, "hang", max_retries=5)
        await answered(slow)

    slow.run(work())
    assert slow.sender.bodies == [b'"hang"', b'"next"']  # cancelled, not tried again
    assert slow.usage.failed == 0
    assert answers_in(path) == 1


def test_the_endpoint_s_shorter_limit_fails_the_attempt_and_not_the_caller(slow):
    async def work():
        async with asyncio.timeout(3600) as outer:
            with pytest.raises(
                CallError, match=r"no whole answer within 0\.02 s"
            ) as failure:
                await call(slow, "hang", timeout_s=SHORT_S, max_retries=2)
            assert (failure.value.kind, failure.value.attempts) == ("timeout", 3)
            await answered(slow)
        assert not outer.expired()

    slow.run(work())
    assert slow.sender.bodies == [b'"hang"'] * 3 + [b'"next"']


def test_a_cancelled_call_gives_its_place_to_the_next_and_in_the_queue_is_never_sent(
    slow, path
):
    async def work():
        hanging = asyncio.ensure_future(call(slow, "hang"))
        await slow.arrived.wait()
        waiting = [asyncio.ensure_future(call(slow, n)) for n in range(3)]
        await asyncio.sleep(0)
        waiting[1].cancel()
        hanging.cancel()
        results = await asyncio.gather(hanging, *waiting, return_exceptions=True)
        kinds = [isinstance(result, asyncio.CancelledError) for result in results]
        assert kinds == [True, False, True, False]
        assert results[1].body == results[3].body == {"score": 1.0}

    slow.run(work())
    assert (slow.sender.in_flight, slow.sender.bodies) == (0, [b'"hang"', b"0", b"2"])
    assert answers_in(path) == 2


def test_a_limit_around_many_calls_ends_all_of_them(slow):
    async def work():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(SHORT_S):
                await slow.many(["hang"] * 9, 4)
        await answered(slow)

    slow.run(work())
