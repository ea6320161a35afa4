"""The records of a conversation: turns, calls of tools, their results, and images."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]

#: The stop reasons of all tools, as the same few words.
STOP: Final = "stop"
LENGTH: Final = "length"
TOOL_CALLS: Final = "tool_calls"
CONTENT_FILTER: Final = "content_filter"


class ToolCall(msgspec.Struct, frozen=True):
    """A call that a model makes of a tool."""

    name: str
    #: JSON with sorted keys and no spaces; the model's text where that is not JSON.
    arguments: str = "{}"
    #: As recorded; ``call_1``, ``call_2`` ... in the conversation's order without one.
    id: str = ""
    #: What failed: of the call itself, or in its result. Empty without a failure.
    error: str = ""


class ToolResult(msgspec.Struct, frozen=True):
    """Which call a turn of a tool answers; the turn's text is the output."""

    #: The call's id; empty if no call matches.
    id: str = ""
    #: The tool; empty if neither the result nor its call names one.
    name: str = ""
    #: What failed; empty without a failure.
    error: str = ""


class Image(msgspec.Struct, frozen=True):
    """An image of a turn."""

    media_type: str = ""
    #: Bytes of the image; 0 if it is at a URL.
    size: int = 0
    #: The image in base64; empty if it is at a URL.
    data: str = ""
    url: str = ""


class Turn(msgspec.Struct, frozen=True):
    """One turn of a conversation: a message, or the result of one call."""

    role: Role
    text: str = ""
    #: The model's reasoning, as far as it is recorded.
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    #: Of a tool's turn; None of any other.
    result: ToolResult | None = None
    images: tuple[Image, ...] = ()
    #: ``stop``, ``length``, ``tool_calls``, ``content_filter``, or the tool's own word;
    #: empty where it is unknown.
    stop_reason: str = ""
