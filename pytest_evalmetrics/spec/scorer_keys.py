"""The keys that scorers share, and each entry's own by its type; loaded for `scorers:`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    Union,
)

from pydantic import AliasChoices, Discriminator, Field, Tag, WithJsonSchema

from pytest_evalmetrics.model.metric_facts import DirectionName, ScoreFacts
from pytest_evalmetrics.spec import field_types as types
from pytest_evalmetrics.spec.field_types import FUNCTION, FunctionName, Name, refuse
from pytest_evalmetrics.spec.offered_scorers import keys_of_type
from pytest_evalmetrics.spec.validation import Keys, Limits, doc

# A type may be written with - or with _ between its words.
BUILTIN: Final = (
    "remote",
    "nemo-agent-toolkit-remote",
    "tool_call_accuracy",
    "tool-calling",
    "exact-match",
    "string-check",
    "number-check",
    "f1",
    "bleu",
    "rouge",
    "topic_adherence",
    "agent_goal_accuracy",
    "answer_accuracy",
    "trajectory_evaluation",
    "llm-judge",
    "ragas",
)
ALIASES: Final = {
    "system/trajectory-evaluation": "trajectory-evaluation"
}  # of NeMo's jobs


def spellings(kind: str) -> tuple[str, ...]:
    """Return the ways to write a type, the usual one first."""
    return tuple(dict.fromkeys((kind, kind.replace("_", "-"), kind.replace("-", "_"))))


# -- shared by several types ---------------------------------------------------------------


_SCORE_NAME = "lower-case letters, digits and _"
ScoreName = Annotated[
    Name, types.matching(r"[a-z0-9_]+", _SCORE_NAME), doc(_SCORE_NAME)
]
Minimum = Annotated[
    float | None, Field(allow_inf_nan=False, description="below it is the row's error")
]
Maximum = Annotated[
    float | None, Field(allow_inf_nan=False, description="above it is the row's error")
]
Better = Annotated[Literal["higher", "lower"] | None, doc("the better direction")]


def check_range(low: float | None, high: float | None) -> None:
    """Refuse an empty range."""
    if low is not None and high is not None and low > high:
        raise refuse(
            f"minimum {low:.12g} is above maximum {high:.12g}: nothing can pass"
        )


def check_score_names(scores: Any) -> Any:
    """Refuse two scores of one name."""
    types.no_duplicates(tuple(score.name for score in scores))
    return scores


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class NamedScores(Keys):
    """The keys of a scorer with default score names; `name` distinguishes two of one type."""

    own_names: ClassVar[Any] = ()  # of its scores without a `name`
    limits: ClassVar[Any] = (0.0, 1.0)  # of its scores; None if there is no end
    # of its scores; None if that depends on what it is asked
    better: ClassVar[DirectionName | None] = "higher"
    # of several scores the one that is the reward where a benchmark names none; "" for none
    strictest: ClassVar[str] = ""

    type: str
    name: Annotated[
        ScoreName | None,
        doc(
            "the name of its score, or the beginning of their names. Distinguishes two scorers of "
            "one type"
        ),
    ] = None

    @property
    def score_names(self) -> tuple[str, ...]:
        """Names of its scores."""
        return self.base_names

    @property
    def base_names(self) -> tuple[str, ...]:
        """Names of its scores, without those of single judgements."""
        names: tuple[str, ...] = self.own_names
        if self.name is None:
            return names
        if len(names) == 1:
            return (self.name,)
        return tuple(f"{self.name}_{own}" for own in names)

    @property
    def default_reward(self) -> str:
        """The score that is the reward by default; empty if there is no such."""
        own_names: tuple[str, ...] = self.own_names
        if self.strictest not in own_names:
            return ""
        return self.base_names[own_names.index(self.strictest)]

    def facts_of(self, _score: str) -> ScoreFacts:
        """Return the direction and the range of its scores."""
        low, high = self.limits
        return ScoreFacts(direction=self.better, low=low, high=high)


# -- the user's own scorers ----------------------------------------------------------------

# every way to write a type -> the type
_TYPES: Final = {name: kind for kind in BUILTIN for name in spellings(kind)}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PythonScorerSpec(Keys):
    """Call a function of the project; its further keys are arguments."""

    type: Literal["python"] = "python"
    function: Annotated[
        FunctionName, Field(validation_alias=AliasChoices("function", "python"))
    ]
    scores: types.Names | None = None
    options: dict[str, object] = types.empty()

    @property
    def score_names(self) -> tuple[str, ...]:
        """`scores`, by default the function's name."""
        return self.scores or (self.function.rpartition(":")[2].rpartition(".")[2],)

    def facts_of(self, _score: str) -> ScoreFacts:
        """Return nothing: a function doesn't say which way is better."""
        return ScoreFacts()


