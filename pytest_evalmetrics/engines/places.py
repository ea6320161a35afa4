"""The places at endpoints that one worker has, and waits for: they are the run's."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from pytest_evalmetrics.engines.messages import Granted

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_evalmetrics.engines.messages import Places
    from pytest_evalmetrics.transport.exchange import AdaptiveLimit, Limits

__all__ = ["PlacesOfOne"]


class PlacesOfOne:
    """The places of one worker, of limits that all workers share.

    Parameters
    ----------
    limits
        The limits.
    ceiling
        How many calls an endpoint is given at once.

    Attributes
    ----------
    held
        How many it has, by endpoint: calls under way, and answers that were not heard of.
    """

    def __init__(self, limits: Limits, ceiling: int) -> None:
        self.held: Counter[str] = Counter()
        self._limits = limits
        self._ceiling = ceiling
        self._waiting: set[asyncio.Task[None]] = set()

    def hear(self, news: Places, say: Callable[[Granted], None]) -> None:
        """Hear what places are wanted, and what became of others; `say` tells of those granted."""
        limit = self._limits.of(news.origin, self._ceiling)
        for sent_in, pause_s in news.overloaded:
            limit.overloaded(sent_in, pause_s)
        for _ in range(news.succeeded):
            limit.succeeded()
        self._free(news.origin, news.left)
        if news.wanted:
            waiting = asyncio.create_task(self._grant(news, limit, say))
            self._waiting.add(waiting)
            waiting.add_done_callback(self._waiting.discard)

    def give_back(self) -> None:
        """Give all back: the worker is gone."""
        for waiting in self._waiting:
            waiting.cancel()
        for origin, count in list(self.held.items()):
            self._free(origin, count)

    async def _grant(
        self, news: Places, limit: AdaptiveLimit, say: Callable[[Granted], None]
    ) -> None:
        for _ in range(news.wanted):
            sent_in = await limit.acquire()
            self.held[news.origin] += 1
            say(Granted(news.origin, sent_in))

    def _free(self, origin: str, count: int) -> None:
        if count:
            self.held[origin] -= count
            self._limits.of(origin, self._ceiling).release(count)
