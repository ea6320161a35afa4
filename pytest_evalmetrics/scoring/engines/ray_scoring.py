"""The project's own scorers and targets, run by workers on a Ray cluster.

Everything else (calls of endpoints, the journal, limits, budgets, results) is done by the run's
own process, as in a local run: waiting for endpoints takes no core.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from contextlib import aclosing, suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
from msgspec import structs

from pytest_evalmetrics.errors import EngineError, EvalMetricsError
from pytest_evalmetrics.registry import scorers, targets
from pytest_evalmetrics.scoring.engines.local import Workload, score_here
from pytest_evalmetrics.scoring.generation import TargetGenerator
from pytest_evalmetrics.scoring.scorer_types import offer_scorers
from pytest_evalmetrics.scoring.scorers import (
    BoundScorer,
    Calls,
    Explained,
    Row,
    make_scorers,
)
from pytest_evalmetrics.spec.scorer_keys import CustomScorerSpec, PythonScorerSpec

if TYPE_CHECKING:
    from collections.abc import (
        Awaitable,
        Callable,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )
    from types import ModuleType

    from pytest_evalmetrics.scoring.engines.ray_engine import RayEngine

    # a scorer's number and a row, or None for the target, with an item and its sample
    Task: TypeAlias = tuple[int | None, *tuple[object, ...]]

_DEATHS: Final = 3  # of one slot's workers
_BATCH: Final = 64  # tasks at most that a worker gets at once
_BATCH_S: Final = 0.1  # a batch that takes less is doubled, else halved
_INSTALLED: Final = {"site-packages", "dist-packages"}
_CREATE_LATE: Final = "create what can't be pickled (a lock, a client) where it is used"
_PACKAGE: Final = "pytest-evalmetrics"


async def score_on(engine: RayEngine, work: Workload, root: Path) -> None:
    """Do a work, see `Engine.score`; end it as soon as the head or all workers are gone."""
    lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    scoring = asyncio.create_task(_score(engine, work, root, lost))
    waiting = (scoring, asyncio.create_task(engine.watch_head()), lost)
    try:
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for future in done:
            future.result()
    finally:
        for future in waiting:
            future.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


def _target_of(work: Workload) -> TargetGenerator | None:
    """Return the function that answers the rows; None where a model does, or nothing."""
    if work.answering is None:
        return None
    generator = work.answering.generator
    return generator if isinstance(generator, TargetGenerator) else None


async def _score(
    engine: RayEngine, work: Workload, root: Path, lost: asyncio.Future[None]
) -> None:
    # scorers that call endpoints await them in this process, as in a local run
    own = {
        number: scorer
        for number, scorer in enumerate(work.scorers)
        if scorer.foreign and not scorer.calls
    }
    target = _target_of(work)
    if not own and target is None:
        await score_here(work)
        return
    await asyncio.to_thread(engine.must_have_a_core)
    workers = engine.cpus()
    lanes = 1
    at_once = None
    if target is not None:
        workers = min(workers, work.terms.parallelism)
        lanes = -(-work.terms.parallelism // workers)
    elif not any(scorer.calls for scorer in work.scorers):
        at_once = _BATCH * workers
    kit, unsendable = _pack(engine, work, own, root)
    # where this process finds modules ("" is its own folder), and the root
    folders = (*sys.path, str(root))
    path = list(dict.fromkeys(os.path.abspath(folder) for folder in folders))  # noqa: ASYNC240, PTH100 - "" is this folder
    pool = _Pool(
        engine=engine,
        kit=kit,
        unsendable=unsendable,
        path=path,
        most=workers,
        lanes=lanes,
        lost=lost,
    )
    async with aclosing(pool):
        if target is not None:
            target.call = partial(pool.do, None)
        moved = moved_work(work, own, pool.do)
        try:
            await score_here(moved, at_once)
        finally:
            getattr(work.jobs, "close", lambda: None)()


def moved_work(
    work: Workload, own: Mapping[int, BoundScorer], do: Callable[..., Awaitable[Any]]
) -> Workload:
    """Replace the scorers that run on the cluster, by their places, with what calls them there."""
    far: dict[int, BoundScorer] = {}
    for number, scorer in own.items():
        function = _FarScorer(do, number).score
        far[id(scorer)] = structs.replace(scorer, function=function, calls=True)
    jobs = ((row, far.get(id(scorer), scorer)) for row, scorer in work.jobs)
    scorers_here = tuple(far.get(id(scorer), scorer) for scorer in work.scorers)
    return structs.replace(work, jobs=jobs, scorers=scorers_here)


class _FarScorer(msgspec.Struct, frozen=True):
    """A local proxy of a scorer that runs on the cluster."""

    do: Callable[..., Awaitable[Any]]
    number: int

    async def score(self, row: Row, calls: Calls) -> Explained:
        del calls
        explained: Explained = await self.do(self.number, row)
        return explained


# -- what workers need ----------------------------------------------------------------------


def _pack(
    engine: RayEngine, work: Workload, own: Iterable[int], root: Path
) -> tuple[bytes, str]:
    """Pickle the input of a worker, without secrets; return why the project's code is missing."""
    specs = {n: work.spec.scorers[n] for n in own}
    names = [
        getattr(spec, "function", spec.type)
        for spec in specs.values()
        if isinstance(spec, CustomScorerSpec | PythonScorerSpec)
    ]
    target = work.spec.target
    kit = {
        "version": version(_PACKAGE),
        "registered": {name: scorers.find(name).target for name in names},
        "scorers": specs,
        "target": target,
        "function": None if target is None else targets.find(target.function).target,
        "terms": structs.replace(work.terms, secrets={}),
    }
    pickler = engine.ray.cloudpickle
    unsendable = ""
    # a module that holds a client can't be sent: workers that see the folder import their own
    for modules in (list(_modules_below(root)), []):
        try:
            for module in modules:
                pickler.register_pickle_by_value(module)
            return bytes(pickler.dumps(kit)), unsendable
        except Exception as error:  # noqa: BLE001 - whatever the project's classes raise
            unsendable = unsendable or f"{type(error).__name__}: {error}"
        finally:
            for module in modules:
                pickler.unregister_pickle_by_value(module)
    raise EngineError(
        f"the project's code can't be sent to the cluster: {unsendable}",
        hint=f"{_CREATE_LATE}; or write it into a package that is installed on every node",
    )


