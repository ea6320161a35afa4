"""What a benchmark file may say, as types.

The validation, its messages and the JSON Schema that editors read are all made from
these dataclasses. Short forms (a string where a mapping is also possible) are expanded
before validation, so that the rest of the project sees one form.
"""

from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.spec.benchmark import Benchmark, BenchmarkSpec, ScorerSpec, XFail
from pytest_evalmetrics.spec.field_types import Count
from pytest_evalmetrics.spec.gate_keys import (
    BaselineSpec,
    ExpectSpec,
    GateSpec,
    RuleName,
    Threshold,
)
from pytest_evalmetrics.spec.sources import (
    BudgetSpec,
    DatasetSpec,
    FieldMap,
    ModelSpec,
    ParamsSpec,
    PriceSpec,
    ReasoningSpec,
    RolloutsSpec,
    TargetSpec,
)

if TYPE_CHECKING:
    from pytest_evalmetrics.spec.judge_keys import (
        AgentGoalAccuracySpec,
        AnswerAccuracySpec,
        JsonParserSpec,
        JudgeScoreSpec,
        LlmJudgeSpec,
        RagasSpec,
        RegexParserSpec,
        RubricSpec,
        TopicAdherenceSpec,
        TrajectoryEvaluationSpec,
    )
    from pytest_evalmetrics.spec.scorer_keys import (
        BleuSpec,
        CustomScorerSpec,
        ExactMatchSpec,
        F1Spec,
        NatScorerSpec,
        NumberCheckSpec,
        PythonScorerSpec,
        RemoteScorerSpec,
        RemoteScoreSpec,
        RougeSpec,
        StringCheckSpec,
        ToolCallAccuracySpec,
        ToolCallingSpec,
    )

__all__ = [
    "AgentGoalAccuracySpec",
    "AnswerAccuracySpec",
    "BaselineSpec",
    "Benchmark",
    "BenchmarkSpec",
    "BleuSpec",
    "BudgetSpec",
    "Count",
    "CustomScorerSpec",
    "DatasetSpec",
    "ExactMatchSpec",
    "ExpectSpec",
    "F1Spec",
    "FieldMap",
    "GateSpec",
    "JsonParserSpec",
    "JudgeScoreSpec",
    "LlmJudgeSpec",
    "ModelSpec",
    "NatScorerSpec",
    "NumberCheckSpec",
    "ParamsSpec",
    "PriceSpec",
    "PythonScorerSpec",
    "RagasSpec",
    "ReasoningSpec",
    "RegexParserSpec",
    "RemoteScoreSpec",
    "RemoteScorerSpec",
    "RolloutsSpec",
    "RougeSpec",
    "RubricSpec",
    "RuleName",
    "ScorerSpec",
    "StringCheckSpec",
    "TargetSpec",
    "Threshold",
    "ToolCallAccuracySpec",
    "ToolCallingSpec",
    "TopicAdherenceSpec",
    "TrajectoryEvaluationSpec",
    "XFail",
]


def __getattr__(name: str) -> Any:
    """Load the keys of scorers on first use: most benchmarks have none."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pytest_evalmetrics.spec import judge_keys, scorer_keys  # noqa: PLC0415 - on first use

    return getattr(scorer_keys, name, None) or getattr(judge_keys, name)
