"""Read lists of messages and of items, in the dialects of all APIs and frameworks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.transcripts.calls import (
    add_calls,
    answered_id_of,
    arguments_of,
    call_id_of,
    read_call,
)
from pytest_evalmetrics.transcripts.conversation import (
    Conversation,
    Draft,
    ResultDraft,
)
from pytest_evalmetrics.transcripts.parts import add_content, result_of
from pytest_evalmetrics.transcripts.turns import (
    CONTENT_FILTER,
    Role,
    ToolCall,
)
from pytest_evalmetrics.transcripts.values import (
    decoded,
    first_text,
    normalised,
    plain_text,
    stop_reason,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_ROLES: Final[Mapping[str, Role]] = {
    **dict.fromkeys(("system", "developer", "SystemMessage"), "system"),
    **dict.fromkeys(("user", "human", "HumanMessage"), "user"),
    **dict.fromkeys(
        ("assistant", "ai", "model", "agent", "gpt", "bot", "AIMessage"), "assistant"
    ),
    **dict.fromkeys(
        (
            *("tool", "function", "ipython", "observation"),
            *("toolResult", "ToolMessage"),
        ),
        "tool",
    ),
}
_REASONING: Final = (
    *("reasoning_content", "reasoning", "thinking", "thought"),
    *("thinking_blocks", "reasoning_details"),
)
_THOUGHT: Final = frozenset(_REASONING)
_ENVELOPES: Final = frozenset({"message", "kwargs", "data", "payload"})
_BESIDE_CONTENT: Final = frozenset(
    {
        *("tool_calls", "toolCalls", "function_call", "additional_kwargs"),
        *("refusal", "finish_reason", "stop_reason"),
    }
)
_NOT_CALLS: Final = ("mcp_list_tools", "item_reference", "mcp_approval_request")


def is_message(value: object) -> bool:
    """Check whether a value is a message or an item of a conversation."""
    if not isinstance(value, dict):
        return False
    return role_of(value) is not None or _is_item(value) or _is_wrapped(value)


def role_of(message: Mapping[str, object]) -> Role | None:
    """Find out who speaks; None if that is not said, or not known."""
    for key in ("role", "type", "from"):
        value = message.get(key)
        if isinstance(value, str) and value in _ROLES:
            return _ROLES[value]
    return None


def _is_item(value: Mapping[str, object]) -> bool:
    kind = text(value.get("type"))
    return kind in ("reasoning", "message") or kind.endswith(("_call", "_call_output"))


def _is_wrapped(value: Mapping[str, object]) -> bool:
    if isinstance(value.get("message"), dict):
        return True
    payload = value.get("payload")
    if isinstance(payload, dict):
        return role_of(payload) is not None or _is_item(payload)
    if isinstance(value.get("kwargs"), dict) and isinstance(value.get("id"), list):
        return True
    return value.get("kind") in ("request", "response") and "parts" in value


def add_messages(conversation: Conversation, messages: Iterable[object]) -> None:
    """Add all messages of a list."""
    reader = _MessageReader(conversation)
    for message in messages:
        reader.read(message)
    reader.flush()


class _MessageReader:
    """Reads one message after the other; items that follow each other are one turn."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._open: Draft | None = None  # an assistant's turn that may go on

    def read(self, message: object) -> None:
        """Add a message or an item; anything else is left out."""
        if isinstance(message, str):
            message = {"role": "user", "content": message}
        if not isinstance(message, dict):
            return
        # most messages have no envelope, and are read many thousand times
        has_envelope = not _ENVELOPES.isdisjoint(message)
        unwrapped = _unwrapped(message) if has_envelope else message
        kind = text(unwrapped.get("type"))
        if "role" not in unwrapped and kind not in _ROLES and _is_item(unwrapped):
            self._read_item(kind, unwrapped)
        elif unwrapped.get("kind") in ("request", "response"):
            self.flush()
            _add_pydantic_ai(self._conversation, unwrapped)
        else:
            self._read_message(unwrapped)

    def flush(self) -> None:
        """Add the open turn."""
        if self._open is not None:
            self._conversation.add(self._open)
            self._open = None

    # -- messages ----------------------------------------------------------------------------

    def _read_message(self, message: Mapping[str, object]) -> None:
        role = role_of(message)
        if role is None:
            return
        if role == "tool":
            self.flush()
            _add_tool_message(self._conversation, message)
            return
        draft = self._goes_on(role, message)
        if draft is None:
            self.flush()
            draft = Draft(role)
        _add_message(draft, message)
        if role == "assistant":
            self._open = draft
        else:
            self._conversation.add(draft)

    def _goes_on(self, role: Role, message: Mapping[str, object]) -> Draft | None:
        """Return the open turn if an item of the same turn follows."""
        if role != "assistant" or message.get("type") != "message":
            return None
        if self._open is None or self._open.texts or not self._open.is_item:
            return None
        return self._open

    # -- items -------------------------------------------------------------------------------

    def _read_item(self, kind: str, item: Mapping[str, object]) -> None:
        if kind == "message":
            self._read_message({"role": "assistant", **item})
        elif kind == "reasoning":
            if self._open is not None and (self._open.texts or self._open.calls):
                self.flush()
            add_content(self._open_item(), [item])
        elif kind.endswith("_output"):
            self.flush()
            self._conversation.add_result(result_of(item))
        elif kind not in _NOT_CALLS:
            self._read_call(kind, item)

    def _read_call(self, kind: str, item: Mapping[str, object]) -> None:
        """Add a call; a tool that the server runs has its output beside the call."""
        call = read_call(item)
        if call is None:
            arguments = arguments_of(item)
            for key in ("action", "queries", "code"):
                if item.get(key) is not None:
                    arguments = normalised(item[key])
                    break
            call = ToolCall(
                name=kind.removesuffix("_call"),
                arguments=arguments,
                id=call_id_of(item),
            )
        self._open_item().calls.append(call)
        if item.get("output") is not None or item.get("error"):
            self.flush()
            self._conversation.add_result(
                ResultDraft(
                    id=call.id,
                    name=call.name,
                    text=plain_text(item.get("output"))
                    or plain_text(item.get("error")),
                    error=call.error,
                )
            )

    def _open_item(self) -> Draft:
        if self._open is None:
            self._open = Draft("assistant", is_item=True)
        return self._open


