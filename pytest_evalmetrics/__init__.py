"""Benchmark regression gating for models, agents and prompts, as a pytest plugin.

What a user's own code needs is here; everything is imported on first use, because
this package is loaded into every pytest run, with or without a benchmark in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_evalmetrics.checking import EvalMetrics
    from pytest_evalmetrics.errors import EvalMetricsError, RowError
    from pytest_evalmetrics.registry import (
        register_behaviour,
        register_gate_rule,
        register_loader,
        register_metric,
        register_reporter,
        register_scorer,
    )

__version__ = "0.1.0"
__all__ = [
    "EvalMetrics",
    "EvalMetricsError",
    "RowError",
    "__version__",
    "register_behaviour",
    "register_gate_rule",
    "register_loader",
    "register_metric",
    "register_reporter",
    "register_scorer",
]


def __getattr__(name: str) -> Any:
    """Import a name at its first use."""
    if name == "EvalMetrics":
        from pytest_evalmetrics.checking import EvalMetrics

        return EvalMetrics
    if name in ("EvalMetricsError", "RowError"):
        from pytest_evalmetrics import errors

        return getattr(errors, name)
    if name in __all__:
        from pytest_evalmetrics import registry

        return getattr(registry, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
