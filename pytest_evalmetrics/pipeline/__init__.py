"""From a benchmark to its result: load -> reduce -> gate, one direction, one place each."""

from pytest_evalmetrics.pipeline.evaluating import Evaluated, Hooks, evaluate

__all__ = ["Evaluated", "Hooks", "evaluate"]
