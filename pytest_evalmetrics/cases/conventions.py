"""What a span's attributes say, by the conventions of OpenTelemetry GenAI and of OpenInference.

Sources: OpenTelemetry's "Semantic conventions for generative client AI spans" (1.28 with events,
1.37 and later with ``gen_ai.input.messages``), OpenInference's "Semantic Conventions", and the
attributes of OpenLLMetry (``gen_ai.prompt.0.content``, ``traceloop.entity.input``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from pytest_evalmetrics.cases.payloads import (
    Message,
    answer_in,
    content_text,
    decoded,
    documents_in,
    items,
    mapping,
    messages_in,
    question_in,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_INPUTS = ("gen_ai.input.messages", "input.value", "traceloop.entity.input", "input")
_OUTPUTS = (
    "gen_ai.output.messages",
    "output.value",
    "traceloop.entity.output",
    "final_result",
    "output",
)
_TOOL_RESULTS = ("gen_ai.tool.call.result", "tool_response")
_INDEXED = {
    "input": re.compile(
        r"(?:llm\.input_messages\.(\d+)\.message|gen_ai\.prompt\.(\d+))\.(role|content)"
    ),
    "output": re.compile(
        r"(?:llm\.output_messages\.(\d+)\.message|gen_ai\.completion\.(\d+))\.(role|content)"
    ),
}
_DOCUMENT = re.compile(r"retrieval\.documents\.\d+\.document\.content")
_EVENT_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}


class Content(msgspec.Struct, frozen=True):
    """What was asked in a span, what it answered, and what it retrieved."""

    question: str
    answer: str
    messages: tuple[Message, ...]
    context: tuple[str, ...]


def flat(value: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Write nested objects and lists of objects as dotted keys, as attributes have them."""
    attributes: dict[str, object] = {}
    for name, inner in value.items():
        key = f"{prefix}{name}"
        parts = mapping(inner)
        entries = items(inner)
        if entries and all(isinstance(entry, dict) for entry in entries):
            parts = {str(number): entry for number, entry in enumerate(entries)}
            attributes[key] = inner
        if parts:
            attributes |= flat(parts, f"{key}.")
        else:
            attributes[key] = inner
    return attributes


def content_of(
    attributes: Mapping[str, object], events: Sequence[Mapping[str, object]] = ()
) -> Content:
    """Read the content of a span.

    Parameters
    ----------
    attributes
        By dotted keys, see `flat`.
    events
        The events of the span, each with its ``name`` and its ``attributes``.
    """
    conversation = (
        _indexed(attributes, "input")
        or messages_in(_first(attributes, _INPUTS))
        or _of_events(events)
    )
    asked = [message.text for message in conversation if message.role == "user"]
    question = asked[-1] if asked else question_in(_first(attributes, _INPUTS))
    answered = _indexed(attributes, "output")
    answer = (
        answered[-1].text
        if answered
        else answer_in(_first(attributes, _OUTPUTS)) or _answer_of_events(events)
    )
    return Content(
        question=question,
        answer=answer,
        messages=conversation,
        context=_context(attributes, answer),
    )


def _first(attributes: Mapping[str, object], keys: Sequence[str]) -> object:
    return next((attributes[key] for key in keys if attributes.get(key)), None)


def _indexed(attributes: Mapping[str, object], side: str) -> tuple[Message, ...]:
    """Read messages whose parts are attributes of their own, with the number of the message."""
    parts: dict[int, dict[str, str]] = {}
    for key, value in attributes.items():
        match = _INDEXED[side].fullmatch(key)
        if match is not None:
            number = int(match[1] or match[2])
            parts.setdefault(number, {})[match[3]] = content_text(
                decoded(value)
            ) or str(value)
    return tuple(
        Message(role=part.get("role", ""), text=part.get("content", ""))
        for _, part in sorted(parts.items())
    )


def _of_events(events: Sequence[Mapping[str, object]]) -> tuple[Message, ...]:
    messages = []
    for event in events:
        role = _EVENT_ROLES.get(str(event.get("name")))
        content = mapping(event.get("attributes")).get("content")
        if role is not None and content is not None:
            messages.append(
                Message(role=role, text=content_text(decoded(content)) or str(content))
            )
    return tuple(messages)


def _answer_of_events(events: Sequence[Mapping[str, object]]) -> str:
    for event in reversed(events):
        attributes = mapping(event.get("attributes"))
        if event.get("name") == "gen_ai.choice":
            message = mapping(decoded(attributes.get("message"))) or attributes
            return content_text(message.get("content"))
    return ""


def _context(attributes: Mapping[str, object], answer: str) -> tuple[str, ...]:
    """Collect what the span retrieved, or what its tool returned."""
    documents = [
        str(value) for key, value in attributes.items() if _DOCUMENT.fullmatch(key)
    ]
    documents += documents_in(attributes.get("gen_ai.retrieval.documents"))
    result = _first(attributes, _TOOL_RESULTS)
    kind = str(attributes.get("openinference.span.kind")).upper()
    operation = attributes.get("gen_ai.operation.name")
    if isinstance(result, str):
        documents.append(result)
    elif result is not None:
        documents.append(answer_in(result))
    elif answer and (kind == "TOOL" or operation == "execute_tool"):
        documents.append(answer)
    return tuple(documents)
