"""The keys that scorers share, and each entry's own by its type; loaded for `scorers:`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import field
from functools import cache
from importlib import import_module
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar, Union, dataclass_transform

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import InitErrorDetails

from pytest_evalmetrics.spec.field_types import (
    FUNCTION,
    NAMES_SCHEMA,
    Checked,
    FunctionName,
    Name,
    Names,
    doc,
    expected,
    keys,
    no_duplicates,
    refuse,
)

# The module of `scorers` and the class that hold the keys of a type: it is imported when a file
# has such a scorer. A type may be written with - or with _ between its words.
BUILTIN: Final = {
    "remote": "remote_scorers:RemoteScorerSpec",
    "nemo-agent-toolkit-remote": "remote_scorers:NatScorerSpec",
    "tool_call_accuracy": "tool_call_scorers:ToolCallAccuracySpec",
    "tool-calling": "tool_call_scorers:ToolCallingSpec",
    "exact-match": "text_scorers:ExactMatchSpec",
    "string-check": "text_scorers:StringCheckSpec",
    "number-check": "text_scorers:NumberCheckSpec",
    "f1": "text_scorers:F1Spec",
    "bleu": "text_scorers:BleuSpec",
    "rouge": "text_scorers:RougeSpec",
    "topic_adherence": "judge_scorers:TopicAdherenceSpec",
    "agent_goal_accuracy": "judge_scorers:AgentGoalAccuracySpec",
    "answer_accuracy": "judge_scorers:AnswerAccuracySpec",
    "trajectory_evaluation": "judge_scorers:TrajectoryEvaluationSpec",
    "llm-judge": "llm_judge:LlmJudgeSpec",
    "ragas": "ragas:RagasSpec",
}
ALIASES: Final = {"system/trajectory-evaluation": "trajectory-evaluation"}  # of NeMo's jobs
_Keys = TypeVar("_Keys")


def spellings(kind: str) -> tuple[str, ...]:
    """Return the ways to write a type, the usual one first."""
    return tuple(dict.fromkeys((kind, kind.replace("_", "-"), kind.replace("-", "_"))))


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def keys_of(kind: str, text: str) -> Callable[[type[_Keys]], type[_Keys]]:
    """Make a class the keys of a type of scorer, whose score has its name by default."""

    def make(cls: Any) -> Any:
        names = spellings(kind)
        literal: Any = Literal[*names, *(name for name, of in ALIASES.items() if of in names)]
        cls.__annotations__ = {**cls.__annotations__, "type": Annotated[literal, doc(text)]}
        if getattr(cls, "own_names", None) == ():
            cls.own_names = (kind,)
        return keys(cls)

    return make


# -- shared by several types ---------------------------------------------------------------


def _score_name(value: str) -> str:
    if not re.fullmatch(r"[a-z0-9_]+", value):
        raise expected("lower-case letters, digits and _")
    return value


ScoreName = Annotated[
    Name,
    AfterValidator(_score_name),
    doc("lower-case letters, digits and _"),
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


def check_range(low: float | None, high: float | None) -> None:
    """Refuse an empty range."""
    if low is not None and high is not None and low > high:
        raise refuse(f"minimum {low:.12g} is above maximum {high:.12g}: nothing can pass")


def check_score_names(scores: Any) -> Any:
    """Refuse two scores of one name."""
    no_duplicates(tuple(score.name for score in scores))
    return scores


@keys
class NamedScores:
    """A scorer whose scores have names of their own; `name` tells two of one type apart."""

    own_names: ClassVar[Any] = ()  # of its scores without a `name`
    limits: ClassVar[Any] = (0.0, 1.0)  # of its scores; None where there is no end
    more_is_better: ClassVar[bool] = True  # as far as the type itself tells

    type: str
    name: Annotated[
        ScoreName | None,
        doc(
            "what its score is called; of several, what their names begin with. Tells "
            "two scorers of one type apart"
        ),
    ] = None

    @property
    def score_names(self) -> tuple[str, ...]:
        """Names of its scores."""
        names: tuple[str, ...] = self.own_names
        if self.name is None:
            return names
        return (self.name,) if len(names) == 1 else tuple(f"{self.name}_{own}" for own in names)


# -- the user's own scorers ----------------------------------------------------------------


@keys
class PythonScorerSpec:
    """Call a function of the project; its further keys are arguments."""

    type: Literal["python"]
    function: FunctionName
    scores: Names | None = None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def score_names(self) -> tuple[str, ...]:
        """`scores`, by default the function's name."""
        return self.scores or (self.function.rpartition(":")[2].rpartition(".")[2],)


