"""Rows in, scores out: the built-in scorers, and the making of all others.

`interface` says what a scorer has to be. A new one is a class in the module of its topic with
its registration, and the dataclass of its keys in ``spec``.
"""

from __future__ import annotations

from pytest_evalmetrics.chat import Calls, Exchange, shown_text
from pytest_evalmetrics.data import Row
from pytest_evalmetrics.scorers.interface import (
    AsyncScorer,
    BoundScorer,
    Explained,
    Scorer,
    Scores,
    make_scorers,
    score_row,
)
from pytest_evalmetrics.scorers.row_reading import shown
from pytest_evalmetrics.scorers.score_summary import About, summarise, summarise_all
from pytest_evalmetrics.transport import Terms

__all__ = [
    "About",
    "AsyncScorer",
    "BoundScorer",
    "Calls",
    "Exchange",
    "Explained",
    "Row",
    "Scorer",
    "Scores",
    "Terms",
    "make_scorers",
    "score_row",
    "shown",
    "shown_text",
    "summarise",
    "summarise_all",
]
