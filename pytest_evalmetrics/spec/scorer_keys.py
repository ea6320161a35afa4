"""The keys that scorers share, and each entry's own by its type; loaded for `scorers:`."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
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
from pytest_evalmetrics.spec.field_types import (
    FUNCTION,
    FunctionName,
    Keys,
    Name,
    doc,
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


@dataclass(frozen=True, kw_only=True)
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
        return (
            (self.name,)
            if len(names) == 1
            else tuple(f"{self.name}_{own}" for own in names)
        )

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

# the class of each type, by every way to write it
_CLASSES: Final = {
    name: f"scorers.{place}"
    for kind, place in BUILTIN.items()
    for name in spellings(kind)
} | {"python": "spec.scorer_keys:PythonScorerSpec"}


@dataclass(frozen=True, kw_only=True)
class PythonScorerSpec(Keys):
    """Call a function of the project; its further keys are arguments."""

    type: Literal["python"] = "python"
    function: Annotated[
        FunctionName, Field(validation_alias=AliasChoices("function", "python"))
    ]
    scores: types.Names | None = None
    options: dict[str, Any] = types.empty()

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
    options: Mapping[str, Any] = types.empty()
    score_names: ClassVar[tuple[str, ...]] = ()  # known only once it is created

    def facts_of(self, _score: str) -> ScoreFacts:
        """Return nothing: its class is not read before it is made."""
        return ScoreFacts()


def _python_form() -> Any:
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
    return Annotated[Any, WithJsonSchema(schema)]


_CustomForm = types.open_mapping(
    "type",
    description="the name of a scorer of your own, or package.module:name",
    **{"not": {"enum": [*_CLASSES, *ALIASES]}},
)


# -- one entry of scorers: by its type -----------------------------------------------------


def _class_of(kind: str) -> Any:
    module, _, name = _CLASSES[kind].partition(":")
    return getattr(import_module(f"pytest_evalmetrics.{module}"), name)


def builtin_types(name: str | None) -> dict[str, Any]:
    """Return the keys of each built-in type, or of that with a name, by every spelling of it."""
    return {kind: _class_of(kind) for kind in _CLASSES if name in (None, kind)}


def _validate_scorer(value: Any) -> Any:
    own = {"type", "function", "scores"}
    if (
        isinstance(value, dict)
        and "python" in value
        and not {"type", "function"} & value.keys()
    ):
        kind, own = "python", {"python", "scores"}
    else:
        kind = types.type_of(value, [*BUILTIN, "python"], "a scorer")
        kind = ALIASES.get(kind, kind)
    if kind == "python":
        options = {key: item for key, item in value.items() if key not in own}
        kept = {key: item for key, item in value.items() if key in own}
        return types.validated(PythonScorerSpec, {**kept, "options": options})
    if kind not in _CLASSES:
        options = {key: item for key, item in value.items() if key != "type"}
        return CustomScorerSpec(type=kind, options=options)
    return types.validated(_class_of(kind), {**value, "type": kind})


def _any_form() -> Any:
    builtin = [Annotated[_class_of(kind), Tag(kind)] for kind in BUILTIN]
    own = [Annotated[_python_form(), Tag("python")], Annotated[_CustomForm, Tag("")]]
    return Annotated[Union[*builtin, *own], Discriminator(lambda value: value["type"])]


# only the keys of an entry's type are loaded
_Entry = Annotated[Any, types.Checked(_validate_scorer, _any_form)]
ScorersField = Annotated[tuple[_Entry, ...], Field(min_length=1, strict=False)]
