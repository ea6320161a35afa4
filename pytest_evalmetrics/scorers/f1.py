"""``f1``: how many words reference and candidate share."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pytest_evalmetrics.registry import register_scorer
from pytest_evalmetrics.scorers.texts import PairScorer
from pytest_evalmetrics.scorers.words import normalised

if TYPE_CHECKING:
    from pytest_evalmetrics.scorers.protocol import Row

__all__ = ["F1"]


@register_scorer("f1")
class F1(PairScorer):
    """The F1 of the candidate's words against the reference's, both normalised.

    ``2 * shared / (words of the one + words of the other)``, shared with multiplicity, which
    is the harmonic mean of precision and recall. Where one has no words: 1 if neither has
    any, else 0. SQuAD 2.0 (Rajpurkar et al. 2018).
    """

    def score(self, row: Row) -> float:
        """Score one row."""
        wanted, found = (normalised(text).split() for text in self._pair(row))
        if not wanted or not found:
            return float(wanted == found)
        shared = (Counter(wanted) & Counter(found)).total()
        return 2 * shared / (len(wanted) + len(found))
