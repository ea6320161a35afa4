"""``exact-match``: the same text, but for case, punctuation, articles and spaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.registry import register_scorer
from pytest_evalmetrics.scorers.texts import PairScorer
from pytest_evalmetrics.scorers.words import normalised

if TYPE_CHECKING:
    from pytest_evalmetrics.scorers.protocol import Row

__all__ = ["ExactMatch"]


@register_scorer("exact-match")
@register_scorer("exact_match")
class ExactMatch(PairScorer):
    """1 where reference and candidate are the same once normalised, else 0."""

    def score(self, row: Row) -> float:
        """Score one row."""
        reference, candidate = self._pair(row)
        return float(normalised(reference) == normalised(candidate))
