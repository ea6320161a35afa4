"""Baselines: the run that a later one is compared with, in a file of its own or elsewhere."""

from pytest_evalmetrics.baselines.document import (
    agent_document,
    document,
    from_report,
    parse,
    render,
    tables,
    values,
)

__all__ = ["agent_document", "document", "from_report", "parse", "render", "tables", "values"]
