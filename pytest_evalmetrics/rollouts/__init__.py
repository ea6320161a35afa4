"""Recorded rollouts: files in, one table out.

Whatever the format, a file is turned into columns as it is read; no text of it is kept.
"""

from __future__ import annotations

from pytest_evalmetrics.registry import loaders, register_loader
from pytest_evalmetrics.rollouts.files import RolloutFile
from pytest_evalmetrics.rollouts.in_memory import table_in_memory
from pytest_evalmetrics.rollouts.loader import (
    Chunk,
    Failure,
    Loader,
    NotFinite,
    Request,
    TextLoader,
)
from pytest_evalmetrics.rollouts.recorded import load, load_dataset, records
from pytest_evalmetrics.rollouts.source import Source

__all__ = [
    "Chunk",
    "Failure",
    "Loader",
    "NotFinite",
    "Request",
    "RolloutFile",
    "Source",
    "TextLoader",
    "load",
    "load_dataset",
    "loaders",
    "records",
    "register_loader",
    "table_in_memory",
]
