"""Work done by actors of a Ray cluster, under limits that they share.

A worker has only jobs that can be done again: what it had paid for is with the run, or lost
with it while it held a place at an endpoint.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.engines.far_worker import Worker
from pytest_evalmetrics.engines.jobs import Jobs
from pytest_evalmetrics.engines.messages import Places
from pytest_evalmetrics.engines.places import PlacesOfOne
from pytest_evalmetrics.engines.seats import Seat, is_bounded, most_jobs, room_of_each, seats_wanted
from pytest_evalmetrics.engines.users_code import pack_kit, paths
from pytest_evalmetrics.transport import Clock
from pytest_evalmetrics.transport.exchange import Limits

if TYPE_CHECKING:
    from pytest_evalmetrics.engines.jobs import Job
    from pytest_evalmetrics.engines.protocol import Work
    from pytest_evalmetrics.engines.ray_cluster import Cluster
    from pytest_evalmetrics.errors import EvalMetricsError

__all__ = ["Crew"]

_DEATHS: Final = 3  # of one seat's workers
_LATE_S: Final = 30.0  # after which a worker's share of the jobs goes to those that are there


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
        count, limits = seats_wanted(work, cluster.cpus()), Limits(Clock())
        self._seats = [Seat(PlacesOfOne(limits, work.terms.parallelism)) for _ in range(count)]
        self._most, self._is_bounded = most_jobs(work, count), is_bounded(work)
        self._sends_soon = False
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
        self._secrets = {s.variable: s.reveal() for s in self._work.terms.secrets}
        self._packed = pack_kit(self._work, self._root, self._cluster.dumps)
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
