"""The built-in scorers: importing this module registers them."""

from __future__ import annotations

from pytest_evalmetrics.scorers import (
    bound,
    judge_scorers,
    llm_judge,
    ragas,
    remote_scorers,
    text_scorers,
    tool_call_scorers,
)

__all__ = [
    "bound",
    "judge_scorers",
    "llm_judge",
    "ragas",
    "remote_scorers",
    "text_scorers",
    "tool_call_scorers",
]
