"""``type: trajectory_evaluation``: whether an agent went about it in a sensible way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from pytest_evalmetrics.errors import did_you_mean
from pytest_evalmetrics.spec.forms import Name, expected, refuse
from pytest_evalmetrics.spec.judges import JudgeKeys

__all__ = ["TrajectoryEvaluationSpec"]


def _tools(value: Any) -> Any:
    """Read ``a, b`` as a list."""
    if isinstance(value, str):
        value = [name.strip() for name in value.split(",") if name.strip()]
    if not isinstance(value, list) or not value:
        raise expected("names of tools, as a list or with commas between them")
    return value


_NAME: dict[str, Any] = {"type": "string", "minLength": 1}


@dataclass(frozen=True, kw_only=True)
class TrajectoryEvaluationSpec(JudgeKeys):
    """The steps that an agent of the NeMo Agent Toolkit took."""

    type: Annotated[
        Literal["trajectory_evaluation", "trajectory-evaluation"],
        Field(description="whether an agent's steps and tools were the right ones"),
    ]
    trajectory_used_tools: Annotated[
        tuple[Name, ...],
        Field(strict=False, description="the tools that the agent has"),
        BeforeValidator(_tools),
        WithJsonSchema({"anyOf": [_NAME, {"type": "array", "items": _NAME, "minItems": 1}]}),
    ]
    trajectory_custom_tools: Annotated[
        dict[Name, str], Field(description="tool -> what it does")
    ] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a description of a tool that the agent doesn't have."""
        JudgeKeys.__post_init__(self)
        for name in self.trajectory_custom_tools:
            if name not in self.trajectory_used_tools:
                known = did_you_mean(name, self.trajectory_used_tools, what="trajectory_used_tools")
                raise refuse(f"trajectory_custom_tools describes {name!r}: {known}")

    @property
    def own_names(self) -> tuple[str, ...]:
        """What it scores."""
        return ("trajectory_evaluation",)
