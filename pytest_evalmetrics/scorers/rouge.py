"""``rouge``: ROUGE-1, -2, -3 and -L of one answer, by rouge-score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.registry import register_scorer
from pytest_evalmetrics.scorers.texts import Pair
from pytest_evalmetrics.transport import needs_extra

if TYPE_CHECKING:
    from pytest_evalmetrics.scorers.protocol import Row, Terms
    from pytest_evalmetrics.spec import RougeSpec

__all__ = ["Rouge"]

_TYPES = {
    "rouge_1_score": "rouge1",
    "rouge_2_score": "rouge2",
    "rouge_3_score": "rouge3",
    "rouge_L_score": "rougeL",
}


@register_scorer("rouge")
class Rouge:
    """The F-measures of ``rouge_score``, words stemmed; from 0 to 1.

    Parameters
    ----------
    spec
        What the benchmark file says.
    terms
        Not needed: nothing is called.

    Raises
    ------
    MissingExtraError
        The ``text`` extra is not installed.

    Notes
    -----
    Lin 2004.
    """

    scores = tuple(_TYPES)

    def __init__(self, spec: RougeSpec, terms: Terms) -> None:
        del terms
        with needs_extra("text", f"the scorer {spec.type}"):
            from rouge_score.rouge_scorer import (  # noqa: PLC0415 - 0.5 s and more, and of an extra
                RougeScorer,
            )
        self._rouge: Any = RougeScorer(list(_TYPES.values()), use_stemmer=True)
        self._pair = Pair(spec.reference, spec.candidate, spec.type)

    def score(self, row: Row) -> dict[str, float]:
        """Score one row."""
        found = self._rouge.score(*self._pair(row))
        return {name: float(found[kind].fmeasure) for name, kind in _TYPES.items()}
