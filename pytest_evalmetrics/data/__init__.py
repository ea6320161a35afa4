"""What flows between the steps: columns of numbers, one row per rollout."""

from __future__ import annotations

from pytest_evalmetrics.data.rollout_table import (
    MISSING,
    STATED_COUNT,
    STATED_ERROR,
    Category,
    Drift,
    FailedRow,
    PairedMetric,
    RolloutTable,
    Row,
    RowScores,
    SourceFile,
    TaskId,
    TaskRewards,
    TaskRows,
    in_order,
    is_numeric,
    pool,
)

__all__ = [
    "MISSING",
    "STATED_COUNT",
    "STATED_ERROR",
    "Category",
    "Drift",
    "FailedRow",
    "PairedMetric",
    "RolloutTable",
    "Row",
    "RowScores",
    "SourceFile",
    "TaskId",
    "TaskRewards",
    "TaskRows",
    "in_order",
    "is_numeric",
    "pool",
]
