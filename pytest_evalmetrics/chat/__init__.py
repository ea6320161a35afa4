"""Asking OpenAI-compatible models: what judges and generation share.

::

    model = chat_model(spec, terms)
    reply = await ask(calls, model, messages, kind="answer-accuracy/1", read=my_reader)
"""

from __future__ import annotations

from pytest_evalmetrics.chat.asking import (
    Reply,
    ask,
    compile_prompt,
    compile_templates,
    json_in,
    read_reply,
    side_by_side,
    tool_calls_of,
)
from pytest_evalmetrics.chat.models import Calls, ChatModel, Message, Spending, Ticket, chat_model

__all__ = [
    "Calls",
    "ChatModel",
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
    "side_by_side",
    "tool_calls_of",
]
