"""Large files read in shards, by several processes or machines."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from contextlib import closing, suppress
from itertools import cycle, islice, pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, Final

import msgspec
from msgspec import structs

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.gc_pause import collector_paused
from pytest_evalmetrics.rollouts.formats import find_loader
from pytest_evalmetrics.rollouts.json_files import JsonArray, JsonLines
from pytest_evalmetrics.rollouts.loader import FieldPaths
from pytest_evalmetrics.rollouts.source import (
    ENOUGH,
    Source,
    open_source,
    whole_number_from_env,
)
from pytest_evalmetrics.rollouts.table import Part, TableBuilder

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from pytest_evalmetrics.model.rollout_table import RolloutTable
    from pytest_evalmetrics.rollouts.loader import LoaderFactory, Request
    from pytest_evalmetrics.rollouts.source import RolloutFile

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


class Piece(msgspec.Struct, frozen=True):
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
    """Split files into pieces, in their order; None if one of them can't be split."""
    pieces: list[Piece] = []
    try:
        sources = [open_source(file) if file.url is None else None for file in files]
        if size is None:
            size = _size_of_shards(files, sources, workers)
        for number, (file, source) in enumerate(zip(files, sources, strict=True)):
            parts = _parts_of(file, source, format_, size, fetches=fetches)
            if parts is None:
                return None
            pieces += [Piece(part, number) for part in parts]
    except (DataError, OSError):
        return None
    return pieces


def _parts_of(
    file: RolloutFile,
    source: Source | None,
    format_: str | None,
    size: int,
    *,
    fetches: bool,
) -> Sequence[Source | RolloutFile] | None:
    """Split one file into shards, or take it whole to be fetched; None if it can't be split."""
    is_fetched = fetches and file.url is not None
    is_small = (file.size or 0) <= size
    if source is None and not (is_fetched and is_small):
        from pytest_evalmetrics.rollouts.remote import look  # an extra

        source = look(file)
    if source is not None and splits(find_loader(format_, source), source):
        return list(shards_of(source, size))
    return [file] if is_fetched else None


def _size_of_shards(
    files: Sequence[RolloutFile], sources: Sequence[Source | None], workers: int
) -> int:
    """Choose the bytes of a shard, so that each worker has several."""
    total = 0
    for file, source in zip(files, sources, strict=True):
        total += source.size if source is not None else file.size or 0
    least, most = _SHARD_BYTES
    return min(max(total // (workers * _SHARDS_EACH), least), most)


def splits(kind: LoaderFactory, source: Source) -> bool:
    """Whether a file can be read in shards: only the built-in JSON loaders support it."""
    if source.is_array:
        return kind is JsonArray
    return kind is JsonLines


def shards_of(source: Source, size: int) -> Iterator[Source]:
    """Cut a file into spans of whole lines; one that is compressed or an array is one shard."""
    if source.url is not None:
        from pytest_evalmetrics.rollouts.remote import line_ends  # an extra

        yield from (
            structs.replace(source, span=span)
            for span in pairwise([0, *line_ends(source, size)])
        )
        return
    if source.is_array or source.packed or source.size <= size:
        yield source
        return
    with source.path.open("rb") as file:
        start = 0
        while start < source.size:
            file.seek(min(start + size, source.size) - 1)
            _skip_line(file)
            stop = file.tell()
            yield structs.replace(source, span=(start, stop))
            start = stop


def _skip_line(file: BinaryIO) -> None:
    """Read on to the end of a line, in pieces: it may be long."""
    while True:
        piece = file.readline(ENOUGH)
        if not piece or piece.endswith(b"\n"):
            return


class ShardReader:
    """Reads shards in order, with loaders that learn the shape of rows."""

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
    """Read files by several processes; None if a single one has to read them or report an error."""
    if count is None:
        count = process_count()
    if count < 2:
        return None
    pieces = cut(files, format_, count, size) or []
    shards = [piece.what for piece in pieces if isinstance(piece.what, Source)]
    if len(shards) < 2:  # a single process reads in order
        return None
    table = TableBuilder(request)
    rows = [0] * len(files)
    try:
        with closing(_parts(request, shards, min(count, len(shards)))) as parts:
            for piece, shard, part in zip(pieces, shards, parts, strict=True):
                if part is None:
                    return None
                table.extend(shard, part)
                rows[piece.file] += part.rows
                shard.must_be_unchanged()
    except (OSError, EOFError, pickle.UnpicklingError):
        # a process died, or none can be started
        return None
    if not all(rows):
        return None
    return table.build()


class _Reader(msgspec.Struct, frozen=True):
    """A process that reads shards, and its pipes."""

    process: subprocess.Popen[bytes]
    stdin: IO[bytes]
    stdout: IO[bytes]

    @classmethod
    def started(cls) -> _Reader:
        """Start a process; `OSError` if none can be started."""
        # nothing multiplies matrices
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        process = subprocess.Popen(  # noqa: S603 - this very Python
            [sys.executable, "-P", "-c", _CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        if process.stdin is None or process.stdout is None:
            raise OSError("a process without pipes")
        return cls(process=process, stdin=process.stdin, stdout=process.stdout)


def _parts(
    request: Request, shards: Sequence[Source], count: int
) -> Generator[Part | None]:
    """Yield what was read of each shard, in their order; None if one can't be read."""
    # the class of the fields would import the validation of YAML
    plain = structs.replace(request, fields=FieldPaths.of(request.fields))
    readers: list[_Reader] = []
    try:
        for number in range(count):
            reader = _Reader.started()
            readers.append(reader)
            work = (plain, shards[number::count])
            reader.stdin.write(pickle.dumps(sys.path) + pickle.dumps(work))
            reader.stdin.flush()
        for reader in islice(cycle(readers), len(shards)):
            yield pickle.load(reader.stdout)  # noqa: S301 - our own process
    finally:
        for reader in readers:
            reader.process.kill()
            with suppress(OSError):  # its unread input
                reader.process.communicate()


def serve() -> None:
    """Read shards for the process that started this one."""
    request, shards = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our own process
    reader = ShardReader(request)
    for shard in shards:
        part = None
        with suppress(Exception):  # one process that reads in order reports it
            part = reader.read(shard)
        pickle.dump(part, sys.stdout.buffer, protocol=pickle.HIGHEST_PROTOCOL)
        sys.stdout.flush()


def process_count() -> int:
    """Count the processes that may read: one per idle core, shared with pytest-xdist's workers."""
    stated = os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")
    workers = int(stated) if stated.isdecimal() else 1
    share = max(1, usable_cores() // max(1, workers))
    cap = whole_number_from_env(
        "EVALMETRICS_PROCESSES", 0, "how many processes read large files"
    )
    return min(share, cap or _idle_cores())


def usable_cores() -> int:
    """Count the cores that this process may use; a container's quota is one limit."""
    cores = os.cpu_count() or 1
    affinity = getattr(os, "sched_getaffinity", None)
    if affinity is not None:
        cores = len(affinity(0))
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
