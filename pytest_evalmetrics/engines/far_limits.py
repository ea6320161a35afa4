"""The limits of endpoints, as a worker sees them: the run has them, and gives out the places."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from pytest_evalmetrics.engines.messages import Places
from pytest_evalmetrics.transport import Clock
from pytest_evalmetrics.transport.exchange import AdaptiveLimit, Limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_evalmetrics.engines.messages import Granted

__all__ = ["FarLimit", "FarLimits"]


class FarLimit(AdaptiveLimit):
    """A limit that the run keeps.

    A place is free again when the run hears that it was left, which is when it hears of the
    answer too: who is lost takes no more answers along than it had places.

    Parameters
    ----------
    origin
        The endpoint.
    ceiling
        What the user allows.
    changed
        Hears that there is something to tell the run.
    """

    def __init__(self, origin: str, ceiling: int, changed: Callable[[], None]) -> None:
        super().__init__(ceiling, Clock())
        self._origin = origin
        self._changed = changed
        self._asking: deque[asyncio.Future[int]] = deque()
        self._news = Places(origin)

    async def acquire(self) -> int:
        """Ask the run for a place, and wait for it."""
        place: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._asking.append(place)
        self._news.wanted += 1
        self._changed()
        try:
            return await place
        except asyncio.CancelledError:
            if not place.cancelled():  # it was given just now
                self.release()
            raise

    def granted(self, sent_in: int) -> None:
        """Take a place that the run gives: as many as were asked for, whoever waits still."""
        while self._asking:
            place = self._asking.popleft()
            if not place.done():
                place.set_result(sent_in)
                return
        self.release()

    def release(self, count: int = 1) -> None:
        """Leave places."""
        self._news.left += count
        self._changed()

    def succeeded(self) -> None:
        """Tell the run of an answer without complaint."""
        self._news.succeeded += 1

    def overloaded(self, sent_in: int, pause_s: float = 0.0) -> None:
        """Tell the run that the endpoint has too much to do."""
        self._news.overloaded.append((sent_in, pause_s))

    def news(self) -> Places | None:
        """Give what the run was not told yet."""
        news = self._news
        if not (news.wanted or news.left):
            return None
        self._news = Places(self._origin)
        return news


class FarLimits(Limits):
    """The limits of the run's endpoints.

    Parameters
    ----------
    changed
        Hears that there is something to tell the run.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__(Clock())
        self._changed = changed
        self._far: dict[str, FarLimit] = {}

    def of(self, origin: str, ceiling: int) -> FarLimit:
        """Give an endpoint's."""
        limit = self._far.get(origin)
        if limit is None:
            limit = self._far[origin] = FarLimit(origin, ceiling, self._changed)
        return limit

    def granted(self, message: Granted) -> None:
        """Take a place that the run gives."""
        self._far[message.origin].granted(message.sent_in)

    def news(self) -> list[Places]:
        """Give what the run was not told yet."""
        return [news for limit in self._far.values() if (news := limit.news()) is not None]
