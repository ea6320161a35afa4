"""``type: exact-match``: the same text, but for case, punctuation and articles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from pytest_evalmetrics.spec.forms import STRICT
from pytest_evalmetrics.spec.scorers.texts import REFERENCE, CandidateText, ReferenceText

__all__ = ["ExactMatchSpec"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactMatchSpec:
    """Equality of two texts, normalised."""

    __pydantic_config__ = STRICT

    type: Annotated[
        Literal["exact-match", "exact_match"],
        Field(description="the same text, but for case, punctuation and articles"),
    ]
    reference: ReferenceText = REFERENCE
    candidate: CandidateText = None

    @property
    def score_names(self) -> tuple[str, ...]:
        """What it scores."""
        return ("exact-match",)
