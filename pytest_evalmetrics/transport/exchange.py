"""Sending a call: attempts, the waits between them, and how many are in flight."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, TypeVar

from pytest_evalmetrics.transport.wire import (
    Clock,
    RawResponse,
    Request,
    Sender,
    SendFailure,
    status_text,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pytest_evalmetrics.transport.endpoints import Call, Endpoint

__all__ = [
    "AdaptiveLimit",
    "Exchange",
    "Limits",
    "RetryPolicy",
    "is_retried",
    "parse_retry_after",
    "with_retries",
]

_T = TypeVar("_T")
_RETRIED = frozenset({408, 425, 429})
_SERVER_ERRORS = range(500, 600)


def is_retried(status: int) -> bool:
    """Whether an HTTP status may be another one the next time."""
    return status in _RETRIED or status in _SERVER_ERRORS


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often, and how long between."""

    max_retries: int = 3  # attempts after the first one
    base_s: float = 1.0  # the longest wait after the first attempt; doubled after each further one
    cap_s: float = 15.0  # the longest wait of our own
    retry_after_cap_s: float = 60.0  # the longest wait that an endpoint can ask for

    def with_retries(self, max_retries: int) -> RetryPolicy:
        """Give the same waits, with another number of attempts."""
        return self if max_retries == self.max_retries else replace(self, max_retries=max_retries)

    def wait_s(self, failed: int, retry_after_s: float | None, random: float) -> float:
        """Give the seconds to wait after `failed` attempts.

        Full jitter: uniform in [0, min(cap, base * 2**(failed - 1))), on top of what the
        endpoint asked for, so that the rows it turned away don't come back as one.

        Source: M. Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015.
        """
        longest = min(self.cap_s, self.base_s * 2.0 ** min(failed - 1, 30))
        return self.asked_s(retry_after_s) + random * longest

    def asked_s(self, retry_after_s: float | None) -> float:
        """Give what is granted of a wait that the endpoint asked for."""
        return min(retry_after_s or 0.0, self.retry_after_cap_s)


