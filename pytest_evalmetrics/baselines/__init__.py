"""Baselines: the run that a later one is compared with, in a file of its own or elsewhere."""

from pytest_evalmetrics.baselines.document import (
    AgentDocument,
    BaselineDocument,
    add_run,
    agent_document,
    document,
    from_report,
    is_edited,
    parse,
    render,
    stamped,
    tables,
    values,
    why_not_added,
)

__all__ = [
    "AgentDocument",
    "BaselineDocument",
    "add_run",
    "agent_document",
    "document",
    "from_report",
    "is_edited",
    "parse",
    "render",
    "stamped",
    "tables",
    "values",
    "why_not_added",
]
