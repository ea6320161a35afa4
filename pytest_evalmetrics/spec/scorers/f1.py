"""``type: f1``: the words that two texts share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from pytest_evalmetrics.spec.scorers.texts import PairKeys

__all__ = ["F1Spec"]


@dataclass(frozen=True, kw_only=True)
class F1Spec(PairKeys):
    """The F1 of the words of two texts."""

    type: Annotated[Literal["f1"], Field(description="the words that two texts share")]

    @property
    def own_names(self) -> tuple[str, ...]:
        """What it scores."""
        return ("f1",)
