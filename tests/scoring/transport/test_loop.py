import _thread
import asyncio
import random
import signal
import threading
from contextlib import suppress

import pytest

from pytest_evalmetrics.scoring.transport import Transport


@pytest.fixture
def loop():
    loop = Transport()
    yield loop
    loop.close()


def test_a_task_that_would_end_the_loop_ends_alone(loop):
    async def leave():
        raise SystemExit(3)

    async def group():
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(asyncio.sleep(60))
            tasks.create_task(leave())

    for each in (leave, group):
        with pytest.raises(SystemExit):
            loop.run(each())
        assert loop.run(asyncio.sleep(0, "result")) == "result"


def test_it_works_where_a_loop_runs_already(loop):
    async def main():
        return loop.run(asyncio.sleep(0, "result"))

    assert asyncio.run(main()) == "result"


def test_a_call_in_its_own_thread_is_refused(loop):
    async def nested():
        loop.run(asyncio.sleep(0))

    with pytest.raises(RuntimeError, match="await instead"):
        loop.run(nested())


def test_ctrl_c_cancels_the_coroutine_waits_for_its_end_and_the_loop_lives_on(loop):
    ended = threading.Event()

    async def hang():
        _thread.interrupt_main()
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0)
            ended.set()

    with pytest.raises(KeyboardInterrupt):
        loop.run(hang())
    assert ended.is_set()
    assert loop.run(asyncio.sleep(0, "alive")) == "alive"


def test_closing_ends_what_still_runs_and_the_thread():
    loop = Transport()
    ended = threading.Event()

    async def leave_behind():
        async def hang():
            try:
                await asyncio.sleep(3600)
            finally:
                ended.set()

        loop.kept = asyncio.ensure_future(hang())
        await asyncio.sleep(0)
        return threading.current_thread()

    thread = loop.run(leave_behind())
    loop.close()
    assert ended.is_set()
    assert not thread.is_alive()
    loop.close()  # a second time does nothing


@pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="this system has no such timer"
)
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # a moment too early
def test_an_interrupt_at_any_moment_leaves_the_loop_alive(loop):
    def interrupt(*_):
        raise KeyboardInterrupt

    chance = random.Random(5)  # noqa: S311 - moments, no secrets
    loop.run(asyncio.sleep(0))
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(300):
            with suppress(KeyboardInterrupt):
                try:
                    signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-5, 2e-3))
                    loop.run(asyncio.sleep(1e-3))
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert loop.run(asyncio.sleep(0, "alive")) == "alive"
