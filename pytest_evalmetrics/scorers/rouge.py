"""``rouge``: ROUGE-1, -2, -3 and -L of one answer, by rouge-score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.registry import register_scorer
from pytest_evalmetrics.scorers.texts import PairScorer
from pytest_evalmetrics.transport import needs_extra

if TYPE_CHECKING:
    from pytest_evalmetrics.scorers.protocol import Row, Terms
    from pytest_evalmetrics.spec import RougeSpec

__all__ = ["Rouge"]

_TYPES = ("rouge1", "rouge2", "rouge3", "rougeL")  # in the order of the scores


@register_scorer("rouge")
class Rouge(PairScorer):
    """The F-measures of ``rouge_score``, words stemmed; from 0 to 1.

    Lin 2004.
    """

    def __init__(self, spec: RougeSpec, terms: Terms) -> None:
        super().__init__(spec, terms)
        with needs_extra("text", f"the scorer {spec.type}"):
            from rouge_score.rouge_scorer import (  # noqa: PLC0415 - 0.5 s and more, and of an extra
                RougeScorer,
            )
        self._rouge: Any = RougeScorer(list(_TYPES), use_stemmer=True)

    def score(self, row: Row) -> dict[str, float]:
        """Score one row."""
        found = self._rouge.score(*self._pair(row))
        return {
            name: float(found[kind].fmeasure)
            for name, kind in zip(self.scores, _TYPES, strict=True)
        }
