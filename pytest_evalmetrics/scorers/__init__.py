"""Rows in, scores out: what gives a rollout its numbers where nobody recorded them.

A scorer is one file with one registration; `protocol` says what it has to be.
"""

from __future__ import annotations

from pytest_evalmetrics.scorers.calls import Calls, Exchange, RowCalls
from pytest_evalmetrics.scorers.making import BoundScorer, make_scorers
from pytest_evalmetrics.scorers.protocol import AsyncScorer, Explained, Row, Scorer, Terms
from pytest_evalmetrics.scorers.summary import summarise

__all__ = [
    "AsyncScorer",
    "BoundScorer",
    "Calls",
    "Exchange",
    "Explained",
    "Row",
    "RowCalls",
    "Scorer",
    "Terms",
    "make_scorers",
    "summarise",
]
