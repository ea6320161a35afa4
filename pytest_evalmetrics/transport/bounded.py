"""Many calls, few at once: rows are pulled as places get free."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from pytest_evalmetrics.transport.errors import CallError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

__all__ = ["run_bounded"]

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_BREATHE = 64  # what the journal answers never waits: Ctrl-C must be heard all the same


async def run_bounded(
    call: Callable[[_Item], Awaitable[_Result]],
    items: Iterable[_Item],
    parallelism: int,
    on_done: Callable[[_Item, _Result | CallError], None],
) -> int:
    """Call for each item, at most `parallelism` at once.

    There are never more tasks or pulled items than `parallelism`, however many items come.
    Items are pulled in their order, in the loop's thread, one when a place gets free.

    Parameters
    ----------
    call
        What is done for an item.
    items
        Pulled lazily; a generator is closed at the end, whatever happened.
    parallelism
        From 1.
    on_done
        Takes an item with its result, or with the `CallError` that it ended in, in the
        order of completion.

    Returns
    -------
    int
        How many items there were.

    Raises
    ------
    Exception
        The first that is no `CallError`, from `call`, `items` or `on_done`; the calls in
        flight are cancelled, and have ended when it is raised. So they are when this is
        cancelled itself.
    """
    if parallelism < 1:
        raise ValueError(f"parallelism is {parallelism}, expected 1 or more")
    source = _Source(items)

    async def work(item: _Item) -> None:
        first = True
        try:
            while True:
                on_done(item, await _outcome(call, item))
                # Where nothing has to be waited for, those that were pulled with the first one
                # go before: items begin in their order, in which equal calls are counted. Never
                # between an item's pull and its begin, for the same reason.
                if first or source.pulled % _BREATHE == 0:
                    first = False
                    await asyncio.sleep(0)
                try:
                    item = next(source)
                except StopIteration:
                    return
        except BaseException:
            source.stop()  # the group cancels the others a moment later: they pull nothing more
            raise

    try:
        async with asyncio.TaskGroup() as group:
            # as many tasks as there are items to begin with, and never more
            for item in itertools.islice(source, parallelism):
                group.create_task(work(item))
    except BaseExceptionGroup as errors:
        raise _leaf(errors) from None
    finally:
        source.stop()
    return source.pulled


class _Source(Generic[_Item]):
    """Items that many workers pull from, until they end or are stopped."""

    def __init__(self, items: Iterable[_Item]) -> None:
        self._items = iter(items)
        self.pulled = 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> _Item:
        item = next(self._items)
        self.pulled += 1
        return item

    def stop(self) -> None:
        """Give nothing more; close what the items came from, such as a file."""
        close = getattr(self._items, "close", None)
        self._items = iter(())
        if close is not None:
            close()


async def _outcome(call: Callable[[_Item], Awaitable[_Result]], item: _Item) -> _Result | CallError:
    try:
        return await call(item)
    except CallError as error:
        return error


def _leaf(error: BaseException) -> BaseException:
    """Give the first of a group, as if it had been raised alone."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
