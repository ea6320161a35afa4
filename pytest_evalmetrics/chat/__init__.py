"""Asking OpenAI-compatible models: what judges and generation share.

::

    model = chat_model(spec, terms)
    reply = await ask(calls, model, messages, kind="answer-accuracy/1", read=my_reader)
"""

from __future__ import annotations

from pytest_evalmetrics.chat.asking import ask, side_by_side
from pytest_evalmetrics.chat.calls import Calls, Ticket
from pytest_evalmetrics.chat.models import ChatModel, Message, chat_model
from pytest_evalmetrics.chat.prompts import compile_prompt, compile_templates
from pytest_evalmetrics.chat.replies import Reply, json_in, read_reply, tool_calls_of
from pytest_evalmetrics.chat.spending import Spending

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
