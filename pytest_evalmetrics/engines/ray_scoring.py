"""The project's own scorers and targets, run by workers on a Ray cluster.

Everything else (calls of endpoints, the journal, limits, budgets, results) is done by the run's
own process, as in a local run: waiting for endpoints takes no core.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, cast

from pytest_evalmetrics.engines.local import Workload, score_here
from pytest_evalmetrics.engines.ray_worker import AnswerTask, Kit, ScoreTask, Worker
from pytest_evalmetrics.errors import EngineError, EvalMetricsError
from pytest_evalmetrics.generators import TargetGenerator
from pytest_evalmetrics.registry import scorers, targets
from pytest_evalmetrics.scorers import Calls, Explained, Row, Scores
from pytest_evalmetrics.spec.scorer_keys import CustomScorerSpec, PythonScorerSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import ModuleType

    from pytest_evalmetrics.engines.ray_engine import Cluster

_DEATHS: Final = 3  # of one slot's workers
_BATCH: Final = 64  # tasks at most that a worker gets at once
_SHORT_S, _LONG_S = 0.05, 0.2  # a batch that takes less is doubled, more is halved
_INSTALLED: Final = {"site-packages", "dist-packages"}


async def score_on(cluster: Cluster, work: Workload, root: Path) -> None:
    """Do a work, see `Engine.score`, as long as the head of the cluster is there."""
    scoring = asyncio.create_task(_score(cluster, work, root))
    watch = asyncio.create_task(cluster.watch_head())
    try:
        done, _ = await asyncio.wait((scoring, watch), return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in (scoring, watch):
            task.cancel()
        await asyncio.gather(scoring, watch, return_exceptions=True)


async def _score(cluster: Cluster, work: Workload, root: Path) -> None:
    # one that calls endpoints awaits them in this process, as in a local run
    own = [n for n, each in enumerate(work.scorers) if each.foreign and not each.calls]
    generator = None if work.answering is None else work.answering.generator
    target = generator if isinstance(generator, TargetGenerator) else None
    if not own and target is None:
        await score_here(work)
        return
    most = cluster.cpus()
    at_once = None
    if target is not None:
        most = min(most, work.terms.parallelism)
    elif not any(scorer.calls for scorer in work.scorers):
        at_once = _BATCH * most
    lanes = 1 if target is None else -(-work.terms.parallelism // most)
    pool = Pool(cluster, _pack(cluster, work, own, root), most, lanes, root)
    async with aclosing(pool):
        far = {
            id(work.scorers[n]): replace(
                work.scorers[n], target=_FarScorer(pool, n, work.scorers[n].scores), calls=True
            )
            for n in own
        }
        if target is not None:
            target.call_with(pool.answer)
        moved = replace(
            work,
            jobs=((row, far.get(id(scorer), scorer)) for row, scorer in work.jobs),
            scorers=tuple(far.get(id(scorer), scorer) for scorer in work.scorers),
        )
        try:
            await score_here(moved, at_once)
        finally:
            getattr(work.jobs, "close", lambda: None)()


@dataclass(frozen=True)
class _FarScorer:
    """Stands in for a scorer that runs on the cluster."""

    pool: Pool
    number: int
    scores: tuple[str, ...]

    async def score(self, row: Row, calls: Calls) -> Explained:
        del calls
        scores = cast("Scores", await self.pool.do(ScoreTask(self.number, row)))
        return Explained(scores, scores.reason)


# -- what workers need ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PackedKit:
    """A pickled `Kit`, and why the project's code is not in it, if so."""

    kit: bytes
    unsendable: str = ""

    def error(self, reason: EvalMetricsError) -> EvalMetricsError:
        """Return a worker's error, with what led to it."""
        if not self.unsendable:
            return reason
        return EngineError(
            f"the project's code can't be sent to the cluster: {self.unsendable}; and a worker "
            f"could not import it: {reason.message}",
            hint="create what can't be pickled (a lock, a client) where it is used; or let every "
            "node see the project's folder, or install it there as a package",
        )


def _pack(cluster: Cluster, work: Workload, own: Sequence[int], root: Path) -> PackedKit:
    specs = {n: work.spec.scorers[n] for n in own}
    names = [
        spec.type if isinstance(spec, CustomScorerSpec) else spec.function
        for spec in specs.values()
        if isinstance(spec, CustomScorerSpec | PythonScorerSpec)
    ]
    target = work.spec.target
    kit = Kit(
        version("pytest-evalmetrics"),
        {name: scorers.find(name).target for name in names},
        None if target is None else targets.find(target.function).target,
        specs,
        target,
        replace(work.terms, secrets={}),
    )
    try:
        return PackedKit(cluster.dumps(kit, tuple(_modules_below(root))))
    except Exception as error:  # noqa: BLE001 - whatever the project's classes raise
        # a module that holds a client, say: workers that see the folder import their own
        unsendable = f"{type(error).__name__}: {error}"
    try:
        return PackedKit(cluster.dumps(kit, ()), unsendable)
    except Exception as error:
        raise EngineError(
            f"the project's code can't be sent to the cluster: {unsendable}",
            hint="create what can't be pickled (a lock, a client) where it is used; or write it "
            "into a package that is installed on every node",
        ) from error


