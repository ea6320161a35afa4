"""From a benchmark to its result: load -> (score) -> reduce -> gate, each in one place."""

from pytest_evalmetrics.pipeline.evaluated import Evaluated, Hooks
from pytest_evalmetrics.pipeline.evaluating import evaluate

__all__ = ["Evaluated", "Hooks", "evaluate"]
