"""The bodies of requests to models, by the API that answers them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias, TypedDict

from pytest_evalmetrics.scoring.chat.replies import text_of

Api: TypeAlias = Literal["chat", "completions", "responses", "messages"]
# the body of a request: of messages, and of further keys in the words of chat completions
Body: TypeAlias = dict[str, object]

# Anthropic's API wants a bound; its own documentation shows this one
_MOST_TOKENS = 4096


def _of_chat(
    messages: Sequence[Mapping[str, object]], keys: Mapping[str, object]
) -> Body:
    return {"messages": [dict(message) for message in messages], **keys}


def _of_completions(
    messages: Sequence[Mapping[str, object]], keys: Mapping[str, object]
) -> Body:
    texts = [str(message["content"]) for message in messages]
    return {"prompt": "\n\n".join(texts), **keys}


# -- OpenAI's Responses API ----------------------------------------------------------------


def _of_responses(
    messages: Sequence[Mapping[str, object]], keys: Mapping[str, object]
) -> Body:
    items = [item for message in messages for item in _items(message)]
    body: Body = {"input": items}
    for key, value in keys.items():
        if key in ("max_tokens", "max_completion_tokens"):
            body["max_output_tokens"] = value
        elif key == "reasoning_effort":
            body["reasoning"] = {"effort": value}
        elif key == "response_format":
            body["text"] = {"format": _text_format(value)}
        elif key == "tools":
            body["tools"] = [_flat_tool(tool) for tool in _items_of(value)]
        else:
            body[key] = value
    return body


def _items(message: Mapping[str, object]) -> list[dict[str, object]]:
    """Write a message as items of the Responses API, its tool calls each as one."""
    role = message.get("role")
    content = message.get("content")
    if role == "tool":
        call_id = message.get("tool_call_id")
        output = text_of(content) or ""
        return [{"type": "function_call_output", "call_id": call_id, "output": output}]
    items: list[dict[str, object]] = []
    if content:
        items.append({"role": role, "content": _parts(content, role)})
    for call in _calls_of(message):
        function = _function_of(call)
        items.append(
            {
                "type": "function_call",
                "call_id": call.get("id"),
                "name": function.get("name"),
                "arguments": function.get("arguments"),
            }
        )
    return items


def _parts(content: object, role: object) -> object:
    """Write the parts of a message by the names that the Responses API has for them."""
    if not isinstance(content, list):
        return content
    kind = "input_text"
    if role == "assistant":
        kind = "output_text"
    parts: list[object] = []
    for part in content:
        if part.get("type") == "text":
            parts.append({**part, "type": kind})
        else:
            parts.append(part)
    return parts


def _text_format(value: object) -> object:
    """Write a ``response_format`` of chat completions as the format of a text."""
    if isinstance(value, Mapping) and isinstance(value.get("json_schema"), Mapping):
        return {"type": value["type"], **value["json_schema"]}
    return value


def _flat_tool(tool: object) -> object:
    if isinstance(tool, Mapping) and isinstance(tool.get("function"), Mapping):
        return {"type": "function", **tool["function"]}
    return tool


# -- Anthropic's messages ------------------------------------------------------------------


class _Turn(TypedDict):
    """The messages of one side that follow each other."""

    role: str
    content: list[dict[str, object]]


def _of_messages(
    messages: Sequence[Mapping[str, object]], keys: Mapping[str, object]
) -> Body:
    system: list[str] = []
    spoken: list[Mapping[str, object]] = []
    for message in messages:
        if message.get("role") in ("system", "developer"):
            system.append(text_of(message.get("content")) or "")
        else:
            spoken.append(message)
    body: Body = {"max_tokens": _MOST_TOKENS, "messages": _turns(spoken)}
    if system:
        body["system"] = "\n\n".join(system)
    for key, value in keys.items():
        name, written = _of_anthropic(key, value)
        body[name] = written
    return body


def _of_anthropic(key: str, value: object) -> tuple[str, object]:
    """Write a key of chat completions as Anthropic's messages have it."""
    if key == "max_completion_tokens":
        return "max_tokens", value
    if key == "stop":
        return "stop_sequences", [value] if isinstance(value, str) else value
    if key == "tools":
        return "tools", [_named_tool(tool) for tool in _items_of(value)]
    return key, value


def _turns(messages: Sequence[Mapping[str, object]]) -> list[_Turn]:
    """Put the messages of one side that follow each other together, as results of tools."""
    turns: list[_Turn] = []
    for message in messages:
        role = "assistant" if message.get("role") == "assistant" else "user"
        if not turns or turns[-1]["role"] != role:
            turns.append(_Turn(role=role, content=[]))
        turns[-1]["content"] += _blocks(message)
    return turns


def _blocks(message: Mapping[str, object]) -> list[dict[str, object]]:
    """Write a message's content, its tool calls, or a tool's result as blocks."""
    content = message.get("content")
    if message.get("role") == "tool":
        call_id = message.get("tool_call_id")
        result = text_of(content) or ""
        return [{"type": "tool_result", "tool_use_id": call_id, "content": result}]
    blocks: list[dict[str, object]] = []
    if isinstance(content, list):
        blocks += content
    elif content:
        blocks.append({"type": "text", "text": str(content)})
    for call in _calls_of(message):
        function = _function_of(call)
        blocks.append(
            {
                "type": "tool_use",
                "id": call.get("id"),
                "name": function.get("name"),
                "input": _arguments(function.get("arguments")),
            }
        )
    return blocks


def _arguments(text: object) -> object:
    """Parse a call's arguments; a model's that are no JSON are sent as a text of their own."""
    if not isinstance(text, str):
        return text or {}
    try:
        value = json.loads(text)
    except ValueError:
        return {"arguments": text}
    return value if isinstance(value, dict) else {"arguments": value}


def _named_tool(tool: object) -> object:
    if not isinstance(tool, Mapping) or not isinstance(tool.get("function"), Mapping):
        return tool
    function = dict(tool["function"])
    schema = function.pop("parameters", {"type": "object"})
    function.pop("strict", None)
    return {**function, "input_schema": schema}


_BODIES: Mapping[
    Api, Callable[[Sequence[Mapping[str, object]], Mapping[str, object]], Body]
] = {
    "chat": _of_chat,
    "completions": _of_completions,
    "responses": _of_responses,
    "messages": _of_messages,
}


def body_for(
    api: Api, messages: Sequence[Mapping[str, object]], keys: Mapping[str, object]
) -> Body:
    """Make the body of a request for an API.

    Parameters
    ----------
    messages
        In the form of chat completions.
    keys
        Further keys, such as inference parameters, in the words of chat completions; others are
        passed on as they are.
    """
    return _BODIES[api](messages, keys)


# -- reading messages ----------------------------------------------------------------------


def _items_of(value: object) -> Sequence[object]:
    """Return a value that is a list; an empty one for anything else."""
    return value if isinstance(value, list | tuple) else ()


def _calls_of(message: Mapping[str, object]) -> list[Mapping[str, object]]:
    """List the calls of tools in a message."""
    calls = _items_of(message.get("tool_calls"))
    return [call for call in calls if isinstance(call, Mapping)]


def _function_of(call: Mapping[str, object]) -> Mapping[str, object]:
    """Return the function that a call names."""
    function = call.get("function")
    return function if isinstance(function, Mapping) else {}
