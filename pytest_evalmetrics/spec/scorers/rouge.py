"""``type: rouge``: ROUGE-1, -2, -3 and -L."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from pytest_evalmetrics.spec.scorers.texts import PairKeys

__all__ = ["RougeSpec"]


@dataclass(frozen=True, kw_only=True)
class RougeSpec(PairKeys):
    """ROUGE of one text."""

    type: Annotated[Literal["rouge"], Field(description="ROUGE-1, -2, -3 and -L")]

    @property
    def own_names(self) -> tuple[str, ...]:
        """What it scores."""
        return ("rouge_1_score", "rouge_2_score", "rouge_3_score", "rouge_L_score")
