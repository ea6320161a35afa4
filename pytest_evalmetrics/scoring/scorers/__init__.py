"""Rows in, scores out: the built-in scorers, and the making of all others.

A built-in scorer is the class of its keys, in the module of its topic, whose ``make`` returns the
function that scores a row. Any other has the methods that `interface` describes.
"""

from __future__ import annotations

from pytest_evalmetrics.model.rollout_table import Row as Row
from pytest_evalmetrics.scoring.chat.row_calls import Calls as Calls
from pytest_evalmetrics.scoring.chat.row_calls import Exchange as Exchange
from pytest_evalmetrics.scoring.chat.row_calls import shown_text as shown_text
from pytest_evalmetrics.scoring.scorers.interface import BoundScorer as BoundScorer
from pytest_evalmetrics.scoring.scorers.interface import ScoreSink as ScoreSink
from pytest_evalmetrics.scoring.scorers.interface import make_scorers as make_scorers
from pytest_evalmetrics.scoring.scorers.interface import score_row as score_row
from pytest_evalmetrics.scoring.scorers.interface import summarise_all as summarise_all
from pytest_evalmetrics.scoring.scorers.scorer import About as About
from pytest_evalmetrics.scoring.scorers.scorer import Explained as Explained
