"""The transport of a worker: it sends from here, and what there is but one of is the run's."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol, cast

from pytest_evalmetrics.engines.in_order import UNSETTLED
from pytest_evalmetrics.engines.messages import Asked, Found, Given, Kept, Spent, Unanswered, Used
from pytest_evalmetrics.transport import CallError, JournalMode, Transport, UsageTally
from pytest_evalmetrics.transport.calls import journal_key

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from pytest_evalmetrics.errors import RowError
    from pytest_evalmetrics.scorers import BoundScorer, Exchange, Row, Scores
    from pytest_evalmetrics.transport import Answer, Journal, Price, Tokens
    from pytest_evalmetrics.transport.calls import Call
    from pytest_evalmetrics.transport.journal_store import Entry

__all__ = ["NOW", "FarTransport", "Job", "OfJob", "spender"]

NOW: ContextVar[Job] = ContextVar("NOW")  # the job that a task, and those it starts, work at


class Speaker(Protocol):
    """A worker, as far as it is needed here."""

    def say(self, message: Any) -> None:
        """Say something to the run."""
        ...


@dataclass(eq=False)
class Job:
    """A row and its scorer, and the sink that notes what came of it."""

    given: Given
    count: asyncio.Future[int]
    told: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)
    spent: list[Spent] = field(default_factory=list)

    def scored(self, row: Row, scorer: BoundScorer, found: Scores, *, from_journal: bool) -> None:
        """Note scores."""
        del row, scorer
        self.told.append(("scored", (found,), {"from_journal": from_journal}))

    def lacks(self, row: Row, scorer: BoundScorer, error: RowError, reason: str) -> None:
        """Note why there are none."""
        del row, scorer
        self.told.append(("lacks", (error, reason), {}))

    def explained(self, row: Row, scorer: BoundScorer, reason: str) -> None:
        """Note why they are what they are."""
        del row, scorer
        self.told.append(("explained", (reason,), {}))

    def asked(self, row: Row, scorer: BoundScorer, found: Sequence[Exchange]) -> None:
        """Note what was asked."""
        del row, scorer
        if found:
            self.told.append(("asked", (found,), {}))


class OfJob:
    """The transport as one job uses it: with its first call's count, and the run's journal."""

    def __init__(self, transport: FarTransport, job: Job) -> None:
        self._transport = transport
        self._job = job

    @property
    def memory(self) -> dict[Hashable, Any]:
        """What is known of endpoints, see `Transport`."""
        return self._transport.memory

    def hide(self, text: str) -> str:
        """Hide secrets, see `Transport`."""
        return self._transport.hide(text)

    async def call(self, call: Call, *, occurrence: int = 0, **more: Any) -> Answer:
        """Answer a call, see `Transport`."""
        after = call.versions.get("after", "")
        if occurrence == UNSETTLED:
            occurrence = await self._job.count
        elif after.endswith(f"/{UNSETTLED}"):  # what comes after a call is known by its count
            settled = f"{after.rpartition('/')[0]}/{await self._job.count}"
            call = replace(call, versions={**call.versions, "after": settled})
        await self._transport.look_up(call, occurrence, self._job)
        return await self._transport.call(call, occurrence=occurrence, **more)


class FarTransport(Transport):
    """Sends from here; journal and tally are the run's."""

    def __init__(self, worker: Speaker, mode: JournalMode | None) -> None:
        self._desk = _Desk(worker, mode)
        super().__init__(cast("Journal", self._desk), usage=_Tally(worker))
        self._told = 0

    async def look_up(self, call: Call, occurrence: int, job: Job) -> None:
        """Ask the run's journal, where it may have an answer."""
        if not (self._desk.asks or job.given.again):
            return
        with suppress(CallError):  # it can't be written, as `call` says again
            await self._desk.ask(journal_key(call, occurrence, self.hide), job.given.order)

    def found(self, message: Found) -> None:
        """Take an answer of the journal."""
        self._desk.found(message)

    def new_warnings(self) -> Iterable[str]:
        """Give the warnings that were not given yet."""
        warnings = self._warnings[self._told :]
        self._told += len(warnings)
        return warnings


class _Desk:
    """The run's journal, seen from a worker: what was asked for is here when it is looked up."""

    warnings: tuple[str, ...] = ()

    def __init__(self, worker: Speaker, mode: JournalMode | None) -> None:
        # without a journal too answers go to the run: should this worker be lost, they are not
        self.mode = JournalMode.REFRESH if mode is None else mode
        self.asks = self.mode is not JournalMode.REFRESH
        self._worker = worker
        self._numbers = count()
        self._questions: dict[int, asyncio.Future[Any]] = {}
        self._known: dict[bytes, Entry] = {}

    async def ask(self, key: bytes, order: int) -> None:
        number = next(self._numbers)
        answered = self._questions[number] = asyncio.get_running_loop().create_future()
        self._worker.say(Asked(order, number, key))
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
        return self._known.pop(key, None)

    def put(self, key: bytes, *, status: int, text: str, latency_s: float, attempts: int) -> None:
        order = NOW.get().given.order
        self._worker.say(Kept(order, key, status, text, latency_s, attempts))

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


class _Tally(UsageTally):
    """Counts at the run."""

    def __init__(self, worker: Speaker) -> None:
        super().__init__()
        self._worker = worker

    def answered(self, label: str, answer: Answer, price: Price | None = None) -> None:
        body = answer.body
        said = {"usage": body["usage"]} if isinstance(body, dict) and "usage" in body else None
        order = NOW.get().given.order
        self._worker.say(Used(order, label, replace(answer, body=said), price))

    def failed(self, label: str, requests: int) -> None:
        self._worker.say(Unanswered(label, requests))


def spender(scorer: int, judge: int) -> Any:
    """Give what notes at its job what an answer of a judge took, see `Spending.add`."""

    def add(attempts: int, latency_s: float, tokens: Tokens | None) -> None:
        NOW.get().spent.append(Spent(scorer, judge, attempts, latency_s, tokens))

    return add
