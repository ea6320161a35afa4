"""``scorers:``: what gives the rows their scores.

A built-in type has a dataclass in a file here and a line below, so that what is wrong with
it is found with its line before anything runs. The keys of other types are judged when
their scorer is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Protocol, Union, get_args, get_type_hints

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from pytest_evalmetrics.spec.forms import expected, refuse
from pytest_evalmetrics.spec.scorers.agent_goal_accuracy import AgentGoalAccuracySpec
from pytest_evalmetrics.spec.scorers.answer_accuracy import AnswerAccuracySpec
from pytest_evalmetrics.spec.scorers.bleu import BleuSpec
from pytest_evalmetrics.spec.scorers.custom import CustomScorerSpec, options_apart
from pytest_evalmetrics.spec.scorers.exact_match import ExactMatchSpec
from pytest_evalmetrics.spec.scorers.f1 import F1Spec
from pytest_evalmetrics.spec.scorers.llm_judge import (
    JsonParserSpec,
    JudgeScoreSpec,
    LlmJudgeSpec,
    RegexParserSpec,
    RubricSpec,
)
from pytest_evalmetrics.spec.scorers.nat import NatScorerSpec
from pytest_evalmetrics.spec.scorers.number_check import NumberCheckSpec
from pytest_evalmetrics.spec.scorers.python import PythonScorer, PythonScorerSpec, in_long_form
from pytest_evalmetrics.spec.scorers.ragas import RagasSpec
from pytest_evalmetrics.spec.scorers.remote import RemoteScorerSpec, RemoteScoreSpec
from pytest_evalmetrics.spec.scorers.rouge import RougeSpec
from pytest_evalmetrics.spec.scorers.string_check import StringCheckSpec
from pytest_evalmetrics.spec.scorers.tool_call_accuracy import ToolCallAccuracySpec
from pytest_evalmetrics.spec.scorers.tool_calling import ToolCallingSpec
from pytest_evalmetrics.spec.scorers.topic_adherence import TopicAdherenceSpec
from pytest_evalmetrics.spec.scorers.trajectory_evaluation import TrajectoryEvaluationSpec

__all__ = [
    "AgentGoalAccuracySpec",
    "AnswerAccuracySpec",
    "BleuSpec",
    "CustomScorerSpec",
    "ExactMatchSpec",
    "F1Spec",
    "JsonParserSpec",
    "JudgeScoreSpec",
    "LlmJudgeSpec",
    "NatScorerSpec",
    "NumberCheckSpec",
    "PythonScorerSpec",
    "RagasSpec",
    "RegexParserSpec",
    "RemoteScoreSpec",
    "RemoteScorerSpec",
    "RougeSpec",
    "RubricSpec",
    "ScorerSpec",
    "ScorersField",
    "StringCheckSpec",
    "ToolCallAccuracySpec",
    "ToolCallingSpec",
    "TopicAdherenceSpec",
    "TrajectoryEvaluationSpec",
]

BUILTIN = (
    RemoteScorerSpec,
    NatScorerSpec,
    ToolCallAccuracySpec,
    ToolCallingSpec,
    ExactMatchSpec,
    StringCheckSpec,
    NumberCheckSpec,
    F1Spec,
    BleuSpec,
    RougeSpec,
    TopicAdherenceSpec,
    AgentGoalAccuracySpec,
    AnswerAccuracySpec,
    LlmJudgeSpec,
    TrajectoryEvaluationSpec,
    RagasSpec,
)


class ScorerSpec(Protocol):
    """What one entry of ``scorers:`` says."""

    @property
    def type(self) -> str:
        """Its type, as it is written."""
        ...

    @property
    def score_names(self) -> tuple[str, ...]:
        """What it scores; empty where that is not known before it is made."""
        ...


def _types_of(spec: type) -> tuple[str, ...]:
    """Give the type's name, and what else it may be called."""
    names: tuple[str, ...] = get_args(get_type_hints(spec)["type"])
    return names


_BY_TYPE = {_types_of(spec)[0]: spec for spec in BUILTIN}
_PYTHON, _OTHER = "python", "other"
_FUNCTION = "function of python"  # its tag: "python" might be a key of the file
_TAGS = {name: kind for kind, spec in _BY_TYPE.items() for name in _types_of(spec)}
_TAGS[_PYTHON] = _FUNCTION


def _is_mapping(value: Any) -> Any:
    if not isinstance(value, dict):
        raise expected("a mapping with type")
    value = in_long_form(value)
    if "type" not in value:
        raise refuse(f"'type' is missing: {', '.join([*_BY_TYPE, _PYTHON])}, or one of your own")
    if not isinstance(value["type"], str) or not value["type"]:
        raise refuse("type has to be the name of a scorer")
    return value


def _kind(value: Any) -> str:
    found = value["type"] if isinstance(value, Mapping) else value.type
    return _TAGS.get(found, _OTHER)


_Custom = Annotated[
    CustomScorerSpec,
    BeforeValidator(options_apart),
    WithJsonSchema(
        {
            "type": "object",
            "properties": {
                "type": {
                    "description": "the name of a scorer of your own, or package.module:name",
                    "type": "string",
                    "not": {"enum": list(_TAGS)},
                }
            },
            "required": ["type"],
            "additionalProperties": True,  # judged when the scorer is made
        }
    ),
    Tag(_OTHER),
]

_Python = Annotated[PythonScorer, Tag(_FUNCTION)]

if TYPE_CHECKING:
    ScorersField = tuple[ScorerSpec, ...]
else:
    _Any = Annotated[
        Union[*(Annotated[spec, Tag(name)] for name, spec in _BY_TYPE.items()), _Python, _Custom],
        Discriminator(_kind),
    ]
    ScorersField = Annotated[
        tuple[Annotated[_Any, BeforeValidator(_is_mapping)], ...],
        Field(min_length=1, strict=False),
    ]