def _unwrapped(message: Mapping[str, object]) -> Mapping[str, object]:
    """Return the message in an envelope, as in a choice or a LangChain document."""
    inner = message.get("message")
    if isinstance(inner, dict) and ("role" in inner or role_of(message) is None):
        reason = stop_reason(message.get("finish_reason", message.get("stop_reason")))
        return {"finish_reason": reason, **inner} if reason else inner
    kwargs = message.get("kwargs")
    names = message.get("id")
    if isinstance(kwargs, dict) and isinstance(names, list) and names:
        return {**kwargs, "type": names[-1]}
    payload = message.get("payload")
    if isinstance(payload, dict) and is_message(payload):
        return payload
    data = message.get("data")
    if isinstance(data, dict) and text(message.get("type")) in _ROLES:
        return {**data, "type": message["type"]}
    return message


def _add_message(draft: Draft, message: Mapping[str, object]) -> None:
    """Add what a message says and calls."""
    if not _THOUGHT.isdisjoint(message):
        for key in _REASONING:
            value = message.get(key)
            if value:
                add_content(draft, _as_reasoning(value))
                break
    for key in ("content", "parts", "contents", "value", "text"):
        if message.get(key) is not None:
            add_content(draft, message[key])
            break
    if _BESIDE_CONTENT.isdisjoint(message):
        return
    extra = message.get("additional_kwargs")
    add_calls(draft, _calls_in(message) or _calls_in(extra))
    refusal = text(message.get("refusal"))
    if refusal:
        draft.texts.append(refusal)
        draft.stop_reason = CONTENT_FILTER
    reason = message.get("finish_reason", message.get("stop_reason"))
    draft.stop_reason = draft.stop_reason or stop_reason(reason)


def _calls_in(message: object) -> object:
    if not isinstance(message, dict):
        return None
    calls = message.get("tool_calls", message.get("toolCalls"))
    if isinstance(calls, str):
        calls = decoded(calls)
    if calls:
        return calls
    call = message.get("function_call")
    return [call] if call else None


def _as_reasoning(value: object) -> list[dict[str, object]]:
    if isinstance(value, list):
        return [
            {**part, "type": "reasoning"} for part in value if isinstance(part, dict)
        ]
    return [{"type": "reasoning", "reasoning": value}]


def _add_tool_message(
    conversation: Conversation, message: Mapping[str, object]
) -> None:
    """Add a tool's message: one result, or parts that are results."""
    draft = Draft("tool")
    content = message.get("content", message.get("parts"))
    if isinstance(content, list):
        add_content(draft, content)
    if draft.results:
        conversation.add(draft)
        return
    result = result_of(message)
    call_id = answered_id_of(message)
    own_id = text(message.get("id"))
    if not call_id and conversation.knows(own_id):
        call_id = own_id
    name = first_text(message, "name", "tool_name") or text(message.get("function"))
    conversation.add_result(
        ResultDraft(
            id=call_id,
            name=name,
            text=result.text,
            error=result.error,
            images=result.images,
        )
    )


def _add_pydantic_ai(conversation: Conversation, message: Mapping[str, object]) -> None:
    """Add a message of pydantic-ai: a request may hold several speakers' parts."""
    parts = message.get("parts")
    if not isinstance(parts, list):
        return
    if message.get("kind") == "response":
        draft = Draft("assistant")
        add_content(draft, parts)
        draft.stop_reason = stop_reason(message.get("finish_reason"))
        conversation.add(draft)
        return
    for kind, role in _SPEAKERS:
        draft = Draft(role)
        add_content(draft, _parts_of(kind, parts))
        if draft.results or not draft.is_empty:
            conversation.add(draft)


_SPEAKERS: Final[Sequence[tuple[str, Role]]] = (
    ("system-prompt", "system"),
    ("tool-return", "tool"),
    ("retry-prompt", "tool"),
    ("user-prompt", "user"),
)


def _parts_of(kind: str, parts: Sequence[object]) -> list[object]:
    return [
        part
        for part in parts
        if isinstance(part, dict) and part.get("part_kind") == kind
    ]
