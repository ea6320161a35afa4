"""Recorded rollouts: files in, one table out.

Whatever the format, a file is turned into columns as it is read; no text of it is kept.
"""

from __future__ import annotations

from pytest_evalmetrics.rollouts.in_memory import table_in_memory as table_in_memory
from pytest_evalmetrics.rollouts.loader import Chunk as Chunk
from pytest_evalmetrics.rollouts.loader import Request as Request
from pytest_evalmetrics.rollouts.recorded import load as load
from pytest_evalmetrics.rollouts.recorded import load_dataset as load_dataset
from pytest_evalmetrics.rollouts.recorded import records as records
from pytest_evalmetrics.rollouts.source import RolloutFile as RolloutFile
