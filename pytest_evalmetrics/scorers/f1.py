"""``f1``: how many words reference and candidate share."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pytest_evalmetrics.registry import register_scorer
from pytest_evalmetrics.scorers.texts import Pair
from pytest_evalmetrics.scorers.words import normalised

if TYPE_CHECKING:
    from pytest_evalmetrics.scorers.protocol import Row, Terms
    from pytest_evalmetrics.spec import F1Spec

__all__ = ["F1"]


@register_scorer("f1")
class F1:
    """The F1 of the candidate's words against the reference's, both normalised.

    Parameters
    ----------
    spec
        What the benchmark file says.
    terms
        Not needed: nothing is called.

    Notes
    -----
    ``2 * shared / (words of the one + words of the other)``, shared with multiplicity, which
    is the harmonic mean of precision and recall. Where one has no words: 1 if neither has
    any, else 0. SQuAD 2.0 (Rajpurkar et al. 2018).
    """

    scores = ("f1",)

    def __init__(self, spec: F1Spec, terms: Terms) -> None:
        del terms
        self._pair = Pair(spec.reference, spec.candidate, spec.type)

    def score(self, row: Row) -> float:
        """Score one row."""
        wanted, found = (normalised(text).split() for text in self._pair(row))
        if not wanted or not found:
            return float(wanted == found)
        shared = (Counter(wanted) & Counter(found)).total()
        return 2 * shared / (len(wanted) + len(found))