@keys
class CustomScorerSpec:
    """A type registered elsewhere; its keys are checked when its scorer is made."""

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

_PYTHON: Final = "function of python"  # its tag: "python" might be a key of the file
_CUSTOM: Final = "other"
_FUNCTION = {
    "description": "package.module:function, called with each row",
    "type": "string",
    "pattern": f"^{FUNCTION}$",
}


_TAGS: Final = {name: kind for kind in BUILTIN for name in spellings(kind)} | {"python": _PYTHON}


_OWN: Final[dict[str, Any]] = {
    _PYTHON: Annotated[
        PythonScorerSpec,
        _move_options("type", "function", "scores"),
        WithJsonSchema(
            {
                "type": "object",
                "properties": {
                    "type": {"description": "a function of your own", "const": "python"},
                    "function": _FUNCTION,
                    "python": _FUNCTION,
                    "scores": {
                        "description": "the scores that it gives; default one, of the function's "
                        "name",
                        **NAMES_SCHEMA,
                    },
                },
                "oneOf": [
                    {"required": ["type", "function"], "not": {"required": ["python"]}},
                    {"required": ["python"], "not": {"required": ["type"]}},
                ],
                "additionalProperties": True,  # the function's arguments
            }
        ),
    ],
    _CUSTOM: Annotated[
        CustomScorerSpec,
        _move_options("type"),
        WithJsonSchema(
            {
                "type": "object",
                "properties": {
                    "type": {
                        "description": "the name of a scorer of your own, or package.module:name",
                        "type": "string",
                        "not": {"enum": [*_TAGS, *ALIASES]},
                    }
                },
                "required": ["type"],
                "additionalProperties": True,  # checked when the scorer is made
            }
        ),
    ],
}


def _form(tag: str) -> Any:
    if tag in _OWN:
        return _OWN[tag]
    module, _, name = BUILTIN[tag].partition(":")
    return getattr(import_module(f"pytest_evalmetrics.scorers.{module}"), name)


def builtin_types(name: str | None) -> dict[str, Any]:
    """Return the keys of each built-in type, or of that with a name, by every spelling of it."""
    tags = _TAGS if name is None else {key: tag for key, tag in _TAGS.items() if key == name}
    return {key: PythonScorerSpec if tag == _PYTHON else _form(tag) for key, tag in tags.items()}


@cache
def _adapter(tag: str) -> TypeAdapter[Any]:
    return TypeAdapter(_form(tag))


def _validate_scorer(value: Any) -> Any:
    """Validate one entry of ``scorers:`` by its type alone."""
    if not isinstance(value, dict):
        raise expected("a mapping with type")
    if "python" in value and "type" not in value and "function" not in value:
        function = value["python"]
        if not isinstance(function, str) or not re.fullmatch(FUNCTION, function):
            fault = expected("package.module:function")
            wrong = InitErrorDetails(type=fault, loc=("python",), input=function)
            raise ValidationError.from_exception_data("python", [wrong])
        rest = {key: item for key, item in value.items() if key != "python"}
        value = {"type": "python", "function": function, **rest}
    if "type" not in value:
        raise refuse(f"'type' is missing: {', '.join([*BUILTIN, 'python'])}, or one of your own")
    if not isinstance(value["type"], str) or not value["type"]:
        raise refuse("type has to be the name of a scorer")
    value = {**value, "type": ALIASES.get(value["type"], value["type"])}
    # from JSON, as the rest of the file: there a list may become a tuple
    return _adapter(_TAGS.get(value["type"], _CUSTOM)).validate_json(json.dumps(value))


def _any_form() -> Any:
    forms: Any = Union[*(Annotated[_form(tag), Tag(tag)] for tag in (*BUILTIN, *_OWN))]
    return Annotated[forms, Discriminator(lambda value: _TAGS.get(value["type"], _CUSTOM))]


# only the keys of an entry's type are loaded
_Entry = Annotated[Any, Checked(_validate_scorer, _any_form)]
ScorersField = Annotated[tuple[_Entry, ...], Field(min_length=1, strict=False)]
