"""The keys of each type of scorer; loaded when a benchmark has `scorers:`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, Protocol, TypeVar, Union

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import InitErrorDetails, core_schema

from pytest_evalmetrics.spec.field_types import (
    NAMES_SCHEMA,
    STRICT,
    JsonPathText,
    MaxRetries,
    Name,
    Names,
    SecretName,
    TemplateText,
    TemplateValue,
    TimeoutSeconds,
    Url,
    doc,
    expected,
    one_or_many,
    refuse,
)

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

# -- shared by several types ---------------------------------------------------------------


def _score_name(value: str) -> str:
    if not re.fullmatch(r"[a-z0-9_]+", value):
        raise expected("lower-case letters, digits and _")
    return value


ScoreName = Annotated[
    Name,
    AfterValidator(_score_name),
    Field(description="lower-case letters, digits and _", pattern=r"^[a-z0-9_]+$"),
]
Minimum = Annotated[
    float | None, Field(allow_inf_nan=False, description="below it is the row's error")
]
Maximum = Annotated[
    float | None, Field(allow_inf_nan=False, description="above it is the row's error")
]
Better = Annotated[
    Literal["higher", "lower"] | None, doc("which way is better; default what its name tells")
]


class _HasName(Protocol):
    @property
    def name(self) -> str: ...


_Scores = TypeVar("_Scores", bound=tuple[_HasName, ...])


def check_range(low: float | None, high: float | None) -> None:
    """Refuse an empty range."""
    if low is not None and high is not None and low > high:
        raise refuse(f"minimum {low:.12g} is above maximum {high:.12g}: nothing can pass")


def check_score_names(scores: _Scores) -> _Scores:
    """Refuse two scores of one name."""
    names = [score.name for score in scores]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise refuse(f"two scores are named {twice[0]!r}")
    return scores


@dataclass(frozen=True, kw_only=True)
class NamedScores:
    """A scorer whose scores have default names; `name` tells two of one type apart."""

    __pydantic_config__ = STRICT
    default_names: ClassVar[tuple[str, ...]] = ()

    name: Annotated[
        ScoreName | None,
        doc(
            "what its score is called; of several, what their names begin with. Tells "
            "two scorers of one type apart"
        ),
    ] = None

    @property
    def own_names(self) -> tuple[str, ...]:
        """Names of its scores without a `name`."""
        return self.default_names

    @property
    def score_names(self) -> tuple[str, ...]:
        """Names of its scores."""
        if self.name is None:
            return self.own_names
        if len(self.own_names) == 1:
            return (self.name,)
        return tuple(f"{self.name}_{own}" for own in self.own_names)


REFERENCE = "{{ item.reference }}"
CandidateText = Annotated[
    TemplateText | None,
    doc(
        "template of what is judged; default what was generated (sample.output_text), "
        "else the text of the row's response"
    ),
]


@dataclass(frozen=True, kw_only=True)
class PairKeys(NamedScores):
    """A text and its reference."""

    type: str
    reference: Annotated[
        TemplateText, doc("template of what is right; default {{ item.reference }}")
    ] = REFERENCE
    candidate: CandidateText = None


@dataclass(frozen=True, kw_only=True)
class SidesKeys(NamedScores):
    """The two sides of a comparison."""

    type: str
    left_template: Annotated[TemplateText, doc("template of the left side")]
    right_template: Annotated[TemplateText, doc("template of the right side")]


# -- offline scorers: texts, numbers and tool calls ----------------------------------------


@dataclass(frozen=True, kw_only=True)
class ExactMatchSpec(PairKeys):
    """Equality of two normalized texts."""

    default_names = ("exact-match",)
    type: Annotated[
        Literal["exact-match", "exact_match"],
        doc("the same text, but for case, punctuation and articles"),
    ]


@dataclass(frozen=True, kw_only=True)
class F1Spec(PairKeys):
    """F1 of the words of two texts."""

    default_names = ("f1",)
    type: Annotated[Literal["f1"], doc("the words that two texts share")]


@dataclass(frozen=True, kw_only=True)
class RougeSpec(PairKeys):
    """ROUGE of one text."""

    default_names = ("rouge_1_score", "rouge_2_score", "rouge_3_score", "rouge_L_score")
    type: Annotated[Literal["rouge"], doc("ROUGE-1, -2, -3 and -L")]


@dataclass(frozen=True, kw_only=True)
class BleuSpec(NamedScores):
    """Sentence BLEU of one text, from 0 to 100."""

    default_names = ("sentence",)
    type: Annotated[Literal["bleu"], doc("sentence BLEU, from 0 to 100")]
    references: Annotated[
        tuple[TemplateText, ...],
        Field(
            min_length=1,
            strict=False,
            description="templates of what is right, each of a text or a list of texts; default "
            "{{ item.reference }}",
        ),
        BeforeValidator(one_or_many, json_schema_input_type=str | list[str]),
    ] = (REFERENCE,)
    candidate: CandidateText = None


@dataclass(frozen=True, kw_only=True)
class StringCheckSpec(SidesKeys):
    """One comparison of two texts."""

    default_names = ("string-check",)
    type: Annotated[Literal["string-check"], doc("a comparison of two texts")]
    operation: Annotated[
        Literal[
            "equals", "==", "not equals", "!=", "<>", "contains", "not contains", "startswith",
            "endswith",
        ],
        doc("how the left text compares with the right one"),
    ]  # fmt: skip


_DIFFERENCE = "absolute difference"


@dataclass(frozen=True, kw_only=True)
class NumberCheckSpec(SidesKeys):
    """One comparison of the last numbers of two texts."""

    default_names = ("number-check",)
    type: Annotated[Literal["number-check"], doc("a comparison of the last numbers of two texts")]
    operation: Annotated[
        Literal[
            "equals", "==", "not equals", "!=", "<>",
            ">=", "gte", "greater than or equal", ">", "gt", "greater than",
            "<=", "lte", "less than or equal", "<", "lt", "less than", "absolute difference",
        ],
        doc("how the left number compares with the right one"),
    ]  # fmt: skip
    epsilon: Annotated[
        float | None,
        Field(ge=0, allow_inf_nan=False, description=f"how much an {_DIFFERENCE} may be"),
    ] = None

    @model_validator(mode="after")
    def _epsilon_with_difference(self) -> Any:
        if (self.epsilon is None) is (self.operation == _DIFFERENCE):
            raise refuse(f"epsilon is needed by, and only by, operation: {_DIFFERENCE}")
        return self


@dataclass(frozen=True, kw_only=True)
class ToolCallAccuracySpec(NamedScores):
    """Tool calls in their order, with partial credit for arguments."""

    default_names = ("tool_call_accuracy",)
    type: Annotated[
        Literal["tool_call_accuracy"],
        doc("the agent's tool calls against the row's reference_tool_calls"),
    ]
    strict_order: Annotated[bool, doc("whether the order of the calls counts")] = True


@dataclass(frozen=True, kw_only=True)
class ToolCallingSpec(NamedScores):
    """Tool calls of a response in any order, right or wrong."""

    default_names = ("function_name_accuracy", "function_name_and_args_accuracy")
    type: Annotated[
        Literal["tool-calling"],
        doc("the tool calls of a response against a reference, in any order"),
    ]
    reference: Annotated[
        TemplateText, doc("template of a list of tool calls, such as {{tool_calls}}")
    ]


# -- endpoints ---------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ParserSpec:
    """Where a response holds a score."""

    __pydantic_config__ = STRICT

    type: Annotated[Literal["json"], doc("the answer is JSON")] = "json"
    json_path: Annotated[JsonPathText, doc("JSONPath; the first match counts")]


@dataclass(frozen=True, kw_only=True)
class RemoteScoreSpec:
    """One score of a response."""

    __pydantic_config__ = STRICT

    name: ScoreName
    parser: Annotated[ParserSpec, doc("where the answer holds it")]
    description: Annotated[str, doc("for people")] = ""
    minimum: Minimum = None
    maximum: Maximum = None
    direction: Better = None

    def __post_init__(self) -> None:
        """Refuse an empty range."""
        check_range(self.minimum, self.maximum)


@dataclass(frozen=True, kw_only=True)
class RemoteScorerSpec:
    """An endpoint of the user's own: any request, any JSON response."""

    __pydantic_config__ = STRICT

    type: Annotated[Literal["remote"], doc("an endpoint of your own")]
    url: Url
    body: Annotated[
        TemplateValue, doc("the request; {{ item.column }} in it is filled in for each row")
    ]
    scores: Annotated[
        tuple[RemoteScoreSpec, ...],
        Field(min_length=1, strict=False, description="what the answer holds"),
        AfterValidator(check_score_names),
    ]
    api_key_secret: SecretName = None
    timeout_seconds: TimeoutSeconds = None
    max_retries: MaxRetries = None

    @property
    def score_names(self) -> tuple[str, ...]:
        """Names of its scores."""
        return tuple(score.name for score in self.scores)


