"""Where the work of a benchmark is done: in this process, or on a Ray cluster.

`Engine` is the seam. An engine that works elsewhere calls the same functions as this process,
and gives the same bytes. `ray_engine` alone imports Ray.
"""

from __future__ import annotations

from pytest_evalmetrics.engines.local import Engine, Workload

__all__ = ["Engine", "Workload"]
