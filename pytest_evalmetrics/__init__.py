"""Benchmark regression gating for models, agents and prompts, as a pytest plugin.

What a user's own code needs is here; everything is imported on first use, because
this package is loaded into every pytest run, with or without a benchmark in it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

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


class Finder:
    """Import our modules from pip's byte code: they have no assert for pytest to rewrite."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith("pytest_evalmetrics."):
            return None
        return PathFinder.find_spec(name, path, target)


sys.meta_path.insert(0, Finder)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "checking" if name == "EvalMetrics" else "ext"
    return getattr(import_module(f"{__name__}.{home}"), name)
