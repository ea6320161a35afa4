"""Rows scored by actors of a Ray cluster, each with its share of the calls.

The run keeps what there is but one of: the order in which equal calls are counted, the
journal, the tally, the results. A worker has only jobs that can be done again: what it had
paid for is in the journal, or lost with it while under way.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.engines import messages as said
from pytest_evalmetrics.engines.in_order import InOrder
from pytest_evalmetrics.engines.ray_worker import Worker
from pytest_evalmetrics.engines.users_code import make_kits, modules_below
from pytest_evalmetrics.transport.journal_store import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_evalmetrics.engines.protocol import Work
    from pytest_evalmetrics.engines.ray_cluster import Cluster
    from pytest_evalmetrics.errors import EvalMetricsError
    from pytest_evalmetrics.scorers import BoundScorer, Row

__all__ = ["Crew"]

_EACH: Final = 8  # calls at once that are worth a worker of their own
_AHEAD: Final = 32  # jobs that a worker has where it makes no calls
_DEATHS: Final = 3  # of one seat's workers


@dataclass(eq=False)
class _Job:
    """A row and its scorer, until it is done."""

    order: int
    row: Row
    scorer: BoundScorer
    count: int | None = None
    again: bool = False
    kept: dict[bytes, Entry] = field(default_factory=dict)
    counted: int = 0  # answers that are in the tally, and will come from the journal


@dataclass(eq=False)
class _Seat:
    """A place at work: who dies there is replaced."""

    share: int
    window: int
    actor: Any = None
    ready: bool = False
    deaths: int = 0
    jobs: dict[int, _Job] = field(default_factory=dict)
    outbox: list[Any] = field(default_factory=list)


class Crew:
    """Some workers that score the rows of one benchmark.

    Parameters
    ----------
    cluster
        Where they work.
    work
        What they do.
    root
        The user's project.
    """

    def __init__(self, cluster: Cluster, work: Work, root: Path) -> None:
        self._cluster = cluster
        self._work = work
        self._root = root
        self._source: Iterator[tuple[Row, BoundScorer]] = iter(work.jobs)
        self._pulled = 0
        self._again: deque[_Job] = deque()
        self._open = True  # there may be more rows
        self._in_order = InOrder()
        self._at: dict[int, _Seat] = {}
        self._seats = [_Seat(share, self._window(share)) for share in self._shares()]
        self._numbers = {id(scorer): n for n, scorer in enumerate(work.scorers)}
        self._finished = asyncio.Event()

    async def run(self) -> None:
        """Score all rows.

        Raises
        ------
        EvalMetricsError
            No row can be scored.
        EngineError
            The workers are gone, and no others come.
        """
        work = self._work
        self._secrets = {s.variable: s.reveal() for s in work.terms.secrets}
        shares = {seat.share for seat in self._seats}
        self._kits = make_kits(work, shares, self._cluster.by_value(modules_below(self._root)))
        serving = [asyncio.create_task(self._serve(seat)) for seat in self._seats]
        finished = asyncio.create_task(self._finished.wait())
        try:
            while not finished.done():
                if not serving:
                    raise self._cluster.lost(None)
                done, _ = await asyncio.wait(
                    (finished, *serving), return_when=asyncio.FIRST_COMPLETED
                )
                for task in [task for task in serving if task in done]:
                    serving.remove(task)
                    task.result()
        finally:
            for each in (finished, *serving):
                each.cancel()
            await asyncio.gather(finished, *serving, return_exceptions=True)
            for seat in self._seats:
                self._dismiss(seat)
            close = getattr(self._work.jobs, "close", None)
            if close is not None:
                close()

    # -- who works, and how much --------------------------------------------------------------

    def _shares(self) -> list[int]:
        """Split the parallelism: nobody has more than a share, so all together have no more."""
        parallelism, scorers = self._work.terms.parallelism, self._work.scorers
        wanted = cpus = self._cluster.cpus()
        if any(scorer.calls for scorer in scorers):
            own = any(scorer.foreign for scorer in scorers)  # may need a core
            wanted = min(cpus, parallelism if own else ceil(parallelism / _EACH))
        share, more = divmod(parallelism, wanted)
        return [max(1, share + (n < more)) for n in range(wanted)]

    def _window(self, share: int) -> int:
        scorers = self._work.scorers
        if not any(scorer.calls for scorer in scorers):
            return _AHEAD
        # the user's own functions are bounded by the jobs alone; of others some wait at the
        # endpoint's limit, so that a way to the run and back costs no call
        return share if any(s.calls and s.foreign for s in scorers) else 2 * share

    # -- one seat -----------------------------------------------------------------------------

    async def _serve(self, seat: _Seat) -> None:
        lost: BaseException | None = None
        while seat.deaths < _DEATHS:
            try:
                await self._begin(seat)
                await self._listen(seat)
            except self._cluster.ray.exceptions.RayError as error:
                lost = error
                self._bury(seat)
        if not any(other.ready or other.deaths < _DEATHS for other in self._seats):
            raise self._cluster.lost(lost)

    async def _begin(self, seat: _Seat) -> None:
        actors = self._cluster.ray.remote(num_cpus=1, scheduling_strategy="SPREAD")(Worker)
        seat.actor = actors.remote()
        asked = asyncio.ensure_future(
            _answer(seat.actor.begin.remote(self._kits[seat.share], self._secrets, sys.path))
        )
        try:
            while not asked.done():
                await asyncio.wait((asked,), timeout=self._cluster.patience_s)
                if not asked.done() and not any(other.ready for other in self._seats):
                    raise self._cluster.no_core()
        finally:
            asked.cancel()
        error: EvalMetricsError | None = await asked
        if error is not None:
            raise error
        seat.ready = True
        self._pump()

    async def _listen(self, seat: _Seat) -> None:
        while True:
            for message in await seat.actor.take.remote():
                self._hear(seat, message)
            self._pump()

    def _bury(self, seat: _Seat) -> None:
        """Let others do what a dead worker had."""
        self._dismiss(seat)
        seat.deaths += 1
        seat.ready = False
        seat.outbox.clear()
        jobs, seat.jobs = seat.jobs, {}
        for job in jobs.values():
            job.again, job.counted = True, len(job.kept)
            del self._at[job.order]
        self._again = deque(sorted((*self._again, *jobs.values()), key=lambda job: job.order))
        self._pump()

    def _dismiss(self, seat: _Seat) -> None:
        actor, seat.actor = seat.actor, None
        if actor is not None:
            with suppress(Exception):  # it is gone, or the cluster is
                self._cluster.ray.kill(actor)

    # -- jobs ---------------------------------------------------------------------------------

    def _pump(self) -> None:
        """Give every worker what it has room for, and what is to be said to it."""
        ready = [seat for seat in self._seats if seat.ready]
        given: dict[_Seat, list[Any]] = {seat: seat.outbox for seat in ready}
        # others may wait for the count of one that was lost: it waits for no room
        while ready and self._again:
            self._assign(self._again.popleft(), min(ready, key=lambda s: len(s.jobs)), given)
        hungry = deque(ready)
        while hungry:
            seat = hungry.popleft()
            if len(seat.jobs) >= seat.window:
                continue
            job = self._next_job()
            if job is None:
                break
            self._assign(job, seat, given)
            hungry.append(seat)
        for seat, messages in given.items():
            if messages:
                seat.outbox = []
                seat.actor.give.remote(messages)
        if not self._open and not self._again and not self._at:
            self._finished.set()

    def _assign(self, job: _Job, seat: _Seat, given: dict[_Seat, list[Any]]) -> None:
        seat.jobs[job.order] = job
        self._at[job.order] = seat
        number = self._numbers[id(job.scorer)]
        given[seat].append(said.Given(job.order, job.row, number, job.count, job.again))
        if not job.scorer.calls:
            self._settle(job.order, None)

    def _next_job(self) -> _Job | None:
        found = next(self._source, None) if self._open else None
        if found is None:
            self._open = False
            return None
        job = _Job(self._pulled, *found)
        self._pulled += 1
        return job

    def _settle(self, order: int, digest: int | None) -> None:
        for settled, count in self._in_order.first(order, digest):
            seat = self._at.get(settled)
            if seat is None:  # its worker died: the next one is told
                self._set_count(settled, count)
                continue
            seat.jobs[settled].count = count
            seat.outbox.append(said.Counted(settled, count))

    def _set_count(self, order: int, count: int) -> None:
        for job in self._again:
            if job.order == order:
                job.count = count

    # -- what workers say ---------------------------------------------------------------------

    def _hear(self, seat: _Seat, message: Any) -> None:
        transport = self._work.transport
        match message:
            case said.First():
                self._settle(message.order, message.digest)
            case said.Asked():
                seat.outbox.append(said.Found(message.question, self._known(message)))
            case said.Kept():
                self._keep(message)
            case said.Used():
                self._use(message)
            case said.Unanswered():
                transport.usage.failed(message.label, message.requests)
            case said.Warned():
                transport.warn(message.text)
            case said.Done():
                self._done(seat, message)
            case said.Broken():
                raise message.error

    def _known(self, message: said.Asked) -> Entry | None:
        job = self._job(message.order)
        journal = self._work.transport.journal
        known = None if job is None else job.kept.get(message.key)
        if known is None and journal is not None:
            known = journal.get(message.key)
        return known

    def _keep(self, message: said.Kept) -> None:
        _, key, status, text, latency_s, attempts = message
        job = self._job(message.order)
        if job is not None:
            job.kept[key] = Entry(status, text, latency_s, attempts, 0.0, 0.0)
        journal = self._work.transport.journal
        if journal is not None:
            journal.put(key, status=status, text=text, latency_s=latency_s, attempts=attempts)

    def _use(self, message: said.Used) -> None:
        job = self._job(message.order)
        if job is not None and job.counted and message.answer.from_journal:
            job.counted -= 1  # a worker that died had it
            return
        self._work.transport.usage.answered(message.label, message.answer, message.price)

    def _done(self, seat: _Seat, message: said.Done) -> None:
        job = seat.jobs.pop(message.order)
        del self._at[message.order]
        self._settle(message.order, None)
        for name, found, more in message.told:
            getattr(self._work.sink, name)(job.row, job.scorer, *found, **more)
        for spent in message.spent:
            judge = self._work.scorers[spent.scorer].judges[spent.judge]
            judge.model.spending.add(spent.attempts, spent.latency_s, spent.tokens)

    def _job(self, order: int) -> _Job | None:
        seat = self._at.get(order)
        return None if seat is None else seat.jobs.get(order)


async def _answer(ref: Any) -> Any:
    return await ref
