"""Large files read in shards, by several processes or machines."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import asdict, replace
from itertools import islice, pairwise
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING, Final, NamedTuple, cast

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.gc_pause import collector_paused
from pytest_evalmetrics.rollouts.json_files import JsonArray, JsonLines
from pytest_evalmetrics.rollouts.recorded import find_loader
from pytest_evalmetrics.rollouts.source import ENOUGH, Source, open_source, whole_number_from_env
from pytest_evalmetrics.rollouts.table import Part, TableBuilder

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.rollouts.loader import LoaderFactory, Request
    from pytest_evalmetrics.rollouts.source import RolloutFile
    from pytest_evalmetrics.spec import FieldMap

_SHARD_BYTES: Final = (8 << 20, 64 << 20)  # the least and the most of one shard
_SHARDS_EACH: Final = 12  # per worker, so that all of them end at about the same time
_QUOTA: Final = Path("/sys/fs/cgroup/cpu.max")
_LOAD: Final = Path("/proc/loadavg")
# Plain Python, not `multiprocessing`: a spawned process would run the user's main module again,
# and a fork of a process that has threads may hang. The parent's sys.path finds this package.
_CHILD: Final = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from pytest_evalmetrics.rollouts.large import serve; serve()"
)


class Piece(NamedTuple):
    """One unit of reading: a shard, or a whole file on another machine that has to be fetched."""

    what: Source | RolloutFile
    file: int  # index of its file


def cut(
    files: Sequence[RolloutFile],
    format_: str | None,
    workers: int,
    size: int | None = None,
    *,
    fetches: bool = False,
) -> list[Piece] | None:
    """Cut files into pieces, in their order; None where one of them can't be cut."""
    try:
        here = {n: open_source(file) for n, file in enumerate(files) if file.url is None}
        total = sum(here[n].size if n in here else f.size or 0 for n, f in enumerate(files))
        share = min(max(total // (workers * _SHARDS_EACH), _SHARD_BYTES[0]), _SHARD_BYTES[1])
        size = share if size is None else size
        pieces: list[Piece] = []
        for number, file in enumerate(files):
            source = here.get(number)
            if source is None and not (fetches and (file.size or 0) <= size):
                from pytest_evalmetrics.rollouts.remote import look  # noqa: PLC0415 - an extra

                source = look(file)
            if source is not None and splits(find_loader(format_, source), source):
                pieces += (Piece(shard, number) for shard in shards_of(source, size))
            elif file.url is not None and fetches:
                pieces.append(Piece(file, number))
            else:
                return None
    except (DataError, OSError):
        return None
    return pieces


def splits(kind: LoaderFactory, source: Source) -> bool:
    """Whether a file can be read in shards: only the built-in JSON loaders support it."""
    return kind is (JsonArray if source.is_array else JsonLines)


def shards_of(source: Source, size: int) -> Iterator[Source]:
    """Cut a file into spans of whole lines; one that is compressed or an array is one shard."""
    if source.url is not None:
        from pytest_evalmetrics.rollouts.remote import line_ends  # noqa: PLC0415 - an extra

        yield from (replace(source, span=span) for span in pairwise([0, *line_ends(source, size)]))
        return
    if source.is_array or source.packed or source.size <= size:
        yield source
        return
    with source.path.open("rb") as file:
        start = 0
        while start < source.size:
            file.seek(min(start + size, source.size) - 1)
            while (more := file.readline(ENOUGH)) and not more.endswith(b"\n"):
                pass
            stop = file.tell()
            yield replace(source, span=(start, stop))
            start = stop


class ShardReader:
    """Reads shards in the order of the files; what it learns from one helps with the next."""

    def __init__(self, request: Request) -> None:
        self._loaders = {True: JsonArray(request), False: JsonLines(request)}

    def read(self, shard: Source) -> Part:
        """Read one shard."""
        loader = self._loaders[shard.is_array]
        with collector_paused():
            return Part(list(loader.read(shard)), loader.lines)


def read_large(
    files: Sequence[RolloutFile],
    format_: str | None,
    request: Request,
    *,
    count: int | None = None,
    size: int | None = None,
) -> RolloutTable | None:
    """Read files by several processes."""
    count = process_count() if count is None else count
    pieces = cut(files, format_, count, size) or [] if count > 1 else []
    shards = [piece.what for piece in pieces if isinstance(piece.what, Source)]
    if len(shards) < 2:  # noqa: PLR2004 - a single process reads in order
        return None
    table = TableBuilder(request)
    rows = [0] * len(files)
    with closing(_parts(request, shards, min(count, len(shards)))) as parts:
        for piece, shard, part in zip(pieces, shards, parts, strict=False):
            if part is None:
                return None
            table.extend(shard, part)
            rows[piece.file] += part.rows
            shard.must_be_unchanged()
    return table.build() if all(rows) else None


def _parts(request: Request, shards: Sequence[Source], count: int) -> Generator[Part | None]:
    """Yield what was read of each shard, in their order; None for one that can't be read."""
    readers: list[_Reader] = []
    idle: SimpleQueue[_Reader] = SimpleQueue()

    def read(shard: Source) -> Part | None:
        reader = idle.get()
        try:
            return reader.read(shard)
        except (OSError, EOFError, pickle.UnpicklingError):  # the process died
            return None
        finally:
            idle.put(reader)

    with ThreadPoolExecutor(count) as pool:
        try:
            for _ in range(count):
                readers.append(_Reader(request))
                idle.put(readers[-1])
            waiting = iter(shards)
            # two shards per process are read or wait to be merged
            under_way = deque(pool.submit(read, shard) for shard in islice(waiting, 2 * count))
            while under_way:
                part = under_way.popleft().result()
                under_way.extend(pool.submit(read, shard) for shard in islice(waiting, 1))
                yield part
        except OSError:  # no process can be started
            yield None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for reader in readers:
                reader.close()


class _Reader:
    """A process that reads one shard after another."""

    def __init__(self, request: Request) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - this very Python
            [sys.executable, "-P", "-c", _CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # nothing multiplies matrices
        )
        self._stdin = cast("IO[bytes]", self._process.stdin)
        self._stdout = cast("IO[bytes]", self._process.stdout)
        # the type of the fields would import what validates YAML
        fields = cast("FieldMap", SimpleNamespace(**asdict(request.fields)))
        self._unsent = pickle.dumps(sys.path) + pickle.dumps(replace(request, fields=fields))

    def read(self, shard: Source) -> Part | None:
        self._stdin.write(self._unsent + pickle.dumps(shard))
        self._stdin.flush()
        self._unsent = b""
        return cast("Part | None", pickle.load(self._stdout))  # noqa: S301 - our own process

    def close(self) -> None:
        self._process.kill()
        with suppress(OSError):  # what it did not read
            self._process.communicate()


def serve() -> None:
    """Read shards for the process that started this one, until it closes the pipe."""
    reader = ShardReader(pickle.load(sys.stdin.buffer))  # noqa: S301 - from our own process
    while True:
        shard = pickle.load(sys.stdin.buffer)  # noqa: S301 - the same; fails where that is gone
        part = None
        with suppress(Exception):  # one process that reads in order reports it
            part = reader.read(shard)
        pickle.dump(part, sys.stdout.buffer, protocol=pickle.HIGHEST_PROTOCOL)
        sys.stdout.flush()


def process_count() -> int:
    """Count the processes that may read: one per idle core, shared with pytest-xdist's workers."""
    workers = os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")
    share = max(1, usable_cores() // max(1, int(workers) if workers.isdecimal() else 1))
    cap = whole_number_from_env("EVALMETRICS_PROCESSES", 0, "how many processes read large files")
    return min(share, cap or _idle_cores())


def usable_cores() -> int:
    """Count the cores that this process may use; a container's quota is one limit."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    with suppress(OSError, ValueError):  # no Linux, no container, or "max"
        quota, period = map(int, _QUOTA.read_text(encoding="ascii").split())
        cores = max(1, min(cores, quota // period))
    return cores


def _idle_cores() -> int:
    """Count idle cores and our own: two processes on a busy core are slower than one."""
    cores = os.cpu_count() or 1
    with suppress(OSError, ValueError, IndexError):  # no Linux
        running = int(_LOAD.read_text(encoding="ascii").split()[3].split("/")[0])
        cores = max(1, cores - max(0, running - 1))
    return cores
