"""What a benchmark's evaluation comes to: plain frozen values, ready for every report."""

from __future__ import annotations

from pytest_evalmetrics.results.benchmark import AgentResult, BenchmarkResult
from pytest_evalmetrics.results.scores import Agreement, Bin, RubricCount, ScoreSummary
from pytest_evalmetrics.results.scoring import (
    Disagreement,
    JudgeCheck,
    JudgeUse,
    RowFailure,
    ScorerFailures,
)
from pytest_evalmetrics.results.verdicts import Check, Estimate, Interval, Power, Verdict, worst

__all__ = [
    "AgentResult",
    "Agreement",
    "BenchmarkResult",
    "Bin",
    "Check",
    "Disagreement",
    "Estimate",
    "Interval",
    "JudgeCheck",
    "JudgeUse",
    "Power",
    "RowFailure",
    "RubricCount",
    "ScoreSummary",
    "ScorerFailures",
    "Verdict",
    "worst",
]
