"""From a benchmark to its result: load -> (score) -> reduce -> gate, each in one place."""

from pytest_evalmetrics.pipeline.evaluating import Evaluated, Hooks, evaluate
from pytest_evalmetrics.pipeline.power import power_of

__all__ = ["Evaluated", "Hooks", "evaluate", "power_of"]
