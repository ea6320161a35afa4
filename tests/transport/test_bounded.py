import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.ext import CallError
from pytest_evalmetrics.transport import EndpointError, run_bounded


def collect(call, items, parallelism):
    """Run, and return the outcomes by item, the order, and the count."""
    order = []

    async def main():
        return await run_bounded(call, items, parallelism, lambda i, o: order.append((i, o)))

    return asyncio.run(main()), order


@given(st.lists(st.integers(0, 5), max_size=40), st.integers(1, 12))
def test_every_item_is_called_once_and_few_are_in_memory(delays, parallelism):
    pulled = ended = most = most_tasks = 0

    def items():
        nonlocal pulled, most
        for pair in enumerate(delays):
            pulled += 1
            most = max(most, pulled - ended)
            yield pair

    async def call(pair):
        nonlocal most_tasks
        most_tasks = max(most_tasks, len(asyncio.all_tasks()) - 1)
        for _ in range(pair[1]):
            await asyncio.sleep(0)
        return pair[0] * 2

    outcomes = {}

    def done(pair, outcome):
        nonlocal ended
        ended += 1
        outcomes[pair[0]] = outcome

    count = asyncio.run(run_bounded(call, items(), parallelism, done))
    assert count == len(delays)
    assert outcomes == {index: index * 2 for index in range(len(delays))}
    assert most <= parallelism
    assert most_tasks <= min(parallelism, len(delays))


def test_a_failed_row_is_an_outcome_and_the_others_go_on():
    async def call(n):
        if n == 1:
            raise CallError("timeout", "late")
        return n

    count, order = collect(call, range(3), 2)
    outcomes = dict(order)
    assert count == 3
    assert (outcomes[0], outcomes[2]) == (0, 2)
    assert outcomes[1].kind == "timeout"


class Watched:
    """A source that tells whether it was closed, and calls that tell how they ended."""

    def __init__(self, n=100):
        self.closed = False
        self.ended = []
        self.n = n

    def items(self):
        try:
            yield from range(self.n)
        finally:
            self.closed = True

    async def hang(self, n):
        try:
            await asyncio.sleep(3600)
        finally:
            self.ended.append(n)


def test_a_fatal_error_stops_all_the_others_and_comes_out_alone():
    watched = Watched()

    async def call(n):
        if n == 3:
            raise EndpointError("401: no")
        await watched.hang(n)

    with pytest.raises(EndpointError, match="401: no"):
        collect(call, watched.items(), 4)
    assert sorted(watched.ended) == [0, 1, 2]
    assert watched.closed


def test_an_error_of_the_source_or_the_taker_stops_them_too():
    watched = Watched()

    def broken():
        yield 0
        raise OSError("the file ended badly")

    with pytest.raises(OSError, match="ended badly"):
        collect(watched.hang, broken(), 4)

    async def call(n):
        return n

    def done(_item, _outcome):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(run_bounded(call, watched.items(), 4, done))
    assert watched.closed


def test_cancelling_it_cancels_the_calls_and_closes_the_source():
    watched = Watched()

    async def main():
        task = asyncio.ensure_future(run_bounded(watched.hang, watched.items(), 4, lambda *_: None))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert sorted(watched.ended) == [0, 1, 2, 3]
    assert watched.closed


def test_calls_that_never_wait_can_be_cancelled_too():
    def rows():
        yield from range(1_000_000)
        raise AssertionError("it heard nothing")

    async def call(n):
        return n

    async def main():
        task = asyncio.ensure_future(run_bounded(call, rows(), 4, lambda *_: None))
        for _ in range(3):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_nothing_to_do_and_nobody_to_do_it():
    assert collect(None, [], 3) == (0, [])
    with pytest.raises(ValueError, match="parallelism is 0, expected 1 or more"):
        collect(None, [], 0)


@given(st.lists(st.integers(0, 3), max_size=200), st.integers(1, 12))
def test_items_begin_in_their_order_whatever_has_to_wait(delays, parallelism):
    # equal calls are counted as they begin: a run that the journal answers counts as the first
    begun = []

    async def call(pair):
        begun.append(pair[0])
        for _ in range(pair[1]):
            await asyncio.sleep(0)

    collect(call, enumerate(delays), parallelism)
    assert begun == list(range(len(delays)))
