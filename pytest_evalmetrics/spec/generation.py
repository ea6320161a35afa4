"""What a benchmark says of the rollouts that are generated: prompt, tools, target, budget."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from pytest_evalmetrics.spec.endpoints import TemplateValue
from pytest_evalmetrics.spec.forms import STRICT, Name, expected, refuse

__all__ = [
    "BudgetSpec",
    "PromptField",
    "ResponseFormatField",
    "TargetField",
    "TargetSpec",
    "ToolsField",
]

_REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_PROMPT = 'a text, a list of messages, or {messages: [...]}, such as "{{ question }}"'
_MESSAGE = "a message: a mapping with role and content"


def _prompt(value: Any) -> Any:
    """Unfold ``{messages: ...}``: what is left is a text or a list of messages."""
    if isinstance(value, dict):
        if set(value) != {"messages"}:
            raise expected(_PROMPT)
        value = value["messages"]
    if isinstance(value, str) and value.strip():
        return value
    if not isinstance(value, list) or not value:
        raise expected(_PROMPT)
    for message in value:
        if not isinstance(message, str) and not _is_message(message):
            raise expected(_MESSAGE)
    return value


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str)


_MESSAGES_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "string", "minLength": 1},
        {
            "type": "array",
            "minItems": 1,
            "items": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["role"]}]},
        },
    ]
}
_IN_A_MAPPING = {
    "type": "object",
    "properties": {"messages": {"description": "what is asked", **_MESSAGES_SCHEMA}},
    "required": ["messages"],
    "additionalProperties": False,
}
PromptField = Annotated[
    TemplateValue,
    BeforeValidator(_prompt),
    WithJsonSchema({"anyOf": [*_MESSAGES_SCHEMA["anyOf"], _IN_A_MAPPING]}),
]


def _tools(value: Any) -> Any:
    if isinstance(value, str) and "{{" in value:
        return value
    if not isinstance(value, list) or not all(isinstance(tool, dict) for tool in value):
        raise expected('a list of tools as the endpoint takes them, or a template "{{ tools }}"')
    return value


def _response_format(value: Any) -> Any:
    if isinstance(value, str) and "{{" in value:
        return value
    if not isinstance(value, dict) or "type" not in value:
        raise expected("a mapping with type, such as {type: json_object}, or a template")
    return value


ToolsField = Annotated[
    TemplateValue,
    BeforeValidator(_tools),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}]}),
]
ResponseFormatField = Annotated[
    TemplateValue,
    BeforeValidator(_response_format),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object", "required": ["type"]}]}),
]


def _reference(value: str) -> str:
    if not _REFERENCE.fullmatch(value):
        raise refuse(f"expected package.module:function, found {value[:60]!r}")
    return value


@dataclass(frozen=True, kw_only=True)
class TargetSpec:
    """A Python function that answers a row: an agent, a chain, anything."""

    __pydantic_config__ = STRICT

    function: Annotated[
        Name,
        AfterValidator(_reference),
        Field(description="package.module:function, called with the row; plain or async"),
    ]
    version: Annotated[
        Name | None,
        Field(
            description="of the agent: with it answers are kept in the journal, and asked anew "
            "when it changes"
        ),
    ] = None
    timeout_seconds: Annotated[
        float | None,
        Field(gt=0, allow_inf_nan=False, description="for one answer; default as long as it takes"),
    ] = None


def _target(value: Any) -> Any:
    if not isinstance(value, str | dict):
        raise expected("package.module:function, or a mapping with function")
    return {"function": value} if isinstance(value, str) else value


TargetField = Annotated[
    TargetSpec, BeforeValidator(_target, json_schema_input_type=Name | TargetSpec)
]


@dataclass(frozen=True, kw_only=True)
class BudgetSpec:
    """What one run of a benchmark may use; what the journal answers is free."""

    __pydantic_config__ = STRICT

    requests: Annotated[int | None, Field(ge=1, description="requests sent, retries too")] = None
    tokens: Annotated[int | None, Field(ge=1, description="of prompts and answers")] = None
    cost: Annotated[
        float | None, Field(gt=0, allow_inf_nan=False, description="in the currency of price")
    ] = None
    seconds: Annotated[
        float | None, Field(gt=0, allow_inf_nan=False, description="of the clock, from its start")
    ] = None