def parse_retry_after(text: str | None, now: float) -> float | None:
    """Read a Retry-After header: seconds, or an HTTP date (RFC 9110, 10.2.3)."""
    if not text:
        return None
    try:
        seconds = float(text)  # some servers send fractions
    except ValueError:
        try:
            date = parsedate_to_datetime(text)
        except ValueError:
            return None
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        seconds = (date - datetime.fromtimestamp(now, UTC)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


async def with_retries(
    attempt: Callable[[], Awaitable[_T]], policy: RetryPolicy, clock: Clock
) -> tuple[_T, int]:
    """Attempt, and again after a failure that may pass.

    A loop of our own: what matters (which failures, how long, whose clock) would be ours
    with a library too, and the libraries cost 20 us on each call that succeeds at once.
    """
    made = 0
    while True:
        made += 1
        try:
            return await attempt(), made
        except SendFailure as failure:
            failure.attempts = made
            if not failure.retry or made > policy.max_retries:
                raise
            wait = policy.wait_s(made, failure.retry_after_s, clock.random())
        await clock.sleep(wait)


_DECREASE = 0.5
UNREACHABLE_CALLS = 8
UNREACHABLE_S = 30.0


class AdaptiveLimit:
    """A limit of calls in flight: additive increase, multiplicative decrease.

    It starts at the ceiling, is halved when the endpoint is overloaded (429, 503, a
    timeout), and grows by one for each round of successes. Calls that were sent before the
    last halving don't halve it again: they tell of the load that was, not of the load
    that is.

    Source: D.-M. Chiu and R. Jain, "Analysis of the Increase and Decrease Algorithms for
    Congestion Avoidance in Computer Networks", 1989.
    """

    def __init__(self, ceiling: int, clock: Clock) -> None:
        self.ceiling = ceiling
        self.limit = float(ceiling)
        self.in_flight = 0
        self._clock = clock
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._round = 0
        self._paused_until = 0.0
        self._unreachable = 0
        self._unreachable_since = 0.0

    def allow(self, ceiling: int) -> None:
        """Raise the ceiling, for a benchmark that allows more than those before it."""
        if ceiling > self.ceiling:
            self.limit += ceiling - self.ceiling
            self.ceiling = ceiling
            self._wake()

    async def acquire(self) -> int:
        """Wait for a place; return the round, to be given back with the outcome."""
        while True:
            while self.in_flight >= int(self.limit):
                await self._wait()
            pause = self._paused_until - self._clock.monotonic() if self._paused_until else 0.0
            if pause <= 0:
                break
            try:
                await self._clock.sleep(pause)
            except asyncio.CancelledError:
                self._wake()  # it may have been woken for a place: the next one's turn
                raise
        self.in_flight += 1
        return self._round

    def release(self, count: int = 1) -> None:
        """Give places back."""
        self.in_flight -= count
        self._wake()

    def succeeded(self) -> None:
        """Count an answer that the endpoint gave without complaint."""
        if self.limit < self.ceiling:
            self.limit = min(float(self.ceiling), self.limit + 1.0 / self.limit)

    def overloaded(self, sent_in: int, pause_s: float = 0.0) -> None:
        """Halve the limit, and let nobody through for as long as the endpoint asked."""
        if sent_in == self._round:
            self._round += 1
            self.limit = max(1.0, self.limit * _DECREASE)
        if pause_s > 0:
            self._paused_until = max(self._paused_until, self._clock.monotonic() + pause_s)

    def reached(self) -> None:
        """Note that something answered."""
        self._unreachable = 0

    def is_gone(self) -> bool:
        """Count a call that reached nothing, with all its retries; tell whether to give up.

        One server's restart must not stop a benchmark, and a server that is gone must not
        cost every row its retries: so several calls, and some time, without any answer.
        """
        now = self._clock.monotonic()
        if not self._unreachable:
            self._unreachable_since = now
        self._unreachable += 1
        return (
            self._unreachable >= UNREACHABLE_CALLS
            and now - self._unreachable_since >= UNREACHABLE_S
        )

    async def _wait(self) -> None:
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._wake()  # it was ours to take: the next one's turn
            else:
                self._waiting.remove(place)
            raise

    def _wake(self) -> None:
        free = int(self.limit) - self.in_flight
        while free > 0 and self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                free -= 1


class Limits:
    """The limits of endpoints, each made at its first use."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._limits: dict[str, AdaptiveLimit] = {}

    def of(self, origin: str, ceiling: int) -> AdaptiveLimit:
        """Give an endpoint's, which lets so many through at least while all is well."""
        limit = self._limits.get(origin)
        if limit is None:
            limit = self._limits[origin] = AdaptiveLimit(ceiling, self._clock)
        limit.allow(ceiling)
        return limit


_FATAL = {
    401: "the endpoint wants a key: name it with api_key_secret",
    403: "the endpoint wants a key that is allowed to do this: name it with api_key_secret",
    404: "nothing answers there: check the path of the URL, and the names in the request",
}
_KEY_REFUSED = (401, 403)
_OVERLOADED = (429, 503)


class Exchange:
    """Sends calls; knows nothing of journals."""

    def __init__(
        self,
        sender: Sender | None,
        policy: RetryPolicy | None,
        clock: Clock | None,
        limits: Limits | None = None,
    ) -> None:
        self._sender = sender
        self._policy = policy or RetryPolicy()
        self._clock = clock or Clock()
        self._limits = limits or Limits(self._clock)

    @property
    def is_open(self) -> bool:
        """There is something to close."""
        return self._sender is not None

    async def close(self) -> None:
        """Close the connections."""
        if self._sender is not None:
            await self._sender.close()

    async def send(self, call: Call, payload: bytes | None) -> tuple[RawResponse, float, int]:
        """Send a call."""
        endpoint = call.endpoint
        request = Request(
            call.method,
            endpoint.url,
            payload,
            endpoint.headers,
            endpoint.secret,
            endpoint.max_response_bytes,
        )
        limit = self._limit(endpoint)

        async def attempt() -> tuple[RawResponse, float]:
            return await self._attempt(request, endpoint, limit)

        (raw, latency), attempts = await with_retries(
            attempt, self._policy.with_retries(endpoint.max_retries), self._clock
        )
        return raw, latency, attempts

    def is_gone(self, endpoint: Endpoint) -> bool:
        """Count a call that reached nothing; tell whether the endpoint is given up."""
        return self._limit(endpoint).is_gone()

    async def _attempt(
        self, request: Request, endpoint: Endpoint, limit: AdaptiveLimit
    ) -> tuple[RawResponse, float]:
        sender = self._sending()  # the first one takes its time to load, which is no latency
        sent_in = await limit.acquire()
        started = self._clock.monotonic()
        try:
            async with asyncio.timeout(endpoint.timeout_s):
                raw = await sender.send(request)
        except TimeoutError:
            limit.overloaded(sent_in)
            raise SendFailure(
                "timeout", f"no whole answer within {endpoint.timeout_s:g} s", retry=True
            ) from None
        finally:
            limit.release()
        limit.reached()
        if not 200 <= raw.status < 300:  # noqa: PLR2004 - HTTP
            failure = self._refusal(raw, endpoint)
            if raw.status in _OVERLOADED:
                limit.overloaded(sent_in, self._policy.asked_s(failure.retry_after_s))
            raise failure
        limit.succeeded()
        return raw, self._clock.monotonic() - started

    def _refusal(self, raw: RawResponse, endpoint: Endpoint) -> SendFailure:
        """Say what a status other than 2xx means."""
        status = raw.status
        said = raw.body.decode("utf-8", errors="replace")
        if 300 <= status < 400:  # noqa: PLR2004 - HTTP
            to = raw.headers.get("Location", "").partition("?")[0] or "nowhere"
            return SendFailure(
                f"http-{status}",
                f"answered {status_text(status)}, a redirect to {to}; redirects are not followed",
                fatal=True,
                status=status,
                hint="write the URL that answers itself",
            )
        hint = _FATAL.get(status)
        if status in _KEY_REFUSED and endpoint.secret is not None:
            hint = (
                f"the key came from the environment variable {endpoint.secret.variable} "
                f"(secret {endpoint.secret.name!r})"
            )
        return SendFailure(
            f"http-{status}",
            f"answered {status_text(status)}",
            retry=is_retried(status),
            fatal=status in _FATAL,
            status=status,
            retry_after_s=parse_retry_after(raw.headers.get("Retry-After"), self._clock.wall()),
            hint=hint,
            said=said,
        )

    def _limit(self, endpoint: Endpoint) -> AdaptiveLimit:
        return self._limits.of(endpoint.origin, endpoint.parallelism)

    def _sending(self) -> Sender:
        if self._sender is None:
            from pytest_evalmetrics.transport.aiohttp_sender import (  # noqa: PLC0415 - if needed
                AiohttpSender,
            )

            self._sender = AiohttpSender()
        return self._sender
