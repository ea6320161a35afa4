"""What scores rows on a node of the cluster: an actor with an event loop and a client of its own.

It knows nothing of Ray. Its answers go to the run's one journal, and what the journal has is
asked of it; see `messages` for what is said.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final, cast

from pytest_evalmetrics.engines.far_transport import NOW, FarTransport, Job, OfJob, spender
from pytest_evalmetrics.engines.in_order import FirstOfJob
from pytest_evalmetrics.engines.messages import Broken, Counted, Done, First, Found, Given, Warned
from pytest_evalmetrics.errors import EngineError, EvalMetricsError
from pytest_evalmetrics.registry import scorers as registered
from pytest_evalmetrics.scorers import RowCalls, make_scorers
from pytest_evalmetrics.scorers.one import score_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.engines.messages import Kit
    from pytest_evalmetrics.scorers import BoundScorer
    from pytest_evalmetrics.transport import Transport

__all__ = ["Worker"]

_LINGER_S: Final = (
    0.002  # what is said meanwhile goes along: a call of an actor takes a millisecond
)


class Worker:
    """Scores the rows that it is given; `take` gives what it has to say."""

    def __init__(self) -> None:
        self._said: list[Any] = []
        self._any = asyncio.Event()
        self._jobs: dict[int, Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._scorers: tuple[BoundScorer, ...] = ()
        self._label = ""
        self._transport: FarTransport

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
        self._transport = FarTransport(self, kit.mode)
        self._transport.keep_secret(kit.terms.secrets)
        for number, scorer in enumerate(self._scorers):
            for place, judge in enumerate(scorer.judges):
                judge.model.spending.add = spender(number, place)  # type: ignore[method-assign]

    def _start(self, given: Given) -> None:
        job = Job(given, asyncio.get_running_loop().create_future())
        if given.before is not None:
            job.count.set_result(given.before)
        self._jobs[given.order] = job
        task = asyncio.create_task(self._do(job))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _do(self, job: Job) -> None:
        NOW.set(job)
        order, row, scorer = job.given.order, job.given.row, self._scorers[job.given.scorer]
        first = FirstOfJob(job.given.before, lambda digest: self.say(First(order, digest)))
        transport = cast("Transport", OfJob(self._transport, job))
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
