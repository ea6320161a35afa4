"""``scorers:``: what gives the rows their scores.

A built-in type has a dataclass in a file here and a line below, so that what is wrong with
it is found with its line before anything runs. The keys of other types are judged when
their scorer is made. A file is loaded when a scorer of its type is met: most benchmarks
have none.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol, Union

from pydantic import BeforeValidator, Discriminator, Field, Tag, TypeAdapter, WithJsonSchema
from pydantic_core import core_schema

from pytest_evalmetrics.spec.forms import expected, refuse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

    from pytest_evalmetrics.spec.scorers.agent_goal_accuracy import AgentGoalAccuracySpec
    from pytest_evalmetrics.spec.scorers.answer_accuracy import AnswerAccuracySpec
    from pytest_evalmetrics.spec.scorers.bleu import BleuSpec
    from pytest_evalmetrics.spec.scorers.custom import CustomScorerSpec
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
    from pytest_evalmetrics.spec.scorers.python import PythonScorerSpec
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
    "other_name",
]

_BUILTIN: Final[Mapping[tuple[str, ...], tuple[str, str]]] = {
    # what the type may be called -> the file here, and its dataclass
    ("remote",): ("remote", "RemoteScorerSpec"),
    ("nemo-agent-toolkit-remote",): ("nat", "NatScorerSpec"),
    ("tool_call_accuracy",): ("tool_call_accuracy", "ToolCallAccuracySpec"),
    ("tool-calling",): ("tool_calling", "ToolCallingSpec"),
    ("exact-match", "exact_match"): ("exact_match", "ExactMatchSpec"),
    ("string-check",): ("string_check", "StringCheckSpec"),
    ("number-check",): ("number_check", "NumberCheckSpec"),
    ("f1",): ("f1", "F1Spec"),
    ("bleu",): ("bleu", "BleuSpec"),
    ("rouge",): ("rouge", "RougeSpec"),
    ("topic_adherence",): ("topic_adherence", "TopicAdherenceSpec"),
    ("agent_goal_accuracy",): ("agent_goal_accuracy", "AgentGoalAccuracySpec"),
    ("answer_accuracy",): ("answer_accuracy", "AnswerAccuracySpec"),
    ("llm-judge", "llm_judge"): ("llm_judge", "LlmJudgeSpec"),
    ("trajectory_evaluation", "trajectory-evaluation"): (
        "trajectory_evaluation",
        "TrajectoryEvaluationSpec",
    ),
    ("ragas",): ("ragas", "RagasSpec"),
}
_HOMES: Final = {  # what this package offers -> the file that it is in
    **{name: file for file, name in _BUILTIN.values()},
    "CustomScorerSpec": "custom",
    "JsonParserSpec": "llm_judge",
    "JudgeScoreSpec": "llm_judge",
    "PythonScorerSpec": "python",
    "RegexParserSpec": "llm_judge",
    "RemoteScoreSpec": "remote",
    "RubricSpec": "llm_judge",
}


def __getattr__(name: str) -> Any:
    """Load the file that holds a name when somebody asks for it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


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


def other_name(spec: ScorerSpec) -> str:
    """Say how a scorer gets other names for its scores."""
    if hasattr(spec, "name"):
        return "give this one a name, such as `name: second`"
    if spec.type == "python":
        return "give this one's another name, such as `scores: [another_name]`"
    if hasattr(spec, "scores"):
        return "give this one's another `name` under scores"
    return "give this one's another name in its class"


_PYTHON: Final = "python"
_OTHER: Final = "other"
_FUNCTION: Final = "function of python"  # its tag: "python" might be a key of the file
_TAGS: Final = {name: names[0] for names in _BUILTIN for name in names} | {_PYTHON: _FUNCTION}


def _tag(value: Any) -> str:
    return _TAGS.get(value["type"], _OTHER)


def _form(tag: str) -> Any:
    """Return what an entry with this tag is made into, as pydantic takes it."""
    if tag == _FUNCTION:
        from pytest_evalmetrics.spec.scorers.python import PythonScorer  # noqa: PLC0415 - see above

        return PythonScorer
    if tag == _OTHER:
        from pytest_evalmetrics.spec.scorers import custom  # noqa: PLC0415 - see above

        return Annotated[
            custom.CustomScorerSpec,
            BeforeValidator(custom.options_apart),
            WithJsonSchema(custom.schema(taken=list(_TAGS))),
        ]
    return next(__getattr__(name) for types, (_, name) in _BUILTIN.items() if types[0] == tag)


@cache
def _adapter(tag: str) -> TypeAdapter[Any]:
    return TypeAdapter(_form(tag))


def _scorer(value: Any) -> Any:
    """Make one entry of what its type says."""
    from pytest_evalmetrics.spec.scorers.python import in_long_form  # noqa: PLC0415 - see above

    if not isinstance(value, dict):
        raise expected("a mapping with type")
    value = in_long_form(value)
    if "type" not in value:
        known = [*(types[0] for types in _BUILTIN), _PYTHON]
        raise refuse(f"'type' is missing: {', '.join(known)}, or one of your own")
    if not isinstance(value["type"], str) or not value["type"]:
        raise refuse("type has to be the name of a scorer")
    # from JSON, as the rest of the file: there a list may become a tuple
    return _adapter(_tag(value)).validate_json(json.dumps(value))


class _ByType:
    """One form of many: only the one that is meant is loaded, but for the JSON Schema."""

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(_scorer)

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        tags = [*(types[0] for types in _BUILTIN), _FUNCTION, _OTHER]
        forms: Any = Union[*(Annotated[_form(tag), Tag(tag)] for tag in tags)]
        return handler(TypeAdapter(Annotated[forms, Discriminator(_tag)]).core_schema)


if TYPE_CHECKING:
    ScorersField = tuple[ScorerSpec, ...]
else:
    ScorersField = Annotated[
        tuple[Annotated[Any, _ByType()], ...], Field(min_length=1, strict=False)
    ]
