"""What flows between the steps: columns of numbers, one row per rollout."""

from __future__ import annotations

from pytest_evalmetrics.data.rollout_table import (
    Category,
    Drift,
    FailedRow,
    PairedMetric,
    RolloutTable,
    RowScores,
    SourceFile,
    TaskId,
    TaskRewards,
    pool,
)

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
    "pool",
]