@dataclass(frozen=True, kw_only=True)
class NatScorerSpec(NamedScores):
    """An evaluator of a NeMo Agent Toolkit server."""

    type: Annotated[Literal["nemo-agent-toolkit-remote"], doc("a server of the NeMo Agent Toolkit")]
    url: Url
    evaluator_name: Annotated[Name, doc("the evaluator's name on the server; names the score too")]
    api_key_secret: SecretName = None
    timeout_seconds: TimeoutSeconds = None
    max_retries: MaxRetries = None

    @property
    def own_names(self) -> tuple[str, ...]:
        """The evaluator's name, without characters that a score's name can't hold."""
        return (re.sub(r"[^\w.-]+", "_", self.evaluator_name),)


# -- the user's own scorers ----------------------------------------------------------------

_FUNCTION_TEXT = "package.module:function"
_REFERENCE_PATTERN = r"[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_.]*"


def _function_name(value: str) -> str:
    if not re.fullmatch(_REFERENCE_PATTERN, value):
        raise expected(_FUNCTION_TEXT)
    return value


@dataclass(frozen=True, kw_only=True)
class PythonScorerSpec:
    """A function; its further keys are arguments, checked when its scorer is made."""

    __pydantic_config__ = STRICT

    type: Literal["python"]
    function: Annotated[Name, AfterValidator(_function_name)]
    scores: Names | None = None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def score_names(self) -> tuple[str, ...]:
        """`scores`, by default the function's name."""
        return self.scores or (self.function.rpartition(":")[2].rpartition(".")[2],)


