import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.scoring.transport import run_bounded


@given(st.lists(st.integers(0, 5), max_size=200), st.integers(1, 12))
def test_every_item_is_called_once_in_order_and_few_are_in_memory(delays, parallelism):
    begun, outcomes = [], {}
    most = most_tasks = 0

    def items():
        nonlocal most
        for number, pair in enumerate(enumerate(delays), start=1):
            most = max(most, number - len(outcomes))
            yield pair

    async def call(pair):
        nonlocal most_tasks
        # equal calls are counted as they begin: a run that the journal answers counts as the first
        begun.append(pair[0])
        most_tasks = max(most_tasks, len(asyncio.all_tasks()) - 1)
        for _ in range(pair[1]):
            await asyncio.sleep(0)
        outcomes[pair[0]] = pair[0] * 2

    asyncio.run(run_bounded(call, items(), parallelism))
    assert begun == list(range(len(delays)))
    assert outcomes == {index: index * 2 for index in range(len(delays))}
    assert most <= parallelism
    assert most_tasks <= min(parallelism, len(delays))


class Watched:
    """A source that tells whether it was closed, and calls that tell how they ended."""

    def __init__(self):
        self.closed = False
        self.ended = []

    def items(self):
        try:
            yield from range(1_000_000)
        finally:
            self.closed = True

    async def hang(self, n):
        try:
            await asyncio.sleep(3600)
        finally:
            self.ended.append(n)

    def run(self, call, items=None):
        return run_bounded(call, self.items() if items is None else items, 4)


async def at_once(_n):
    pass


def test_a_fatal_error_stops_all_the_others_and_comes_out_alone():
    watched = Watched()

    async def call(n):
        if n == 3:
            raise EvalMetricsError("401: no")
        await watched.hang(n)

    with pytest.raises(EvalMetricsError, match="401: no"):
        asyncio.run(watched.run(call))
    assert sorted(watched.ended) == [0, 1, 2]
    assert watched.closed


def test_an_error_of_the_source_or_the_taker_stops_them_too():
    watched = Watched()

    def broken():
        yield 0
        raise OSError("the file ended badly")

    with pytest.raises(OSError, match="ended badly"):
        asyncio.run(watched.run(watched.hang, broken()))

    async def broken_call(_n):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(watched.run(broken_call))
    assert watched.closed


@pytest.mark.parametrize("waits", [True, False])
def test_cancelling_it_cancels_the_calls_and_closes_the_source(waits):
    watched = Watched()

    async def main():
        task = asyncio.ensure_future(watched.run(watched.hang if waits else at_once))
        for _ in range(3):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert sorted(watched.ended) == ([0, 1, 2, 3] if waits else [])
    assert watched.closed


def test_nothing_to_do_and_nobody_to_do_it():
    asyncio.run(run_bounded(at_once, [], 3))
    with pytest.raises(ValueError, match="parallelism is 0, expected 1 or more"):
        asyncio.run(run_bounded(at_once, [], 0))
