"""Files that are written completely or not at all, and what a process that died leaves of them."""

from __future__ import annotations

import os
import re
import shutil
import socket
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

from pytest_evalmetrics.processes import is_running

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_TEMPORARY = re.compile(
    r"\.?evalmetrics-(?P<host>.+)-(?P<process>\d+)-[0-9a-f]{16}(\.tmp)?"
)


def temporary_name() -> str:
    """Name a temporary file or folder after its host and process."""
    return f"evalmetrics-{_host()}-{os.getpid()}-{os.urandom(8).hex()}"


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file beside its place for writing, and move it there only when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f".{temporary_name()}.tmp"
    try:
        with temporary.open("xb", buffering=2**20) as file:
            yield file
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def write_whole(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file completely or not at all, see `replacing`."""
    with replacing(path) as file:
        file.writelines(pieces)


def remove_stale(folder: Path) -> None:
    """Remove the temporary files and folders in a folder whose process is gone."""
    try:
        # names, not paths: a folder for temporary files may hold thousands
        names = os.listdir(folder)  # noqa: PTH208
    except OSError:
        return
    for name in names:
        if _is_left_behind(name):
            path = folder / name
            shutil.rmtree(path, ignore_errors=True)
            with suppress(OSError):
                path.unlink()


def _is_left_behind(name: str) -> bool:
    """Whether a temporary file or folder is of a process on this host that is gone."""
    match = _TEMPORARY.fullmatch(name)
    if match is None or match["host"] != _host():
        return False
    return not is_running(int(match["process"]))


def _host() -> str:
    return re.sub(r"[^\w.]+", "_", socket.gethostname())
