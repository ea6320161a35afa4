"""From a benchmark to its result: load -> reduce -> gate, one direction, one place each."""

from pytest_evalmetrics.pipeline.evaluating import Evaluated, Hooks, evaluate
from pytest_evalmetrics.pipeline.power import power_of

__all__ = ["Evaluated", "Hooks", "evaluate", "power_of"]
