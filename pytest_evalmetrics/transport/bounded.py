"""Many calls, few at once: rows are pulled as places get free."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from pytest_evalmetrics.transport.errors import CallError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator

__all__ = ["run_bounded"]

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


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
    source = iter(items)
    count = 0
    stopped = False  # the group cancels the others a moment later: they must pull nothing more

    async def work(item: _Item) -> None:
        nonlocal count, stopped
        try:
            while not stopped:
                count += 1
                outcome: _Result | CallError
                try:
                    outcome = await call(item)
                except CallError as error:
                    outcome = error
                on_done(item, outcome)
                if stopped:
                    return
                try:
                    item = next(source)
                except StopIteration:
                    return
        except BaseException:
            stopped = True
            raise

    try:
        async with asyncio.TaskGroup() as group:
            for item in _first(source, parallelism):
                group.create_task(work(item))
    except BaseExceptionGroup as errors:
        raise _leaf(errors) from None
    finally:
        close = getattr(source, "close", None)
        if close is not None:
            close()
    return count


def _first(source: Iterator[_Item], most: int) -> Iterator[_Item]:
    """Pull the first few: no task is made that would have nothing to do."""
    for _ in range(most):
        try:
            yield next(source)
        except StopIteration:
            return


def _leaf(error: BaseException) -> BaseException:
    """Give the first of a group, as if it had been raised alone."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
