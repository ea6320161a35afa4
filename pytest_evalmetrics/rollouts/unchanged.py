"""Whether rollouts are still what they were when somebody looked at them."""

from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.looking import is_unchanged, look_at
from pytest_evalmetrics.rollouts.files import absolute
from pytest_evalmetrics.rollouts.finding import rollout_files

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_evalmetrics.looking import Look
    from pytest_evalmetrics.spec import RolloutsSpec

__all__ = ["are_unchanged", "look_at_rollouts"]

_LARGEST: Final = 1 << 22  # bytes: a benchmark that reads more takes its time anyhow


def look_at_rollouts(spec: RolloutsSpec, base: Path) -> list[Look] | None:
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
        paths = _paths(spec, base)
        if sum(map(os.path.getsize, paths)) > _LARGEST:  # before any of them is read
            return None
        return [look_at(path) for path in paths]
    except (EvalMetricsError, OSError):
        return None


def are_unchanged(looks: list[Look], spec: RolloutsSpec, base: Path) -> bool:
    """Whether another look would give the same; parameters as of `look_at_rollouts`."""
    try:
        # what a glob matches may be another file by now
        may_differ = any(map(glob.has_magic, spec.path))
        if may_differ and _paths(spec, base) != [look.path for look in looks]:
            return False
        return all(map(is_unchanged, looks))
    except (EvalMetricsError, OSError):
        return False


def _paths(spec: RolloutsSpec, base: Path) -> list[str]:
    return [os.fspath(file.path) for file in rollout_files(spec, absolute(base))]
