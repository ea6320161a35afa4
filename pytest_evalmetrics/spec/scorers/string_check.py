"""``type: string-check``: one comparison of two texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from pytest_evalmetrics.spec.forms import STRICT
from pytest_evalmetrics.spec.scorers.texts import LeftText, RightText

__all__ = ["StringCheckSpec"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StringCheckSpec:
    """Two texts."""

    __pydantic_config__ = STRICT

    type: Annotated[Literal["string-check"], Field(description="a comparison of two texts")]
    operation: Annotated[
        Literal[
            "equals",
            "==",
            "not equals",
            "!=",
            "<>",
            "contains",
            "not contains",
            "startswith",
            "endswith",
        ],
        Field(description="how the left text compares with the right one"),
    ]
    left_template: LeftText
    right_template: RightText

    @property
    def score_names(self) -> tuple[str, ...]:
        """What it scores."""
        return ("string-check",)
