"""Benchmark regression gating for models, agents and prompts, as a pytest plugin.

What a user's own code needs is here; everything is imported on first use, because
this package is loaded into every pytest run, with or without a benchmark in it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_evalmetrics.checking import EvalMetrics
    from pytest_evalmetrics.errors import EvalMetricsError, RowError
    from pytest_evalmetrics.registry import (
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
    "register_gate_rule",
    "register_loader",
    "register_metric",
    "register_reporter",
    "register_scorer",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "checking" if name == "EvalMetrics" else "ext"
    return getattr(import_module(f"{__name__}.{home}"), name)
