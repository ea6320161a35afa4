"""What works at rows on a node of the cluster: an actor with an event loop and a client.

It knows nothing of Ray. The journal, the limits of endpoints and the tally are the run's.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from collections import deque
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from itertools import count
from typing import TYPE_CHECKING, Any, Final, cast

from pytest_evalmetrics.engines.local import answer_and_score
from pytest_evalmetrics.engines.messages import (
    UNSETTLED,
    Admitted,
    Asked,
    Broken,
    Counted,
    Done,
    First,
    FirstOfJob,
    Found,
    Given,
    InOrder,
    Kept,
    KeptFailure,
    Paid,
    Places,
    Spent,
    Unanswered,
    Used,
    Warned,
    Wished,
)
from pytest_evalmetrics.errors import EngineError, EvalMetricsError
from pytest_evalmetrics.generators import make_generator
from pytest_evalmetrics.registry import scorers, targets
from pytest_evalmetrics.scorers import Calls, make_scorers, score_row
from pytest_evalmetrics.transport import (
    AdaptiveLimit,
    CallError,
    Clock,
    Failure,
    JournalMode,
    Limits,
    Transport,
    UsageTally,
    journal_key,
    work_key,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from pytest_evalmetrics.engines.local import Attempted
    from pytest_evalmetrics.engines.messages import Granted, Kit
    from pytest_evalmetrics.errors import RowError
    from pytest_evalmetrics.generators import Generator
    from pytest_evalmetrics.scorers import BoundScorer, Exchange, Row, Scores
    from pytest_evalmetrics.transport import Answer, Call, Entry, Journal, Price, Tokens, Work

__all__ = [
    "NOW",
    "FarJob",
    "FarLimit",
    "FarLimits",
    "FarMeter",
    "FarTransport",
    "NotAdmitted",
    "Worker",
    "spender",
]

NOW: ContextVar[FarJob] = ContextVar("NOW")  # the job that a task, and those it starts, work at


class NotAdmitted(Exception):  # noqa: N818 - no error that anybody sees
    """The run was not asked yet whether this job may make its calls."""


class FarJob:
    """A job, and the sink that notes what came of its scorers."""

    def __init__(
        self, given: Given, number_of: Callable[[BoundScorer], int], say: Callable[[Any], None]
    ) -> None:
        self.given = given
        # keys of answers that the run keeps no longer than until this is done
        self.until_done: set[bytes] = set()
        self.told: list[tuple[str, int, tuple[Any, ...], dict[str, Any]]] = []  # see `Done`
        self.spent: list[Spent] = []
        self._number_of = number_of
        self._say = say
        self._count: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._admission: asyncio.Future[CallError | None] | None = None
        if given.before is not None:
            self.counted(given.before)

    def scored(self, row: Row, scorer: BoundScorer, found: Scores, *, from_journal: bool) -> None:
        """Note scores."""
        del row
        self._note("scored", scorer, found, from_journal=from_journal)

    def lacks(self, row: Row, scorer: BoundScorer, error: RowError, reason: str) -> None:
        """Note why there are none."""
        del row
        self._note("lacks", scorer, error, reason)

    def explained(self, row: Row, scorer: BoundScorer, reason: str) -> None:
        """Note why they are what they are."""
        del row
        self._note("explained", scorer, reason)

    def asked(self, row: Row, scorer: BoundScorer, found: Sequence[Exchange]) -> None:
        """Note what was asked."""
        del row
        if found:
            self._note("asked", scorer, found)

    async def settled(self) -> int:
        """Wait for how many first calls with the same content came before its own."""
        return await asyncio.shield(self._count)

    def counted(self, before: int) -> None:
        """Take the run's answer to that."""
        if not self._count.done():
            self._count.set_result(before)

    async def admission(self) -> None:
        """Ask the run whether this may make its calls, once."""
        if self._admission is None:
            self._admission = asyncio.get_running_loop().create_future()
            self._say(Wished(self.given.order))
        await asyncio.shield(self._admission)

    def admitted(self, refusal: CallError | None) -> None:
        """Take the run's answer to that."""
        if self._admission is not None and not self._admission.done():
            self._admission.set_result(refusal)

    def must_be_admitted(self) -> None:
        """Let a call be made."""
        if self._admission is None or not self._admission.done():
            raise NotAdmitted
        refusal = self._admission.result()
        if refusal is not None:
            raise refusal

    def _note(self, what: str, scorer: BoundScorer, *found: Any, **more: Any) -> None:
        self.told.append((what, self._number_of(scorer), found, more))


class FarMeter:
    """The run's meter, as one job's calls see it; see `transport.Meter`."""

    def __init__(self, job: FarJob, say: Callable[[Any], None]) -> None:
        self._job = job
        self._say = say

    def admit(self) -> None:
        """Let a call be sent."""
        self._job.must_be_admitted()

    def paid(self, requests: int, tokens: Tokens | None, price: Price | None) -> None:
        """Count a call that was sent."""
        self._say(Paid(self._job.given.order, requests, tokens, price))


def spender(scorer: int, judge: int) -> Any:
    """Give what notes at its job what an answer of a judge took, see `Spending.add`."""

    def add(attempts: int, latency_s: float, tokens: Tokens | None) -> None:
        NOW.get().spent.append(Spent(scorer, judge, attempts, latency_s, tokens))

    return add


