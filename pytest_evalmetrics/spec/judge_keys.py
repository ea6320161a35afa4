"""The keys of scorers that ask a judge; loaded when a benchmark has one."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from pytest_evalmetrics.errors import did_you_mean
from pytest_evalmetrics.spec.field_types import (
    NAMES_SCHEMA,
    STRICT,
    Name,
    doc,
    expected,
    json_path,
    refuse,
)
from pytest_evalmetrics.spec.model_keys import ModelSpec, PromptField
from pytest_evalmetrics.spec.scorer_keys import (
    Better,
    Maximum,
    Minimum,
    NamedScores,
    ScoreName,
    check_range,
    check_score_names,
)
from pytest_evalmetrics.spec.sources import RolloutsField


@dataclass(frozen=True, kw_only=True)
class JudgeModelSpec:
    """``judge: {model: ...}``, the longer form of ``judge_model``."""

    __pydantic_config__ = STRICT

    model: Annotated[ModelSpec, doc("the model that judges")]


@dataclass(frozen=True, kw_only=True)
class JudgeCheckSpec:
    """Rows labelled by people, for comparison with the judge."""

    __pydantic_config__ = STRICT

    rows: Annotated[RolloutsField, doc("the labelled rows: the same columns, and the label")]
    label: Annotated[Name, doc("the column with a person's score, or rubric label")]
    score: Annotated[
        Name | None, doc("which score it is a label of; default the scorer's first")
    ] = None


JudgeCheck = Annotated[JudgeCheckSpec | None, doc("compare the judge with people's labels")]


@dataclass(frozen=True, kw_only=True)
class JudgeKeys(NamedScores):
    """The judge of a scorer with a fixed prompt."""

    judge_model: Annotated[ModelSpec | None, doc("the model that judges")] = None
    judge: Annotated[JudgeModelSpec | None, doc("{model: ...}, in place of judge_model")] = None
    judge_check: JudgeCheck = None

    def __post_init__(self) -> None:
        """Require one judge, written in one way."""
        if (self.judge_model is None) == (self.judge is None):
            raise refuse(
                "judge_model is missing: {url, name, api_key_secret}"
                if self.judge is None
                else "judge_model and judge say the same: write one of them"
            )

    @property
    def model(self) -> ModelSpec:
        """The model that judges."""
        found = self.judge_model or (self.judge.model if self.judge else None)
        if found is None:  # no benchmark file with neither is ever accepted
            raise ValueError("there is no judge")
        return found


# -- fixed prompts, or another package's ---------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class AgentGoalAccuracySpec(JudgeKeys):
    """The end of a conversation, against the reference or the user's goal."""

    default_names = ("agent_goal_accuracy",)
    type: Annotated[
        Literal["agent_goal_accuracy"], doc("whether the conversation ends as the user wanted")
    ]
    use_reference: Annotated[
        bool, doc("compare with the row's reference; else with the goal in what was said")
    ] = True


@dataclass(frozen=True, kw_only=True)
class AnswerAccuracySpec(JudgeKeys):
    """The response against the reference, rated both ways round."""

    default_names = ("nv_accuracy",)
    type: Annotated[
        Literal["answer_accuracy"], doc("whether the response says what the reference says")
    ]


@dataclass(frozen=True, kw_only=True)
class TopicAdherenceSpec(JudgeKeys):
    """Answers and refusals, against ``reference_topics``."""

    type: Annotated[
        Literal["topic_adherence"], doc("whether the agent answers on its topics, and on no others")
    ]
    metric_mode: Annotated[Literal["f1", "precision", "recall"], doc("which of the three")] = "f1"

    @property
    def own_names(self) -> tuple[str, ...]:
        """One score, named for the mode."""
        return (f"topic_adherence(mode={self.metric_mode})",)


def _tools(value: Any) -> Any:
    """Read ``a, b`` as a list."""
    if isinstance(value, str):
        value = [name.strip() for name in value.split(",") if name.strip()]
    if not isinstance(value, list) or not value:
        raise expected("names of tools, as a list or with commas between them")
    return value


