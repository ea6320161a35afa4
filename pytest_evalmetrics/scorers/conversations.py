"""Conversations as rows hold them, written out for a judge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.layout import spaced
from pytest_evalmetrics.scorers.reading import shown
from pytest_evalmetrics.scorers.responses import response_of, text_of
from pytest_evalmetrics.scorers.tool_calls import made_calls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.scorers.protocol import Row

__all__ = ["AGENT", "column_of", "conversation_of", "response_in", "speaker_of", "text_in"]

AGENT = "Agent"
_SPEAKERS = {
    "human": "User",
    "user": "User",
    "ai": AGENT,
    "assistant": AGENT,
    "tool": "Tool result",
    "function": "Tool result",
    "system": "System",
    "developer": "System",
}


def speaker_of(message: Any, where: str, kind: str) -> str:
    """Say who speaks in a message of a conversation: ``User``, `AGENT` ..."""
    if isinstance(message, Mapping):
        for key in ("type", "role"):  # OpenAI's APIs write role, and perhaps type: message
            said = message.get(key)
            if isinstance(said, str) and said in _SPEAKERS:
                return _SPEAKERS[said]
    raise RowError(
        kind,
        f"{where} is {shown(message)}, expected a message with a type (human, ai or tool) or a "
        "role (user, assistant, tool, system)",
    )


def column_of(row: Row, name: str) -> Any:
    """Give a column of a row."""
    found = row.item.get(name)
    if found is None:
        raise RowError(f"no-{name}", f"the row has no {name}")
    return found


def text_in(row: Row, name: str) -> str:
    """Give a column that is a text."""
    found = column_of(row, name)
    if not isinstance(found, str):
        raise RowError(f"bad-{name}", f"{name} is {shown(found)}, expected text")
    return found


def conversation_of(row: Row, *, answered: bool = True) -> str:
    """Write the conversation in a row's ``user_input``, and what was answered to it."""
    said = column_of(row, "user_input")
    messages = [{"role": "user", "content": said}] if isinstance(said, str) else said
    if not isinstance(messages, list) or not messages:
        raise RowError(
            "bad-user_input", f"user_input is {shown(said)}, expected a list of messages, or text"
        )
    lines = [line for at, message in enumerate(messages) for line in _lines(message, at)]
    answer = _answered(row, to_text=isinstance(said, str)) if answered else ""
    if answer:
        lines.append(f"{AGENT}: {answer}")
    return "\n".join(lines)


def response_in(row: Row) -> str:
    """Give what was answered: what was generated for the row, else its ``response``."""
    found = row.sample_data.get("output_text")
    if isinstance(found, str):
        return found
    found = response_of(row)
    if found is None:
        raise RowError("no-response", "the row has no response, and nothing was generated for it")
    return text_of(found)


def _answered(row: Row, *, to_text: bool) -> str:
    """Give what comes after the conversation; a recorded one has its own end."""
    generated = row.sample_data and row.sample_data is not row.item
    if not generated and (not to_text or row.item.get("response") is None):
        return ""
    return response_in(row)


def _lines(message: Any, at: int) -> Iterator[str]:
    speaker = speaker_of(message, f"user_input[{at}]", "bad-user_input")
    content = message.get("content")
    text = "" if content is None else text_of({"content": content})
    if text:
        yield f"{speaker}: {text}"
    for call in made_calls(message.get("tool_calls") or (), f"user_input[{at}].tool_calls"):
        args = call.fault if call.args is None else spaced(dict(call.args))
        yield f"{AGENT} calls {call.name}: {args}"
