"""Where the work of a benchmark is done: here, or on a Ray cluster, with the same bytes."""

from pytest_evalmetrics.engines.local import Engine, Workload

__all__ = ["Engine", "Workload"]
