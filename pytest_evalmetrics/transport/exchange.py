"""One exchange with an endpoint: as many attempts as it takes, at the endpoint's pace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.transport.answers import status_text
from pytest_evalmetrics.transport.deadlines import Deadlines
from pytest_evalmetrics.transport.limits import Limits
from pytest_evalmetrics.transport.retrying import (
    RetryPolicy,
    is_retried,
    parse_retry_after,
    with_retries,
)
from pytest_evalmetrics.transport.wire import Clock, RawResponse, Request, Sender, SendFailure

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pytest_evalmetrics.transport.calls import Call, Endpoint
    from pytest_evalmetrics.transport.limits import AdaptiveLimit

__all__ = ["Exchange"]

_FATAL = {
    401: "the endpoint wants a key: name it with api_key_secret",
    403: "the endpoint wants a key that is allowed to do this: name it with api_key_secret",
    404: "nothing answers there: check the path of the URL, and the names in the request",
}
_KEY_REFUSED = (401, 403)
_OVERLOADED = (429, 503)


class Exchange:
    """Sends calls; knows nothing of journals.

    Parameters
    ----------
    sender
        By default one aiohttp session, made at the first request.
    policy
        How long is waited between attempts; the number of them is the endpoint's.
    clock
        Time and chance.
    limits
        Of the endpoints; by default its own.
    """

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
        self._deadlines: dict[float, Deadlines] = {}

    @property
    def is_open(self) -> bool:
        """There is something to close."""
        return self._sender is not None

    async def close(self) -> None:
        """Close the connections."""
        if self._sender is not None:
            await self._sender.close()

    async def send(self, call: Call, payload: bytes | None) -> tuple[RawResponse, float, int]:
        """Send a call.

        Returns
        -------
        raw, latency_s, attempts
            A 2xx answer, the seconds of the attempt that brought it, and how many there were.

        Raises
        ------
        SendFailure
            The last attempt's.
        """
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
            with self._deadline(endpoint.timeout_s):
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

    def _deadline(self, seconds: float) -> AbstractContextManager[object]:
        found = self._deadlines.get(seconds)
        if found is None:
            found = self._deadlines[seconds] = Deadlines(seconds)
        return found.start()

    def _sending(self) -> Sender:
        if self._sender is None:
            from pytest_evalmetrics.transport.aiohttp_sender import (  # noqa: PLC0415 - if needed
                AiohttpSender,
            )

            self._sender = AiohttpSender()
        return self._sender
