"""The run's event loop in a thread of its own, and many calls on it with a bound."""

from __future__ import annotations

import asyncio
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable

_T = TypeVar("_T")
_POLL_S = 0.5  # on Windows a wait without end hears no Ctrl-C
_GRACE_S = 5.0  # for cancelled coroutines to end


class LoopThread:
    """Runs coroutines to their end, from any thread but its own."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._resolvers = ThreadPoolExecutor(4, thread_name_prefix="evalmetrics-names")

    def run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine; an exception in this thread, as by Ctrl-C, cancels it."""
        if self._thread is threading.current_thread():
            coroutine.close()
            raise RuntimeError("run() was called on the loop's own thread: await instead")
        loop = self._loop or self._start()
        # A queue of C: a Ctrl-C that comes as a Future's lock is taken would leave it locked, and
        # the loop's thread would wait for it for ever.
        ended: SimpleQueue[asyncio.Task[_T] | None] = SimpleQueue()
        tasks: list[asyncio.Task[_T]] = []

        def start() -> None:
            tasks.append(loop.create_task(coroutine))
            tasks[0].add_done_callback(ended.put)

        def cancel() -> None:
            if not (tasks and tasks[0].cancel()):
                ended.put(None)  # the loop never began, or has ended

        task: asyncio.Task[_T] | None = None
        try:
            loop.call_soon_threadsafe(start)
            while task is None:
                with suppress(Empty):
                    task = ended.get(timeout=_POLL_S)
        except BaseException:
            loop.call_soon_threadsafe(cancel)
            with suppress(Empty):
                ended.get(timeout=_GRACE_S)
                coroutine.close()  # where it never began
            raise
        return task.result()

    def close(self) -> None:
        """Cancel all that still runs, and end the thread."""
        if self._loop is None or self._thread is None:
            return
        self.run(_cancel_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._resolvers.shutdown(wait=False, cancel_futures=True)  # a name server may hang
        self._loop.close()
        self._loop = None

    def _start(self) -> asyncio.AbstractEventLoop:
        self._loop = loop = asyncio.new_event_loop()
        loop.set_default_executor(self._resolvers)

        def work() -> None:
            while True:
                # a task's sys.exit() ends that task, and not the loop: the thread that waits
                # for the task would wait for ever
                with suppress(SystemExit, KeyboardInterrupt):
                    loop.run_forever()
                    return

        self._thread = threading.Thread(target=work, name="evalmetrics-loop", daemon=True)
        self._thread.start()
        return loop


async def _cancel_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()


def was_cancelled() -> bool:
    """Whether this task was cancelled from outside, not by what it awaits."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


_Item = TypeVar("_Item")
_BREATHE = 64  # answers of the journal are never waited for: Ctrl-C must be heard all the same


async def run_bounded(
    call: Callable[[_Item], Awaitable[None]], items: Iterable[_Item], parallelism: int
) -> None:
    """Call for each item, in order, at most `parallelism` at once; no more are pulled or tasks."""
    if parallelism < 1:
        raise ValueError(f"parallelism is {parallelism}, expected 1 or more")
    left = _pulled(items)

    async def work(begun: _Item) -> None:
        try:
            for done, item in enumerate(itertools.chain((begun,), left)):
                await call(item)
                # Where nothing has to be waited for, those that were pulled with the first one
                # go before: items begin in their order, in which equal calls are counted. Never
                # between an item's pull and its begin, for the same reason.
                if done % _BREATHE == 0:
                    await asyncio.sleep(0)
        except BaseException:
            left.close()  # the group cancels the others a moment later: they pull nothing more
            raise

    try:
        async with asyncio.TaskGroup() as group:
            # as many tasks as there are items to begin with, and never more
            for item in itertools.islice(left, parallelism):
                group.create_task(work(item))
    except BaseExceptionGroup as errors:
        error: BaseException = errors
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]  # as if it had been raised alone
        raise error from None
    finally:
        left.close()


def _pulled(items: Iterable[_Item]) -> Generator[_Item]:
    yield from items  # whose origin, such as a file, is closed with this generator
