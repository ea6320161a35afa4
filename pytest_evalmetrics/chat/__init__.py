"""Asking OpenAI-compatible models: what judges and generation share.

::

    model = chat_model(spec, terms)
    reply = await ask(calls, model, messages, kind="answer-accuracy/1", read=my_reader)
"""

from __future__ import annotations

from pytest_evalmetrics.chat.asking import (
    ChatModel,
    Message,
    Reply,
    Spending,
    ask,
    chat_model,
    compile_prompt,
    compile_templates,
    json_in,
    read_reply,
    side_by_side,
    tool_calls_of,
)
from pytest_evalmetrics.chat.row_calls import Calls, Exchange, Ticket, shown_text

__all__ = [
    "Calls",
    "ChatModel",
    "Exchange",
    "Message",
    "Reply",
    "Spending",
    "Ticket",
    "ask",
    "chat_model",
    "compile_prompt",
    "compile_templates",
    "json_in",
    "read_reply",
    "shown_text",
    "side_by_side",
    "tool_calls_of",
]
