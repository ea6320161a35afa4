"""The keys of models, prompts, targets, budgets and labels; loaded where one is met."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

from pytest_evalmetrics.spec import field_types as types
from pytest_evalmetrics.spec import sources
from pytest_evalmetrics.spec.field_types import Name, Read, expected, refuse
from pytest_evalmetrics.spec.validation import JsonForm, Keys, Limits, doc

# -- model, judge_model: OpenAI-compatible endpoints ---------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PriceSpec(Keys):
    """The price of a million tokens."""

    input: Annotated[float, Limits(ge=0, allow_inf_nan=False), doc("of a prompt")]
    output: Annotated[float, Limits(ge=0, allow_inf_nan=False), doc("of an answer")]
    currency: Annotated[str, doc("its name beside costs, such as usd")] = ""
    cache_read: Annotated[
        float | None,
        Limits(ge=0, allow_inf_nan=False),
        doc("of a prompt's part from the provider's cache; default input"),
    ] = None
    cache_write: Annotated[
        float | None,
        Limits(ge=0, allow_inf_nan=False),
        doc("of a prompt's part that is put into that cache; default input"),
    ] = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ModelSpec(Keys):
    """A model behind an endpoint, or one that LiteLLM asks."""

    type: Annotated[
        Literal["endpoint", "litellm"],
        doc("litellm: any model that the package LiteLLM knows; its name says which"),
    ] = "endpoint"
    url: Annotated[
        types.Url | None,
        doc(
            "of chat completions, responses or messages, or its base: "
            "http://localhost:8000/v1; of litellm its api_base, if it needs one"
        ),
    ] = None
    name: Annotated[
        Name, types.FromEnvironment, doc("the model's name, as its endpoint knows it")
    ]
    api_key_secret: types.SecretName = None
    format: Annotated[
        Literal["chat", "completions", "responses", "messages"] | None,
        doc(
            "the API: of OpenAI chat, completions or responses, of Anthropic messages; default "
            "what the URL ends with, else chat"
        ),
    ] = None
    inference: sources.InferenceField = types.empty()
    system_prompt: sources.SystemPrompt = None
    reasoning: Annotated[sources.ReasoningSpec | None, doc("of a reasoning model")] = (
        None
    )
    price: Annotated[PriceSpec | None, doc("per million tokens")] = None
    timeout_seconds: types.TimeoutSeconds = None
    max_retries: types.MaxRetries = None

    def __post_init__(self) -> None:
        """Require the address of an endpoint."""
        if self.type == "endpoint" and self.url is None:
            raise refuse("url is missing: the address of the model's endpoint")
        if self.type == "litellm" and self.format is not None:
            raise refuse("format is of an endpoint: LiteLLM knows its models' own")


# -- prompt_template, tools, response_format, target, budget -------------------------------


_PROMPT = 'a text, a list of messages, or {messages: [...]}, such as "{{ question }}"'


def _prompt(value: object) -> object:
    if isinstance(value, dict) and set(value) == {"messages"}:
        messages = value["messages"]
        if isinstance(messages, str) and messages.strip():
            return [messages]  # a template of messages
        return _messages(messages)
    if isinstance(value, str) and value.strip():
        return value
    return _messages(value)


def _messages(value: object) -> list[object]:
    if not isinstance(value, list) or not value:
        raise expected(_PROMPT)
    for message in value:
        has_role = isinstance(message, dict) and isinstance(message.get("role"), str)
        if not has_role and not isinstance(message, str):
            raise expected("a message: a mapping with role and content")
    return value


_Message = Annotated[object, JsonForm({"type": "object", "required": ["role"]})]
_Messages = Name | Annotated[list[str | _Message], Limits(min_length=1)]


def _prompt_form() -> object:
    messages = {
        "description": "what is asked",
        **types.adapter(_Messages).json_schema(),
    }
    in_a_mapping = {
        "type": "object",
        "properties": {"messages": messages},
        "required": ["messages"],
        "additionalProperties": False,
    }
    return _Messages | Annotated[object, JsonForm(in_a_mapping)]


PromptField = Annotated[types.TemplateValue, Read(_prompt, _prompt_form)]


def _template_or(what: str, fits: Callable[[object], bool], form: object) -> Read:
    def read(value: object) -> object:
        if not fits(value) and not (isinstance(value, str) and "{{" in value):
            raise expected(what)
        return value

    return Read(read, lambda: str | form)


_Tool = Annotated[object, JsonForm({"type": "object"})]
_read_tools = _template_or(
    'a list of tools as the endpoint takes them, or a template "{{ tools }}"',
    lambda value: (
        isinstance(value, list) and all(isinstance(tool, dict) for tool in value)
    ),
    list[_Tool],
)
_read_format = _template_or(
    "a mapping with type, such as {type: json_object}, or a template",
    lambda value: isinstance(value, dict) and "type" in value,
    Annotated[object, JsonForm({"type": "object", "required": ["type"]})],
)
ToolsField = Annotated[types.BodyValue, _read_tools]
ResponseFormatField = Annotated[types.BodyValue, _read_format]


def _short_form(key: str, what: str) -> Callable[[object], object]:
    """Make the function that reads a text as the mapping with one key."""

    def expand(value: object) -> object:
        if not isinstance(value, str | dict):
            raise expected(what)
        return {key: value} if isinstance(value, str) else value

    return expand


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TargetSpec(Keys):
    """A Python function that answers a row."""

    function: Annotated[
        types.FunctionName,
        doc("package.module:function, called with the row; plain or async"),
    ]
    version: Annotated[
        Name | None,
        doc(
            "of the agent: with it answers are kept in the journal, and asked anew when it or "
            "the function's source changes"
        ),
    ] = None
    timeout_seconds: Annotated[
        types.Positive, doc("for one answer; default as long as it takes")
    ] = None


_target = _short_form("function", "package.module:function, or a mapping with function")
TargetField = Annotated[TargetSpec, Read(_target, lambda: Name | TargetSpec)]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BudgetSpec(Keys):
    """Limits of one run of a benchmark; answers from the journal are free."""

    requests: Annotated[int | None, Limits(ge=1), doc("requests sent, retries too")] = (
        None
    )
    tokens: Annotated[int | None, Limits(ge=1), doc("of prompts and answers")] = None
    cost: Annotated[types.Positive, doc("in the currency of price")] = None
    seconds: Annotated[types.Positive, doc("of the clock, from its start")] = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LabelsSpec(Keys):
    """People's labels of some rollouts."""

    label: Annotated[
        Name, doc("the column with a person's score, on the scale of the reward")
    ]
    rows: Annotated[
        sources.RolloutsField | None,
        doc(
            "rollouts with that label, of the same tasks and samples; default the benchmark's"
        ),
    ] = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AnchorsSpec(Keys):
    """Rows with recorded answers and people's labels, that each run's judge scores too."""

    rows: Annotated[
        sources.RolloutsField,
        doc("the rows: the same columns, the answer, and the label"),
    ]
    label: Annotated[
        Name, doc("the column with a person's score, or rubric label; default label")
    ] = "label"
    score: Annotated[Name | None, doc("which score of a judge; default the reward")] = (
        None
    )


_anchors = _short_form("rows", "the file of the rows, or a mapping with rows and label")
AnchorsField = Annotated[AnchorsSpec, Read(_anchors, lambda: Name | AnchorsSpec)]


_labels = _short_form(
    "label", "the column with the label, or a mapping with label and rows"
)
LabelsField = Annotated[LabelsSpec, Read(_labels, lambda: Name | LabelsSpec)]
