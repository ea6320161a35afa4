"""``type: tool_call_accuracy``: tool calls in their order, with partial credit for arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from pytest_evalmetrics.spec.scorers.named import Named

__all__ = ["ToolCallAccuracySpec"]


@dataclass(frozen=True, kw_only=True)
class ToolCallAccuracySpec(Named):
    """The calls of a conversation, against ``reference_tool_calls``."""

    type: Annotated[
        Literal["tool_call_accuracy"],
        Field(description="the agent's tool calls against the row's reference_tool_calls"),
    ]
    strict_order: Annotated[bool, Field(description="whether the order of the calls counts")] = True

    @property
    def own_names(self) -> tuple[str, ...]:
        """What it scores."""
        return ("tool_call_accuracy",)