@dataclass(frozen=True, kw_only=True)
class TrajectoryEvaluationSpec(JudgeKeys):
    """The steps of an agent of the NeMo Agent Toolkit."""

    default_names = ("trajectory_evaluation",)
    type: Annotated[
        Literal["trajectory_evaluation", "trajectory-evaluation"],
        doc("whether an agent's steps and tools were the right ones"),
    ]
    trajectory_used_tools: Annotated[
        tuple[Name, ...],
        Field(strict=False, description="the tools that the agent has"),
        BeforeValidator(_tools),
        WithJsonSchema(NAMES_SCHEMA),
    ]
    trajectory_custom_tools: Annotated[dict[Name, str], doc("tool -> what it does")] = field(
        default_factory=dict
    )

    def __post_init__(self) -> None:
        """Refuse a description of an unlisted tool."""
        JudgeKeys.__post_init__(self)
        for name in self.trajectory_custom_tools:
            if name not in self.trajectory_used_tools:
                known = did_you_mean(name, self.trajectory_used_tools, what="trajectory_used_tools")
                raise refuse(f"trajectory_custom_tools describes {name!r}: {known}")


_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, kw_only=True)
class RagasSpec(NamedScores):
    """A metric of ``ragas.metrics.collections``."""

    type: Annotated[Literal["ragas"], doc("a metric of RAGAS, by the package itself")]
    metric: Annotated[Name, doc("the class: Faithfulness")]
    arguments: Annotated[dict[Name, Any], doc("of the metric's constructor, but its llm")] = field(
        default_factory=dict
    )
    judge_model: Annotated[
        ModelSpec | None, doc("the model that judges, where the metric needs one")
    ] = None
    judge_check: JudgeCheck = None

    @property
    def own_names(self) -> tuple[str, ...]:
        """The metric's name in snake case."""
        return (_WORDS.sub("_", self.metric).lower(),)


# -- llm-judge: a prompt and scores of the user's own --------------------------------------


@dataclass(frozen=True, kw_only=True)
class RubricSpec:
    """One level of a rubric."""

    __pydantic_config__ = STRICT

    label: Annotated[Name, doc("what the judge says")]
    value: Annotated[float, Field(allow_inf_nan=False, description="the score that it stands for")]
    description: Annotated[str, doc("when it is to be chosen")] = ""


@dataclass(frozen=True, kw_only=True)
class JsonParserSpec:
    """A score in a JSON object."""

    __pydantic_config__ = STRICT

    type: Annotated[Literal["json"], doc("the answer is JSON")] = "json"
    json_path: Annotated[
        Name,
        AfterValidator(lambda value: json_path(value) if value.startswith("$") else value),
        doc("a key of the judge's JSON object, or a JSONPath"),
    ]


def _pattern(value: str) -> str:
    try:
        groups = re.compile(value).groups
    except re.error as error:
        raise refuse(f"this is no regular expression: {error}") from None
    if not groups:
        raise refuse(r"it has no group that holds the score, such as SCORE: (\d)")
    return value


@dataclass(frozen=True, kw_only=True)
class RegexParserSpec:
    """A score in any text."""

    __pydantic_config__ = STRICT

    type: Annotated[Literal["regex"], doc("the answer is any text")] = "regex"
    pattern: Annotated[Name, AfterValidator(_pattern), doc("a regular expression with a group")]
    method: Annotated[
        Literal["match", "search"], doc("match from the text's beginning, or search anywhere")
    ] = "match"
    group: Annotated[Annotated[int, Field(ge=1)] | Name, doc("which group holds the score")] = 1

    def __post_init__(self) -> None:
        """Refuse a group that the pattern doesn't have."""
        pattern = re.compile(self.pattern)
        groups = range(pattern.groups + 1) if isinstance(self.group, int) else pattern.groupindex
        if self.group not in groups:
            raise refuse(f"the pattern has no group {self.group!r}")


def _parser_type(value: Any) -> str:
    if not isinstance(value, dict):
        return str(getattr(value, "type", "json"))
    default = "regex" if "pattern" in value else "json"
    found = value.get("type", default)
    return found if found in ("json", "regex") else default


ParserField = Annotated[
    Annotated[JsonParserSpec, Tag("json")] | Annotated[RegexParserSpec, Tag("regex")],
    Discriminator(_parser_type),
]