def _modules_below(root: Path) -> Iterator[ModuleType]:
    """Find the imported modules of a project, whose folder a node may not see."""
    own = __name__.partition(".")[0]
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not file or name == "__main__" or name.partition(".")[0] == own:
            continue
        path = Path(file).resolve()
        if path.is_relative_to(root.resolve()) and not _INSTALLED & set(path.parts):
            yield module


# -- workers ----------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class _Job:
    task: ScoreTask | AnswerTask
    outcome: asyncio.Future[Any] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class Pool:
    """Workers that are started as tasks come, and replaced when they die."""

    def __init__(
        self, cluster: Cluster, packed: PackedKit, most: int, lanes: int, root: Path
    ) -> None:
        self._cluster, self._packed = cluster, packed
        self._most, self._lanes = most, lanes  # workers, and batches that each has at once
        # workers look for modules as this process does ("" is the current folder), and in the root
        path = [str(Path(entry).absolute()) for entry in sys.path]
        self._path = path if str(root) in path else [*path, str(root)]
        self._waiting: deque[_Job] = deque()
        self._jobs: set[_Job] = set()
        self._any = asyncio.Event()
        self._slots: set[asyncio.Task[None]] = set()
        self._ready = 0
        self._error: BaseException | None = None

    async def aclose(self) -> None:
        """Let the workers end."""
        for slot in self._slots:
            slot.cancel()
        await asyncio.gather(*self._slots, return_exceptions=True)

    async def answer(self, row: Mapping[str, Any], sample: int) -> str:
        """Call the target on the cluster."""
        return cast("str", await self.do(AnswerTask(row, sample)))

    async def do(self, task: ScoreTask | AnswerTask) -> Scores | str:
        """Let a worker do a task; raise the error that it came to."""
        if self._error is not None:
            raise self._error
        job = _Job(task)
        self._jobs.add(job)
        self._waiting.append(job)
        self._any.set()
        if len(self._slots) < self._most:
            slot = asyncio.create_task(self._serve())
            self._slots.add(slot)
            slot.add_done_callback(self._ended)
        try:
            outcome = await job.outcome
        finally:
            self._jobs.discard(job)
        if isinstance(outcome, EvalMetricsError):
            raise outcome
        return cast("Scores | str", outcome)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Fail all tasks where no worker can start, or none is left."""
        error = None if task.cancelled() else task.exception()
        if error is None or self._error is not None:
            return
        lost = isinstance(error, self._cluster.lost_errors)
        if lost and not all(slot.done() for slot in self._slots):
            return
        self._error = self._cluster.lost(error) if lost else error
        for job in self._jobs:
            if not job.outcome.done():
                job.outcome.set_exception(self._error)

    async def _serve(self) -> None:
        """Keep one worker at work; raise the last error when several have died."""
        for death in range(1, _DEATHS + 1):
            actor = self._cluster.start(Worker)
            try:
                await self._begin(actor)
                await self._feed(actor)
            except self._cluster.lost_errors:
                await self._cluster.await_head()
                if death == _DEATHS:
                    raise
            finally:
                with suppress(Exception):  # it is gone, or the cluster is
                    self._cluster.ray.kill(actor)

    async def _begin(self, actor: Any) -> None:
        begun = asyncio.ensure_future(
            _answer(actor.begin.remote(self._packed.kit, self._path, str(Path.cwd())))
        )
        try:
            while not (await asyncio.wait((begun,), timeout=self._cluster.patience_s))[0]:
                if not self._ready:
                    raise self._cluster.no_core()
        finally:
            begun.cancel()
        error: EvalMetricsError | None = await begun
        if error is not None:
            raise self._packed.error(error)

    async def _feed(self, actor: Any) -> None:
        lanes = [asyncio.create_task(self._lane(actor)) for _ in range(self._lanes)]
        self._ready += 1
        try:
            await asyncio.gather(*lanes)
        finally:
            self._ready -= 1
            for lane in lanes:
                lane.cancel()
            await asyncio.gather(*lanes, return_exceptions=True)

    async def _lane(self, actor: Any) -> None:
        size = 1
        while True:
            while not self._waiting:
                self._any.clear()
                await self._any.wait()
            # leave some to the others
            fair = -(-len(self._waiting) // max(1, self._ready * self._lanes))
            batch = [self._waiting.popleft() for _ in range(min(size, fair))]
            begun = monotonic()
            try:
                outcomes = await _answer(actor.work.remote([job.task for job in batch]))
            except BaseException:
                self._waiting.extendleft(reversed(batch))
                self._any.set()
                raise
            for job, outcome in zip(batch, outcomes, strict=True):
                if not job.outcome.done():
                    job.outcome.set_result(outcome)
            took = monotonic() - begun
            if took < _SHORT_S:
                size = min(_BATCH, 2 * size)
            elif took > _LONG_S:
                size = max(1, size // 2)


async def _answer(ref: Any) -> Any:
    return await ref
