"""Recorded rollouts: files in, one table out.

Whatever the format, a file is turned into columns as it is read; no text of it is kept.
"""

from __future__ import annotations

from pytest_evalmetrics.rollouts.in_memory import table_in_memory
from pytest_evalmetrics.rollouts.loader import Chunk, Request
from pytest_evalmetrics.rollouts.recorded import load, load_dataset, records
from pytest_evalmetrics.rollouts.source import RolloutFile

__all__ = [
    "Chunk",
    "Request",
    "RolloutFile",
    "load",
    "load_dataset",
    "records",
    "table_in_memory",
]
