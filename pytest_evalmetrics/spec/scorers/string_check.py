"""``type: string-check``: one comparison of two texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from pytest_evalmetrics.spec.scorers.texts import SidesKeys

__all__ = ["StringCheckSpec"]


@dataclass(frozen=True, kw_only=True)
class StringCheckSpec(SidesKeys):
    """Two texts."""

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

    @property
    def own_names(self) -> tuple[str, ...]:
        """What it scores."""
        return ("string-check",)
