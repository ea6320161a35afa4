"""Conversations as rows hold them, written out for a judge."""

from __future__ import annotations

from typing import Any

import pytest
from judge_process import row

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.scorers import Row
from pytest_evalmetrics.scorers.row_reading import conversation_of

CALL = {"name": "weather", "args": {"city": "Paris"}}


def test_messages_of_either_kind() -> None:
    ragas = [
        {"type": "human", "content": "Weather?"},
        {"type": "ai", "content": "Let me see.", "tool_calls": [CALL]},
        {"type": "tool", "content": "sunny"},
        {"type": "ai", "content": "Sunny."},
    ]
    openai = [
        {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [{"function": {"name": "weather", "arguments": '{"city": "Paris"}'}}],
        },
        {"role": "tool", "content": "sunny"},
        {"role": "assistant", "content": "Sunny."},
    ]
    written = conversation_of(row(user_input=ragas))
    assert written == conversation_of(row(user_input=openai))
    assert written.splitlines() == [
        "User: Weather?",
        "Agent: Let me see.",
        'Agent calls weather: {"city": "Paris"}',
        "Tool result: sunny",
        "Agent: Sunny.",
    ]


def test_what_was_answered_is_the_end_of_it() -> None:
    assert conversation_of(row(user_input="a", response="b")) == "User: a\nAgent: b"
    messages = [{"type": "human", "content": "a"}]
    item: dict[str, Any] = {"user_input": messages, "response": "recorded"}
    assert conversation_of(row(**item)) == "User: a"  # the conversation has its own end
    generated = Row(0, "x", 0, 0, item, {"output_text": "made"})
    assert conversation_of(generated) == "User: a\nAgent: made"
    assert conversation_of(generated, answered=False) == "User: a"


@pytest.mark.parametrize(
    "messages",
    [
        ["a"],
        [{"content": "a"}],
        [{"type": ["human"], "content": "a"}],
        [{"type": "human", "content": 3}],
        [{"type": "ai", "tool_calls": [3]}],
    ],
)
def test_what_is_no_message(messages: list[Any]) -> None:
    with pytest.raises(RowError):
        conversation_of(row(user_input=messages))
