"""The engine that works on a Ray cluster, and its reading. Only this module imports Ray."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import socket
import time
import warnings
from collections import Counter, deque
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import structs

from pytest_evalmetrics.errors import EngineError, EvalMetricsError
from pytest_evalmetrics.layout import shortened
from pytest_evalmetrics.rollouts.formats import find_loader
from pytest_evalmetrics.rollouts.large import Piece, ShardReader, cut, splits
from pytest_evalmetrics.rollouts.source import (
    RolloutFile,
    Source,
    is_large,
    open_source,
)
from pytest_evalmetrics.rollouts.table import Part, TableBuilder
from pytest_evalmetrics.scoring.transport import needs_extra

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

    from pytest_evalmetrics.model.rollout_table import RolloutTable
    from pytest_evalmetrics.rollouts import Request
    from pytest_evalmetrics.scoring.engines.local import Workload

    # a file and its content; or its defect, with lines counted from the start of the piece; or None
    # if it can't be read in shards
    Read: TypeAlias = tuple[Source, Part] | EvalMetricsError | None

_KNOCKS_S: Final = 10.0
_LONGEST: Final = 300  # characters of an error's message
_BEAT_S: Final = 1.0  # between two checks of the cluster's head
_REFUSED: Final = 3  # refused checks in a row, after which the head is gone
_TRIES: Final = 5  # attempts at a task whose nodes die
# tasks per core that are under way: their results wait in the object store
_AHEAD: Final = 3


class RayEngine:
    """An engine that works on a Ray cluster, see `Engine`; it connects at the first use."""

    def __init__(
        self,
        address: str | None,
        root: Path,
        *,
        always: bool = False,
        size: int | None = None,
    ) -> None:
        # seconds to wait for a free core where no worker has one yet
        self.patience_s = 300.0  # a cluster that grows takes minutes to do so
        self._root = root
        # the settings of reading in pieces
        self._always = always
        self._size = size
        self._address = address
        self._ray: ModuleType | None = None
        self._started_here = False
        # the errors that Ray raises for a lost worker
        self.lost_errors: type[Exception] | tuple[type[Exception], ...] = ()
        self._head: tuple[str, int] | None = None
        self._refused = 0  # connections that the head refused in a row

    def read(
        self, files: Sequence[RolloutFile], format_: str | None, request: Request
    ) -> RolloutTable | None:
        """Read files by the tasks of the cluster, see `rollouts.Reader`."""
        if not (self._always or any(file.url for file in files) or is_large(files)):
            return None
        pieces = cut(files, format_, self.cpus(), self._size, fetches=True)
        if pieces is None:
            return None
        self.must_have_a_core()
        table = TableBuilder(request)
        # of each file
        lines = Counter[int]()
        rows = Counter[int]()
        for piece, read in self._read(pieces, format_, request):
            if read is None:
                return None
            if isinstance(read, EvalMetricsError):
                if read.line is not None:
                    read.line += lines[piece.file]
                raise read
            table.extend(*read)
            lines[piece.file] += read[1].lines
            rows[piece.file] += read[1].rows
            if isinstance(piece.what, Source):
                piece.what.must_be_unchanged()
        return table.build() if len(+rows) == len(files) else None

    def _read(
        self, pieces: Sequence[Piece], format_: str | None, request: Request
    ) -> Iterator[tuple[Piece, Read]]:
        """Read pieces, some always under way; yield them in their order."""
        options = {
            "num_cpus": 1,
            "max_retries": _TRIES,
            "scheduling_strategy": "SPREAD",
        }
        task = self.ray.remote(**options)(read_piece)
        started = (
            (piece, task.remote(piece.what, format_, request)) for piece in pieces
        )
        pending = deque(islice(started, self.cpus() * _AHEAD))
        while pending:
            piece, ref = pending.popleft()
            try:
                self._wait(ref)
                read = self.ray.get(ref)
            except self.lost_errors as error:
                raise self.lost(error) from None
            pending.extend(islice(started, 1))
            yield piece, read

    def prepare(self) -> None:
        """Connect, see `Engine`."""
        _ = self.ray

    async def score(self, work: Workload) -> None:
        """Score rows, and answer those that are to be; see `Engine`."""
        from pytest_evalmetrics.scoring.engines.ray_scoring import score_on  # if needed

        await score_on(self, work, self._root)

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        ray = self._ray
        self._ray = None
        if ray is not None and self._started_here:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Ray's own
                ray.shutdown()

    # -- the cluster -------------------------------------------------------------------------

    @property
    def ray(self) -> ModuleType:
        """The package, connected."""
        self._must_have_a_head()
        if self._ray is None:
            self._ray = self._connected()
            self.lost_errors = self._ray.exceptions.RayError
            # a cluster may have no address
            with suppress(OSError, ValueError, AttributeError, RuntimeError):
                address = self._ray.get_runtime_context().gcs_address
                host, _, port = address.rpartition(":")
                head = host.strip("[]"), int(port)
                socket.create_connection(head, timeout=_KNOCKS_S).close()
                self._head = head
        return self._ray

    async def watch_head(self) -> None:
        """Raise once the head is gone: Ray waits a minute, and ends this process silently."""
        while True:
            await asyncio.sleep(_BEAT_S)
            await asyncio.to_thread(self._check_head)

    async def await_head(self) -> None:
        """Wait for `watch_head` where the head doesn't answer: a request for workers blocks."""
        if not await asyncio.to_thread(self._head_answers):
            await asyncio.sleep(_BEAT_S * (_REFUSED + 1))

    def _check_head(self) -> None:
        self._refused = 0 if self._head_answers() else self._refused + 1
        self._must_have_a_head()

    def _head_answers(self) -> bool:
        try:
            if self._head is not None:
                socket.create_connection(self._head, timeout=_KNOCKS_S).close()
        except OSError as error:
            return isinstance(error, TimeoutError)  # a busy machine
        return True

    def _must_have_a_head(self) -> None:
        """Raise if the head has refused several connections in a row."""
        if self._refused >= _REFUSED:
            host, port = self._head or ("", 0)
            raise EngineError(
                f"the head of the Ray cluster ({host}:{port}) is gone: it refuses connections",
                hint="start the cluster again (`ray start --head`) and run again: answers that "
                "were paid for are in the journal; --evalmetrics-engine local does without",
            )

    def cpus(self) -> int:
        """Count the cores of all nodes."""
        return max(1, int(self.ray.cluster_resources().get("CPU", 1)))

    def must_have_a_core(self) -> None:
        """Wait for a free core: a cluster without one would let tasks wait for ever."""
        ref = self.ray.remote(num_cpus=1)(lambda: None).remote()
        if not self._wait(ref, self.patience_s):
            self.ray.cancel(ref)
            message = f"no node of the Ray cluster had a free core within {self.patience_s:.0f} s"
            raise EngineError(message, hint="`ray status` lists what its nodes work on")

    def _wait(self, ref: object, timeout_s: float = math.inf) -> bool:
        """Wait until a task is done, and return whether it is in time."""
        until = time.monotonic() + timeout_s
        while not self.ray.wait([ref], timeout=min(_BEAT_S, timeout_s))[0]:
            self._check_head()
            if time.monotonic() > until:
                return False
        return True

    def lost(self, error: BaseException) -> EngineError:
        """Create the error for a task that the cluster lost."""
        # the error of a task; its traceback is Ray's own
        cause = getattr(error, "cause", None)
        if isinstance(cause, BaseException):
            return EngineError(
                f"a worker of the Ray cluster broke down: {type(cause).__name__}: {_short(cause)}",
                hint="has every node the same versions of this package and of what it imports?",
            )
        return EngineError(
            f"the Ray cluster lost the work again and again: {_short(error)}",
            hint="are its nodes alive, and have they the memory? see `ray status`; "
            "--evalmetrics-engine local does without",
        )

    def _connected(self) -> ModuleType:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no telemetry
        address = self._address or os.environ.get("RAY_ADDRESS") or ""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Ray's own
            with needs_extra("ray", "the engine ray"):
                import ray  # an extra, and a second to import
            package: ModuleType = ray
            if ray.is_initialized():  # by the user's own code: it is theirs to end
                return package
            host, _, port = address.rpartition(":")
            try:
                # Ray itself knocks for minutes
                if host and port.isdecimal() and "/" not in host:
                    head = (host, int(port))
                    socket.create_connection(head, timeout=_KNOCKS_S).close()
                ray.init(
                    address=self._address,
                    include_dashboard=False,
                    logging_level=logging.ERROR,
                    log_to_driver=False,
                    configure_logging=False,
                )
            except (RuntimeError, ValueError, OSError) as error:
                raise EngineError(
                    f"the Ray cluster {address or 'of its own'} can't be used: {_short(error)}",
                    hint="is it up (`ray status`), on the same versions of Ray and Python, and "
                    "does pytest run on one of its machines? --evalmetrics-ray-address names "
                    "another",
                ) from None
        self._started_here = True
        return package


def read_piece(
    what: Source | RolloutFile, format_: str | None, request: Request
) -> Read:
    """Read a piece on a node; a file behind a URL is downloaded first, and deleted again."""
    copy = None
    try:
        if isinstance(what, Source):
            source = what
            shown = what.path
        else:
            from pytest_evalmetrics.rollouts.remote import find  # takes an extra

            (copy,) = find(what.url or "", fetch=True)
            source = open_source(copy)
            shown = Path(what.shown)
            if not splits(find_loader(format_, source), source):
                return None
        if source.url is None and not source.path.exists():
            hint = "place the rollouts where all nodes see them under the same path, or behind URLs"
            node = socket.gethostname()
            message = f"the node {node} of the Ray cluster has no file {source.path}"
            raise EngineError(message, file=source.shown, hint=hint)
        return structs.replace(source, path=shown), ShardReader(request).read(source)
    except EvalMetricsError as error:  # a value: Ray would make another class of it
        return error
    finally:
        if copy is not None:
            copy.path.unlink(missing_ok=True)


def _short(error: BaseException) -> str:
    return shortened(" ".join(str(error).split()) or type(error).__name__, _LONGEST)
