"""The built-in types of scorers: each name with the class of its keys.

A benchmark file is validated by these classes, which stand beside their scorers. They are
imported when a file has such a scorer: most files have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.registry import scorers
from pytest_evalmetrics.spec.offered_scorers import offer_types

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_evalmetrics.spec.validation import Keys


def _remote() -> Mapping[str, type[Keys]]:
    from pytest_evalmetrics.scoring.scorers import remote_scorers

    return {
        "remote": remote_scorers.RemoteScorerSpec,
        "nemo-agent-toolkit-remote": remote_scorers.NatScorerSpec,
    }


def _tool_call() -> Mapping[str, type[Keys]]:
    from pytest_evalmetrics.scoring.scorers import tool_call_scorers

    return {
        "tool_call_accuracy": tool_call_scorers.ToolCallAccuracySpec,
        "tool-calling": tool_call_scorers.ToolCallingSpec,
    }


def _text() -> Mapping[str, type[Keys]]:
    from pytest_evalmetrics.scoring.scorers import text_scorers

    return {
        "exact-match": text_scorers.ExactMatchSpec,
        "string-check": text_scorers.StringCheckSpec,
        "number-check": text_scorers.NumberCheckSpec,
        "f1": text_scorers.F1Spec,
        "bleu": text_scorers.BleuSpec,
        "rouge": text_scorers.RougeSpec,
    }


def _judge() -> Mapping[str, type[Keys]]:
    from pytest_evalmetrics.scoring.scorers import judge_scorers

    return {
        "topic_adherence": judge_scorers.TopicAdherenceSpec,
        "agent_goal_accuracy": judge_scorers.AgentGoalAccuracySpec,
        "answer_accuracy": judge_scorers.AnswerAccuracySpec,
        "trajectory_evaluation": judge_scorers.TrajectoryEvaluationSpec,
    }


def _llm_judge() -> Mapping[str, type[Keys]]:
    from pytest_evalmetrics.scoring.scorers import llm_judge

    return {
        "llm-judge": llm_judge.LlmJudgeSpec,
    }


def _ragas() -> Mapping[str, type[Keys]]:
    from pytest_evalmetrics.scoring.scorers import ragas

    return {
        "ragas": ragas.RagasSpec,
    }


_MODULES: Mapping[str, Callable[[], Mapping[str, type[Keys]]]] = {
    "remote": _remote,
    "nemo-agent-toolkit-remote": _remote,
    "tool_call_accuracy": _tool_call,
    "tool-calling": _tool_call,
    "exact-match": _text,
    "string-check": _text,
    "number-check": _text,
    "f1": _text,
    "bleu": _text,
    "rouge": _text,
    "topic_adherence": _judge,
    "agent_goal_accuracy": _judge,
    "answer_accuracy": _judge,
    "trajectory_evaluation": _judge,
    "llm-judge": _llm_judge,
    "ragas": _ragas,
}


def _keys_of_type(kind: str) -> type[Keys]:
    return _MODULES[kind]()[kind]


def _builtin_scorers(name: str | None) -> dict[str, type[Keys]]:
    """Return the keys of each built-in type, or of one, by every spelling of it."""
    from pytest_evalmetrics.spec import scorer_keys  # few benchmarks have any

    names = [n for kind in _MODULES for n in scorer_keys.spellings(kind)]
    return {n: scorer_keys.keys_of(n) for n in (*names, "python") if name in (None, n)}


def offer_scorers() -> None:
    """Let benchmark files have the built-in scorers; needed before one is read."""
    offer_types(_keys_of_type)
    scorers.offer(_builtin_scorers)
