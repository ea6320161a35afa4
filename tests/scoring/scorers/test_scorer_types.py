"""The types of scorers that a benchmark file may have, by every spelling of them."""

import pytest

from pytest_evalmetrics.registry import scorers
from pytest_evalmetrics.scoring.scorer_types import offer_scorers
from pytest_evalmetrics.spec import scorer_keys

# the class of the keys of each type, and the module that scores by them
TYPES = {
    "remote": ("RemoteScorerSpec", "remote_scorers"),
    "nemo-agent-toolkit-remote": ("NatScorerSpec", "remote_scorers"),
    "nemo_agent_toolkit_remote": ("NatScorerSpec", "remote_scorers"),
    "tool_call_accuracy": ("ToolCallAccuracySpec", "tool_call_scorers"),
    "tool-call-accuracy": ("ToolCallAccuracySpec", "tool_call_scorers"),
    "tool-calling": ("ToolCallingSpec", "tool_call_scorers"),
    "exact-match": ("ExactMatchSpec", "text_scorers"),
    "exact_match": ("ExactMatchSpec", "text_scorers"),
    "string-check": ("StringCheckSpec", "text_scorers"),
    "number-check": ("NumberCheckSpec", "text_scorers"),
    "f1": ("F1Spec", "text_scorers"),
    "bleu": ("BleuSpec", "text_scorers"),
    "rouge": ("RougeSpec", "text_scorers"),
    "topic_adherence": ("TopicAdherenceSpec", "judge_scorers"),
    "agent_goal_accuracy": ("AgentGoalAccuracySpec", "judge_scorers"),
    "answer_accuracy": ("AnswerAccuracySpec", "judge_scorers"),
    "trajectory_evaluation": ("TrajectoryEvaluationSpec", "judge_scorers"),
    "trajectory-evaluation": ("TrajectoryEvaluationSpec", "judge_scorers"),
    "llm-judge": ("LlmJudgeSpec", "llm_judge"),
    "llm_judge": ("LlmJudgeSpec", "llm_judge"),
    "ragas": ("RagasSpec", "ragas"),
}


@pytest.fixture(autouse=True)
def _offered():
    offer_scorers()


@pytest.mark.parametrize("kind", TYPES)
def test_a_type_has_keys_of_its_own(kind):
    keys = scorers.find(kind).target
    name, module = TYPES[kind]
    assert keys.__name__ == name
    assert keys.__module__ == f"pytest_evalmetrics.scoring.scorers.{module}"
    assert scorer_keys.keys_of(kind) is keys


def test_a_function_of_the_users_has_a_type_too():
    assert scorers.find("python").target is scorer_keys.PythonScorerSpec


def test_all_types_are_offered_by_name():
    assert {*TYPES, "python"} <= {*scorers.names()}
