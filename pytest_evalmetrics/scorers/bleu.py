"""``bleu``: the BLEU of one answer, by sacrebleu."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.registry import register_scorer
from pytest_evalmetrics.scorers.texts import Candidate, as_text, compiled
from pytest_evalmetrics.transport import needs_extra

if TYPE_CHECKING:
    from pytest_evalmetrics.scorers.protocol import Row, Terms
    from pytest_evalmetrics.spec import BleuSpec

__all__ = ["Bleu"]


@register_scorer("bleu")
class Bleu:
    """Sentence BLEU from 0 to 100, as ``sacrebleu.sentence_bleu`` has it.

    Papineni et al. 2002; tokenised (13a) and smoothed (exp) as Post 2018 proposes.
    """

    def __init__(self, spec: BleuSpec, terms: Terms) -> None:
        del terms
        self.scores = spec.score_names
        with needs_extra("text", f"the scorer {spec.type}"):
            from sacrebleu.metrics.bleu import BLEU  # noqa: PLC0415 - 0.2 s, and of an extra
        self._bleu: Any = BLEU(effective_order=True)
        self._references = compiled(spec.references, spec.type)
        self._candidate = Candidate(spec.candidate, spec.type)

    def score(self, row: Row) -> float:
        """Score one row."""
        references: list[str] = []
        for found in self._references(row.context):
            several = found if isinstance(found, list) else [found]
            references += [as_text(text, "the reference") for text in several]
        if not references:
            raise RowError("no-reference", "the row has no reference: its list is empty")
        return float(self._bleu.sentence_score(self._candidate(row), references).score)
