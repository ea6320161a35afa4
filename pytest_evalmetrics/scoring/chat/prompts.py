"""Prompts: templates, filled in with a row, as the messages of a conversation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeAlias

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.layout import spaced
from pytest_evalmetrics.scoring import transport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_evalmetrics.expressions import Rendered

Message: TypeAlias = "Mapping[str, object]"

# the names of the roles in LangChain, and in data sets for RAGAS
_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}


def compile_templates(value: object, who: str, *, body: bool = False) -> Rendered:
    """Compile the templates in a value, see `expressions.compile_value`."""
    with transport.needs_extra("remote", who):
        # of the extra
        from pytest_evalmetrics.expressions import compile_value
    return compile_value(value, body=body)


def compile_prompt(
    template: object, who: str = "a prompt_template", *, conversations: bool = True
) -> Callable[[Mapping[str, object]], list[dict[str, object]]]:
    """Compile a prompt: a text is one message of the user.

    Parameters
    ----------
    who
        The place of the prompt, for messages.
    conversations
        Whether a conversation that fills in a whole text, or the whole content of a message of
        the user, becomes its messages. A judge's prompt shows it as data instead.
    """
    render = compile_templates(template, who)
    is_text = isinstance(template, str)

    def prompt(context: Mapping[str, object]) -> list[dict[str, object]]:
        value = render(context)
        if not is_text:
            return _messages(value, conversations=conversations)
        if conversations and _is_conversation(value):
            return _messages([value], conversations=True)
        if isinstance(value, dict | list):
            value = spaced(value)
        return [{"role": "user", "content": _content(value, "the prompt")}]

    return prompt


def _messages(entries: list[object], *, conversations: bool) -> list[dict[str, object]]:
    """Make messages of a prompt's entries: texts, messages, and whole conversations."""
    flat: list[object] = []
    for entry in entries:
        if isinstance(entry, list):
            flat += entry
        elif conversations and isinstance(entry, dict) and _is_filled_in(entry):
            flat += entry["content"]
        else:
            flat.append(entry)
    if not flat:
        raise RowError("bad-prompt", "the prompt is a list of no messages")
    messages = [
        _message(entry, f"message {number} of the prompt")
        for number, entry in enumerate(flat, start=1)
    ]
    _name_calls(messages)
    return messages


def _is_filled_in(entry: Mapping[str, object]) -> bool:
    """Check for a message of the user whose content is a whole conversation."""
    is_users = entry.get("role") in ("user", "human")
    return is_users and _is_conversation(entry.get("content"))


def _is_conversation(value: object) -> bool:
    """Check for a list of messages: each with a role, in place of one content's parts."""
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(entry, dict) and _role_of(entry) for entry in value)


def _role_of(message: Mapping[str, object]) -> str:
    """Return the role of a message of OpenAI's, of LangChain's or of RAGAS' form; or ``""``."""
    role = message.get("role")
    if isinstance(role, str) and role:
        return _ROLES.get(role, role)
    kind = message.get("type")
    if not isinstance(kind, str):
        return ""
    return _ROLES.get(kind, "")


def _message(value: object, what: str) -> dict[str, object]:
    if isinstance(value, str):
        return {"role": "user", "content": value}
    if not isinstance(value, dict) or not _role_of(value):
        raise RowError(
            "bad-prompt",
            f"{what} is {value!r:.60}, without a role",
            hint="a message has a role, such as user, and a content",
        )
    message: dict[str, object] = {"role": _role_of(value), **_beside_role(value)}
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        message["tool_calls"] = [_tool_call(call) for call in calls]
        if not calls:
            # endpoints refuse an empty list
            del message["tool_calls"]
    content = message.get("content")
    if not isinstance(content, str | None) and not _are_parts(content):
        message["content"] = _content(content, what)
    return message


def _beside_role(message: Mapping[str, object]) -> dict[str, object]:
    """Return the keys of a message but its role, which LangChain calls its type."""
    rest = {key: item for key, item in message.items() if key != "role"}
    if message.get("role") is None:
        rest.pop("type", None)
    return rest


def _are_parts(content: object) -> bool:
    return isinstance(content, list) and all(map(_is_part, content))


def _is_part(value: object) -> bool:
    """Check for a part of a content, such as an image; a message is none."""
    if not isinstance(value, dict) or _role_of(value):
        return False
    return isinstance(value.get("type"), str)


def _tool_call(call: object) -> object:
    """Write a call of RAGAS' or LangChain's form, ``{name, args}``, as OpenAI's API does."""
    if not isinstance(call, dict):
        return call
    if "function" in call or "name" not in call:
        return dict(call)
    arguments = call.get("args", call.get("arguments", {}))
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    made: dict[str, object] = {}
    if call.get("id"):
        made["id"] = call["id"]
    made["type"] = "function"
    made["function"] = {"name": call["name"], "arguments": arguments}
    return made


def _name_calls(messages: list[dict[str, object]]) -> None:
    """Give an id to each tool call, and to the result that follows it."""
    waiting: list[str] = []
    count = 0
    for message in messages:
        for call in _calls_in(message):
            count += 1
            call.setdefault("id", f"call_{count}")
            waiting.append(str(call["id"]))
        if message["role"] != "tool":
            continue
        answered = message.get("tool_call_id")
        if isinstance(answered, str) and answered in waiting:
            waiting.remove(answered)
        elif answered is None and waiting:
            message["tool_call_id"] = waiting.pop(0)


def _calls_in(message: Mapping[str, object]) -> list[dict[str, object]]:
    calls = message.get("tool_calls")
    if not isinstance(calls, list | tuple):
        return []
    return [call for call in calls if isinstance(call, dict)]


def _content(value: object, what: str) -> str:
    if isinstance(value, str | int | float):
        return str(value)
    raise RowError(
        "bad-prompt",
        f"{what} is {value!r:.60}, expected text",
        hint='make it text: "{{ column | string }}" or "{{ column | tojson }}"',
    )
