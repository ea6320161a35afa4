"""Large files read by several processes at once, this one among them.

Whoever is free claims the next shard. This process reads too, so that it need not wait for
the others to start, and goes on alone where they can't start or break down. They are started
as plain Python, not by `multiprocessing`: neither a fork of a process that has threads nor a
second run of the user's main module can do harm.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING, Any, Final, cast

from pytest_evalmetrics.rollouts.shards import ShardReader

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from pytest_evalmetrics.rollouts.part import Part
    from pytest_evalmetrics.rollouts.seam import Request
    from pytest_evalmetrics.rollouts.source import Source
    from pytest_evalmetrics.spec import FieldMap

__all__ = ["BrokenShard", "Job", "read_shared"]

_PAUSE: Final = 0.002  # seconds between two looks at what the others have done
# what the package is found by here may not be what a fresh interpreter finds it by
_HELPER: Final = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from pytest_evalmetrics.rollouts.helper import main; main()"
)


class BrokenShard(Exception):  # noqa: N818 - no error that anybody sees
    """Something is wrong with a shard: one process that reads everything in order says what."""


@dataclass(frozen=True)
class Job:
    """What several processes read together.

    Attributes
    ----------
    request
        What the benchmark wants.
    shards
        The shards, in the order of the files.
    folder
        Where they claim shards, and leave what they read.
    """

    request: Request
    shards: Sequence[Source]
    folder: Path

    def claims(self) -> Iterator[int]:
        """Claim shards that nobody has claimed yet, one after the other in their order."""
        for number in range(len(self.shards)):
            try:
                os.close(os.open(self.folder / f"{number}.claim", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            yield number

    def leave(self, number: int, part: Part | None) -> None:
        """Leave what was read of a shard, or that it can't be read, for the others."""
        name = self.folder / f"{number}.new"
        with name.open("wb") as file:
            pickle.dump(part, file, protocol=pickle.HIGHEST_PROTOCOL)
        name.replace(self._left(number))

    def take(self, number: int) -> Part | None:
        """Take what another process left; None if there is nothing yet.

        Raises
        ------
        BrokenShard
            If it could not be read.
        """
        try:
            with self._left(number).open("rb") as file:
                part: Part | None = pickle.load(file)  # noqa: S301 - our own helper wrote it
        except FileNotFoundError:
            return None
        self._left(number).unlink()
        if part is None:
            raise BrokenShard
        return part

    def _left(self, number: int) -> Path:
        return self.folder / f"{number}.part"


def read_shared(
    request: Request, shards: Sequence[Source], processes: int
) -> Generator[Part, None, None]:
    """Read shards, several at a time.

    Parameters
    ----------
    request
        What the benchmark wants.
    shards
        The shards, in the order of the files.
    processes
        How many read, this one included.

    Yields
    ------
    Part
        What was read of each shard, in their order.

    Raises
    ------
    BrokenShard
        If one can't be read.
    """
    with tempfile.TemporaryDirectory(prefix="evalmetrics-", ignore_cleanup_errors=True) as folder:
        job = Job(request, shards, Path(folder))
        helpers: list[subprocess.Popen[bytes]] = []
        try:
            helpers += (helper for _ in range(processes - 1) if (helper := _start(job)))
            yield from _read(job, helpers)
        finally:
            for helper in helpers:
                helper.kill()
            for helper in helpers:
                helper.wait()
                cast("IO[bytes]", helper.stdin).close()


def _read(job: Job, helpers: Sequence[subprocess.Popen[bytes]]) -> Iterator[Part]:
    ours: dict[int, Part] = {}
    reader = ShardReader(job.request)
    next_ = 0
    longest = 0.0
    for number in job.claims():
        began = time.monotonic()
        ours[number] = _part(reader, job.shards[number])
        longest = max(longest, time.monotonic() - began)
        while (part := ours.pop(next_, None) or job.take(next_)) is not None:
            yield part
            next_ += 1
    for number in range(next_, len(job.shards)):
        patience = time.monotonic() + longest
        while (part := ours.pop(number, None) or job.take(number)) is None:
            at_work = any(helper.poll() is None for helper in helpers)
            if at_work and time.monotonic() < patience:
                time.sleep(_PAUSE)
                continue
            # a helper broke down, or has a core that is busy with something else: what it has
            # claimed is read here after all, by a reader that has not met any later shard
            part = job.take(number) or _part(ShardReader(job.request), job.shards[number])
            break
        yield part


def _part(reader: ShardReader, shard: Source) -> Part:
    try:
        return reader.read(shard)
    except MemoryError:
        raise
    except Exception as error:
        raise BrokenShard from error


def _start(job: Job) -> subprocess.Popen[bytes] | None:
    """Start a helper; without one, the others do its work."""
    if not sys.executable:
        return None
    try:
        helper = subprocess.Popen(  # noqa: S603 - this very Python
            [sys.executable, "-P", "-c", _HELPER],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # it multiplies no matrices
        )
    except OSError:
        return None
    with suppress(OSError):  # it died at once
        stdin = cast("IO[bytes]", helper.stdin)  # stays open: its end tells that we are gone
        for what in (sys.path, replace(job, request=_plain(job.request))):
            _send(what, stdin)
    return helper


def _plain(request: Request) -> Request:
    """Describe the fields by what needs no import: their own type loads what validates YAML."""
    return replace(request, fields=cast("FieldMap", SimpleNamespace(**asdict(request.fields))))


def _send(what: Any, stream: IO[bytes]) -> None:
    pickle.dump(what, stream, protocol=pickle.HIGHEST_PROTOCOL)
    stream.flush()
