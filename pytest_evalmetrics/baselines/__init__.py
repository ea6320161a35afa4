"""Baselines: the run that a later one is compared with, in a file of its own or elsewhere."""

from pytest_evalmetrics.baselines.document import (
    agent_document,
    baseline_document,
    is_edited,
    parse,
)
from pytest_evalmetrics.baselines.earlier_report import from_report
from pytest_evalmetrics.baselines.run_tables import tables
from pytest_evalmetrics.baselines.several_runs import add_run, why_not_added

__all__ = [
    "add_run",
    "agent_document",
    "baseline_document",
    "from_report",
    "is_edited",
    "parse",
    "tables",
    "why_not_added",
]
