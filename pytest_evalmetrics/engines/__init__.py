"""Where the work of a benchmark is done: in this process and its helpers, or on a Ray cluster.

`Engine` is the seam. What is done here is what `rollouts` and `pipeline` do without an engine;
one that works elsewhere does the same with the same functions, and gives the same bytes. Ray is
imported by `ray_cluster` alone.
"""

from __future__ import annotations

from pytest_evalmetrics.engines.protocol import Engine, Work

__all__ = ["Engine", "Work"]
