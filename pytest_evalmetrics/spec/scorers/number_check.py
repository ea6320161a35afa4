"""``type: number-check``: one comparison of the last numbers of two texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from pytest_evalmetrics.spec.forms import refuse
from pytest_evalmetrics.spec.scorers.texts import SidesKeys

__all__ = ["NumberCheckSpec"]

_DIFFERENCE = "absolute difference"


@dataclass(frozen=True, kw_only=True)
class NumberCheckSpec(SidesKeys):
    """The last numbers of two texts."""

    type: Annotated[
        Literal["number-check"], Field(description="a comparison of the last numbers of two texts")
    ]
    operation: Annotated[
        Literal[
            "equals",
            "==",
            "not equals",
            "!=",
            "<>",
            ">=",
            "gte",
            "greater than or equal",
            ">",
            "gt",
            "greater than",
            "<=",
            "lte",
            "less than or equal",
            "<",
            "lt",
            "less than",
            "absolute difference",
        ],
        Field(description="how the left number compares with the right one"),
    ]
    epsilon: Annotated[
        float | None,
        Field(ge=0, allow_inf_nan=False, description=f"how much an {_DIFFERENCE} may be"),
    ] = None

    @model_validator(mode="after")
    def _epsilon_with_difference(self) -> Any:
        if (self.epsilon is None) is (self.operation == _DIFFERENCE):
            raise refuse(f"epsilon is needed by, and only by, operation: {_DIFFERENCE}")
        return self

    @property
    def own_names(self) -> tuple[str, ...]:
        """What it scores."""
        return ("number-check",)
