"""How many processes may work at a time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CAP", "idle_cores", "processes", "usable_cores"]

CAP: Final = "EVALMETRICS_PROCESSES"
_WORKERS: Final = "PYTEST_XDIST_WORKER_COUNT"
_QUOTA: Final = Path("/sys/fs/cgroup/cpu.max")
_LOAD: Final = Path("/proc/loadavg")


def processes(environ: Mapping[str, str] | None = None, cores: int | None = None) -> int:
    """Count the processes that this one may be of, itself included.

    Parameters
    ----------
    environ
        The environment: ``EVALMETRICS_PROCESSES`` is how many are wanted, whatever else the
        machine does, and pytest-xdist tells there how many workers share the cores.
    cores
        The cores that may be used; found out if None, as are those that have nothing to do.

    Raises
    ------
    DataError
        If the number is none from 1.
    """
    environ = os.environ if environ is None else environ
    idle = idle_cores() if cores is None else cores
    cores = usable_cores() if cores is None else cores
    workers = environ.get(_WORKERS, "1")
    share = max(1, cores // max(1, int(workers) if workers.isdecimal() else 1))
    cap = environ.get(CAP, "").strip()
    if not cap:
        return max(1, min(share, idle))
    if not (cap.isascii() and cap.isdecimal() and int(cap)):
        raise DataError(
            f"{CAP} is {cap!r} in the environment; expected a whole number from 1",
            hint=f"how many processes a run may be of: {CAP}=1, or leave it out",
        )
    return min(share, int(cap))


def usable_cores() -> int:
    """Count the cores that this process may use; a container's quota is one limit."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    try:
        quota, period = _QUOTA.read_text(encoding="ascii").split()
        return max(1, min(cores, int(quota) // int(period)))
    except (OSError, ValueError):  # no Linux, no container, or "max"
        return cores


def idle_cores() -> int:
    """Count the machine's cores that have nothing to do, and the one that this process has.

    Two processes on a core that is shared with others are slower than one.
    """
    cores = os.cpu_count() or 1
    try:
        running = int(_LOAD.read_text(encoding="ascii").split()[3].split("/")[0])
    except (OSError, ValueError, IndexError):  # no Linux
        return cores
    return max(1, cores - max(0, running - 1))
