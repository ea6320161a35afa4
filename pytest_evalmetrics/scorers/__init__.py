"""Rows in, scores out: what gives a rollout its numbers where nobody recorded them.

A scorer is one file with one registration; `protocol` says what it has to be.
"""

from __future__ import annotations

from pytest_evalmetrics.scorers.calls import Calls, Exchange, RowCalls, shown_text
from pytest_evalmetrics.scorers.making import BoundScorer, Scores, make_scorers
from pytest_evalmetrics.scorers.one import Sink, score_row
from pytest_evalmetrics.scorers.protocol import AsyncScorer, Explained, Row, Scorer, Terms
from pytest_evalmetrics.scorers.reading import shown
from pytest_evalmetrics.scorers.summary import About, summarise, summarise_all

__all__ = [
    "About",
    "AsyncScorer",
    "BoundScorer",
    "Calls",
    "Exchange",
    "Explained",
    "Row",
    "RowCalls",
    "Scorer",
    "Scores",
    "Sink",
    "Terms",
    "make_scorers",
    "score_row",
    "shown",
    "shown_text",
    "summarise",
    "summarise_all",
]