@dataclass(frozen=True, kw_only=True)
class CustomScorerSpec:
    """A type registered elsewhere; its keys are checked when its scorer is made."""

    type: str
    options: Mapping[str, object] = types.empty()
    score_names: ClassVar[tuple[str, ...]] = ()  # known only once it is created

    def facts_of(self, _score: str) -> ScoreFacts:
        """Return nothing: its class is not read before it is made."""
        return ScoreFacts()


def _python_form() -> object:
    function = {
        "description": "package.module:function, called with each row",
        "type": "string",
        "pattern": f"^{FUNCTION}$",
    }
    scores = "the scores that it gives; default one, of the function's name"
    schema = {
        "type": "object",
        "properties": {
            "type": {"description": "a function of your own", "const": "python"},
            "function": function,
            "python": function,
            "scores": {
                "description": scores,
                **types.adapter(types.Names).json_schema(),
            },
        },
        "oneOf": [
            {"required": ["type", "function"], "not": {"required": ["python"]}},
            {"required": ["python"], "not": {"required": ["type"]}},
        ],
        "additionalProperties": True,  # the function's arguments
    }
    return Annotated[object, WithJsonSchema(schema)]


_CustomForm = types.open_mapping(
    "type",
    description="the name of a scorer of your own, or package.module:name",
    **{"not": {"enum": [*_TYPES, "python", *ALIASES]}},
)


# -- one entry of scorers: by its type -----------------------------------------------------


def keys_of(kind: str) -> Any:
    """Return the class of the keys of a built-in type, in any spelling."""
    if kind == "python":
        return PythonScorerSpec
    return keys_of_type(_TYPES[kind])


def _validate_scorer(value: object) -> object:
    if (
        isinstance(value, dict)
        and "python" in value
        and not {"type", "function"} & value.keys()
    ):
        return _validate_function(value, {"python", "scores"})
    kind = types.type_of(value, [*BUILTIN, "python"], "a scorer")
    kind = ALIASES.get(kind, kind)
    keys = types.without_type(value)
    if kind == "python":
        return _validate_function(
            {"type": kind, **keys}, {"type", "function", "scores"}
        )
    if kind not in _TYPES:
        return CustomScorerSpec(type=kind, options=keys)
    return _validated(keys_of(kind), {"type": kind, **keys})


def _validate_function(value: Mapping[str, object], own: set[str]) -> PythonScorerSpec:
    """Validate a scorer of Python; keys that are not its own are the function's options."""
    options = {key: item for key, item in value.items() if key not in own}
    kept = {key: item for key, item in value.items() if key in own}
    scorer: PythonScorerSpec = _validated(
        PythonScorerSpec, {**kept, "options": options}
    )
    return scorer


def _validated(keys: object, value: object) -> Any:
    """Validate by pydantic: scorers' keys may use all of it."""
    return types.adapter(keys).validate_json(json.dumps(value))


def _any_form() -> object:
    builtin = [Annotated[keys_of(kind), Tag(kind)] for kind in BUILTIN]
    own = [Annotated[_python_form(), Tag("python")], Annotated[_CustomForm, Tag("")]]
    return Annotated[Union[*builtin, *own], Discriminator(lambda value: value["type"])]


# only the keys of an entry's type are loaded
_Entry = Annotated[object, types.Checked(_validate_scorer, _any_form)]
ScorersField = Annotated[tuple[_Entry, ...], Limits(min_length=1, strict=False)]
