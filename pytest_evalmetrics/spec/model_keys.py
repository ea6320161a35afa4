"""The keys of models, prompts, targets, budgets and labels; loaded where one is met."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from pytest_evalmetrics.spec.field_types import (
    BodyValue,
    FromEnvironment,
    FunctionName,
    MaxRetries,
    Name,
    SecretName,
    TemplateValue,
    TimeoutSeconds,
    Url,
    doc,
    expected,
    keys,
)
from pytest_evalmetrics.spec.sources import (
    InferenceField,
    ReasoningSpec,
    RolloutsField,
    SystemPrompt,
)

# -- model, judge_model: OpenAI-compatible endpoints ---------------------------------------


@keys
class PriceSpec:
    """The price of a million tokens, in any currency."""

    input: Annotated[float, Field(ge=0, allow_inf_nan=False, description="of a prompt")]
    output: Annotated[float, Field(ge=0, allow_inf_nan=False, description="of an answer")]


@keys
class ModelSpec:
    """A model behind an OpenAI-compatible endpoint."""

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


# -- prompt_template, tools, response_format, target, budget -------------------------------


_PROMPT = 'a text, a list of messages, or {messages: [...]}, such as "{{ question }}"'


def _prompt(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) != {"messages"}:
            raise expected(_PROMPT)
        value = value["messages"]
        if isinstance(value, str) and value.strip():  # a template of messages
            return [value]
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


def _template_or(what: str, fits: Callable[[Any], bool]) -> BeforeValidator:
    def check(value: Any) -> Any:
        if not fits(value) and not (isinstance(value, str) and "{{" in value):
            raise expected(what)
        return value

    return BeforeValidator(check)


ToolsField = Annotated[
    BodyValue,
    _template_or(
        'a list of tools as the endpoint takes them, or a template "{{ tools }}"',
        lambda value: isinstance(value, list) and all(isinstance(tool, dict) for tool in value),
    ),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}]}),
]
ResponseFormatField = Annotated[
    BodyValue,
    _template_or(
        "a mapping with type, such as {type: json_object}, or a template",
        lambda value: isinstance(value, dict) and "type" in value,
    ),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object", "required": ["type"]}]}),
]


def _short_form(key: str, what: str) -> Callable[[Any], Any]:
    """Make the function that reads a text as the mapping with one key."""

    def expand(value: Any) -> Any:
        if not isinstance(value, str | dict):
            raise expected(what)
        return {key: value} if isinstance(value, str) else value

    return expand


@keys
class TargetSpec:
    """A Python function that answers a row."""

    function: Annotated[
        FunctionName,
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


_TARGET = _short_form("function", "package.module:function, or a mapping with function")
TargetField = Annotated[
    TargetSpec, BeforeValidator(_TARGET, json_schema_input_type=Name | TargetSpec)
]


@keys
class BudgetSpec:
    """Limits of one run of a benchmark; answers from the journal are free."""

    requests: Annotated[int | None, Field(ge=1, description="requests sent, retries too")] = None
    tokens: Annotated[int | None, Field(ge=1, description="of prompts and answers")] = None
    cost: Annotated[
        float | None, Field(gt=0, allow_inf_nan=False, description="in the currency of price")
    ] = None
    seconds: Annotated[
        float | None, Field(gt=0, allow_inf_nan=False, description="of the clock, from its start")
    ] = None


@keys
class LabelsSpec:
    """People's labels of some rollouts."""

    label: Annotated[Name, doc("the column with a person's score, on the scale of the reward")]
    rows: Annotated[
        RolloutsField | None,
        doc("rollouts with that label, of the same tasks and samples; default the benchmark's"),
    ] = None


_LABELS = _short_form("label", "the column with the label, or a mapping with label and rows")
LabelsField = Annotated[
    LabelsSpec, BeforeValidator(_LABELS, json_schema_input_type=Name | LabelsSpec)
]

# as keys of a benchmark
OptionalLabels = LabelsField | None
ModelField = ModelSpec | None
BudgetField = BudgetSpec | None
OptionalTarget = TargetField | None
OptionalPrompt = PromptField | None
OptionalTools = ToolsField | None
OptionalResponseFormat = ResponseFormatField | None
