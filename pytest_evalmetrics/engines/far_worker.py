"""What works at rows on a node of the cluster: an actor with an event loop and a client of its own.

It knows nothing of Ray. Its answers go to the run's one journal, what the journal has is asked of
it, and so are places at endpoints; see `messages` for what is said.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from contextlib import suppress
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.engines.answering import answer_and_score
from pytest_evalmetrics.engines.far_job import NOW, FarJob, FarMeter, spender
from pytest_evalmetrics.engines.far_transport import FarTransport
from pytest_evalmetrics.engines.in_order import FirstOfJob, InOrder
from pytest_evalmetrics.engines.messages import (
    Admitted,
    Broken,
    Counted,
    Done,
    First,
    Given,
    Warned,
)
from pytest_evalmetrics.errors import EngineError, EvalMetricsError
from pytest_evalmetrics.generation import make_generator
from pytest_evalmetrics.registry import scorers, targets
from pytest_evalmetrics.scorers import RowCalls, make_scorers
from pytest_evalmetrics.scorers.one import score_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.engines.answering import Attempted
    from pytest_evalmetrics.engines.messages import Kit
    from pytest_evalmetrics.generation import Generator
    from pytest_evalmetrics.scorers import BoundScorer

__all__ = ["Worker"]

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
        """Make what scores, and who answers; give the error where they can't be made here.

        Parameters
        ----------
        kit
            A pickled `Kit`.
        secrets
            Variable -> value. They are in no kit, because what is large is put into the
            cluster's store, and on its disks.
        path
            Where the user's modules are found.
        folder
            Where pytest was started; where this node has it too, relative paths are as there.
        """
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
        calls = RowCalls(self._transport, row, first, self._kit.label, meter)
        hide = self._transport.hide
        if number is not None:
            await score_row(row, self._scorers[number], calls, job, hide)
            return None
        if self._generator is None:
            raise EngineError(f"nobody answers the rows of {self._kit.spec.name}")
        return await answer_and_score(row, self._generator, self._scorers, calls, job, hide=hide)
