"""``type: tool-calling``: tool calls in any order, right or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from pytest_evalmetrics.spec.endpoints import TemplateText
from pytest_evalmetrics.spec.scorers.named import Named

__all__ = ["ToolCallingSpec"]


@dataclass(frozen=True, kw_only=True)
class ToolCallingSpec(Named):
    """The calls of a response, against a list of calls."""

    type: Annotated[
        Literal["tool-calling"],
        Field(description="the tool calls of a response against a reference, in any order"),
    ]
    reference: Annotated[
        TemplateText, Field(description="template of a list of tool calls, such as {{tool_calls}}")
    ]

    @property
    def own_names(self) -> tuple[str, ...]:
        """What it scores."""
        return ("function_name_accuracy", "function_name_and_args_accuracy")
