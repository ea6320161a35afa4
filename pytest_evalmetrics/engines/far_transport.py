"""The transport of a worker: it sends from here, and what there is but one of is the run's."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Final, cast

from pytest_evalmetrics.engines.far_job import NOW, NotAdmitted
from pytest_evalmetrics.engines.far_limits import FarLimits
from pytest_evalmetrics.engines.in_order import UNSETTLED
from pytest_evalmetrics.engines.messages import Asked, Found, Kept, KeptFailure, Unanswered, Used
from pytest_evalmetrics.transport import CallError, JournalMode, Transport, UsageTally
from pytest_evalmetrics.transport.client import work_key
from pytest_evalmetrics.transport.endpoints import journal_key
from pytest_evalmetrics.transport.journal_store import Failure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from pytest_evalmetrics.engines.far_job import FarJob
    from pytest_evalmetrics.engines.messages import Granted
    from pytest_evalmetrics.transport import Answer, Journal, Price, Work
    from pytest_evalmetrics.transport.endpoints import Call
    from pytest_evalmetrics.transport.journal_store import Entry

__all__ = ["FarTransport"]

_UNTIL_DONE: Final = "(none)"  # the version of what has none: no journal is asked for it


class FarTransport(Transport):
    """Sends from here; journal, limits and tally are the run's.

    Whoever calls works at a job (`NOW`): its first call's count is the run's affair.

    Parameters
    ----------
    say
        Says something to the run.
    changed
        Hears that the limits have news.
    mode
        How the run's journal is used; None where there is none.
    at_once
        How many calls an endpoint is given at once, by all workers together.
    """

    def __init__(
        self,
        say: Callable[[Any], None],
        changed: Callable[[], None],
        mode: JournalMode | None,
        at_once: int,
    ) -> None:
        self._desk = _Desk(say, mode)
        self.limits = FarLimits(changed)
        super().__init__(cast("Journal", self._desk), usage=_Tally(say), limits=self.limits)
        self._at_once = at_once
        self._told = 0

    async def call(self, call: Call, *, occurrence: int = 0, **more: Any) -> Answer:
        """Answer a call, see `Transport`."""
        job = NOW.get()
        after = call.versions.get("after", "")
        if occurrence == UNSETTLED:
            occurrence = await job.settled()
        elif after.endswith(f"/{UNSETTLED}"):  # what comes after a call is known by its count
            settled = f"{after.rpartition('/')[0]}/{await job.settled()}"
            call = replace(call, versions={**call.versions, "after": settled})
        if self._asks(job):
            with suppress(CallError):  # it can't be written, as `call` says again
                await self._desk.ask(journal_key(call, occurrence, self.hide), job.given.order)
        return await _admitted(job, partial(super().call, call, occurrence=occurrence, **more))

    async def perform(
        self, work: Work, make: Callable[[], Awaitable[str]], *, occurrence: int = 0, **more: Any
    ) -> Answer:
        """Do something in place of a request, see `Transport`."""
        job = NOW.get()
        if occurrence == UNSETTLED:
            occurrence = await job.settled()
        for_good = work.version is not None
        if not for_good and self._desk.mode is not JournalMode.REPLAY:
            # the run keeps it until its row is done: should this worker be lost, that is not
            work = replace(work, version=_UNTIL_DONE)
        key = work_key(work, occurrence, self.hide)
        if not for_good:
            job.until_done.add(key)
        if self._asks(job) and (for_good or job.given.again):
            await self._desk.ask(key, job.given.order)
        limit = self.limits.of(work.name, self._at_once)

        async def make_in_place() -> str:
            await limit.acquire()
            try:
                return await make()
            finally:
                limit.release()

        do = partial(super().perform, work, make_in_place, occurrence=occurrence, **more)
        return await _admitted(job, do)

    def take(self, message: Found | Granted) -> None:
        """Take what the run has answered."""
        if isinstance(message, Found):
            self._desk.found(message)
        else:
            self.limits.granted(message)

    def new_warnings(self) -> Iterable[str]:
        """Give the warnings that were not given yet."""
        warnings = self.ledger.own_warnings[self._told :]
        self._told += len(warnings)
        return warnings

    def _asks(self, job: FarJob) -> bool:
        """Whether the run may have an answer: in its journal, or from a worker that is lost."""
        return self._desk.asks or job.given.again


async def _admitted(job: FarJob, send: Callable[[], Awaitable[Answer]]) -> Answer:
    """Send; where the run's meter was not asked yet, ask it, and send then."""
    try:
        return await send()
    except NotAdmitted:
        await job.admission()
    return await send()


class _Desk:
    """The run's journal, seen from a worker: what was asked for is here when it is looked up."""

    warnings: tuple[str, ...] = ()

    def __init__(self, say: Callable[[Any], None], mode: JournalMode | None) -> None:
        # without a journal too answers go to the run: should this worker be lost, they are not
        self.mode = JournalMode.REFRESH if mode is None else mode
        self.asks = self.mode is not JournalMode.REFRESH
        self._say = say
        self._numbers = count()
        self._questions: dict[int, asyncio.Future[Any]] = {}
        self._known: dict[bytes, Entry | Failure] = {}

    async def ask(self, key: bytes, order: int) -> None:
        number = next(self._numbers)
        answered = self._questions[number] = asyncio.get_running_loop().create_future()
        self._say(Asked(order, number, key))
        try:
            entry = await answered
        finally:
            del self._questions[number]
        if entry is not None:
            self._known[key] = entry

    def found(self, message: Found) -> None:
        answered = self._questions.get(message.question)
        if answered is not None and not answered.done():
            answered.set_result(message.entry)

    def get(self, key: bytes) -> Entry | None:
        known = self._known.get(key)
        if known is None or isinstance(known, Failure):
            return None
        del self._known[key]
        return known

    def failure(self, key: bytes) -> Failure | None:
        known = self._known.pop(key, None)
        return known if isinstance(known, Failure) else None

    def put(self, key: bytes, *, status: int, text: str, latency_s: float, attempts: int) -> None:
        job = NOW.get()
        for_good = key not in job.until_done
        self._say(Kept(job.given.order, key, status, text, latency_s, attempts, for_good))

    def put_failure(self, key: bytes, error: CallError, body: str | None = None) -> None:
        if key not in NOW.get().until_done:
            self._say(KeptFailure(key, error, body))

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


class _Tally(UsageTally):
    """Counts at the run."""

    def __init__(self, say: Callable[[Any], None]) -> None:
        super().__init__()
        self._say = say

    def answered(self, label: str, answer: Answer, price: Price | None = None) -> None:
        body = answer.body
        said = {"usage": body["usage"]} if isinstance(body, dict) and "usage" in body else None
        order = NOW.get().given.order
        self._say(Used(order, label, replace(answer, body=said), price))

    def failed(self, label: str, requests: int) -> None:
        self._say(Unanswered(label, requests))