@dataclass(frozen=True, kw_only=True)
class CustomScorerSpec:
    """A type registered elsewhere; its keys are checked when its scorer is made."""

    __pydantic_config__ = STRICT

    type: Name
    options: dict[str, Any] = field(default_factory=dict)
    score_names: ClassVar[tuple[str, ...]] = ()  # not known before it is made


def _move_options(*own: str) -> BeforeValidator:
    """Put every key other than `own` under ``options``."""

    def move(value: Any) -> Any:
        kept = {key: item for key, item in value.items() if key in own}
        return {**kept, "options": {k: item for k, item in value.items() if k not in own}}

    return BeforeValidator(move)


# -- one entry of scorers: by its type -----------------------------------------------------

_BUILTIN: Final[dict[tuple[str, ...], Any]] = {  # names of a type -> its keys
    ("remote",): RemoteScorerSpec,
    ("nemo-agent-toolkit-remote",): NatScorerSpec,
    ("tool_call_accuracy",): ToolCallAccuracySpec,
    ("tool-calling",): ToolCallingSpec,
    ("exact-match", "exact_match"): ExactMatchSpec,
    ("string-check",): StringCheckSpec,
    ("number-check",): NumberCheckSpec,
    ("f1",): F1Spec,
    ("bleu",): BleuSpec,
    ("rouge",): RougeSpec,
    # of judge_keys, which is loaded when one of them is met
    ("topic_adherence",): "TopicAdherenceSpec",
    ("agent_goal_accuracy",): "AgentGoalAccuracySpec",
    ("answer_accuracy",): "AnswerAccuracySpec",
    ("llm-judge", "llm_judge"): "LlmJudgeSpec",
    ("trajectory_evaluation", "trajectory-evaluation"): "TrajectoryEvaluationSpec",
    ("ragas",): "RagasSpec",
}
_PYTHON: Final = "function of python"  # its tag: "python" might be a key of the file
_CUSTOM: Final = "other"
_TAGS: Final = {name: names[0] for names in _BUILTIN for name in names} | {"python": _PYTHON}
_FUNCTION = {
    "description": "package.module:function, called with each row",
    "type": "string",
    "pattern": f"^{_REFERENCE_PATTERN}$",
}
_SCHEMAS: Final[dict[str, Any]] = {
    _PYTHON: {
        "type": "object",
        "properties": {
            "type": {"description": "a function of your own", "const": "python"},
            "function": _FUNCTION,
            "python": _FUNCTION,
            "scores": {
                "description": "the scores that it gives; default one, of the function's name",
                **NAMES_SCHEMA,
            },
        },
        "oneOf": [
            {"required": ["type", "function"], "not": {"required": ["python"]}},
            {"required": ["python"], "not": {"required": ["type"]}},
        ],
        "additionalProperties": True,  # the function's arguments
    },
    _CUSTOM: {
        "type": "object",
        "properties": {
            "type": {
                "description": "the name of a scorer of your own, or package.module:name",
                "type": "string",
                "not": {"enum": [*_TAGS]},
            }
        },
        "required": ["type"],
        "additionalProperties": True,  # checked when the scorer is made
    },
}
_FORMS: Final[dict[str, Any]] = {
    **{names[0]: keys for names, keys in _BUILTIN.items()},
    _PYTHON: Annotated[
        PythonScorerSpec,
        _move_options("type", "function", "scores"),
        WithJsonSchema(_SCHEMAS[_PYTHON]),
    ],
    _CUSTOM: Annotated[CustomScorerSpec, _move_options("type"), WithJsonSchema(_SCHEMAS[_CUSTOM])],
}


