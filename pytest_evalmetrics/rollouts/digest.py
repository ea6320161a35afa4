"""Rollouts in so many bytes: whether they are still what they were."""

from __future__ import annotations

import os
from hashlib import blake2b
from stat import S_ISREG
from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.rollouts.files import absolute
from pytest_evalmetrics.rollouts.finding import rollout_files

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_evalmetrics.spec import RolloutsSpec

__all__ = ["digest"]

_LARGEST: Final = 1 << 22  # bytes: a benchmark that reads more takes its time anyhow


def digest(spec: RolloutsSpec, base: Path) -> bytes | None:
    """Digest rollouts: the files' names and every byte.

    Parameters
    ----------
    spec
        Which files.
    base
        The folder of the benchmark file, which paths are relative to.

    Returns
    -------
    bytes or None
        None where there are none, or they are too large, no plain files, or can't be read.
    """
    found = blake2b()
    size = 0
    try:
        for file in rollout_files(spec, absolute(base)):
            told = os.stat(file.path)  # noqa: PTH116 - many
            size += told.st_size
            if not S_ISREG(told.st_mode) or size > _LARGEST:
                return None
            with open(file.path, "rb", buffering=0) as opened:  # noqa: PTH123 - many
                content = opened.read()
            found.update(b"%b\0%d\0" % (os.fsencode(file.path), len(content)))
            found.update(content)
    except (EvalMetricsError, OSError):
        return None
    return found.digest()
