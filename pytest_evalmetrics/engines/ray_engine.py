"""The engine that works on a Ray cluster. The only module that imports Ray."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import socket
import sys
import time
import warnings
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.engines.messages import Kit
from pytest_evalmetrics.errors import EngineError
from pytest_evalmetrics.registry import scorers, targets
from pytest_evalmetrics.spec import CustomScorerSpec, PythonScorerSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.engines.local import Engine, Work
    from pytest_evalmetrics.errors import EvalMetricsError
    from pytest_evalmetrics.rollouts import Request, RolloutFile
    from pytest_evalmetrics.spec import BenchmarkSpec

__all__ = ["Cluster", "PackedKit", "RayEngine", "modules_below", "pack_kit", "paths"]

_INSTALLED: Final = ("site-packages", "dist-packages")


@dataclass(frozen=True, slots=True)
class PackedKit:
    """What workers need before their first row."""

    kit: bytes  # A pickled `Kit`
    # what of the project's code could not be sent: workers have to import it themselves
    unsendable: str = ""

    def error(self, told: EvalMetricsError) -> EvalMetricsError:
        """Give the error of a worker, with what led to it."""
        if not self.unsendable:
            return told
        return EngineError(
            f"the project's code can't be sent to the cluster: {self.unsendable}; nor did a worker "
            f"get ready by importing it: {told.message}",
            hint="what can't be pickled (a lock, a client) is to be made where it is used; or "
            "let every node see the project's folder, or have it installed as a package",
        )


def pack_kit(
    work: Work, root: Path, dumps: Callable[[Any, Sequence[ModuleType]], bytes]
) -> PackedKit:
    """Pack what workers need before their first row."""
    journal = work.transport.ledger.journal
    kit = Kit(
        version("pytest-evalmetrics"),
        _scorers_of(work.spec),
        _targets_of(work.spec),
        work.spec,
        replace(work.terms, secrets={}),
        work.label,
        None if journal is None else journal.mode,
        work.meter is not None,
    )
    try:
        return PackedKit(dumps(kit, tuple(modules_below(root))))
    except Exception as error:  # noqa: BLE001 - whatever the user's classes raise
        # a module that holds a client, say: where all nodes see the folder, each imports its own
        unsendable = f"{type(error).__name__}: {error}"
    try:
        return PackedKit(dumps(kit, ()), unsendable)
    except Exception as error:
        raise EngineError(
            f"the project's code can't be sent to the cluster: {unsendable}",
            hint="what can't be pickled (a lock, a client) is to be made where it is used; or "
            "write it into a package that is installed on every node",
        ) from error


def paths(root: Path) -> list[str]:
    """Tell where a worker finds the user's modules: as here, and in the project's folder."""
    here = [str(Path(path).absolute()) for path in sys.path]  # "" is the current folder
    return here if str(root) in here else [*here, str(root)]


def _scorers_of(spec: BenchmarkSpec) -> dict[str, Any]:
    """Find the scorers that are no part of this package, by the names that the spec has."""
    names = [
        one.type if isinstance(one, CustomScorerSpec) else one.function
        for one in spec.scorers
        if isinstance(one, CustomScorerSpec | PythonScorerSpec)
    ]
    return {name: scorers.find(name).target for name in names}


def _targets_of(spec: BenchmarkSpec) -> dict[str, Any]:
    if spec.target is None:
        return {}
    return {spec.target.function: targets.find(spec.target.function).target}


def modules_below(root: Path) -> Iterator[ModuleType]:
    """Find the imported modules of a project: a node of a cluster may not have its folder."""
    own = __name__.partition(".")[0]
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not file or name == "__main__" or name.partition(".")[0] == own:
            continue
        path = Path(file).resolve()
        if path.is_relative_to(root.resolve()) and not set(_INSTALLED) & set(path.parts):
            yield module


_INSTALL: Final = "pip install 'pytest-evalmetrics[ray]'"
_KNOCKS_S: Final = 10.0
_SAID: Final = 300  # characters of an error's message
_BEAT_S: Final = 1.0  # between two looks at the head of the cluster
_REFUSED: Final = 3  # such looks in a row, after which it is gone


class Cluster:
    """A Ray cluster, connected to at the first use."""

    def __init__(self, address: str | None) -> None:
        # seconds that a free core is waited for, where nobody works yet
        self.patience_s = 300.0  # a cluster that grows takes minutes to do so
        self._address = address
        self._ray: Any = None
        self._ours = False
        self._head: tuple[str, int] | None = None
        self._is_gone = False

    @property
    def ray(self) -> Any:
        """The package, connected."""
        if self._is_gone:
            raise self._headless()
        if self._ray is None:
            self._ray = self._connected()
            self._head = _head_of(self._ray)
        return self._ray

    async def watch_head(self) -> None:
        """Raise once the head of the cluster is gone.

        Ray itself waits for it a minute, and then ends this process without a word.

        Raises
        ------
        EngineError
            It has refused several connections in a row.
        """
        refused = 0
        while True:
            await asyncio.sleep(_BEAT_S)
            refused = 0 if await asyncio.to_thread(self._head_answers) else refused + 1
            if refused == _REFUSED:
                self._is_gone = True
                raise self._headless()

    async def await_head(self) -> None:
        """Give `watch_head` time where the head doesn't answer: asking for workers blocks."""
        if not await asyncio.to_thread(self._head_answers):
            await asyncio.sleep(_BEAT_S * (_REFUSED + 1))

    def _head_answers(self) -> bool:
        if self._head is None:
            return True
        try:
            socket.create_connection(self._head, timeout=_KNOCKS_S).close()
        except TimeoutError:  # a busy machine
            return True
        except OSError:
            return False
        return True

    def _wait(self, ref: Any, timeout_s: float = math.inf) -> bool:
        """Wait until a task is done; False where it is not in time."""
        refused, until = 0, time.monotonic() + timeout_s
        while not self.ray.wait([ref], timeout=min(_BEAT_S, timeout_s))[0]:
            refused = 0 if self._head_answers() else refused + 1
            self._is_gone = refused == _REFUSED
            if time.monotonic() > until:
                return False
        return True

    def _headless(self) -> EngineError:
        host, port = self._head or ("", 0)
        return EngineError(
            f"the head of the Ray cluster ({host}:{port}) is gone: it refuses connections",
            hint="start the cluster again (`ray start --head`) and run again: answers that were "
            "paid for are in the journal; --evalmetrics-engine local does without a cluster",
        )

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        ray, self._ray = self._ray, None
        if ray is not None and self._ours:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Ray's own
                ray.shutdown()

    def cpus(self) -> int:
        """Count the cores of all nodes."""
        return max(1, int(self.ray.cluster_resources().get("CPU", 1)))

    def must_have_a_core(self) -> None:
        """Wait for a core that is free: a cluster without one would let tasks wait for ever."""
        asked = self.ray.remote(num_cpus=1)(_nothing).remote()
        if not self._wait(asked, self.patience_s):
            self.ray.cancel(asked)
            raise self.no_core()

    def no_core(self) -> EngineError:
        """Make the error that tells that nobody can work."""
        return EngineError(
            f"no node of the Ray cluster had a free core within {self.patience_s:.0f} s",
            hint="`ray status` tells what they are at",
        )

    def get(self, ref: Any) -> Any:
        """Wait for what a task gives."""
        try:
            self._wait(ref)
            return self.ray.get(ref)
        except self.ray.exceptions.RayError as error:
            raise self.lost(error) from None

    def lost(self, error: BaseException | None) -> EngineError:
        """Make the error that tells what became of the cluster."""
        cause = getattr(error, "cause", None)  # what a task raised; its traceback is Ray's own
        if isinstance(cause, BaseException):
            return EngineError(
                f"a worker of the Ray cluster broke down: {type(cause).__name__}: {_said(cause)}",
                hint="has every node the same versions of this package and of what it imports?",
            )
        said = f": {_said(error)}" if error is not None else ""
        return EngineError(
            f"the Ray cluster lost the work again and again{said}",
            hint="are its nodes alive, and have they the memory? `ray status` tells; "
            "--evalmetrics-engine local does without",
        )

    def dumps(self, what: Any, modules: Sequence[Any]) -> bytes:
        """Pickle, and take these modules' classes and functions along whole."""
        pickler = self.ray.cloudpickle
        try:
            for module in modules:
                pickler.register_pickle_by_value(module)
            return bytes(pickler.dumps(what))
        finally:
            for module in modules:
                pickler.unregister_pickle_by_value(module)

    def _connected(self) -> Any:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nobody is told of a run
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Ray's own
                import ray  # noqa: PLC0415 - an extra, and a second to import
        except ImportError as error:
            raise EngineError(
                f"the engine ray needs {error.name or error}, which is not installed",
                hint=_INSTALL,
            ) from None
        if ray.is_initialized():  # by the user's own code: it is theirs to end
            return ray
        try:
            _must_answer(self._address or os.environ.get("RAY_ADDRESS") or "")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ray.init(
                    address=self._address,
                    include_dashboard=False,
                    logging_level=logging.ERROR,
                    log_to_driver=False,
                    configure_logging=False,
                )
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            named = self._address or os.environ.get("RAY_ADDRESS") or "of its own"
            raise EngineError(
                f"the Ray cluster {named} can't be used: {_said(error)}",
                hint="is it up (`ray status`), on the same versions of Ray and Python, and does "
                "pytest run on one of its machines? --evalmetrics-ray-address names another",
            ) from None
        self._ours = True
        return ray


