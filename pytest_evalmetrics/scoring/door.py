"""What the stages and the plugin use of scoring: everything else in this folder is private.

Rows in, scores out. Importing this module loads what sends requests; only benchmarks with
scorers, a model or a target need it. Extensions import the same names from `ext`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.scoring.chat.row_calls import Calls, Exchange
from pytest_evalmetrics.scoring.engines.local import (
    AnswerAttempt,
    Engine,
    Workload,
    score_here,
    score_without_calls,
)
from pytest_evalmetrics.scoring.generation import (
    Generated,
    Generator,
    ModelGenerator,
    make_generator,
)
from pytest_evalmetrics.scoring.scorers import (
    About,
    BoundScorer,
    make_scorers,
    summarise_all,
)
from pytest_evalmetrics.scoring.transport import (
    Budget,
    CallError,
    Forecast,
    Journal,
    JournalError,
    JournalMode,
    Meter,
    Progress,
    SecretError,
    Terms,
    Tokens,
    Transport,
    Usage,
    redact,
)
from pytest_evalmetrics.scoring.transport.journal_copies import (
    clear_journal,
    count_answers,
    export_journal,
    import_journal,
)
from pytest_evalmetrics.scoring.transport.secrets import keys_in

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "About",
    "AnswerAttempt",
    "BoundScorer",
    "Budget",
    "CallError",
    "Calls",
    "Engine",
    "Exchange",
    "Forecast",
    "Generated",
    "Generator",
    "Journal",
    "JournalError",
    "JournalMode",
    "Meter",
    "ModelGenerator",
    "Progress",
    "SecretError",
    "Terms",
    "Tokens",
    "Transport",
    "Usage",
    "Workload",
    "clear_journal",
    "count_answers",
    "export_journal",
    "import_journal",
    "keys_in",
    "make_generator",
    "make_scorers",
    "ray_engine",
    "redact",
    "score_here",
    "score_without_calls",
    "summarise_all",
]


def ray_engine(address: str | None, root: Path) -> Engine:
    """Return the engine that reads and scores on a Ray cluster; it needs the extra `ray`."""
    from pytest_evalmetrics.scoring.engines.ray_engine import RayEngine  # large

    return RayEngine(address, root)
