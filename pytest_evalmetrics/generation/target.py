"""``target:``: answers of a Python function, an agent of the user's own."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.errors import EvalMetricsError, RegistryError, RowError, raised_words
from pytest_evalmetrics.generation.answers import as_json, read_answer
from pytest_evalmetrics.registry import origin, targets
from pytest_evalmetrics.transport import CallError, was_cancelled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_evalmetrics.generation.protocol import Generated, SampleCalls
    from pytest_evalmetrics.spec import TargetSpec
    from pytest_evalmetrics.transport import Terms

__all__ = ["TargetGenerator"]


class TargetGenerator:
    """Calls a function with each row; plain ones in threads, so that they go side by side.

    Parameters
    ----------
    spec
        What the benchmark file says.
    terms
        How many at once.

    Raises
    ------
    RegistryError
        There is no such function.
    """

    def __init__(self, spec: TargetSpec, terms: Terms) -> None:
        self._spec = spec
        self._function = _found(spec.function)
        self._is_async = _is_async(self._function)
        self._takes_sample = "sample" in inspect.signature(self._function).parameters
        self._timeout_s = spec.timeout_seconds or terms.timeout_s
        self._free = asyncio.Semaphore(terms.parallelism)

    async def generate(self, row: Mapping[str, Any], sample: int, calls: SampleCalls) -> Generated:
        """Attempt one row, see `Generator`."""

        async def make() -> str:
            async with self._free:
                return await self._called(row, sample)

        answer = await calls.perform(self._spec.function, row, make, version=self._spec.version)
        return read_answer(answer.body, answer.latency_s)

    def close(self) -> None:
        """Nothing is held: a thread that never ends dies with the process."""

    async def _called(self, row: Mapping[str, Any], sample: int) -> str:
        more = {"sample": sample} if self._takes_sample else {}
        given = dict(row)  # a function that changes its row changes no other's
        try:
            async with asyncio.timeout(self._timeout_s):
                if self._is_async:
                    found = await self._function(given, **more)
                else:
                    found = await _in_a_thread(lambda: self._function(given, **more))
                    if inspect.isawaitable(found):
                        found = await found
            return as_json(found)
        except TimeoutError:
            if self._timeout_s is None:
                raise _raised(TimeoutError()) from None
            raise CallError(
                "timeout", f"the target gave no answer within {self._timeout_s:g} s"
            ) from None
        except RowError as error:
            raise CallError(error.kind, error.message, hint=error.hint) from None
        except EvalMetricsError:
            raise
        except asyncio.CancelledError as error:
            if was_cancelled():
                raise
            raise _raised(error) from error
        # an agent's sys.exit() would end the loop on which all others run
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            raise _raised(error) from error


def _raised(error: BaseException) -> CallError:
    return CallError(*raised_words(error, "the target"))


def _found(reference: str) -> Any:
    target = targets.find(reference).target
    if inspect.isclass(target):
        try:
            target = target()
        except Exception as error:
            raise RegistryError(
                f"the target {reference!r} can't be made: {type(error).__name__}: {error}",
                hint="name a function, or a class that is made without arguments and called",
            ) from error
    if not callable(target):
        raise RegistryError(
            f"the target {reference!r} is no function: {origin(target)}",
            hint="name a function that takes a row and gives its answer",
        )
    try:
        inspect.signature(target).bind({})
    except (TypeError, ValueError):
        if "sample" not in inspect.signature(target).parameters:
            raise RegistryError(
                f"the target {reference!r} can't be called with a row: "
                f"{reference.rpartition(':')[2]}{inspect.signature(target)}",
                hint="write def answer(row): ...; a second argument named sample gets the "
                "attempt's number",
            ) from None
    return target


def _is_async(target: Any) -> bool:
    return inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(
        getattr(target, "__call__", None)  # noqa: B004 - an object's own
    )


async def _in_a_thread(function: Callable[[], Any]) -> Any:
    """Call a function in a thread of its own, which nothing waits for at the end.

    The threads of a pool are waited for when the interpreter ends: one agent that hangs would
    hold a run for ever. Starting a thread takes some 50 microseconds.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if done.done():  # nobody waits any more
            return
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(error)

    def run() -> None:
        result: Any = None
        error: BaseException | None = None
        try:
            result = function()
        except StopIteration as stop:  # a future can't hold one
            error = RuntimeError(f"StopIteration: {stop}")
        except BaseException as raised:  # noqa: BLE001 - handed to whoever waits
            error = raised
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:  # the run is over, and its loop closed
            return

    threading.Thread(target=run, name="evalmetrics-target", daemon=True).start()
    return await done