class FarLimit(AdaptiveLimit):
    """A limit that the run keeps.

    A place is free again when the run hears that it was left, which is when it hears of the
    answer too: who is lost takes no more answers along than it had places.
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
    """The limits of the run's endpoints."""

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


_UNTIL_DONE: Final = "(none)"  # the version of what has none: no journal is asked for it


class FarTransport(Transport):
    """Sends from here; journal, limits and tally are the run's.

    Whoever calls works at a job (`NOW`): its first call's count is the run's affair.
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


# what is said meanwhile goes along: a call of an actor takes a millisecond
_LINGER_S: Final = 0.002


class Worker:
    """Scores rows, or answers and scores them; `take` gives what it has to say.

    What it is told is numbered, from 0: calls of an actor may overtake each other.
    """

    def __init__(self) -> None:
        self._post: InOrder[Sequence[Any]] = InOrder()
        self._said: list[Any] = []
        self._any = asyncio.Event()
        self._jobs: dict[int, FarJob] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._scorers: tuple[BoundScorer, ...] = ()
        self._generator: Generator | None = None
        self._kit: Kit
        self._transport: FarTransport

    async def begin(
        self, kit: bytes, secrets: dict[str, str], path: list[str], folder: str
    ) -> EvalMetricsError | None:
        """Make what scores, and who answers; give the error where they can't be made here."""
        sys.path[:] = [*path, *(p for p in sys.path if p not in path)]
        with suppress(OSError):
            os.chdir(folder)
        try:
            self._make(pickle.loads(kit), secrets)  # noqa: S301 - from the run that this works for
        except EvalMetricsError as error:
            return error
        except Exception as error:  # noqa: BLE001 - the user's modules are imported here
            return EngineError(
                f"a worker of the cluster can't get ready: {type(error).__name__}: {error}",
                hint="what the project's code imports has to be installed on every node, or lie "
                "in the project's folder",
            )
        return None

    async def give(self, number: int, messages: Sequence[Any]) -> None:
        """Take jobs, and answers to what was asked."""
        for _, turn in self._post.hear(number, messages):
            for message in turn:
                self._hear(message)

    async def take(self, number: int, messages: Sequence[Any]) -> list[Any]:
        """Take the same, and give what there is to say, as soon as there is something."""
        await self.give(number, messages)
        await self._any.wait()
        await asyncio.sleep(_LINGER_S)
        self._any.clear()
        said, self._said = self._said, []
        return [*said, *self._transport.limits.news()]

    def say(self, message: Any) -> None:
        """Say something to the run."""
        self._said.append(message)
        self._any.set()

    def _hear(self, message: Any) -> None:
        if isinstance(message, Given):
            self._start(message)
        elif not isinstance(message, Counted | Admitted):
            self._transport.take(message)
        elif (job := self._jobs.get(message.order)) is not None:
            if isinstance(message, Counted):
                job.counted(message.before)
            else:
                job.admitted(message.refusal)

    def _make(self, kit: Kit, secrets: dict[str, str]) -> None:
        here = version("pytest-evalmetrics")
        if here != kit.version:
            raise EngineError(
                f"a worker of the cluster has pytest-evalmetrics {here}, this run {kit.version}",
                hint="install the same on every node",
            )
        for registry, found in ((scorers, kit.scorers), (targets, kit.targets)):
            for name, target in found.items():
                registry.put(name, target)
        os.environ.update(secrets)
        try:
            self._scorers = make_scorers(kit.spec.scorers, kit.terms, lambda *_: 0)
            self._generator = make_generator(kit.spec, kit.terms, lambda *_: 0)
        finally:
            for variable in secrets:
                del os.environ[variable]
        self._numbers = {id(scorer): n for n, scorer in enumerate(self._scorers)}
        self._kit = kit
        at_once = kit.terms.parallelism
        self._transport = FarTransport(self.say, self._any.set, kit.mode, at_once)
        self._transport.keep_secret(kit.terms.secrets)
        for number, scorer in enumerate(self._scorers):
            for place, judge in enumerate(scorer.judges):
                judge.model.spending.add = spender(number, place)  # type: ignore[method-assign]

    def _start(self, given: Given) -> None:
        job = FarJob(given, lambda scorer: self._numbers[id(scorer)], self.say)
        self._jobs[given.order] = job
        task = asyncio.create_task(self._do(job))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _do(self, job: FarJob) -> None:
        NOW.set(job)
        order = job.given.order
        try:
            attempted = await self._came_to(job)
        except EvalMetricsError as error:
            self.say(Broken(error))
        except Exception as error:  # noqa: BLE001 - told where somebody reads it
            self.say(Broken(EngineError(f"a worker broke down: {type(error).__name__}: {error}")))
        else:
            for text in self._transport.new_warnings():
                self.say(Warned(text))
            self.say(Done(order, job.told, job.spent, attempted))
        finally:
            del self._jobs[order]

    async def _came_to(self, job: FarJob) -> Attempted | None:
        order, row, number, before, _ = job.given
        first = FirstOfJob(before, lambda digest: self.say(First(order, digest)))
        meter = FarMeter(job, self.say) if self._kit.metered else None
        calls = Calls(self._transport, row.sample, first, self._kit.label, meter)
        hide = self._transport.hide
        if number is not None:
            await score_row(row, self._scorers[number], calls, job, hide)
            return None
        if self._generator is None:
            raise EngineError(f"nobody answers the rows of {self._kit.spec.name}")
        return await answer_and_score(row, self._generator, self._scorers, calls, job, hide=hide)
