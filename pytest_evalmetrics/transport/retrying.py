"""When an attempt is repeated, and after how long."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, TypeVar

from pytest_evalmetrics.transport.wire import SendFailure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pytest_evalmetrics.transport.wire import Clock

__all__ = ["RetryPolicy", "is_retried", "parse_retry_after", "with_retries"]

_T = TypeVar("_T")
_RETRIED = frozenset({408, 425, 429})
_SERVER_ERRORS = range(500, 600)


def is_retried(status: int) -> bool:
    """Whether an HTTP status may be another one the next time."""
    return status in _RETRIED or status in _SERVER_ERRORS


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often, and how long between.

    Attributes
    ----------
    max_retries
        Attempts after the first one.
    base_s
        The longest wait after the first attempt; doubled after each further one.
    cap_s
        The longest wait of our own.
    retry_after_cap_s
        The longest wait that an endpoint can ask for.
    """

    max_retries: int = 3
    base_s: float = 1.0
    cap_s: float = 15.0
    retry_after_cap_s: float = 60.0

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
    """Read a Retry-After header: seconds, or an HTTP date (RFC 9110, 10.2.3).

    Parameters
    ----------
    text
        The header's value.
    now
        Seconds since 1970.

    Returns
    -------
    float or None
        Seconds to wait, 0 for a date that has passed; None where it says neither.
    """
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

    Returns
    -------
    tuple
        What the attempt gave, and how many attempts it took.

    Raises
    ------
    SendFailure
        The last one, with its `attempts`.
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
