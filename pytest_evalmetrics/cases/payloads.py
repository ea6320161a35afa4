"""Texts and messages in the inputs and outputs that tracing tools record."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

_QUESTION_KEYS: Final = (
    "question",
    "query",
    "user_input",
    "prompt",
    "input",
    "text",
    "user_message",
    "message",
    "content",
)
_ANSWER_KEYS: Final = (
    "answer",
    "response",
    "output",
    "output_text",
    "completion",
    "result",
    "text",
    "message",
    "content",
)
_ROLES: Final = {
    "human": "user",
    "ai": "assistant",
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "SystemMessage": "system",
    "ToolMessage": "tool",
}


class Message(msgspec.Struct, frozen=True):
    """One message of a conversation."""

    role: str
    text: str


def mapping(value: object) -> dict[str, object]:
    """Return an object of JSON, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[object]:
    """Return a list of JSON, or an empty one for anything else."""
    return value if isinstance(value, list) else []


def decoded(value: object) -> object:
    """Decode an object or a list that was written as JSON text; return others as they are."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def messages_in(value: object) -> tuple[Message, ...]:
    """Read the conversation that an input or an output holds; empty without one."""
    value = decoded(value)
    if isinstance(value, dict):
        for key in ("messages", "chat_history", "input", "kwargs"):
            found = messages_in(value.get(key))
            if found:
                return found
        return ()
    entries = items(value)
    if len(entries) == 1 and isinstance(entries[0], list):
        entries = entries[0]  # LangChain records a batch of conversations
    messages = [_message(entry) for entry in entries]
    return tuple(message for message in messages if message is not None)


def _message(entry: object) -> Message | None:
    fields = mapping(entry)
    inner = fields.get("kwargs") or fields.get("data")  # LangChain's two forms
    body = mapping(inner) or fields
    content = body.get("content", body.get("parts"))
    name = fields.get("role") or fields.get("type") or body.get("type")
    identifier = items(fields.get("id"))
    if name == "constructor" and identifier:
        name = identifier[-1]
    if content is None or not isinstance(name, str):
        return None
    return Message(role=_ROLES.get(name, name), text=content_text(content))


def content_text(content: object) -> str:
    """Join the text of a message, whose content is a text or a list of parts."""
    if isinstance(content, str):
        return content
    texts = []
    for part in items(content):
        fields = mapping(part)
        text = fields.get("text", fields.get("content", part))
        if isinstance(text, str):
            texts.append(text)
    return "\n".join(texts)


def question_in(value: object) -> str:
    """Read the question of an input: the last user message, or the text of a known key."""
    asked = [message.text for message in messages_in(value) if message.role == "user"]
    return asked[-1] if asked else _text(decoded(value), _QUESTION_KEYS)


def answer_in(value: object) -> str:
    """Read the answer of an output: the last assistant message, or the text of a known key."""
    value = decoded(value)
    spoken = [m.text for m in messages_in(value) if m.role == "assistant" and m.text]
    if spoken:
        return spoken[-1]
    fields = mapping(value)
    for key in ("generations", "choices"):
        candidates = items(fields.get(key))
        if candidates:
            return answer_in(candidates[0])
    candidates = items(value)
    if candidates:
        return answer_in(candidates[-1])
    return _text(value, _ANSWER_KEYS)


def _text(value: object, keys: tuple[str, ...]) -> str:
    """Find the text of a value: its own, that under a known key, or its only text."""
    if value is None or isinstance(value, str):
        return value or ""
    fields = mapping(value)
    for key in keys:
        inner = decoded(fields.get(key))
        if inner:
            return content_text(inner) or _text(inner, keys)
    arguments = mapping(fields.get("kwargs")) or items(fields.get("args"))
    if arguments:
        return _text(arguments, keys)
    return _only_text(list(fields.values()) or items(value)) or _as_json(value)


def _only_text(parts: Iterable[object]) -> str:
    texts = [part for part in parts if isinstance(part, str)]
    return texts[0] if len(texts) == 1 else ""


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if value else ""


def documents_in(value: object) -> tuple[str, ...]:
    """Read the texts of retrieved documents."""
    value = decoded(value)
    for key in ("documents", "retrieval.documents", "output", "results"):
        if isinstance(value, dict) and key in value:
            return documents_in(value[key])
    texts = []
    for document in items(value):
        fields = mapping(document)
        inner = (
            mapping(fields.get("kwargs")) or mapping(fields.get("document")) or fields
        )
        for key in ("page_content", "content", "document.content", "text"):
            text = inner.get(key)
            if isinstance(text, str):
                texts.append(text)
                break
        if isinstance(document, str):
            texts.append(document)
    return tuple(texts)


class StepTexts(msgspec.Struct, frozen=True):
    """The texts that a step of a trace made: an answer, or context for a later one."""

    answer: str = ""
    context: tuple[str, ...] = ()


def texts_of(kind: str, output: object) -> StepTexts:
    """Read a step's output by the kind of step: a retriever's documents, a tool's result."""
    step = kind.lower()
    if step == "retriever":
        return StepTexts(context=documents_in(output))
    answer = answer_in(output)
    if step == "tool" and answer:
        return StepTexts(answer=answer, context=(answer,))
    return StepTexts(answer=answer)
