"""What flows between the steps: columns of numbers, one row per rollout.

Text never gets this far. NaN means missing: a rollout without a finite number.
"""

from __future__ import annotations

from pytest_evalmetrics.data.pairs import Drift, PairedMetric
from pytest_evalmetrics.data.rewards import TaskId, TaskRewards
from pytest_evalmetrics.data.row_scores import FailedRow, RowScores
from pytest_evalmetrics.data.table import Category, RolloutTable, SourceFile

__all__ = [
    "Category",
    "Drift",
    "FailedRow",
    "PairedMetric",
    "RolloutTable",
    "RowScores",
    "SourceFile",
    "TaskId",
    "TaskRewards",
]
