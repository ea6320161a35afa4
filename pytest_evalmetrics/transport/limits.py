"""How many calls an endpoint is given at once: as many as it bears."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_evalmetrics.transport.wire import Clock

__all__ = ["AdaptiveLimit", "Limits"]

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

    Parameters
    ----------
    ceiling
        What the user allows.
    clock
        For pauses that the endpoint asks for.
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
        """Halve the limit, and let nobody through for as long as the endpoint asked.

        Parameters
        ----------
        sent_in
            The round that `acquire` gave.
        pause_s
            Seconds.
        """
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
    """The limits of endpoints, each made at its first use.

    Parameters
    ----------
    clock
        See `AdaptiveLimit`.
    """

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
