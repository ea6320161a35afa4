"""Whether rollouts are still what they were when somebody looked at them."""

from __future__ import annotations

import glob
import os
import time
from hashlib import blake2b
from stat import S_ISREG
from typing import TYPE_CHECKING, Final, NamedTuple

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.rollouts.files import absolute
from pytest_evalmetrics.rollouts.finding import rollout_files

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_evalmetrics.spec import RolloutsSpec

__all__ = ["Look", "are_unchanged", "look_at"]

_LARGEST: Final = 1 << 22  # bytes: a benchmark that reads more takes its time anyhow
_SETTLED: Final = 3 * 10**9  # ns: no file system's clock is coarser than two seconds


class Look(NamedTuple):
    """What was seen of a file.

    Attributes
    ----------
    path
        Where it is.
    stamp
        What the file system says of it.
    digest
        Of its bytes, where it was written so lately that the next write may bear the same
        time; else empty.
    """

    path: str
    stamp: tuple[int, ...]
    digest: bytes


def look_at(spec: RolloutsSpec, base: Path) -> list[Look] | None:
    """Look at the files of rollouts, before they are read.

    Parameters
    ----------
    spec
        Which files.
    base
        The folder of the benchmark file, which paths are relative to.

    Returns
    -------
    list of Look or None
        None where there are none, or they are too large, no plain files, or can't be read.
    """
    try:
        looks = [_look(path) for path in _paths(spec, base)]
    except (EvalMetricsError, OSError, ValueError):
        return None
    size = sum(look.stamp[2] for look in looks)
    return looks if size <= _LARGEST else None


def are_unchanged(looks: list[Look], spec: RolloutsSpec, base: Path) -> bool:
    """Whether another look would give the same; parameters as of `look_at`."""
    try:
        # what a glob matches may be another file by now
        may_differ = any(map(glob.has_magic, spec.path))
        if may_differ and _paths(spec, base) != [look.path for look in looks]:
            return False
        return all(map(_is_unchanged, looks))
    except (EvalMetricsError, OSError):
        return False


def _paths(spec: RolloutsSpec, base: Path) -> list[str]:
    return [os.fspath(file.path) for file in rollout_files(spec, absolute(base))]


def _look(path: str) -> Look:
    told = os.stat(path)  # noqa: PTH116 - many
    if not S_ISREG(told.st_mode):
        raise ValueError(path)
    settled = time.time_ns() - max(told.st_mtime_ns, told.st_ctime_ns) > _SETTLED
    small = told.st_size <= _LARGEST
    return Look(path, _stamp(told), b"" if settled or not small else _digest(path))


def _is_unchanged(look: Look) -> bool:
    now = _stamp(os.stat(look.path))  # noqa: PTH116 - many
    return now == look.stamp and (not look.digest or _digest(look.path) == look.digest)


def _stamp(told: os.stat_result) -> tuple[int, ...]:
    return told.st_dev, told.st_ino, told.st_size, told.st_mtime_ns, told.st_ctime_ns


def _digest(path: str) -> bytes:
    with open(path, "rb", buffering=0) as opened:  # noqa: PTH123 - many
        return blake2b(opened.read()).digest()
