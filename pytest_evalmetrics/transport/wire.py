"""What goes over the wire, and the seam under which a fake takes the network's place."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pytest_evalmetrics.transport.secrets import Secret

__all__ = ["Clock", "RawResponse", "Request", "SendFailure", "Sender"]


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request, ready to be sent.

    Attributes
    ----------
    method
        ``POST`` or ``GET``.
    url
        Where to.
    body
        Encoded JSON; None for none.
    headers
        Further headers, none of them secret.
    secret
        Sent as ``Authorization: Bearer ...``; only the sender reveals it.
    max_bytes
        The largest body that is read.
    """

    method: str
    url: str
    body: bytes | None
    headers: Mapping[str, str] = field(default_factory=dict)
    secret: Secret | None = None
    max_bytes: int = 16 * 2**20


@dataclass(frozen=True, slots=True)
class RawResponse:
    """What came back, unread.

    Attributes
    ----------
    status
        The HTTP status.
    headers
        The headers, asked for in their usual spelling (``Content-Type``).
    body
        The whole body, uncompressed; of an error page its beginning at least.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


class SendFailure(Exception):  # noqa: N818 - not one of the tree: it never leaves this room
    """An attempt that brought no usable answer.

    Parameters
    ----------
    kind
        The category, see `CallError`.
    message
        What happened, without secrets.
    retry
        Another attempt may succeed.
    fatal
        No call to this endpoint can succeed.
    status
        The HTTP status, where there was one.
    retry_after_s
        How long the endpoint asked us to wait.
    hint
        The way out.
    said
        The endpoint's answer as it came, for its own words; it may hold anything.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        retry: bool = False,
        fatal: bool = False,
        status: int | None = None,
        retry_after_s: float | None = None,
        hint: str | None = None,
        said: str = "",
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.retry = retry
        self.fatal = fatal
        self.status = status
        self.retry_after_s = retry_after_s
        self.hint = hint
        self.said = said
        self.attempts = 0


class Sender(Protocol):
    """Sends one request, once: no retries, no limits, no journal, no redirects.

    The caller bounds the time by cancelling. What it raises is a `SendFailure`, or
    a `TimeoutError`.
    """

    async def send(self, request: Request) -> RawResponse:
        """Send a request and read the whole answer."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


@dataclass(frozen=True, slots=True)
class Clock:
    """Time and chance, so that tests need neither.

    Attributes
    ----------
    monotonic
        Seconds from some start, for durations.
    wall
        Seconds since 1970, for dates.
    sleep
        Waits so many seconds.
    random
        A number in [0, 1).
    """

    monotonic: Callable[[], float] = time.perf_counter
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    random: Callable[[], float] = random.random
