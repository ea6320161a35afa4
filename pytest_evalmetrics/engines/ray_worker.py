"""What scores rows on a node of the cluster: an actor with an event loop and a client of its own.

It knows nothing of Ray. Its answers go to the run's one journal, and what the journal has is
asked of it; see `messages` for what is said.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from itertools import count
from typing import TYPE_CHECKING, Any, Final, cast

from pytest_evalmetrics.engines.in_order import UNSETTLED, FirstOfJob
from pytest_evalmetrics.engines.messages import (
    Asked,
    Broken,
    Counted,
    Done,
    First,
    Found,
    Given,
    Kept,
    Spent,
    Unanswered,
    Used,
    Warned,
)
from pytest_evalmetrics.errors import EngineError, EvalMetricsError
from pytest_evalmetrics.registry import scorers as registered
from pytest_evalmetrics.scorers import RowCalls, make_scorers
from pytest_evalmetrics.scorers.one import score_row
from pytest_evalmetrics.transport import CallError, JournalMode, Transport, UsageTally
from pytest_evalmetrics.transport.calls import journal_key

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from pytest_evalmetrics.engines.messages import Kit
    from pytest_evalmetrics.errors import RowError
    from pytest_evalmetrics.scorers import BoundScorer, Exchange, Row, Scores
    from pytest_evalmetrics.transport import Answer, Journal, Price, Tokens
    from pytest_evalmetrics.transport.calls import Call
    from pytest_evalmetrics.transport.journal_store import Entry

__all__ = ["Worker"]

_LINGER_S: Final = (
    0.002  # what is said meanwhile goes along: a call of an actor takes a millisecond
)
_NOW: ContextVar[_Job] = ContextVar("_NOW")  # the job that a task, and those it starts, work at


@dataclass(eq=False)
class _Job:
    """A row and its scorer, and the sink that notes what came of it."""

    given: Given
    count: asyncio.Future[int]
    told: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)
    spent: list[Spent] = field(default_factory=list)

    def scored(self, row: Row, scorer: BoundScorer, found: Scores, *, from_journal: bool) -> None:
        del row, scorer
        self.told.append(("scored", (found,), {"from_journal": from_journal}))

    def lacks(self, row: Row, scorer: BoundScorer, error: RowError, reason: str) -> None:
        del row, scorer
        self.told.append(("lacks", (error, reason), {}))

    def explained(self, row: Row, scorer: BoundScorer, reason: str) -> None:
        del row, scorer
        self.told.append(("explained", (reason,), {}))

    def asked(self, row: Row, scorer: BoundScorer, found: Sequence[Exchange]) -> None:
        del row, scorer
        if found:
            self.told.append(("asked", (found,), {}))


class Worker:
    """Scores the rows that it is given; `take` gives what it has to say."""

    def __init__(self) -> None:
        self._said: list[Any] = []
        self._any = asyncio.Event()
        self._jobs: dict[int, _Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._scorers: tuple[BoundScorer, ...] = ()
        self._label = ""
        self._transport: _Transport

    async def begin(
        self, kit: bytes, secrets: dict[str, str], path: list[str]
    ) -> EvalMetricsError | None:
        """Make the scorers; give the error where they can't be made here.

        Parameters
        ----------
        kit
            A pickled `Kit`.
        secrets
            Variable -> value. They are in no kit, because what is large is put into the
            cluster's store, and on its disks.
        path
            Where the user's modules are found.
        """
        sys.path[:] = [*path, *(p for p in sys.path if p not in path)]
        try:
            self._make(pickle.loads(kit), secrets)  # noqa: S301 - from the run that this works for
        except EvalMetricsError as error:
            return error
        except Exception as error:  # noqa: BLE001 - the user's modules are imported here
            return EngineError(
                f"a worker of the cluster can't make the scorers: {type(error).__name__}: {error}",
                hint="what they import has to be installed on every node, or lie in the "
                "project's folder",
            )
        return None

    async def give(self, messages: Sequence[Given | Counted | Found]) -> None:
        """Take jobs, and answers to what was asked."""
        for message in messages:
            if isinstance(message, Given):
                self._start(message)
            elif isinstance(message, Counted):
                job = self._jobs.get(message.order)
                if job is not None and not job.count.done():
                    job.count.set_result(message.before)
            else:
                self._transport.found(message)

    async def take(self) -> list[Any]:
        """Give what there is to say, as soon as there is something."""
        await self._any.wait()
        await asyncio.sleep(_LINGER_S)
        self._any.clear()
        said, self._said = self._said, []
        return said

    def say(self, message: Any) -> None:
        """Say something to the run."""
        self._said.append(message)
        self._any.set()

    def _make(self, kit: Kit, secrets: dict[str, str]) -> None:
        here = version("pytest-evalmetrics")
        if here != kit.version:
            raise EngineError(
                f"a worker of the cluster has pytest-evalmetrics {here}, this run {kit.version}",
                hint="install the same on every node",
            )
        for name, target in kit.targets.items():
            registered.register(name)(target)
        os.environ.update(secrets)
        try:
            self._scorers = make_scorers(kit.specs, kit.terms, lambda *_: 0)
        finally:
            for variable in secrets:
                del os.environ[variable]
        self._label = kit.label
        self._transport = _Transport(self, kit.mode)
        self._transport.keep_secret(kit.terms.secrets)
        for number, scorer in enumerate(self._scorers):
            for place, judge in enumerate(scorer.judges):
                judge.model.spending.add = _spender(number, place)  # type: ignore[method-assign]

    def _start(self, given: Given) -> None:
        job = _Job(given, asyncio.get_running_loop().create_future())
        if given.before is not None:
            job.count.set_result(given.before)
        self._jobs[given.order] = job
        task = asyncio.create_task(self._do(job))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _do(self, job: _Job) -> None:
        _NOW.set(job)
        order, row, scorer = job.given.order, job.given.row, self._scorers[job.given.scorer]
        first = FirstOfJob(job.given.before, lambda digest: self.say(First(order, digest)))
        transport = cast("Transport", _OfJob(self._transport, job))
        try:
            calls = RowCalls(transport, row, first, self._label)
            await score_row(row, scorer, calls, job, self._transport.hide)
        except EvalMetricsError as error:
            self.say(Broken(error))
        except Exception as error:  # noqa: BLE001 - told where somebody reads it
            self.say(Broken(EngineError(f"a worker broke down: {type(error).__name__}: {error}")))
        else:
            for text in self._transport.new_warnings():
                self.say(Warned(text))
            self.say(Done(order, job.told, job.spent))
        finally:
            del self._jobs[order]


class _OfJob:
    """The transport as one job uses it: with its first call's count, and the run's journal."""

    def __init__(self, transport: _Transport, job: _Job) -> None:
        self._transport = transport
        self._job = job

    @property
    def memory(self) -> dict[Hashable, Any]:
        return self._transport.memory

    def hide(self, text: str) -> str:
        return self._transport.hide(text)

    async def call(self, call: Call, *, occurrence: int = 0, **more: Any) -> Answer:
        after = call.versions.get("after", "")
        if occurrence == UNSETTLED:
            occurrence = await self._job.count
        elif after.endswith(f"/{UNSETTLED}"):  # what comes after a call is known by its count
            settled = f"{after.rpartition('/')[0]}/{await self._job.count}"
            call = replace(call, versions={**call.versions, "after": settled})
        await self._transport.look_up(call, occurrence, self._job)
        return await self._transport.call(call, occurrence=occurrence, **more)


class _Transport(Transport):
    """Sends from here; journal and tally are the run's."""

    def __init__(self, worker: Worker, mode: JournalMode | None) -> None:
        self._desk = _Desk(worker, mode)
        super().__init__(cast("Journal", self._desk), usage=_Tally(worker))
        self._told = 0

    async def look_up(self, call: Call, occurrence: int, job: _Job) -> None:
        """Ask the run's journal, where it may have an answer."""
        if not (self._desk.asks or job.given.again):
            return
        with suppress(CallError):  # it can't be written, as `call` says again
            await self._desk.ask(journal_key(call, occurrence, self.hide), job.given.order)

    def found(self, message: Found) -> None:
        self._desk.found(message)

    def new_warnings(self) -> Iterable[str]:
        warnings = self._warnings[self._told :]
        self._told += len(warnings)
        return warnings


class _Desk:
    """The run's journal, seen from a worker: what was asked for is here when it is looked up."""

    warnings: tuple[str, ...] = ()

    def __init__(self, worker: Worker, mode: JournalMode | None) -> None:
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
        order = _NOW.get().given.order
        self._worker.say(Kept(order, key, status, text, latency_s, attempts))

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


class _Tally(UsageTally):
    """Counts at the run."""

    def __init__(self, worker: Worker) -> None:
        super().__init__()
        self._worker = worker

    def answered(self, label: str, answer: Answer, price: Price | None = None) -> None:
        body = answer.body
        said = {"usage": body["usage"]} if isinstance(body, dict) and "usage" in body else None
        order = _NOW.get().given.order
        self._worker.say(Used(order, label, replace(answer, body=said), price))

    def failed(self, label: str, requests: int) -> None:
        self._worker.say(Unanswered(label, requests))


def _spender(scorer: int, judge: int) -> Any:
    def add(attempts: int, latency_s: float, tokens: Tokens | None) -> None:
        _NOW.get().spent.append(Spent(scorer, judge, attempts, latency_s, tokens))

    return add
