"""The engine that works on a Ray cluster. The only module that imports Ray."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import socket
import time
import warnings
from typing import TYPE_CHECKING, Any, Final, cast

from pytest_evalmetrics.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.engines.local import Workload
    from pytest_evalmetrics.rollouts import Request, RolloutFile

_KNOCKS_S: Final = 10.0
_LONGEST: Final = 300  # characters of an error's message
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
        """Raise once the head of the cluster is gone: it has refused connections in a row.

        Ray itself waits for it a minute, and then ends this process without a word.
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

    def start(self, worker: type) -> Any:
        """Start an actor on a core of its own."""
        return self.ray.remote(num_cpus=1, scheduling_strategy="SPREAD")(worker).remote()

    @property
    def lost_errors(self) -> type[Exception]:
        """What Ray raises for a worker that is lost."""
        import ray  # noqa: PLC0415 - an extra; also once the head is gone

        return cast("type[Exception]", ray.exceptions.RayError)

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
                f"a worker of the Ray cluster broke down: {type(cause).__name__}: {_short(cause)}",
                hint="has every node the same versions of this package and of what it imports?",
            )
        why = f": {_short(error)}" if error is not None else ""
        return EngineError(
            f"the Ray cluster lost the work again and again{why}",
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
            reason = f"the engine ray needs {error.name or error}, which is not installed"
            raise EngineError(reason, hint="pip install 'pytest-evalmetrics[ray]'") from None
        if ray.is_initialized():  # by the user's own code: it is theirs to end
            return ray
        host, _, port = (self._address or os.environ.get("RAY_ADDRESS") or "").rpartition(":")
        try:
            if host and port.isdecimal() and "/" not in host:  # Ray itself knocks for minutes
                socket.create_connection((host, int(port)), timeout=_KNOCKS_S).close()
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
                f"the Ray cluster {named} can't be used: {_short(error)}",
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


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


class RayEngine:
    """Works on a Ray cluster, see `Engine`."""

    def __init__(
        self, address: str | None, root: Path, *, always: bool = False, size: int | None = None
    ) -> None:
        self.cluster, self._root = Cluster(address), root
        self._always, self._size = always, size  # of what is read in pieces

    def read(
        self, files: Sequence[RolloutFile], format_: str | None, request: Request
    ) -> RolloutTable | None:
        """Read rollouts, see `Engine`."""
        from pytest_evalmetrics.engines.ray_reading import read_on  # noqa: PLC0415 - loads msgspec

        return read_on(self.cluster, files, format_, request, always=self._always, size=self._size)

    def prepare(self) -> None:
        """Connect, see `Engine`."""
        _ = self.cluster.ray

    async def score(self, work: Workload) -> None:
        """Score rows, and answer those that are to be; see `Engine`."""
        from pytest_evalmetrics.engines.ray_scoring import score_on  # noqa: PLC0415 - if needed

        await score_on(self.cluster, work, self._root)

    def close(self) -> None:
        """Leave the cluster."""
        self.cluster.close()
