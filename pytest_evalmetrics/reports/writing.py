"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from pytest_evalmetrics.errors import ArtifactError

if TYPE_CHECKING:
    from collections.abc import Callable

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
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            write(file)
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)  # mkstemp makes it readable for its owner alone
        Path(temporary).replace(path)
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):
                Path(temporary).unlink()
        raise ArtifactError(
            f"can't be written: {error.strerror or error}",
            file=str(path),
            hint="choose another place with --evalmetrics-output, or free some room",
        ) from error
    return path