def _modules_below(root: Path) -> Iterator[ModuleType]:
    """Find the imported modules of a project, to be sent to nodes without its folder."""
    own = __name__.partition(".")[0]
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not file or name == "__main__" or name.partition(".")[0] == own:
            continue
        path = Path(file).resolve()
        if path.is_relative_to(root.resolve()) and not _INSTALLED & set(path.parts):
            yield module


class _Pool(msgspec.Struct, eq=False):
    """Workers that are started as tasks come, and replaced when they die."""

    engine: RayEngine
    kit: bytes
    unsendable: str
    # where workers look for modules
    path: list[str]
    # workers
    most: int
    # batches that each has at once
    lanes: int
    # gets the error that ends the scoring
    lost: asyncio.Future[None]
    waiting: asyncio.Queue[tuple[Task, asyncio.Future[object]]] = msgspec.field(
        default_factory=asyncio.Queue
    )
    slots: set[asyncio.Task[None]] = msgspec.field(default_factory=set)
    ready: int = 0

    async def aclose(self) -> None:
        """End the workers."""
        for slot in self.slots:
            slot.cancel()
        await asyncio.gather(*self.slots, return_exceptions=True)

    async def do(self, *task: Any) -> Any:
        """Do a task on a worker; raise the error that it returned."""
        outcome: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self.waiting.put_nowait((task, outcome))
        if len(self.slots) < self.most:
            slot = asyncio.create_task(self._serve())
            self.slots.add(slot)
            slot.add_done_callback(self._ended)
        result = await outcome
        if isinstance(result, EvalMetricsError):
            raise result
        return result

    def _ended(self, slot: asyncio.Task[None]) -> None:
        """End the scoring where no worker can start, or none is left."""
        error = None if slot.cancelled() else slot.exception()
        if error is None or self.lost.done():
            return
        if not isinstance(error, self.engine.lost_errors):
            self.lost.set_exception(error)
        elif all(each.done() for each in self.slots):
            self.lost.set_exception(self.engine.lost(error))

    async def _serve(self) -> None:
        """Keep one worker at work; raise the last error when several have died."""
        for death in range(1, _DEATHS + 1):
            options = {"num_cpus": 1, "scheduling_strategy": "SPREAD"}
            actor = self.engine.ray.remote(**options)(Worker).remote()
            lanes: list[asyncio.Task[None]] = []
            try:
                error = await actor.begin.remote(self.kit, self.path, str(Path.cwd()))
                if error is not None and not self.unsendable:
                    raise error
                if error is not None:
                    raise EngineError(
                        f"the project's code can't be sent to the cluster: {self.unsendable}; and "
                        f"a worker could not import it: {error.message}",
                        hint=f"{_CREATE_LATE}; or let every node see the project's folder, or "
                        "install it there as a package",
                    )
                lanes += [
                    asyncio.create_task(self._lane(actor)) for _ in range(self.lanes)
                ]
                self.ready += 1
                await asyncio.gather(*lanes)
            except self.engine.lost_errors:
                await self.engine.await_head()
                if death == _DEATHS:
                    raise
            finally:
                self.ready -= bool(lanes)
                for lane in lanes:
                    lane.cancel()
                await asyncio.gather(*lanes, return_exceptions=True)
                with suppress(Exception):  # the actor or the cluster is gone
                    self.engine.ray.kill(actor)

    async def _lane(self, actor: Any) -> None:
        """Send batches to a worker one after the other, of a size that takes a moment."""
        size = 1
        while True:
            batch = [await self.waiting.get()]
            # leave some to the others
            fair = -(-self.waiting.qsize() // (self.ready * self.lanes))
            batch += [self.waiting.get_nowait() for _ in range(min(size - 1, fair))]
            begun = monotonic()
            try:
                results = await actor.work.remote([task for task, _ in batch])
            except BaseException:
                for each in batch:
                    self.waiting.put_nowait(each)
                raise
            for (_, outcome), result in zip(batch, results, strict=True):
                if not outcome.done():
                    outcome.set_result(result)
            took = monotonic() - begun
            size = min(_BATCH, 2 * size) if took < _BATCH_S else max(1, size // 2)


# -- on a node ------------------------------------------------------------------------------


class Worker:
    """Scores rows and calls the target; errors are returned, as Ray would change their class."""

    async def begin(
        self, kit: bytes, path: list[str], folder: str
    ) -> EvalMetricsError | None:
        """Import the project's code; return why that fails."""
        sys.path[:] = [*path, *(p for p in sys.path if p not in path)]
        with suppress(OSError):
            os.chdir(folder)
        try:
            needs = pickle.loads(kit)  # noqa: S301 - from the run that this works for
            here = version(_PACKAGE)
            terms = needs["terms"]
            target = needs["target"]
            if here != needs["version"]:
                versions = f"{_PACKAGE} {here}, this run {needs['version']}"
                hint = "install the same version on every node"
                return EngineError(f"a worker of the cluster has {versions}", hint=hint)
            offer_scorers()
            for name, scorer in needs["registered"].items():
                scorers.put(name, scorer)
            self._functions: dict[
                int | None, Callable[..., Awaitable[Explained | str]]
            ] = {}
            for number, spec in needs["scorers"].items():
                (bound,) = make_scorers((spec,), terms, lambda *_: 0)
                self._functions[number] = bound.score_alone
            if target is not None:
                targets.put(target.function, needs["function"])
                self._functions[None] = TargetGenerator(target, terms).answer
        except EvalMetricsError as error:
            return error
        except Exception as error:  # noqa: BLE001 - the project's modules are imported here
            return EngineError(
                f"a worker of the cluster can't start: {type(error).__name__}: {error}",
                hint="what the project's code imports has to be installed on every node, or lie "
                "in the project's folder",
            )
        return None

    async def work(
        self, tasks: Sequence[Task]
    ) -> list[Explained | str | EvalMetricsError]:
        """Do tasks side by side; a scorer sees one row at a time."""
        return await asyncio.gather(*(self._do(*task) for task in tasks))

    async def _do(
        self, function: int | None, *given: object
    ) -> Explained | str | EvalMetricsError:
        try:
            return await self._functions[function](*given)
        except EvalMetricsError as error:
            return error
