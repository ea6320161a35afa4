"""``type: answer_accuracy``: whether an answer says what the reference says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from pytest_evalmetrics.spec.judges import JudgeKeys

__all__ = ["AnswerAccuracySpec"]


@dataclass(frozen=True, kw_only=True)
class AnswerAccuracySpec(JudgeKeys):
    """The response against the reference, rated both ways round."""

    type: Annotated[
        Literal["answer_accuracy"],
        Field(description="whether the response says what the reference says"),
    ]

    @property
    def own_names(self) -> tuple[str, ...]:
        """What it scores."""
        return ("nv_accuracy",)
