"""Rows answered and scored by the actors of a Ray cluster.

The run keeps what there is but one of: the order of equal calls, the journal, the limits, the
tally, the results. A worker can be lost at any time: then its jobs are done again.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.engines import messages as said
from pytest_evalmetrics.engines.messages import Granted, InOrder, Places
from pytest_evalmetrics.engines.ray_engine import pack_kit, paths
from pytest_evalmetrics.engines.worker import Worker
from pytest_evalmetrics.transport import CallError, Clock, Entry, Limits, Occurrences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pytest_evalmetrics.engines.local import Work
    from pytest_evalmetrics.engines.ray_engine import Cluster
    from pytest_evalmetrics.errors import EvalMetricsError
    from pytest_evalmetrics.scorers import Row
    from pytest_evalmetrics.transport import AdaptiveLimit, Failure, Meter

__all__ = [
    "Crew",
    "Job",
    "Jobs",
    "PlacesOfOne",
    "Seat",
    "is_bounded",
    "most_jobs",
    "room_of_each",
    "seats_wanted",
]


@dataclass(eq=False)
class Job:
    """A row that is to be scored, or answered and scored, until it is done."""

    order: int
    row: Row
    scorer: int | None
    meter: Meter | None
    count: int | None = None  # of first calls with the same content before its own
    again: bool = False
    wishes: bool = False  # to be let make its calls
    kept: dict[bytes, Entry] = field(default_factory=dict)
    found: int = 0  # answers of the journal that are in the tally
    counted: int = 0  # answers that are in the tally, and will come again

    @property
    def given(self) -> said.Given:
        """What a worker is told."""
        return said.Given(self.order, self.row, self.scorer, self.count, self.again)

    def lost(self) -> None:
        """Let it be done again."""
        self.again, self.wishes = True, False
        self.counted = len(self.kept) + self.found


class Jobs:
    """The jobs of a work."""

    def __init__(self, work: Work, tell: Callable[[int, Any], None]) -> None:
        # the jobs that were given to somebody and are not done, by order
        self.under_way: dict[int, Job] = {}
        self._work = work
        self._tell = tell
        self._numbers = {id(scorer): n for n, scorer in enumerate(work.scorers)}
        self._pulled = 0
        self._open = True  # there may be more
        self._occurrences = Occurrences()
        self._firsts: InOrder[int] = InOrder()
        self._wishes: InOrder[bool] = InOrder()
        transport = work.transport
        self._hears: dict[type, Callable[[Any], None]] = {
            said.First: lambda it: self._settle(it.order, it.digest),
            said.Wished: lambda it: self._wish(it.order),
            said.Paid: self._pay,
            said.Kept: self._keep,
            said.KeptFailure: self._keep_failure,
            said.Used: self._use,
            said.Unanswered: lambda it: transport.usage.failed(it.label, it.requests),
            said.Warned: lambda it: transport.ledger.warn(it.text),
            said.Done: self._done,
        }

    @property
    def all_done(self) -> bool:
        """Whether there is nothing more to be done."""
        return not self._open and not self.under_way

    def next(self) -> Job | None:
        """Give the next job; None if there are no more."""
        found = next(self._work.jobs, None) if self._open else None
        if found is None:
            self._open = False
            return None
        row, scorer = found
        number = None if scorer is None else self._numbers[id(scorer)]
        meter = None if self._work.meter is None else self._work.meter()
        job = self.under_way[self._pulled] = Job(self._pulled, row, number, meter)
        self._pulled += 1
        if scorer is not None and not scorer.calls:
            self._makes_no_call(job.order)
        return job

    def close(self) -> None:
        """Let go of what the jobs come from, such as a file."""
        self._open = False
        close = getattr(self._work.jobs, "close", None)
        if close is not None:
            close()

    def hear(self, message: Any, answer: Callable[[Any], None]) -> None:
        """Hear what a worker says; `answer` says something to it."""
        if isinstance(message, said.Asked):
            answer(said.Found(message.question, self._known(message)))
        elif isinstance(message, said.Broken):
            raise message.error
        else:
            self._hears[type(message)](message)

    # -- what goes in the order of the rows ---------------------------------------------------

    def _settle(self, order: int, digest: int | None) -> None:
        for settled, content in self._firsts.hear(order, digest):
            count = self._occurrences.count(content)
            job = self.under_way.get(settled)
            if job is not None:
                job.count = count
                self._tell(settled, said.Counted(settled, count))

    def _wish(self, order: int) -> None:
        job = self.under_way.get(order)
        if job is None:
            return
        job.wishes = True
        if self._wishes.is_past(order):
            self._admit(order)
        self._pass(order, wishes=True)

    def _pass(self, order: int, *, wishes: bool) -> None:
        """Let those through, or not, whose turn it is: after all that were before them."""
        for turn, _ in self._wishes.hear(order, wishes or None):
            self._admit(turn)

    def _admit(self, order: int) -> None:
        job = self.under_way.get(order)
        if job is None or not job.wishes or job.meter is None:
            return
        job.wishes = False
        refusal = None
        try:
            job.meter.admit()
        except CallError as error:
            refusal = error
        self._tell(order, said.Admitted(order, refusal))

    def _makes_no_call(self, order: int) -> None:
        self._settle(order, None)
        self._pass(order, wishes=False)

    # -- what is kept and counted -------------------------------------------------------------

    def _known(self, message: said.Asked) -> Entry | Failure | None:
        job = self.under_way.get(message.order)
        journal = self._work.transport.ledger.journal
        known: Entry | Failure | None = None if job is None else job.kept.get(message.key)
        if known is None and journal is not None:
            known = journal.get(message.key) or journal.failure(message.key)
        return known

    def _pay(self, message: said.Paid) -> None:
        job = self.under_way.get(message.order)
        if job is not None and job.meter is not None:
            job.meter.paid(message.requests, message.tokens, message.price)

    def _keep(self, message: said.Kept) -> None:
        _, key, status, text, latency_s, attempts, for_good = message
        job = self.under_way.get(message.order)
        if job is not None:
            job.kept[key] = Entry(status, text, latency_s, attempts, 0.0, 0.0)
        journal = self._work.transport.ledger.journal
        if journal is not None and for_good:
            journal.put(key, status=status, text=text, latency_s=latency_s, attempts=attempts)

    def _keep_failure(self, message: said.KeptFailure) -> None:
        journal = self._work.transport.ledger.journal
        if journal is not None:
            journal.put_failure(*message)

    def _use(self, message: said.Used) -> None:
        job, from_journal = self.under_way.get(message.order), message.answer.from_journal
        if job is not None and from_journal:
            self._pass(message.order, wishes=False)
            if job.counted:  # a worker that is lost had it
                job.counted -= 1
                return
            job.found += 1
        self._work.transport.usage.answered(message.label, message.answer, message.price)

    def _done(self, message: said.Done) -> None:
        job = self.under_way.pop(message.order)
        self._makes_no_call(message.order)
        work = self._work
        for name, scorer, found, more in message.told:
            getattr(work.sink, name)(job.row, work.scorers[scorer], *found, **more)
        for spent in message.spent:
            judge = work.scorers[spent.scorer].judges[spent.judge]
            judge.model.spending.add(spent.attempts, spent.latency_s, spent.tokens)
        if message.attempted is not None and work.answering is not None:
            work.answering.attempted(job.row, message.attempted)


class PlacesOfOne:
    """The places of one worker, of limits that all workers share."""

    def __init__(self, limits: Limits, ceiling: int) -> None:
        # how many it has, by endpoint: calls under way, and answers that were not heard
        # of
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


_EACH: Final = 8  # calls at once that are worth a worker of their own
_AHEAD: Final = 32  # jobs that a worker has where it makes no calls


@dataclass(eq=False)
class Seat:
    """Room for a worker: who dies there is replaced."""

    places: PlacesOfOne  # what it has at endpoints
    actor: Any = None  # the worker; None where there is none now
    is_ready: bool = False  # it takes jobs
    is_expected: bool = True  # it does, or will soon
    is_asked: bool = False  # it was asked what it has to say: what goes there now goes by itself
    deaths: int = 0  # how many workers were lost here
    jobs: dict[int, Job] = field(default_factory=dict)  # what it is at, by order
    _outbox: list[Any] = field(default_factory=list)
    _sent: int = 0

    def say(self, message: Any) -> None:
        """Have something to say to the worker."""
        self._outbox.append(message)

    @property
    def has_post(self) -> bool:
        """Whether there is something to be said, and a worker that hears it."""
        return self.is_ready and bool(self._outbox)

    def post(self) -> tuple[int, list[Any]]:
        """Give what is to be said, and its number."""
        number, messages = self._sent, self._outbox
        self._sent, self._outbox = number + 1, []
        return number, messages

    def vacate(self) -> list[Job]:
        """Let the worker be gone; give what it was at."""
        self.places.give_back()
        self.actor, self.is_ready, self.is_asked = None, False, False
        jobs, self.jobs = list(self.jobs.values()), {}
        self._sent, self._outbox = 0, []
        return jobs


def seats_wanted(work: Work, cpus: int) -> int:
    """Choose how many workers there are."""
    parallelism = work.terms.parallelism
    # the user's own code may need a core
    own = work.spec.target is not None or any(scorer.foreign for scorer in work.scorers)
    if not _calls(work):
        return cpus
    return min(cpus, parallelism if own else ceil(parallelism / _EACH))


def most_jobs(work: Work, seats: int) -> int:
    """Choose how many jobs all workers have together.

    Of those that are not bounded some wait for what the journal has, and for a place at the
    endpoint, so that a way to the run and back keeps no place free.
    """
    if not _calls(work):
        return _AHEAD * seats
    return (work.stages if is_bounded(work) else work.stages + 2) * work.terms.parallelism


def is_bounded(work: Work) -> bool:
    """Whether there must be no more jobs, also while a worker that was given up comes at last.

    What the user's own scorers call is bounded by the jobs alone, and a budget by what is under
    way.
    """
    return work.meter is not None or any(s.calls and s.foreign for s in work.scorers)


def room_of_each(most: int, seats: Iterable[Seat]) -> int:
    """Choose how many of all jobs a worker has: as many as any other that is there or comes."""
    return ceil(most / max(1, sum(seat.is_expected for seat in seats)))


def _calls(work: Work) -> bool:
    return work.answering is not None or any(scorer.calls for scorer in work.scorers)


_DEATHS: Final = 3  # of one seat's workers
_LATE_S: Final = 30.0  # after which a worker's share of the jobs goes to those that are there


class Crew:
    """Some workers that do the work of one benchmark."""

    def __init__(self, cluster: Cluster, work: Work, root: Path) -> None:
        self._cluster = cluster
        self._work = work
        self._root = root
        self._jobs = Jobs(work, self._tell)
        self._again: deque[Job] = deque()
        self._at: dict[int, Seat] = {}
        count, limits = seats_wanted(work, cluster.cpus()), Limits(Clock())
        self._seats = [Seat(PlacesOfOne(limits, work.terms.parallelism)) for _ in range(count)]
        self._most, self._is_bounded = most_jobs(work, count), is_bounded(work)
        self._sends_soon = False
        self._finished = asyncio.Event()

    async def run(self) -> None:
        """Do all jobs."""
        self._secrets = {s.variable: s.reveal() for s in self._work.terms.secrets}
        self._packed = pack_kit(self._work, self._root, self._cluster.dumps)
        serving = [asyncio.create_task(self._serve(seat)) for seat in self._seats]
        finished = asyncio.create_task(self._finished.wait())
        watch = asyncio.create_task(self._cluster.watch_head())
        try:
            while not finished.done():
                if not serving:
                    raise self._cluster.lost(None)
                done, _ = await asyncio.wait(
                    (finished, watch, *serving), return_when=asyncio.FIRST_COMPLETED
                )
                if watch in done:
                    watch.result()
                for task in [task for task in serving if task in done]:
                    serving.remove(task)
                    task.result()
        finally:
            for each in (finished, watch, *serving):
                each.cancel()
            await asyncio.gather(finished, watch, *serving, return_exceptions=True)
            for seat in self._seats:
                self._dismiss(seat)
            self._jobs.close()

    # -- one seat -----------------------------------------------------------------------------

    async def _serve(self, seat: Seat) -> None:
        lost: BaseException | None = None
        while seat.deaths < _DEATHS:
            try:
                await self._begin(seat)
                await self._listen(seat)
            except self._cluster.ray.exceptions.RayError as error:
                lost = error
                await self._cluster.await_head()
                self._bury(seat)
        seat.is_expected = False
        self._deal()
        if not any(other.is_ready or other.deaths < _DEATHS for other in self._seats):
            raise self._cluster.lost(lost)

    async def _begin(self, seat: Seat) -> None:
        actors = self._cluster.ray.remote(num_cpus=1, scheduling_strategy="SPREAD")(Worker)
        seat.actor = actors.remote()
        begun = seat.actor.begin.remote(
            self._packed.kit, self._secrets, paths(self._root), str(Path.cwd())
        )
        asked = asyncio.ensure_future(_answer(begun))
        try:
            await self._wait_for_a_core(seat, asked)
        finally:
            asked.cancel()
        error: EvalMetricsError | None = await asked
        if error is not None:
            raise self._packed.error(error)
        seat.is_ready = seat.is_expected = True
        self._deal()

    async def _wait_for_a_core(self, seat: Seat, asked: asyncio.Future[Any]) -> None:
        patience = self._cluster.patience_s
        late = min(_LATE_S, patience)
        await asyncio.wait((asked,), timeout=late)
        if not asked.done():
            seat.is_expected = False
            self._deal()
            await asyncio.wait((asked,), timeout=patience - late)
        while not asked.done():
            if not any(other.is_ready for other in self._seats):
                raise self._cluster.no_core()
            await asyncio.wait((asked,), timeout=patience)

    async def _listen(self, seat: Seat) -> None:
        while True:
            await asyncio.sleep(0)  # places that were given back are granted: said by the way
            asked = seat.actor.take.remote(*seat.post())
            seat.is_asked = True
            said = await asked
            seat.is_asked = False
            for message in said:
                if isinstance(message, Places):
                    seat.places.hear(message, lambda granted: self._say(seat, granted))
                else:
                    self._jobs.hear(message, seat.say)
            for order in seat.jobs.keys() - self._jobs.under_way.keys():
                del seat.jobs[order], self._at[order]
            self._deal()

    def _bury(self, seat: Seat) -> None:
        """Let others do what a dead worker had."""
        seat.deaths += 1
        lost = self._dismiss(seat)
        for job in lost:
            job.lost()
            del self._at[job.order]
        self._again = deque(sorted((*self._again, *lost), key=lambda job: job.order))
        self._deal()

    def _dismiss(self, seat: Seat) -> list[Job]:
        actor = seat.actor
        if actor is not None:
            with suppress(Exception):  # it is gone, or the cluster is
                self._cluster.ray.kill(actor)
        return seat.vacate()

    # -- jobs ---------------------------------------------------------------------------------

    def _deal(self) -> None:
        """Give every worker the jobs that it has room for."""
        ready = sorted((seat for seat in self._seats if seat.is_ready), key=_load)
        # others may wait for the count of one that was lost: it waits for no room
        while ready and self._again:
            self._assign(self._again.popleft(), min(ready, key=_load))
        each = room_of_each(self._most, self._seats)
        hungry = deque(ready)
        while hungry and not (self._is_bounded and len(self._jobs.under_way) >= self._most):
            seat = hungry.popleft()
            if len(seat.jobs) >= each:
                continue
            job = self._jobs.next()
            if job is None:
                break
            self._assign(job, seat)
            hungry.append(seat)
        if self._jobs.all_done:
            self._finished.set()

    def _assign(self, job: Job, seat: Seat) -> None:
        seat.jobs[job.order] = job
        self._at[job.order] = seat
        self._say(seat, job.given)

    # -- what is said to workers --------------------------------------------------------------

    def _tell(self, order: int, message: Any) -> None:
        seat = self._at.get(order)
        if seat is not None:  # else its worker is lost: the next one is told
            self._say(seat, message)

    def _say(self, seat: Seat, message: Any) -> None:
        seat.say(message)
        if not self._sends_soon:  # all that there is to say by then goes together
            self._sends_soon = True
            loop = asyncio.get_running_loop()
            loop.call_soon(loop.call_soon, self._send)

    def _send(self) -> None:
        self._sends_soon = False
        for seat in self._seats:
            if seat.is_asked and seat.has_post:
                seat.actor.give.remote(*seat.post())


def _load(seat: Seat) -> int:
    return len(seat.jobs)


async def _answer(ref: Any) -> Any:
    return await ref
