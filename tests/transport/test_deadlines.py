"""Time-outs that share a timer: the same as `asyncio.timeout`, whatever else happens."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from pytest_evalmetrics.transport.deadlines import Deadlines

SOON, NEVER = 0.02, 60.0


def test_what_takes_too_long_is_a_timeout_and_the_task_lives_on() -> None:
    async def run() -> str:
        deadlines = Deadlines(SOON)
        with pytest.raises(TimeoutError), deadlines.start():
            await asyncio.sleep(NEVER)
        assert len(deadlines) == 0
        task = asyncio.current_task()
        assert task is not None
        assert not task.cancelling()
        await asyncio.sleep(0)  # nothing is left that would cancel it
        return "on"

    assert asyncio.run(run()) == "on"


def test_each_one_has_its_own_time() -> None:
    async def run() -> list[str]:
        deadlines = Deadlines(SOON)
        ended: list[str] = []
        release = asyncio.Event()

        async def one(name: str, after: asyncio.Event | None) -> None:
            try:
                with deadlines.start():
                    await (asyncio.sleep(NEVER) if after is None else after.wait())
            except TimeoutError:
                ended.append(f"{name} timed out")
            else:
                ended.append(f"{name} came")

        tasks = [asyncio.ensure_future(one("a", None)), asyncio.ensure_future(one("b", release))]
        await asyncio.sleep(0)
        release.set()
        await tasks[1]
        tasks.append(asyncio.ensure_future(one("c", None)))  # begun later, and behind the first
        await asyncio.gather(*tasks)
        assert len(deadlines) == 0
        return ended

    assert asyncio.run(run()) == ["b came", "a timed out", "c timed out"]


def test_another_cancellation_is_no_timeout() -> None:
    async def run() -> None:
        deadlines = Deadlines(NEVER)

        async def work() -> None:
            with deadlines.start():
                await asyncio.sleep(NEVER)

        task = asyncio.ensure_future(work())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(deadlines) == 0

    asyncio.run(run())


def test_both_at_once_are_a_cancellation() -> None:
    async def run() -> None:
        deadlines = Deadlines(SOON)
        begun, timed_out = asyncio.Event(), asyncio.Event()

        async def work() -> None:
            with deadlines.start():
                begun.set()
                try:
                    await asyncio.sleep(NEVER)
                except asyncio.CancelledError:
                    timed_out.set()
                    with suppress(asyncio.CancelledError):
                        await asyncio.sleep(NEVER)  # takes its time to end
                    raise

        task = asyncio.ensure_future(work())
        await begun.wait()
        await timed_out.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


def test_an_error_goes_through() -> None:
    async def run() -> None:
        deadlines = Deadlines(NEVER)
        with pytest.raises(KeyError), deadlines.start():
            raise KeyError
        assert len(deadlines) == 0

    asyncio.run(run())


def test_one_that_hangs_does_not_hold_those_behind_it() -> None:
    async def run() -> int:
        deadlines = Deadlines(NEVER)

        async def hang() -> None:
            with deadlines.start():
                await asyncio.sleep(NEVER)

        task = asyncio.ensure_future(hang())
        await asyncio.sleep(0)
        most = 0
        for _ in range(10_000):
            with deadlines.start():
                most = max(most, len(deadlines))
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return most

    assert asyncio.run(run()) < 300
