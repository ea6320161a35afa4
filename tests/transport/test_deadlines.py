"""Cancelled calls and nested time limits: each ends what it bounds, and nothing else."""

import asyncio

import pytest
from transport.fakes import answers_in

from pytest_evalmetrics.ext import CallError, Endpoint
from pytest_evalmetrics.transport import Call, Journal, RetryPolicy, Transport, run_bounded
from tests.transport.fakes import ok

SHORT_S = 0.02  # long enough for a call to be sent; a request that hangs never ends before it


class Hanging:
    """Never answers the bodies that hold "hang"; counts requests in flight."""

    def __init__(self):
        self.sent = []
        self.in_flight = 0
        self.arrived = asyncio.Event()

    async def send(self, request):
        self.sent.append(request.body)
        self.in_flight += 1
        try:
            self.arrived.set()
            if b"hang" in (request.body or b""):
                await asyncio.get_running_loop().create_future()
            return ok()
        finally:
            self.in_flight -= 1

    async def close(self):
        pass


@pytest.fixture
def sender():
    return Hanging()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.sqlite3"


@pytest.fixture
def transport(sender, path):
    with Transport(Journal(path), sender=sender, policy=RetryPolicy(base_s=0.0)) as transport:
        yield transport


def call(body, timeout_s=3600.0, max_retries=0):
    url = "http://example.test/score"
    endpoint = Endpoint(url, timeout_s=timeout_s, max_retries=max_retries, parallelism=1)
    return Call(endpoint, body, label="x")


async def answered(transport):
    """Prove that the endpoint's only place is free again."""
    assert (await transport.call(call("next"))).body == {"score": 1.0}


def test_a_caller_s_shorter_limit_ends_the_call_and_is_no_failure_of_the_endpoint(
    transport, sender, path
):
    async def work():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(SHORT_S):
                await transport.call(call("hang", max_retries=5))
        assert sender.in_flight == 0
        await answered(transport)

    transport.run(work())
    assert sender.sent == [b'"hang"', b'"next"']  # cancelled, not tried again
    assert transport.usage.by_label()["x"].failed == 0
    assert answers_in(path) == 1


def test_the_endpoint_s_shorter_limit_fails_the_attempt_and_not_the_caller(transport, sender):
    async def work():
        async with asyncio.timeout(3600) as outer:
            with pytest.raises(CallError, match=r"no whole answer within 0\.02 s") as failure:
                await transport.call(call("hang", timeout_s=SHORT_S, max_retries=2))
            assert (failure.value.kind, failure.value.attempts) == ("timeout", 3)
            await answered(transport)
        assert not outer.expired()

    transport.run(work())
    assert sender.sent == [b'"hang"'] * 3 + [b'"next"']


def test_a_cancelled_call_gives_its_place_to_the_next_one(transport, sender, path):
    async def work():
        hanging = asyncio.ensure_future(transport.call(call("hang")))
        await sender.arrived.wait()
        waiting = asyncio.ensure_future(transport.call(call("waits")))
        await asyncio.sleep(0)
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging
        assert (await waiting).body == {"score": 1.0}

    transport.run(work())
    assert (sender.in_flight, sender.sent) == (0, [b'"hang"', b'"waits"'])
    assert answers_in(path) == 1


def test_a_call_that_is_cancelled_in_the_queue_is_never_sent(transport, sender):
    async def work():
        hanging = asyncio.ensure_future(transport.call(call("hang")))
        await sender.arrived.wait()
        waiting = [asyncio.ensure_future(transport.call(call(n))) for n in range(3)]
        await asyncio.sleep(0)
        waiting[1].cancel()
        hanging.cancel()
        results = await asyncio.gather(*waiting, return_exceptions=True)
        assert isinstance(results[1], asyncio.CancelledError)
        assert not isinstance(results[0], BaseException)
        assert not isinstance(results[2], BaseException)

    transport.run(work())
    assert sender.sent == [b'"hang"', b"0", b"2"]


def test_a_limit_around_many_calls_ends_all_of_them(transport, sender):
    async def work():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(SHORT_S):
                await run_bounded(transport.call, map(call, ["hang"] * 9), 4, lambda *_: None)
        assert sender.in_flight == 0
        await answered(transport)

    transport.run(work())
