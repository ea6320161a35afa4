"""The keys that say where rollouts come from: files, a model, a target."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from pytest_evalmetrics.spec.field_types import (
    STRICT,
    FromEnvironment,
    MaxRetries,
    Name,
    Names,
    Retries,
    Seconds,
    SecretName,
    TemplateValue,
    TimeoutSeconds,
    Url,
    doc,
    expected,
    is_number,
    refuse,
)

# -- rollouts and dataset: files -----------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class FieldMap:
    """Dotted paths within a row, such as ``result.metrics.f1``; default where NeMo Gym writes."""

    __pydantic_config__ = STRICT

    task: Annotated[Name | None, doc("the task's id")] = None
    sample: Annotated[Name | None, doc("the attempt's number")] = None
    reward: Annotated[Name | None, doc("the reward")] = None
    agent: Annotated[Name | None, doc("the agent's name")] = None
    content: Annotated[
        Names | None, doc("what identifies the task beyond its id: the question, say")
    ] = None
    scores: Annotated[dict[Name, Name], doc("further scores: name -> path")] = field(
        default_factory=dict
    )


@dataclass(frozen=True, kw_only=True)
class RolloutsSpec:
    """The files with recorded rollouts, and their format."""

    __pydantic_config__ = STRICT

    path: Annotated[Names, doc("a path, a glob, or a list of them, relative to this file")]
    format: Annotated[Name | None, doc("the loader's name; recognised by content if left out")] = (
        None
    )
    fields: Annotated[FieldMap, doc("where a row keeps its numbers")] = field(
        default_factory=FieldMap
    )


def _in_long_form(value: Any) -> Any:
    if not isinstance(value, str | list | dict):
        raise expected("a path, a list of paths, or a mapping with path")
    return value if isinstance(value, dict) else {"path": value}


_PathText = Annotated[str, Field(min_length=1)]
_PathTexts = Annotated[list[_PathText], Field(min_length=1)]
RolloutsField = Annotated[
    RolloutsSpec,
    BeforeValidator(_in_long_form, json_schema_input_type=_PathText | _PathTexts | RolloutsSpec),
]


@dataclass(frozen=True, kw_only=True)
class DatasetSpec(RolloutsSpec):
    """The files with rows to answer or score, their format, and a selection."""

    __pydantic_config__ = STRICT

    limit: Annotated[
        Annotated[int, Field(ge=1)] | None,
        doc("so many rows of it: the first ones, or with shuffle a random choice"),
    ] = None
    shuffle: Annotated[bool | int, doc("choose them at random: true, or the seed")] = False
    seed: Annotated[int | None, Field(ge=0, description="of shuffle; default 0")] = None

    @property
    def chosen_with(self) -> int | None:
        """The seed of a random choice; None for the first rows."""
        if isinstance(self.shuffle, bool):
            return (self.seed or 0) if self.shuffle else None
        return self.shuffle


DatasetField = Annotated[
    DatasetSpec,
    BeforeValidator(_in_long_form, json_schema_input_type=_PathText | _PathTexts | DatasetSpec),
]


# -- model, judge_model: OpenAI-compatible endpoints ---------------------------------------


_OTHER_KEYS = {  # of a request -> the key of a benchmark that sets it
    "model": "name",
    "messages": "prompt_template",
    "prompt": "prompt_template",
    "stream": "nothing: one whole answer is asked for",
    "n": "num_samples",
    "tools": "tools",
    "response_format": "response_format",
}


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_PARAMETERS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "temperature": ("a number from 0", lambda v: is_number(v) and v >= 0),
    "top_p": ("a number from 0 to 1", lambda v: is_number(v) and 0 <= v <= 1),
    "max_tokens": ("a whole number from 1", lambda v: _whole(v) and v >= 1),
    "max_completion_tokens": ("a whole number from 1", lambda v: _whole(v) and v >= 1),
    "seed": ("a whole number", _whole),
    "frequency_penalty": ("a number", is_number),
    "presence_penalty": ("a number", is_number),
    "stop": (
        "a text or a list of texts",
        lambda v: (
            isinstance(v, str) or (isinstance(v, list) and all(isinstance(s, str) for s in v))
        ),
    ),
}


def _inference(value: dict[str, Any]) -> dict[str, Any]:
    for key, parameter in value.items():
        if key in _OTHER_KEYS:
            raise refuse(f"{key!r} is no inference parameter: say it with {_OTHER_KEYS[key]}")
        what, fits = _PARAMETERS.get(key, ("", lambda _: True))
        if not fits(parameter):
            raise refuse(f"{key} is {parameter!r:.60}, expected {what}")
    return value


InferenceField = Annotated[
    dict[Name, Any],
    AfterValidator(_inference),
    doc("temperature, max_tokens, top_p, seed, stop ...: sent as they are; nothing else is sent"),
]
SystemPrompt = Annotated[str | None, doc("the first message, of the role system")]


@dataclass(frozen=True, kw_only=True)
class ReasoningSpec:
    """The reasoning of a model before its answer."""

    __pydantic_config__ = STRICT

    end_token: Annotated[
        Name | None, doc("what ends the reasoning, such as </think>: the answer is what follows")
    ] = None
    effort: Annotated[Name | None, doc("sent as reasoning_effort")] = None


@dataclass(frozen=True, kw_only=True)
class PriceSpec:
    """The price of a million tokens, in any currency."""

    __pydantic_config__ = STRICT

    input: Annotated[float, Field(ge=0, allow_inf_nan=False, description="of a prompt")]
    output: Annotated[float, Field(ge=0, allow_inf_nan=False, description="of an answer")]


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """A model behind an OpenAI-compatible endpoint."""

    __pydantic_config__ = STRICT

    url: Annotated[Url, doc("of chat completions, or its base: http://localhost:8000/v1")]
    name: Annotated[Name, FromEnvironment, doc("the model's name, as its endpoint knows it")]
    api_key_secret: SecretName = None
    format: Annotated[
        Literal["chat", "completions"] | None, doc("default: what the URL ends with, else chat")
    ] = None
    inference: InferenceField = field(default_factory=dict)
    system_prompt: SystemPrompt = None
    reasoning: Annotated[ReasoningSpec | None, doc("of a reasoning model")] = None
    price: Annotated[PriceSpec | None, doc("per million tokens")] = None
    timeout_seconds: TimeoutSeconds = None
    max_retries: MaxRetries = None


@dataclass(frozen=True, kw_only=True)
class ParamsSpec:
    """Limits and defaults of generation and scoring.

    Defaults of models are for ``model:``, or without one for the judges; a model's own keys win.
    """

    __pydantic_config__ = STRICT

    parallelism: Annotated[int, Field(ge=1, le=4096, description="calls in flight at once")] = 16
    limit_samples: Annotated[
        Annotated[int, Field(ge=1)] | None,
        doc("score the first rows only, to try things out; records no baseline"),
    ] = None
    request_timeout: Annotated[
        Seconds, doc("seconds for one attempt in all, where a scorer says none")
    ] = None
    max_retries: Annotated[Retries, doc("attempts after the first, where a scorer says none")] = (
        None
    )
    inference: InferenceField = field(default_factory=dict)
    system_prompt: SystemPrompt = None
    reasoning: Annotated[ReasoningSpec | None, doc("of a reasoning model")] = None
    ignore_request_failure: Annotated[
        bool,
        doc(
            "leave out the rollouts whose request failed; default: they are missing, "
            "and expect decides"
        ),
    ] = False


# -- prompt_template, tools, response_format, target, budget -------------------------------


_PROMPT = 'a text, a list of messages, or {messages: [...]}, such as "{{ question }}"'


def _prompt(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) != {"messages"}:
            raise expected(_PROMPT)
        value = value["messages"]
    if isinstance(value, str) and value.strip():
        return value
    if not isinstance(value, list) or not value:
        raise expected(_PROMPT)
    for message in value:
        role = message.get("role") if isinstance(message, dict) else None
        if not isinstance(message, str) and not isinstance(role, str):
            raise expected("a message: a mapping with role and content")
    return value


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
    if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", value):
        raise refuse(f"expected package.module:function, found {value[:60]!r}")
    return value


@dataclass(frozen=True, kw_only=True)
class TargetSpec:
    """A Python function that answers a row."""

    __pydantic_config__ = STRICT

    function: Annotated[
        Name,
        AfterValidator(_reference),
        doc("package.module:function, called with the row; plain or async"),
    ]
    version: Annotated[
        Name | None,
        doc(
            "of the agent: with it answers are kept in the journal, and asked anew when it changes"
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
    """Limits of one run of a benchmark; answers from the journal are free."""

    __pydantic_config__ = STRICT

    requests: Annotated[int | None, Field(ge=1, description="requests sent, retries too")] = None
    tokens: Annotated[int | None, Field(ge=1, description="of prompts and answers")] = None
    cost: Annotated[
        float | None, Field(gt=0, allow_inf_nan=False, description="in the currency of price")
    ] = None
    seconds: Annotated[
        float | None, Field(gt=0, allow_inf_nan=False, description="of the clock, from its start")
    ] = None
