"""Rows in, scores out: the built-in scorers, and the making of all others.

A built-in scorer is the class of its keys, in the module of its topic, whose ``make`` returns the
function that scores a row. Any other has the methods that `interface` describes.
"""

from __future__ import annotations

from pytest_evalmetrics.chat.row_calls import Calls, Exchange, shown_text
from pytest_evalmetrics.data import Row
from pytest_evalmetrics.scorers.interface import (
    BoundScorer,
    Explained,
    Scores,
    make_scorers,
    score_row,
)
from pytest_evalmetrics.scorers.row_reading import shown
from pytest_evalmetrics.scorers.score_summary import About, summarise, summarise_all
from pytest_evalmetrics.transport import Terms

__all__ = [
    "About",
    "BoundScorer",
    "Calls",
    "Exchange",
    "Explained",
    "Row",
    "Scores",
    "Terms",
    "make_scorers",
    "score_row",
    "shown",
    "shown_text",
    "summarise",
    "summarise_all",
]
