"""Read a call of a tool, as any of the dialects writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.transcripts.failures import stated_failure
from pytest_evalmetrics.transcripts.turns import ToolCall
from pytest_evalmetrics.transcripts.values import decoded, first_text, normalised

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.transcripts.conversation import Draft

_NAMES: Final = ("name", "tool_name", "toolName", "function_name", "tool")
_IDS: Final = (
    *("call_id", "tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "id"),
)
_ERRORS: Final = frozenset({"parse_error", "error"})
_ARGUMENTS: Final = (
    *("arguments", "args", "input", "parameters", "inputParameters"),
    *("action_input", "tool_input", "kwargs"),
)


def add_calls(draft: Draft, calls: object) -> None:
    """Add the calls of a list to a message."""
    if not isinstance(calls, list):
        return
    for value in calls:
        call = read_call(value)
        if call is not None:
            draft.calls.append(call)


def read_call(value: object) -> ToolCall | None:
    """Read a call; None if the value is none."""
    if isinstance(value, str):
        value = decoded(value)
    if not isinstance(value, dict):
        return None
    # OpenInference and LangChain wrap a call once more
    inner = value.get("tool_call")
    if isinstance(inner, dict):
        value = inner
    function = value.get("function")
    if isinstance(function, dict):
        named = function
    elif isinstance(function, str):
        named = {**value, "name": function}
    else:
        named = value
    name = first_text(named, *_NAMES)
    if not name:
        return None
    return ToolCall(
        name=name,
        arguments=arguments_of(named),
        id=call_id_of(value),
        error=""
        if _ERRORS.isdisjoint(value)
        else stated_failure(value.get("parse_error"), value.get("error")),
    )


def arguments_of(record: Mapping[str, object]) -> str:
    """Write the arguments in a record as normalised JSON."""
    for key in _ARGUMENTS:
        if key in record:
            return normalised(record[key])
    return "{}"


def call_id_of(record: Mapping[str, object]) -> str:
    """Find the id of a call, in the call or in its result."""
    return first_text(record, *_IDS)


def answered_id_of(record: Mapping[str, object]) -> str:
    """Find the id of the call that a result names, other than its own id."""
    return first_text(record, *_IDS[:-1])
