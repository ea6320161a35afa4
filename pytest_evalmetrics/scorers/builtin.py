"""The scorers that come with the package: importing this registers them.

A new one is a file beside this one with its registration, a file in ``spec/scorers/`` that says
what its keys are, a line here and there, and a test file.
"""

from __future__ import annotations

from pytest_evalmetrics.scorers import (
    agent_goal_accuracy,
    answer_accuracy,
    bleu,
    exact_match,
    f1,
    functions,
    llm_judge,
    nat,
    number_check,
    ragas,
    remote,
    rouge,
    string_check,
    tool_call_accuracy,
    tool_calling,
    topic_adherence,
    trajectory_evaluation,
)

__all__ = [
    "agent_goal_accuracy",
    "answer_accuracy",
    "bleu",
    "exact_match",
    "f1",
    "functions",
    "llm_judge",
    "nat",
    "number_check",
    "ragas",
    "remote",
    "rouge",
    "string_check",
    "tool_call_accuracy",
    "tool_calling",
    "topic_adherence",
    "trajectory_evaluation",
]