@dataclass(frozen=True, kw_only=True)
class JudgeScoreSpec:
    """One score that the judge gives."""

    __pydantic_config__ = STRICT

    name: ScoreName
    description: Annotated[str, doc("{{ scores }} in the prompt has it")] = ""
    parser: Annotated[
        ParserField | None, doc("where the answer holds it; default the key `name`")
    ] = None
    rubric: Annotated[
        tuple[RubricSpec, ...] | None,
        Field(min_length=2, strict=False, description="the labels that the judge may say"),
    ] = None
    minimum: Minimum = None
    maximum: Maximum = None
    direction: Better = None

    def __post_init__(self) -> None:
        """Refuse contradictions."""
        check_range(self.minimum, self.maximum)
        if self.rubric is None:
            return
        if self.minimum is not None or self.maximum is not None:
            raise refuse("a rubric has labels, no minimum and maximum")
        for what, found in (
            ("labels", [one.label for one in self.rubric]),
            ("values", [one.value for one in self.rubric]),
        ):
            if len(set(found)) < len(found):
                raise refuse(f"two {what} of the rubric are the same: {found}")

    @property
    def found_by(self) -> JsonParserSpec | RegexParserSpec:
        """How it is found in an answer."""
        return self.parser or JsonParserSpec(json_path=self.name)


@dataclass(frozen=True, kw_only=True)
class LlmJudgeSpec:
    """One or several judges with a prompt and scores of the user's own."""

    __pydantic_config__ = STRICT

    type: Annotated[
        Literal["llm-judge", "llm_judge"], doc("a judge with a prompt and scores of your own")
    ]
    model: Annotated[ModelSpec | None, doc("the model that judges")] = None
    judge_model: Annotated[ModelSpec | None, doc("another name for model")] = None
    judges: Annotated[
        tuple[ModelSpec, ...] | None,
        Field(min_length=2, strict=False, description="several models, each of which judges"),
    ] = None
    combine: Annotated[Literal["mean", "majority"], doc("what several judges' scores come to")] = (
        "mean"
    )
    prompt_template: Annotated[
        PromptField | None,
        doc("what a judge is asked: a text, a list of messages, {messages: ...}"),
    ] = None
    scores: Annotated[
        tuple[JudgeScoreSpec, ...],
        Field(min_length=1, strict=False, description="what a judge's answer holds"),
        AfterValidator(check_score_names),
    ]
    structured_output: Annotated[
        bool | dict[str, Any],
        doc("whether the form of the answer is asked for; or {schema: ...} of it"),
    ] = True
    judge_check: JudgeCheck = None

    def __post_init__(self) -> None:
        """Require judges, written in one way."""
        keys = [key for key in ("model", "judge_model", "judges") if getattr(self, key) is not None]
        if len(keys) != 1:
            raise refuse(
                f"{' and '.join(keys)} say the same: write one of them"
                if keys
                else "model is missing: {url, name, api_key_secret}; or judges, a list of them"
            )
        if isinstance(self.structured_output, dict) and (
            set(self.structured_output) != {"schema"}
            or not isinstance(self.structured_output["schema"], dict)
        ):
            raise refuse("structured_output has to be true, false or {schema: a JSON Schema}")

    @property
    def models(self) -> tuple[ModelSpec, ...]:
        """The models that judge."""
        return self.judges or tuple(m for m in (self.model, self.judge_model) if m is not None)

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """Score -> the columns of the several judges; empty for one judge."""
        names: list[str] = []
        for model in self.judges or ():
            short = name = re.sub(r"[^\w.-]+", "_", model.name)
            number = 1
            while name in names:
                number += 1
                name = f"{short}_{number}"
            names.append(name)
        return {
            score.name: tuple(f"{score.name}@{name}" for name in names) for score in self.scores
        }

    @property
    def judges_own(self) -> tuple[str, ...]:
        """Scores of each single judge: no reward unless named as one."""
        return tuple(name for each in self.columns.values() for name in each)

    @property
    def score_names(self) -> tuple[str, ...]:
        """Each score, followed by those of the single judges."""
        return tuple(name for score, each in self.columns.items() for name in (score, *each))