def _tag(value: Any) -> str:
    return _TAGS.get(value["type"], _CUSTOM)


def _form(tag: str) -> Any:
    form = _FORMS[tag]
    if isinstance(form, str):
        from pytest_evalmetrics.spec import judge_keys  # noqa: PLC0415 - it imports this module

        return getattr(judge_keys, form)
    return form


@cache
def _adapter(tag: str) -> TypeAdapter[Any]:
    return TypeAdapter(_form(tag))


def _validate_scorer(value: Any) -> Any:
    """Validate one entry of ``scorers:`` by its type alone."""
    if not isinstance(value, dict):
        raise expected("a mapping with type")
    if "python" in value and "type" not in value and "function" not in value:
        function = value["python"]
        if not isinstance(function, str) or not re.fullmatch(_REFERENCE_PATTERN, function):
            wrong = InitErrorDetails(type=expected(_FUNCTION_TEXT), loc=("python",), input=function)
            raise ValidationError.from_exception_data("python", [wrong])
        rest = {key: item for key, item in value.items() if key != "python"}
        value = {"type": "python", "function": function, **rest}
    if "type" not in value:
        types = ", ".join([*(names[0] for names in _BUILTIN), "python"])
        raise refuse(f"'type' is missing: {types}, or one of your own")
    if not isinstance(value["type"], str) or not value["type"]:
        raise refuse("type has to be the name of a scorer")
    # from JSON, as the rest of the file: there a list may become a tuple
    return _adapter(_tag(value)).validate_json(json.dumps(value))


class _ByType:
    """Validates an entry by its type: only the keys of that type are loaded."""

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(_validate_scorer)

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        forms: Any = Union[*(Annotated[_form(tag), Tag(tag)] for tag in _FORMS)]
        return handler(TypeAdapter(Annotated[forms, Discriminator(_tag)]).core_schema)


ScorersField = Annotated[tuple[Annotated[Any, _ByType()], ...], Field(min_length=1, strict=False)]
