"""Sending a call: attempts, the waits between them, and the queue of an origin's calls."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_evalmetrics.scoring.transport import wire
from pytest_evalmetrics.scoring.transport.http_sender import HttpSender
from pytest_evalmetrics.scoring.transport.origin_state import (
    Fault,
    OriginState,
    RetryPolicy,
    Standing,
)
from pytest_evalmetrics.scoring.transport.refusals import (
    LATER,
    named_error,
    named_failure,
    refusal_of,
)
from pytest_evalmetrics.scoring.transport.wire import (
    Clock,
    PaidAnswer,
    RawResponse,
    SendFailure,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.scoring.transport.endpoints import Endpoint, Sender
    from pytest_evalmetrics.scoring.transport.secrets import Secret

# failures that stop everything if the first call to a URL ends in them; html may be a login page
_NEVER_THERE = frozenset({"refused", "dns", "unreachable", "html"})
# faults that may be the first row's own, or those of an endpoint that is still starting
_ROWS_OR_ENDPOINTS = frozenset({Fault.BROKEN, Fault.SILENT})


class _OriginQueue:
    """The calls that wait for a place at one origin, in their order."""

    def __init__(self, clock: Clock, policy: RetryPolicy) -> None:
        self.state = OriginState(policy)
        self._clock = clock
        self._waiting: deque[tuple[Standing, asyncio.Future[None]]] = deque()
        self._alarm: asyncio.Task[None] | None = None
        self._alarm_at = 0.0

    async def enter(self, call: Standing, *, first: bool) -> None:
        """Wait until a call may be sent; one that was turned away goes first."""
        now = self._clock.monotonic()
        if not self._waiting and self.state.wait_s(now) == 0.0:
            self.state.sent(call, now)
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if first:
            self._waiting.appendleft((call, place))
        else:
            self._waiting.append((call, place))
        self.send_next()
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.state.cancelled(call)  # its turn came at the same moment
                self.send_next()
            raise

    def send_next(self) -> None:
        """Let those go that may be sent now, and come back when the next one may."""
        while self._waiting:
            now = self._clock.monotonic()
            wait_s = self.state.wait_s(now)
            if wait_s is None:
                return
            if wait_s > 0.0:
                self._come_back(now, wait_s)
                return
            call, place = self._waiting.popleft()
            if not place.done():  # a cancelled one is done
                self.state.sent(call, now)
                place.set_result(None)

    def _come_back(self, now: float, wait_s: float) -> None:
        if self._alarm is not None:
            if self._alarm_at <= now + wait_s:
                return
            self._alarm.cancel()
        self._alarm_at = now + wait_s
        self._alarm = asyncio.ensure_future(self._ring(wait_s))

    async def _ring(self, wait_s: float) -> None:
        await self._clock.sleep(wait_s)
        self._alarm = None
        self.send_next()


def _address_of(endpoint: Endpoint) -> tuple[str, Secret | None]:
    return endpoint.url, endpoint.secret


class RetryingSender:
    """Sends calls with retries and limits; the first to a URL goes alone: it may be wrong."""

    def __init__(
        self, sender: HttpSender | None, policy: RetryPolicy | None, clock: Clock | None
    ) -> None:
        # made with the first call
        self.sender = sender
        # calls whose answers may be paid for
        self.in_flight = 0
        # after a Ctrl-C
        self.is_stopping = False
        self._policy = policy or RetryPolicy()
        self._clock = clock or Clock()
        self._queues: dict[str, _OriginQueue] = {}
        # by URL and key: whether other calls may go, or the failure of the first that stops all
        self._first: dict[
            tuple[str, Secret | None], asyncio.Future[SendFailure | None]
        ] = {}

    @contextmanager
    def flight(self) -> Iterator[None]:
        """Count a call as in flight; none starts after a Ctrl-C."""
        if self.is_stopping:
            raise asyncio.CancelledError
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1

    async def send(self, endpoint: Endpoint, payload: bytes | None) -> PaidAnswer:
        """Send a call."""
        address = _address_of(endpoint)
        first = self._first.get(address)
        if first is None:
            return await self._send_first(address, endpoint, payload)
        if not first.done():
            failed = await asyncio.shield(first)
            if failed is not None:
                failed.attempts = 0  # nothing was sent for this one
                raise failed
        return await self._send(endpoint, payload)

    async def _send_first(
        self,
        address: tuple[str, Secret | None],
        endpoint: Endpoint,
        payload: bytes | None,
    ) -> PaidAnswer:
        first = asyncio.get_running_loop().create_future()
        self._first[address] = first
        fatal: SendFailure | None = None
        is_there = False
        try:
            answer = await self._send(endpoint, payload)
            is_there = True
        except SendFailure as failure:
            failure.fatal = failure.fatal or failure.kind in _NEVER_THERE
            is_there = not failure.fatal
            if failure.fatal:
                fatal = failure
            raise
        else:
            return answer
        finally:
            if not is_there:  # or cancelled; the next benchmark asks alone again
                del self._first[address]
            if not first.done():
                first.set_result(fatal)

    def _let_others_go(self, endpoint: Endpoint) -> None:
        """Send other rows beside the first one: they show whose fault its failure is."""
        first = self._first.get(_address_of(endpoint))
        if first is not None and not first.done():
            first.set_result(None)

    async def _send(self, endpoint: Endpoint, payload: bytes | None) -> PaidAnswer:
        # loading takes time that is no latency
        sender = endpoint.sender or self._http_sender()
        queue = self._queues.get(endpoint.origin)
        if queue is None:
            queue = _OriginQueue(self._clock, self._policy)
            self._queues[endpoint.origin] = queue
        state = queue.state
        state.allow(endpoint.parallelism)
        call = Standing(timeout_s=endpoint.timeout_s)
        while True:
            try:
                return await self._attempt(sender, endpoint, payload, queue, call)
            except SendFailure as failure:
                failure.attempts = call.attempts
                if failure.fault is None:
                    raise
                if failure.fault in _ROWS_OR_ENDPOINTS:
                    self._let_others_go(endpoint)
                self._give_up(failure, failure.fault, call, state)
                if not await self._may_retry(failure.fault, call, endpoint, state):
                    raise

    def _http_sender(self) -> HttpSender:
        if self.sender is None:
            self.sender = HttpSender()
        return self.sender

    def _give_up(
        self, failure: SendFailure, fault: Fault, call: Standing, state: OriginState
    ) -> None:
        """Raise the failure of an endpoint that has not answered for too long."""
        if not state.is_given_up(self._clock.monotonic()):
            return
        if fault is not Fault.BROKEN or call.attempts == 1:
            failure.message += (
                f"; nothing was answered for {self._policy.give_up_s:g} s, so that the "
                "endpoint is given up"
            )
            failure.hint = failure.hint or LATER
            failure.fatal = True
        # Answers of 5xx may all be the fault of the rows under way: these are lost, and the next
        # row decides.
        raise failure

    async def _may_retry(
        self, fault: Fault, call: Standing, endpoint: Endpoint, state: OriginState
    ) -> bool:
        """Wait for the next attempt; False for a row that failed by its own fault too often."""
        if fault is Fault.BUSY:
            return not state.is_rows_refusal(call, self._clock.monotonic())
        if state.is_origins_fault(call):
            return True
        is_last = call.own_failures >= endpoint.max_retries
        if is_last and not state.is_undecided(call):
            return False
        call.waits += 1
        wait_s = self._policy.wait_s(call.waits, self._clock.random())
        await self._clock.sleep(wait_s)
        if state.is_origins_fault(call) or state.is_undecided(call):
            return True
        call.own_failures += 1
        return not is_last

    async def _attempt(
        self,
        sender: Sender,
        endpoint: Endpoint,
        payload: bytes | None,
        queue: _OriginQueue,
        call: Standing,
    ) -> PaidAnswer:
        await queue.enter(call, first=call.refusals > 0)
        try:
            raw = await self._answer(sender, endpoint, payload)
        except SendFailure as failure:
            now = self._clock.monotonic()
            if failure.fault is None:
                queue.state.answered(call, now)
            else:
                queue.state.failed(call, failure.fault, now, failure.retry_after_s)
            raise
        except BaseException:
            queue.state.cancelled(call)
            raise
        else:
            now = self._clock.monotonic()
            queue.state.answered(call, now)
        finally:
            queue.send_next()
        return PaidAnswer(
            status=raw.status,
            body=wire.text_of(raw),
            latency_s=now - call.sent_at,
            attempts=call.attempts,
        )

    async def _answer(
        self, sender: Sender, endpoint: Endpoint, payload: bytes | None
    ) -> RawResponse:
        """Send once; raise SendFailure for anything but an answer to the question."""
        try:
            with self.flight():
                async with asyncio.timeout(endpoint.timeout_s):
                    raw = await sender.send(endpoint, payload)
        except TimeoutError:
            raise SendFailure(
                "timeout",
                f"no whole answer within {endpoint.timeout_s:g} s",
                fault=Fault.SILENT,
            ) from None
        longest_s = endpoint.longest_wait_s or self._policy.retry_after_cap_s
        if not 200 <= raw.status < 300:  # HTTP
            raise refusal_of(raw, endpoint, longest_s, self._clock.wall())
        error = named_error(raw)
        if error is not None:
            raise named_failure(error, raw, endpoint, longest_s, self._clock.wall())
        return raw
