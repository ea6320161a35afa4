"""Files that appear whole or not at all."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

from pytest_evalmetrics.errors import ArtifactError
from pytest_evalmetrics.run_folder import temporary_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["atomically"]


def atomically(path: Path, write: Callable[[BinaryIO], object]) -> Path:
    """Write a file beside its place, and put it there when it is whole.

    Raises
    ------
    ArtifactError
        If it can't be written; what was there is as it was.
    """
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.parent / f".{temporary_name()}.tmp"
        with temporary.open("xb") as file:
            write(file)
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink()
        raise ArtifactError(
            f"can't be written: {error.strerror or error}",
            file=str(path),
            hint="choose another place with --evalmetrics-output, or free some room",
        ) from error
    return path
