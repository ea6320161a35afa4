"""``rollouts:``: which files hold the recorded rollouts, and how to read them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from pytest_evalmetrics.spec.forms import STRICT, Name, Names, expected

__all__ = ["FieldMap", "RolloutsField", "RolloutsSpec"]


@dataclass(frozen=True, kw_only=True)
class FieldMap:
    """Where a row keeps what we need, as dotted paths such as ``result.metrics.f1``.

    What is not named is looked for where NeMo Gym writes it.
    """

    __pydantic_config__ = STRICT

    task: Annotated[Name | None, Field(description="the task's id")] = None
    sample: Annotated[Name | None, Field(description="the attempt's number")] = None
    reward: Annotated[Name | None, Field(description="the reward")] = None
    agent: Annotated[Name | None, Field(description="the agent's name")] = None
    content: Annotated[
        Names | None,
        Field(description="what identifies the task beyond its id: the question, say"),
    ] = None
    scores: Annotated[dict[Name, Name], Field(description="further scores: name -> path")] = field(
        default_factory=dict
    )


@dataclass(frozen=True, kw_only=True)
class RolloutsSpec:
    """Which files hold the recorded rollouts, and how to read them."""

    __pydantic_config__ = STRICT

    path: Annotated[
        Names, Field(description="a path, a glob, or a list of them, relative to this file")
    ]
    format: Annotated[
        Name | None, Field(description="the loader's name; recognised by content if left out")
    ] = None
    fields: Annotated[FieldMap, Field(description="where a row keeps its numbers")] = field(
        default_factory=FieldMap
    )


def _rollouts(value: Any) -> Any:
    if not isinstance(value, str | list | dict):
        raise expected("a path, a list of paths, or a mapping with path")
    return value if isinstance(value, dict) else {"path": value}


_PathText = Annotated[str, Field(min_length=1)]
_PathTexts = Annotated[list[_PathText], Field(min_length=1)]
RolloutsField = Annotated[
    RolloutsSpec,
    BeforeValidator(_rollouts, json_schema_input_type=_PathText | _PathTexts | RolloutsSpec),
]
