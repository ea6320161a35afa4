"""``type: exact-match``: the same text, but for case, punctuation and articles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from pytest_evalmetrics.spec.scorers.texts import PairKeys

__all__ = ["ExactMatchSpec"]


@dataclass(frozen=True, kw_only=True)
class ExactMatchSpec(PairKeys):
    """Equality of two texts, normalised."""

    type: Annotated[
        Literal["exact-match", "exact_match"],
        Field(description="the same text, but for case, punctuation and articles"),
    ]

    @property
    def own_names(self) -> tuple[str, ...]:
        """What it scores."""
        return ("exact-match",)
