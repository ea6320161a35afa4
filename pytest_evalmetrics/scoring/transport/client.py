"""The client of a run: every call is paid for once, on an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, TypeVar

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.scoring.transport import wire
from pytest_evalmetrics.scoring.transport.endpoints import Call
from pytest_evalmetrics.scoring.transport.exchange import RetryingSender
from pytest_evalmetrics.scoring.transport.journal import Journal, JournalMode
from pytest_evalmetrics.scoring.transport.journal_file import KeptFailure
from pytest_evalmetrics.scoring.transport.secrets import Secret, redact
from pytest_evalmetrics.scoring.transport.usage import Tokens, UsageTally, tokens_of
from pytest_evalmetrics.scoring.transport.wire import (
    Answer,
    CallError,
    PaidAnswer,
    SendFailure,
)

if TYPE_CHECKING:
    from collections.abc import (
        Awaitable,
        Callable,
        Coroutine,
        Generator,
        Hashable,
        Iterable,
    )

    from pytest_evalmetrics.json_types import JsonValue
    from pytest_evalmetrics.scoring.transport.endpoints import Work
    from pytest_evalmetrics.scoring.transport.http_sender import HttpSender
    from pytest_evalmetrics.scoring.transport.origin_state import RetryPolicy
    from pytest_evalmetrics.spec.model_keys import PriceSpec

_T = TypeVar("_T")
_SHORT = 65_536  # characters
_AGAIN_S = 0.05  # between two checks for an answer that another process waits for
_PATIENCE_S = 2.0  # until the terminal says what is waited for


class Meter:
    """Checks each call before it is paid for, and counts it afterwards; this one does neither."""

    def admit(self) -> None:
        """Let a call be sent."""

    def paid(
        self, requests: int, tokens: Tokens | None, price: PriceSpec | None
    ) -> None:
        """Count a call that was sent, with or without success."""

    def uncounted(self) -> None:
        """Note that a model's answer doesn't give its tokens."""


class Transport:
    """The run's way to its endpoints: each call is made once, and no redirect is followed."""

    # A redirected POST would become a GET, or a key would go elsewhere.

    def __init__(
        self,
        journal: Journal | None = None,
        *,
        sender: HttpSender | None = None,
        policy: RetryPolicy | None = None,
        clock: wire.Clock | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.usage = UsageTally()
        # callers' facts about endpoints
        self.memory: dict[Hashable, object] = {}
        self._key_repeated = False
        self._told_of_holder = False
        self._journal = journal or Journal(Path("none"), JournalMode.OFF)
        # a set that keeps its order
        self._secrets: dict[Secret, None] = {}
        self._exchange = RetryingSender(sender, policy, clock)
        self._loop = _LoopThread()
        self._say = say

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for the end of the run, each once."""
        warnings: list[str] = []
        if self._key_repeated:
            warnings.append(
                "an endpoint repeats its key in answers: they are used as they came, also in "
                "rollouts.jsonl, but not kept in the journal"
            )
        return (*warnings, *self._journal.warnings)

    def run(self, coroutine: Coroutine[object, object, _T]) -> _T:
        """Run a coroutine on the run's event loop; Ctrl-C cancels it, and keeps the answers."""
        self._exchange.is_stopping = False
        try:
            return self._loop.run(self._renewing(coroutine), self._drain)
        finally:
            coroutine.close()  # where it never began
            self._journal.flush()

    async def _renewing(self, coroutine: Coroutine[object, object, _T]) -> _T:
        """Run a coroutine, and show other processes that this one lives."""
        renewing = asyncio.ensure_future(self._renew_claims())
        try:
            return await coroutine
        finally:
            renewing.cancel()

    def _drain(self, ended: SimpleQueue[asyncio.Task[_T] | None]) -> None:
        """Start no further call, and wait for those in flight, which may have been paid for."""
        exchange = self._exchange
        until = monotonic() + _DRAIN_S
        exchange.is_stopping = True
        if exchange.in_flight:
            calls = many(exchange.in_flight, "call")
            self._say(
                f"waiting up to {_DRAIN_S:.0f} s for {calls} in flight, which may have been paid "
                "for; press Ctrl-C again to stop at once"
            )
        while exchange.in_flight and monotonic() < until:
            with suppress(Empty):
                ended.get(timeout=_AGAIN_S)
                return

    def close(self) -> None:
        """Close the connections, the loop and the journal."""
        try:
            if self._exchange.sender is not None:
                self._loop.run(self._exchange.sender.close())
        finally:
            self._loop.close()
            self._journal.close()

    def keep_secret(self, secrets: Iterable[Secret]) -> None:
        """Hide these secrets from now on, even before they are used."""
        self._secrets.update(dict.fromkeys(secrets))

    def hide(self, text: str) -> str:
        """Hide the secrets of every endpoint that was called."""
        return redact(text, self._secrets)

    async def call(
        self, call: Call, check: Callable[[JsonValue], None], meter: Meter | None = None
    ) -> Answer:
        """Answer a call, from the journal if it is there; a CallError where that fails."""
        if call.endpoint.secret is not None:
            self._secrets[call.endpoint.secret] = None
        send = partial(self._exchange.send, call.endpoint, call.payload)
        return await self._answered(call, send, check, meter or Meter())

    async def perform(
        self, work: Work, make: Callable[[], Awaitable[str]], meter: Meter | None = None
    ) -> Answer:
        """Call a function in this process in place of a request, or look its answer up."""

        async def send() -> PaidAnswer:
            started = perf_counter()
            try:
                with self._exchange.flight():
                    return PaidAnswer(200, await make(), perf_counter() - started, 1)
            except RowError as error:
                raise CallError(
                    error.kind, error.message, attempts=1, hint=error.hint
                ) from error

        return await self._answered(work, send, lambda _: None, meter or Meter())

    async def _answered(
        self,
        call: Call | Work,
        send: Callable[[], Awaitable[PaidAnswer]],
        check: Callable[[JsonValue], None],
        meter: Meter,
    ) -> Answer:
        key = b""
        try:
            key = call.key(self._without_secrets)
            answer = await self._kept(key, call, check)
            if answer is None:
                meter.admit()
        except RowError as error:
            self._journal.give_up(key)
            self.usage.failed(call.label, 0)
            raise self._failed(error, call, key) from None
        except BaseException:
            self._journal.give_up(key)
            raise
        if answer is None:
            answer = await self._sent(call, key, send, check, meter)
        self.usage.answered(call.label, answer, call.price)
        return answer

    async def _sent(
        self,
        call: Call | Work,
        key: bytes,
        send: Callable[[], Awaitable[PaidAnswer]],
        check: Callable[[JsonValue], None],
        meter: Meter,
    ) -> Answer:
        """Send a call that the journal has no answer to, and keep what it brought."""
        sent: PaidAnswer | None = None
        tokens: Tokens | None = None
        try:
            sent = await send()
            body = wire.parse_json(sent.body)
            tokens = tokens_of(body)
            check(body)
        except RowError as error:
            attempts = 0
            if sent is not None:
                attempts = sent.attempts
            elif isinstance(error, CallError):
                attempts = error.attempts
            meter.paid(attempts, tokens, call.price)
            self.usage.failed(call.label, attempts)
            self._journal.give_up(key)
            raise self._failed(error, call, key, attempts, sent) from None
        except BaseException:
            self._journal.give_up(key)
            raise
        meter.paid(sent.attempts, tokens, call.price)
        is_model = isinstance(body, dict) and "choices" in body
        if tokens is None and is_model and isinstance(call, Call):
            meter.uncounted()
        self._keep(key, sent)
        return Answer(
            body=body,
            latency_s=sent.latency_s,
            attempts=sent.attempts,
            from_journal=False,
        )

    def _keep(self, key: bytes, sent: PaidAnswer) -> None:
        """Write an answer to the journal, unless it repeats a key."""
        if not self._holds_secret(sent.body):
            self._journal.put(key, sent)
        elif key and self._journal.mode is not JournalMode.OFF:
            self._key_repeated = True
            self._journal.give_up(key)

    async def _kept(
        self, key: bytes, call: Call | Work, check: Callable[[JsonValue], None]
    ) -> Answer | None:
        """Look up a call once no other process makes it; without an answer it is for this one."""
        journal = self._journal
        kept: PaidAnswer | KeptFailure | None = None
        is_asked_anew = False
        if key:
            has_waited = await self._claimed(key)
            kept = journal.get(key)
            # what another process just asked is new
            is_asked_anew = call.anew and not has_waited and not journal.replays
        if isinstance(kept, PaidAnswer) and not is_asked_anew:
            try:
                body = wire.parse_json(kept.body)
                check(body)
            except RowError:  # by now it counts as a failure: asked again
                if journal.replays:
                    raise
            else:
                journal.give_up(key)
                return Answer(
                    body=body,
                    latency_s=kept.latency_s,
                    attempts=kept.attempts,
                    from_journal=True,
                )
        if journal.replays:
            if isinstance(kept, KeptFailure):
                raise _failed_before(kept, check)
            raise _not_in_journal(call, has_key=bool(key))
        return None

    async def _claimed(self, key: bytes) -> bool:
        """Wait until no other process makes a call, or that one's lease has ended.

        Returns whether there was anything to wait for.
        """
        waited_s = 0.0
        while not self._journal.claim(key):
            holder = self._journal.holder(key)
            if holder is None:
                break
            if waited_s >= _PATIENCE_S and not self._told_of_holder:
                self._told_of_holder = True
                process = "a process"
                if holder.process:
                    process = f"process {holder.process}"
                self._say(
                    f"waiting for {process}, which makes the same calls, for up to "
                    f"{self._journal.lease_s:.0f} s after its last sign of life"
                )
            await asyncio.sleep(_AGAIN_S)
            waited_s += _AGAIN_S
        return waited_s > 0.0

    async def _renew_claims(self) -> None:
        while True:
            await asyncio.sleep(self._journal.lease_s / 6)
            self._journal.renew()

    def _without_secrets(self, text: str) -> str:
        """Take the keys themselves out of a call's identity: a new key finds the old answers."""
        for secret in self._secrets:
            text = secret.left_out_of(text)
        return text

    def _holds_secret(self, text: str) -> bool:
        return any(secret.is_in(text) for secret in self._secrets)

    def _failed(
        self,
        failure: RowError,
        call: Call | Work,
        key: bytes,
        attempts: int = 0,
        sent: PaidAnswer | None = None,
    ) -> CallError | wire.EndpointError:
        """Make the user's error of a failed call, and keep it for a replay if one was sent."""
        message = self.hide(failure.message)
        hint = failure.hint and self.hide(failure.hint)
        if isinstance(failure, SendFailure):
            message = f"{self.hide(call.shown)}: {message}{self._said(failure)}"
            if failure.fatal:
                return wire.EndpointError(message, hint=hint, about=call.in_file)
            if attempts > 1:
                message += f" ({attempts} attempts)"
        status: int | None = None
        attempts_then = attempts
        if isinstance(failure, CallError):
            status = failure.status
            attempts_then = attempts or failure.attempts  # of a replayed one
        error = CallError(
            failure.kind, message, status=status, attempts=attempts_then, hint=hint
        )
        if attempts:
            refused: str | None = None
            if sent is not None and not isinstance(failure, SendFailure):
                refused = self._writable(sent.body)
            self._keep_failure(key, error, refused)
        return error

    def _said(self, failure: SendFailure) -> str:
        """Return what an endpoint said of a failure, for the end of a message."""
        words = wire.own_words(failure.text, self.hide)
        return f", and said: {words}" if words else ""

    def _keep_failure(self, key: bytes, error: CallError, refused: str | None) -> None:
        """Keep the error of a call that was sent, and the answer that was refused."""
        kept = KeptFailure(
            kind=error.kind,
            message=error.message,
            hint=error.hint,
            status=error.status,
            attempts=error.attempts,
            body=refused,
        )
        self._journal.put(key, kept)

    def _writable(self, body: str) -> str | None:
        """Return the JSON of a refused answer where it is short and holds no secret."""
        if len(body) > _SHORT or self._holds_secret(body):
            return None
        return body


def _failed_before(kept: KeptFailure, check: Callable[[JsonValue], None]) -> CallError:
    """Make the error of a call that failed when it was sent."""
    if kept.body is not None:
        with suppress(RowError):  # the caller sees the refused answer
            check(wire.parse_json(kept.body))
    return CallError(
        kept.kind,
        kept.message,
        hint=kept.hint,
        status=kept.status,
        attempts=kept.attempts,
    )


def _not_in_journal(call: Call | Work, *, has_key: bool) -> CallError:
    """Make the error of a replay that would have to call."""
    hint = "run once without replay"
    if not has_key:
        # the answers of a target without a version are not kept
        hint = f"give the target a version, and {hint}"
    return CallError(
        "not-in-journal",
        f"the journal has no answer to this call: {call.shown}",
        hint=hint,
    )


# -- the event loop --------------------------------------------------------------------------

_POLL_S = 0.5  # on Windows a wait without end hears no Ctrl-C
_DRAIN_S = 10.0  # for calls in flight to arrive after a Ctrl-C
_GRACE_S = 5.0  # for cancelled coroutines to end


class _LoopThread:
    """Runs coroutines to their end, from any thread but its own."""

    def __init__(self) -> None:
        self._resolvers = ThreadPoolExecutor(4, thread_name_prefix="evalmetrics-names")
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(self._resolvers)
        self._thread = threading.Thread(
            target=self._work, name="evalmetrics-loop", daemon=True
        )
        self._thread.start()

    def run(
        self,
        coroutine: Coroutine[object, object, _T],
        drain: Callable[[SimpleQueue[asyncio.Task[_T] | None]], None] = lambda _: None,
    ) -> _T:
        """Run a coroutine; an exception in this thread, as by Ctrl-C, cancels it.

        `drain` may first wait for the queue that gets the ended task.
        """
        if self._thread is threading.current_thread():
            coroutine.close()
            raise RuntimeError(
                "run() was called on the loop's own thread: await instead"
            )
        loop = self._loop
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
        except BaseException as error:
            try:
                if isinstance(error, KeyboardInterrupt):
                    drain(ended)
            finally:
                loop.call_soon_threadsafe(cancel)
                with suppress(Empty):
                    ended.get(timeout=_GRACE_S)
                    coroutine.close()  # where it never began
            raise
        return task.result()

    def close(self) -> None:
        """Cancel all that still runs, and end the thread."""
        if self._loop.is_closed():
            return
        self.run(_cancel_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        # a name server may hang
        self._resolvers.shutdown(wait=False, cancel_futures=True)
        self._loop.close()

    def _work(self) -> None:
        while True:
            # a task's sys.exit() ends that task, and not the loop: the thread that waits for the
            # task would wait for ever
            with suppress(SystemExit, KeyboardInterrupt):
                self._loop.run_forever()
                return


async def _cancel_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()


def was_cancelled() -> bool:
    """Check whether this task itself was cancelled, not something that it awaits."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


# answers of the journal between two returns to the loop, which handles Ctrl-C
_BREATHE = 64


async def run_bounded(
    call: Callable[[_T], Awaitable[None]], items: Iterable[_T], parallelism: int
) -> None:
    """Call for each item, in order, at most `parallelism` at once; no more are pulled or tasks."""
    if parallelism < 1:
        raise ValueError(f"parallelism is {parallelism}, expected 1 or more")
    left = _pulled(items)

    async def work(begun: _T) -> None:
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


def _pulled(items: Iterable[_T]) -> Generator[_T]:
    yield from items  # closing this generator closes the source of the items, such as a file
