"""A short hash of a task's content, by which the task is recognised under another id."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any

SIZE = 12  # hex digits
VERSIONS = "+"  # between the hashes of a task's versions
NO_CONTENT = ""  # of a task whose rollouts have different questions
_SYSTEM_ROLES = ("system", "developer")
_NOT_THE_QUESTION = ("id", "source", "metadata")  # keys of a message


def content_hash(value: Any) -> str:
    """Hash a task's content: builtins as JSON, in which the order of keys doesn't matter.

    The hash has twelve hex digits; that of None, which is no content, is empty.
    """
    if value is None:
        return ""
    import msgspec  # noqa: PLC0415 - only where a task has content

    try:
        data = msgspec.json.encode(value, order="sorted")
    except (TypeError, ValueError, RecursionError):
        text = json.dumps(value, sort_keys=True, default=repr)
        data = text.encode("utf-8", "backslashreplace")
    return blake2b(data, digest_size=SIZE // 2).hexdigest()


def join_versions(*contents: str) -> str:
    """Join the hashes of a task's versions, each once, whatever their order."""
    return VERSIONS.join(sorted({one for each in contents for one in each.split(VERSIONS)}))


def question_of(messages: Any) -> Any:
    """Reduce a conversation to the question: no system prompt, and no ids of messages.

    The system prompt belongs to the agent under test, which may change.
    """
    if not isinstance(messages, list):
        return messages
    return [
        {k: v for k, v in message.items() if k not in _NOT_THE_QUESTION}
        if isinstance(message, dict)
        else message
        for message in messages
        if not (isinstance(message, dict) and message.get("role") in _SYSTEM_ROLES)
    ]
