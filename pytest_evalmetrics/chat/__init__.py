"""Asking OpenAI-compatible models: what judges and generation share.

::

    model = chat_model(spec, terms)
    reply = await ask(calls, model, messages, kind="answer-accuracy/1", read=my_reader)
"""

from __future__ import annotations

from pytest_evalmetrics.chat.asking import ask
from pytest_evalmetrics.chat.calls import Calls, Ticket
from pytest_evalmetrics.chat.models import ChatModel, Message, chat_model
from pytest_evalmetrics.chat.replies import Reply, json_in, read_reply

__all__ = [
    "Calls",
    "ChatModel",
    "Message",
    "Reply",
    "Ticket",
    "ask",
    "chat_model",
    "json_in",
    "read_reply",
]
