"""What scorers that ask a judge share: the judge, and what it is checked against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from pytest_evalmetrics.spec.forms import STRICT, Name, refuse
from pytest_evalmetrics.spec.models import ModelSpec
from pytest_evalmetrics.spec.rollouts import RolloutsField
from pytest_evalmetrics.spec.scorers.named import Named

__all__ = ["JudgeCheckSpec", "JudgeKeys", "JudgeModelSpec"]


@dataclass(frozen=True, kw_only=True)
class JudgeModelSpec:
    """``judge: {model: ...}``, the longer form of ``judge_model``."""

    __pydantic_config__ = STRICT

    model: Annotated[ModelSpec, Field(description="the model that judges")]


@dataclass(frozen=True, kw_only=True)
class JudgeCheckSpec:
    """Rows that people have labelled, which the judge is checked against."""

    __pydantic_config__ = STRICT

    rows: Annotated[
        RolloutsField, Field(description="the labelled rows: the same columns, and the label")
    ]
    label: Annotated[Name, Field(description="the column with a person's score, or rubric label")]
    score: Annotated[
        Name | None, Field(description="which score it is a label of; default the scorer's first")
    ] = None


@dataclass(frozen=True, kw_only=True)
class JudgeKeys(Named):
    """The judge of a scorer that asks one."""

    judge_model: Annotated[ModelSpec | None, Field(description="the model that judges")] = None
    judge: Annotated[
        JudgeModelSpec | None,
        Field(description="{model: ...}, in place of judge_model"),
    ] = None
    judge_check: Annotated[
        JudgeCheckSpec | None, Field(description="compare the judge with people's labels")
    ] = None

    def __post_init__(self) -> None:
        """Refuse a scorer without a judge, or with two."""
        if (self.judge_model is None) == (self.judge is None):
            raise refuse(
                "judge_model is missing: {url, name, api_key_secret}"
                if self.judge is None
                else "judge_model and judge say the same: write one of them"
            )

    @property
    def model(self) -> ModelSpec:
        """The model that judges."""
        found = self.judge_model or (self.judge.model if self.judge else None)
        if found is None:  # no benchmark file with neither is ever accepted
            raise ValueError("there is no judge")
        return found