def _head_of(ray: Any) -> tuple[str, int] | None:
    """Find where the head takes connections; None where that can't be seen from here."""
    try:
        host, _, port = ray.get_runtime_context().gcs_address.rpartition(":")
        head = host.strip("[]"), int(port)
        socket.create_connection(head, timeout=_KNOCKS_S).close()
    except (OSError, ValueError, AttributeError, RuntimeError):
        return None
    return head


def _nothing() -> None:
    """Do nothing, on a core."""


def _must_answer(address: str) -> None:
    """Knock at a cluster's door: Ray itself knocks for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal() and "/" not in host:
        socket.create_connection((host, int(port)), timeout=_KNOCKS_S).close()


def _said(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _SAID else text[:_SAID] + "…"


class RayEngine:
    """Works on a Ray cluster, see `Engine`."""

    def __init__(
        self,
        address: str | None,
        root: Path,
        *,
        always: bool = False,
        size: int | None = None,
    ) -> None:
        self.cluster = Cluster(address)
        self._root = root
        self._always = always
        self._size = size

    def read(
        self, files: Sequence[RolloutFile], format_: str | None, request: Request
    ) -> RolloutTable | None:
        """Read rollouts, see `Engine`."""
        from pytest_evalmetrics.engines.ray_reading import read_on  # noqa: PLC0415 - loads msgspec

        return read_on(self.cluster, files, format_, request, always=self._always, size=self._size)

    def prepare(self) -> None:
        """Connect, see `Engine`."""
        _ = self.cluster.ray

    async def score(self, work: Work) -> None:
        """Score rows, and answer those that are to be; see `Engine`."""
        from pytest_evalmetrics.engines.ray_scoring import Crew  # noqa: PLC0415 - if needed

        await Crew(self.cluster, work, self._root).run()

    def close(self) -> None:
        """Leave the cluster."""
        self.cluster.close()


if TYPE_CHECKING:
    _of_ray: type[Engine] = RayEngine
