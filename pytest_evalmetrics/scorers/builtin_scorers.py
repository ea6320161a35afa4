"""The built-in scorers: importing this module registers them."""

from pytest_evalmetrics.scorers import (  # noqa: F401 - imported for what they register
    bound,
    judge_scorers,
    llm_judge,
    ragas,
    remote_scorers,
    text_scorers,
    tool_call_scorers,
)
