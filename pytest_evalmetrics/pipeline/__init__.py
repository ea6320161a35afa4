"""From a benchmark to its result: load -> (score) -> reduce -> gate, each in one place."""

from pytest_evalmetrics.pipeline.evaluation import Evaluated, Evaluation, Hooks, evaluate

__all__ = ["Evaluated", "Evaluation", "Hooks", "evaluate"]
