"""Work done by actors of a Ray cluster, each with its share of the calls.

A worker has only jobs that can be done again: what it had paid for is in the journal, or lost
with it while under way.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.engines.jobs import Jobs
from pytest_evalmetrics.engines.ray_worker import Worker
from pytest_evalmetrics.engines.seats import seats_for
from pytest_evalmetrics.engines.users_code import make_kits, paths

if TYPE_CHECKING:
    from pytest_evalmetrics.engines.jobs import Job
    from pytest_evalmetrics.engines.protocol import Work
    from pytest_evalmetrics.engines.ray_cluster import Cluster
    from pytest_evalmetrics.engines.seats import Seat
    from pytest_evalmetrics.errors import EvalMetricsError

__all__ = ["Crew"]

_DEATHS: Final = 3  # of one seat's workers


class Crew:
    """Some workers that do the work of one benchmark.

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
        self._jobs = Jobs(work, self._tell)
        self._again: deque[Job] = deque()
        self._at: dict[int, Seat] = {}
        self._seats = seats_for(work, cluster.cpus())
        self._finished = asyncio.Event()

    async def run(self) -> None:
        """Do all jobs.

        Raises
        ------
        EvalMetricsError
            No row can be answered, or scored.
        EngineError
            The workers are gone, and no others come.
        """
        work = self._work
        self._secrets = {s.variable: s.reveal() for s in work.terms.secrets}
        shares = {seat.share for seat in self._seats}
        self._kits = make_kits(work, shares, self._root, self._cluster.dumps)
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
                self._bury(seat)
        if not any(other.ready or other.deaths < _DEATHS for other in self._seats):
            raise self._cluster.lost(lost)

    async def _begin(self, seat: Seat) -> None:
        actors = self._cluster.ray.remote(num_cpus=1, scheduling_strategy="SPREAD")(Worker)
        seat.actor = actors.remote()
        kit, folder = self._kits.of_share[seat.share], str(Path.cwd())
        begun = seat.actor.begin.remote(kit, self._secrets, paths(self._root), folder)
        asked = asyncio.ensure_future(_answer(begun))
        try:
            while not asked.done():
                await asyncio.wait((asked,), timeout=self._cluster.patience_s)
                if not asked.done() and not any(other.ready for other in self._seats):
                    raise self._cluster.no_core()
        finally:
            asked.cancel()
        error: EvalMetricsError | None = await asked
        if error is not None:
            raise self._kits.error(error)
        seat.ready = True
        self._pump()

    async def _listen(self, seat: Seat) -> None:
        while True:
            for message in await seat.actor.take.remote():
                self._jobs.hear(message, seat.outbox.append)
            for order in seat.jobs.keys() - self._jobs.under_way.keys():
                del seat.jobs[order], self._at[order]
            self._pump()

    def _bury(self, seat: Seat) -> None:
        """Let others do what a dead worker had."""
        self._dismiss(seat)
        seat.deaths += 1
        seat.ready = False
        seat.outbox.clear()
        jobs, seat.jobs = seat.jobs, {}
        for job in jobs.values():
            job.lost()
            del self._at[job.order]
        self._again = deque(sorted((*self._again, *jobs.values()), key=lambda job: job.order))
        self._pump()

    def _dismiss(self, seat: Seat) -> None:
        actor, seat.actor = seat.actor, None
        if actor is not None:
            with suppress(Exception):  # it is gone, or the cluster is
                self._cluster.ray.kill(actor)

    # -- jobs ---------------------------------------------------------------------------------

    def _pump(self) -> None:
        """Give every worker what it has room for, and what is to be said to it."""
        ready = [seat for seat in self._seats if seat.ready]
        # others may wait for the count of one that was lost: it waits for no room
        while ready and self._again:
            self._assign(self._again.popleft(), min(ready, key=lambda s: len(s.jobs)))
        hungry = deque(ready)
        while hungry:
            seat = hungry.popleft()
            if len(seat.jobs) >= seat.window:
                continue
            job = self._jobs.next()
            if job is None:
                break
            self._assign(job, seat)
            hungry.append(seat)
        for seat in ready:
            if seat.outbox:
                messages, seat.outbox = seat.outbox, []
                seat.actor.give.remote(messages)
        if self._jobs.all_done:
            self._finished.set()

    def _assign(self, job: Job, seat: Seat) -> None:
        seat.jobs[job.order] = job
        self._at[job.order] = seat
        seat.outbox.append(job.given)

    def _tell(self, order: int, message: Any) -> None:
        seat = self._at.get(order)
        if seat is not None:  # else its worker is lost: the next one is told
            seat.outbox.append(message)


async def _answer(ref: Any) -> Any:
    return await ref
