"""Large texts on their way from a benchmark to the process that writes the artifacts.

They take the disk: a file whose path travels, written line by line and copied piece by piece,
so that the memory of neither side grows with the rows.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pytest_evalmetrics.errors import ArtifactError
from pytest_evalmetrics.run_folder import temporary_name

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["handover_folder", "leave", "remove_left", "take"]

_PIECE = 2**20


def handover_folder() -> Path:
    """Name a folder that is this run's own; it is made when something is left there."""
    return Path(tempfile.gettempdir()) / temporary_name()


def leave(lines: Iterable[bytes], folder: Path) -> str:
    """Write lines to a file of their own, and give its path.

    Raises
    ------
    ArtifactError
        There is no room for them.
    """
    path = None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, path = tempfile.mkstemp(dir=folder, suffix=".jsonl")
        with os.fdopen(handle, "wb", buffering=_PIECE) as file:
            file.writelines(lines)
    except BaseException as error:
        if path is not None:
            with suppress(OSError):
                Path(path).unlink()
        if isinstance(error, OSError):
            raise ArtifactError(
                f"the scores of the rows can't be kept in {folder.parent} for row_scores.jsonl: "
                f"{error.strerror or error}",
                hint="free some room, or name another folder in the environment as TMPDIR",
            ) from error
        raise
    return path


def take(path: str, into: IO[bytes]) -> int:
    """Copy what was left at a path to the end of a file, and remove it there.

    Returns
    -------
    int
        Bytes.

    Raises
    ------
    OSError
        It is not there, or can't be written.
    """
    size = 0
    try:
        with Path(path).open("rb") as file:
            while piece := file.read(_PIECE):
                into.write(piece)
                size += len(piece)
    finally:
        with suppress(OSError):
            Path(path).unlink()
    return size


def remove_left(folder: Path) -> None:
    """Remove the folder of a run, with what a worker that died has left in it."""
    if folder.is_dir():
        shutil.rmtree(folder, ignore_errors=True)
