"""Sending a call: attempts, the waits between them, the limit of calls in flight, and aiohttp."""

from __future__ import annotations

import asyncio
import errno
import io
import math
import os
import re
import socket
import ssl
from collections import defaultdict, deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_evalmetrics.transport import wire
from pytest_evalmetrics.transport.usage import duration
from pytest_evalmetrics.transport.wire import (
    Clock,
    PaidAnswer,
    RawResponse,
    SendFailure,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import aiohttp

    from pytest_evalmetrics.transport.endpoints import Endpoint

_NEVER_THERE = frozenset(
    {"refused", "dns", "unreachable", "html"}
)  # html may be a login page
_LATER = "run again later: paid answers are kept"


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The waits between attempts, and when an endpoint is given up."""

    base_s: float = (
        1.0  # the longest wait after the first attempt; doubled after each further one
    )
    cap_s: float = 15.0  # the longest wait of our own
    retry_after_cap_s: float = 60.0  # the longest wait that an endpoint can ask for
    window_s: float = 50.0  # an endpoint that fails for so long is given up
    failing: float = 0.9  # the share of attempts in that time
    attempts: int = 16  # the least number of them

    def wait_s(self, failed: int, retry_after_s: float | None, random: float) -> float:
        """Return the seconds to wait after `failed` attempts.

        Full jitter: uniform in [0, min(cap, base * 2**(failed - 1))), on top of what the
        endpoint asked for, so that the rows it turned away don't come back as one.

        Source: M. Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015.
        """
        longest = min(self.cap_s, self.base_s * 2.0 ** min(failed - 1, 30))
        return (retry_after_s or 0.0) + random * longest


class _AdaptiveLimit:
    """A limit of calls in flight: additive increase, multiplicative decrease.

    It starts at the ceiling, is halved when the endpoint is overloaded (429, 503, a timeout), and
    grows by one for each round of successes. Calls that were sent before the last halving don't
    halve it again: they tell of the load that was, not of the load that is.

    Source: D.-M. Chiu and R. Jain, "Analysis of the Increase and Decrease Algorithms for
    Congestion Avoidance in Computer Networks", 1989.
    """

    def __init__(self, clock: Clock, policy: RetryPolicy) -> None:
        self.ceiling, self.limit, self.in_flight = 0, 0.0, 0
        self._clock, self._policy = clock, policy
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._round = 0
        self._paused_until = 0.0
        self._started = clock.monotonic()
        self._attempts: deque[tuple[float, bool]] = (
            deque()
        )  # when, and whether it failed
        self._failed = 0  # of these

    def allow(self, ceiling: int) -> None:
        """Raise the ceiling, for a benchmark that allows more than those before it."""
        if ceiling > self.ceiling:
            self.limit += ceiling - self.ceiling
            self.ceiling = ceiling
            self._wake()

    async def acquire(self) -> int:
        """Wait for a place; return the round, to be given back with the outcome."""
        try:
            while True:
                while self.in_flight >= int(self.limit):
                    self._waiting.append(asyncio.get_running_loop().create_future())
                    await self._waiting[-1]
                pause = self._paused_until - self._clock.monotonic()
                if pause <= 0:
                    break
                await self._clock.sleep(pause)
        except asyncio.CancelledError:
            self._wake()  # it may have been woken for a place: wake the next one
            raise
        self.in_flight += 1
        return self._round

    def release(self) -> None:
        self.in_flight -= 1
        self._wake()

    def overloaded(self, sent_in: int, pause_s: float = 0.0) -> None:
        """Halve the limit, and send nothing for as long as the endpoint asked."""
        if sent_in == self._round:
            self._round += 1
            self.limit = max(1.0, self.limit / 2)
        if pause_s > 0:
            self._paused_until = max(
                self._paused_until, self._clock.monotonic() + pause_s
            )

    def succeeded(self) -> None:
        self.count(failed=False)
        if self.limit < self.ceiling:
            self.limit = min(float(self.ceiling), self.limit + 1.0 / self.limit)

    def count(self, *, failed: bool) -> bool:
        """Count an attempt; return whether nearly all have failed for some time."""
        now, policy = self._clock.monotonic(), self._policy
        self._attempts.append((now, failed))
        while self._attempts[0][0] < now - policy.window_s:
            self._failed -= self._attempts.popleft()[1]
        self._failed += failed
        attempts = len(self._attempts)
        return (
            now - self._started >= policy.window_s
            and attempts >= max(4, min(policy.attempts, 2 * self.ceiling))
            and self._failed >= policy.failing * attempts
        )

    def _wake(self) -> None:
        free = int(self.limit) - self.in_flight
        while free > 0 and self._waiting:
            place = self._waiting.popleft()
            if not place.done():  # one that was cancelled
                place.set_result(None)
                free -= 1


_FATAL = {  # statuses that stop a benchmark, and the way out
    402: "the account has no credit: add some, and run again; paid answers are kept",
    401: "the endpoint wants a key: name it with api_key_secret",
    403: "the endpoint wants a key that is allowed to do this: name it with api_key_secret",
    404: "nothing answers there: check the path of the URL, and the names in the request",
}

# a spent quota in `code`, `type` or `status` of a 429's error object, or in the words of any 429
_SPENT = re.compile(
    r'"(?:code|type|status|reason)"\s*:\s*"(?:insufficient_quota|billing_hard_limit_reached'
    r'|billing_not_active|credit_balance_too_low|insufficient_(?:credits?|balance|funds))"'
    r"|insufficient (?:credits?|balance|funds)|\b(?:out of|no|no more) credits\b"
    r"|credit balance is too low",
    re.IGNORECASE,
)


class RetryingSender:
    """Sends calls with retries and limits; the first to a URL goes alone: it may be wrong."""

    def __init__(
        self, sender: HttpSender | None, policy: RetryPolicy | None, clock: Clock | None
    ) -> None:
        self.sender = sender  # made with the first call
        self.in_flight = 0  # calls whose answers may be paid for
        self.is_stopping = False  # after a Ctrl-C
        self._policy = policy or RetryPolicy()
        self._clock = clock or Clock()
        self._limits: defaultdict[str, _AdaptiveLimit] = defaultdict(  # by origin
            lambda: _AdaptiveLimit(self._clock, self._policy)
        )
        # by URL and key: the end of its first call, and the failure that stops all
        self._first: dict[object, asyncio.Future[SendFailure | None]] = {}

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
        of = endpoint.url, endpoint.secret
        first = self._first.get(of)
        if first is None:
            first = self._first[of] = asyncio.get_running_loop().create_future()
            ended, is_there = None, False
            try:
                answer = await self._send(endpoint, payload)
                is_there = True
            except SendFailure as failure:
                failure.fatal = failure.fatal or failure.kind in _NEVER_THERE
                ended = failure if failure.fatal else None
                is_there = not failure.fatal
                raise
            else:
                return answer
            finally:
                if not is_there:  # or cancelled; the next benchmark asks alone again
                    del self._first[of]
                first.set_result(ended)
        if not first.done() and (failed := await asyncio.shield(first)) is not None:
            failed.attempts = 0  # nothing was sent for this one
            raise failed
        return await self._send(endpoint, payload)

    async def _send(self, endpoint: Endpoint, payload: bytes | None) -> PaidAnswer:
        if self.sender is None:  # loading takes time that is no latency
            self.sender = HttpSender()
        limit = self._limits[endpoint.origin]
        limit.allow(endpoint.parallelism)
        attempts = 0
        while True:
            attempts += 1
            try:
                raw, latency_s = await self._attempt(
                    self.sender, endpoint, payload, limit
                )
                return PaidAnswer(raw.status, wire.text_of(raw), latency_s, attempts)
            except SendFailure as failure:
                failure.attempts = attempts
                if not failure.retry or attempts > endpoint.max_retries:
                    raise
                wait = self._policy.wait_s(
                    attempts, failure.retry_after_s, self._clock.random()
                )
            await self._clock.sleep(wait)

    async def _attempt(
        self,
        sender: HttpSender,
        endpoint: Endpoint,
        payload: bytes | None,
        limit: _AdaptiveLimit,
    ) -> tuple[RawResponse, float]:
        sent_in = await limit.acquire()
        started = self._clock.monotonic()
        try:
            with self.flight():
                async with asyncio.timeout(endpoint.timeout_s):
                    raw = await sender.send(endpoint, payload)
            if not 200 <= raw.status < 300:  # HTTP
                raise self._refusal(raw, endpoint)
        except (TimeoutError, SendFailure) as error:
            failure = error
            if isinstance(failure, TimeoutError):
                what = f"no whole answer within {endpoint.timeout_s:g} s"
                failure = SendFailure("timeout", what, retry=True)
            if failure.kind == "timeout" or failure.status in (429, 503):
                limit.overloaded(sent_in, failure.retry_after_s or 0.0)
            if limit.count(failed=failure.retry) and failure.retry:
                failure.message += (
                    f"; over {100 * self._policy.failing:.0f} % of the attempts of the last "
                    f"{self._policy.window_s:.0f} s failed, so that the endpoint is given up"
                )
                failure.hint = failure.hint or _LATER
                failure.fatal, failure.retry = True, False
            raise failure from None
        finally:
            limit.release()
        limit.succeeded()
        return raw, self._clock.monotonic() - started

    def _refusal(self, raw: RawResponse, endpoint: Endpoint) -> SendFailure:
        """Make the failure of a status other than 2xx."""
        status, secret = raw.status, endpoint.secret
        message, hint = f"answered {wire.status_text(status)}", _FATAL.get(status)
        body = raw.body.decode("utf-8", errors="replace")
        wait_s = _asked_wait(raw.headers, self._clock.wall())
        longest = endpoint.longest_wait_s or self._policy.retry_after_cap_s
        may_pass = status in (408, 425, 429) or 500 <= status < 600  # HTTP
        if 300 <= status < 400:  # HTTP
            to = raw.headers.get("Location", "").partition("?")[0] or "nowhere"
            message += f", a redirect to {to}; redirects are not followed"
            hint, body = "write the URL that answers itself", ""
        elif status == 429 and _SPENT.search(body):  # HTTP
            hint = _FATAL[402]
        elif may_pass and wait_s is not None and wait_s > longest:
            hint = f"{_LATER}; or wait longer with params: {{max_wait: {wait_s:.0f}}}"
            message += f" and asked to wait {duration(wait_s)}, over the {longest:g} s of max_wait"
        elif status in (401, 403) and secret is not None:
            hint = f"the key is that of the variable {secret.variable} (secret {secret.name!r})"
        return SendFailure(
            f"http-{status}",
            message,
            retry=may_pass and hint is None,
            fatal=hint is not None,
            status=status,
            retry_after_s=wait_s,
            hint=hint,
            text=body,
        )


def _asked_wait(headers: Mapping[str, str], now: float) -> float | None:
    """Read the seconds of a Retry-After, or its date by the endpoint's clock (RFC 9110)."""
    value = headers.get("Retry-After", "")
    try:
        seconds = float(value)  # some servers send fractions
    except ValueError:
        try:
            until = _timestamp(value)
        except (
            ValueError,
            OverflowError,
        ):  # the latter of a year or a zone of many digits
            return None
        with suppress(ValueError, OverflowError):
            now = _timestamp(headers.get("Date", ""))
        seconds = until - now
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _timestamp(date: str) -> float:
    moment = parsedate_to_datetime(date)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


_JSON = "application/json"
_LARGE_BODY = (
    2**20
)  # from here on aiohttp wants a file: it would write the bytes in one go
_ERROR_PAGE = 64 * 2**10  # the largest error page that is read
_NO_SUCH_NAME = {
    getattr(socket, name, None)
    for name in ("EAI_NONAME", "EAI_NODATA", "EAI_ADDRFAMILY")
}


class HttpSender:
    """Sends a call once; the caller bounds the time by cancelling."""

    # aiohttp: it takes a third of a millisecond per call, and the httpx family brings anyio, whose
    # pytest plugin slows every pytest start.

    def __init__(self) -> None:
        with wire.needs_extra("remote", "calling an endpoint"):
            import aiohttp  # 230 ms, only where a client is made
        self._aiohttp = aiohttp
        self._session = aiohttp.ClientSession(
            # the limits are ours, and so is the time
            connector=aiohttp.TCPConnector(
                limit=0, resolver=aiohttp.ThreadedResolver()
            ),
            timeout=aiohttp.ClientTimeout(total=None),
            cookie_jar=aiohttp.DummyCookieJar(),  # a row's answer must not change the next one
            headers={"Accept": _JSON, "User-Agent": "pytest-evalmetrics"},
        )
        self._proxy_for = lru_cache(_proxy_for)

    async def send(self, endpoint: Endpoint, payload: bytes | None) -> RawResponse:
        """Send a call and read the whole answer; SendFailure or TimeoutError without one."""
        aiohttp, secret, proxy = (
            self._aiohttp,
            endpoint.secret,
            self._proxy_for(endpoint.url),
        )
        body: Any = None
        if payload is not None and len(payload) < _LARGE_BODY:
            body = aiohttp.BytesPayload(payload, content_type=_JSON)
        elif payload is not None:
            body = aiohttp.BytesIOPayload(io.BytesIO(payload), content_type=_JSON)
        try:
            async with self._session.post(
                endpoint.url,
                data=body,
                headers={"Authorization": f"Bearer {secret.reveal()}"}
                if secret
                else None,
                allow_redirects=False,
                proxy=proxy,
            ) as response:
                answer = await _read(response, endpoint.max_response_bytes)
                return RawResponse(response.status, response.headers, answer)
        except (aiohttp.ClientError, OSError, ssl.SSLError) as error:
            if isinstance(error, TimeoutError):
                raise TimeoutError from None
            raise _failure(aiohttp, error, endpoint.url, proxy) from None

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()


async def _read(response: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    """Read a body up to a bound, which holds for the uncompressed bytes."""
    is_error = not 200 <= response.status < 300  # HTTP
    bound = min(max_bytes, _ERROR_PAGE) if is_error else max_bytes
    try:
        body = await response.content.readexactly(bound + 1)
    except asyncio.IncompleteReadError as error:
        return error.partial
    response.close()  # the rest is never read: the connection can't be used again
    if is_error:
        return body[:bound]
    raise SendFailure("too-large", f"the answer is larger than {bound / 2**20:.3g} MiB")


def _failure(
    aiohttp: Any, error: Exception, url: str, proxy: str | None
) -> SendFailure:
    """Word an error of aiohttp; its own words may name proxies and passwords."""
    parts = urlsplit(url)
    where = f"{parts.hostname}:{parts.port or parts.scheme}"
    number = getattr(getattr(error, "os_error", None), "errno", None)
    hint = None
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        why = getattr(error.certificate_error, "verify_message", "") or "not trusted"
        kind, what = "tls", f"the TLS certificate of {where} is refused: {why}"
        hint = "SSL_CERT_FILE names the certificates that are trusted"
    elif isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
        inner = getattr(error, "os_error", error)
        reason = str(getattr(inner, "reason", None) or "the handshake failed")
        kind, what = (
            "tls",
            f"no TLS connection to {where}: {reason.replace('_', ' ').lower()}",
        )
        hint = "does this port speak TLS? If not, write http://"
    elif isinstance(
        error, aiohttp.ClientProxyConnectionError | aiohttp.ClientHttpProxyError
    ):
        answered = getattr(error, "status", None)
        how = (
            f"answered {wire.status_text(answered)}" if answered else "can't be reached"
        )
        named = (proxy or "").rpartition("@")[2].rpartition("//")[2]
        kind, what = "unreachable", f"the proxy {named} {how}"
        hint = f"the environment names it in HTTP(S)_PROXY; NO_PROXY={parts.hostname} goes past it"
    elif isinstance(error, aiohttp.ClientConnectorDNSError):
        kind, what = "dns", f"the name {parts.hostname or ''} does not resolve"
        what += (
            "" if number in _NO_SUCH_NAME else " now; the name server gave no answer"
        )
        hint = "is the host's name right, and is it known to this machine?"
    elif (
        isinstance(error, aiohttp.ClientConnectorError) and number == errno.ECONNREFUSED
    ):
        kind, what = "refused", f"{where} refused the connection"
        hint = "is the server running, and on this port?"
    elif isinstance(error, aiohttp.ClientConnectorError):
        why = os.strerror(number) if number and number > 0 else "no connection"
        kind, what = "unreachable", f"{where} can't be reached: {why}"
    elif isinstance(error, aiohttp.ClientResponseError):
        kind, what = "not-http", f"{where} did not answer in HTTP"
    elif isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
        kind, what = "bad-url", f"{parts.scheme}://{where} is not a usable URL"
    else:
        kind, what = (
            "closed",
            f"{where} closed the connection before the answer was whole",
        )
    fatal = kind in ("tls", "bad-url") or (kind == "dns" and number in _NO_SUCH_NAME)
    retry = not fatal and kind != "not-http"
    return SendFailure(kind, what, retry=retry, fatal=fatal, hint=hint)


def _proxy_for(url: str) -> str | None:
    """Return the environment's proxy for a URL; never one for this machine."""
    import ipaddress  # once per endpoint
    from urllib.request import getproxies, proxy_bypass  # the same

    parts = urlsplit(url)
    host = parts.hostname or ""
    if host == "localhost" or proxy_bypass(host):
        return None
    with suppress(ValueError):
        if ipaddress.ip_address(host).is_loopback:
            return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all") or ""
    return (
        proxy if proxy.startswith(("http://", "https://")) else None
    )  # no SOCKS in aiohttp
