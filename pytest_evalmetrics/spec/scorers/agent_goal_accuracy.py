"""``type: agent_goal_accuracy``: whether the user got what was wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from pytest_evalmetrics.spec.judges import JudgeKeys

__all__ = ["AgentGoalAccuracySpec"]


@dataclass(frozen=True, kw_only=True)
class AgentGoalAccuracySpec(JudgeKeys):
    """How a conversation ends, against the reference or the goal in it."""

    type: Annotated[
        Literal["agent_goal_accuracy"],
        Field(description="whether the conversation ends as the user wanted"),
    ]
    use_reference: Annotated[
        bool,
        Field(description="compare with the row's reference; else with the goal in what was said"),
    ] = True

    @property
    def own_names(self) -> tuple[str, ...]:
        """What it scores."""
        return ("agent_goal_accuracy",)
