"""Reading numbers, responses, conversations and tool calls out of rows and answers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, NoReturn, SupportsFloat

import msgspec

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.layout import shown
from pytest_evalmetrics.model.rollout_table import Row
from pytest_evalmetrics.scoring.chat.replies import text_of
from pytest_evalmetrics.scoring.transport import needs_extra

if TYPE_CHECKING:
    from pytest_evalmetrics.expressions import JsonPath


def unexpected(
    kind: str, what: str, value: object, expected: str, hint: str | None = None
) -> RowError:
    """Make the error of a value that is something else."""
    return RowError(kind, f"{what} is {shown(value)}, expected {expected}", hint=hint)


# what Python reads as a number beside these is none to people: 1_0, nan, digits of other scripts
_NUMBER = re.compile(r"\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*", re.ASCII)


def is_number(text: str) -> bool:
    """Check whether a text is a number as people write it."""
    return _NUMBER.fullmatch(text) is not None


def as_number(value: object, what: str) -> float:
    """Read a finite number: ``0.25``, ``"0.25"`` and ``true`` are accepted."""
    if value is None:
        raise RowError("no-score", f"{what} is null")
    number = math.nan
    # a number, or one of NumPy's
    is_readable = isinstance(value, SupportsFloat)
    if isinstance(value, str):
        is_readable = is_number(value)
    if is_readable and isinstance(value, str | SupportsFloat):
        with suppress(TypeError, ValueError, OverflowError):
            number = float(value)
    if not math.isfinite(number):
        raise unexpected("no-number", what, value, "a finite number")
    return number


def within(name: str, number: float, low: float | None, high: float | None) -> float:
    """Return a number that is within its bounds; None is no bound."""
    is_below = low is not None and number < low
    is_above = high is not None and number > high
    if not is_below and not is_above:
        return number
    bounds = []
    if low is not None:
        bounds.append(f"at least {low:.12g}")
    if high is not None:
        bounds.append(f"at most {high:.12g}")
    expected = " and ".join(bounds)
    raise RowError("out-of-range", f"{name} is {number:.12g}, expected {expected}")


def as_text(value: object, what: str) -> str:
    """Return a value that is text."""
    if not isinstance(value, str):
        hint = "a template can make one: {{ item.answer | string }}"
        if value is None:
            hint = (
                "where that is meant, a template says so: {{ ... | default('none') }}"
            )
        raise unexpected("no-text", what, value, "text", hint)
    return value


def column_of(row: Row, name: str) -> object:
    """Return a column that the row has to have."""
    value = row.item.get(name)
    if value is None:
        raise RowError(f"no-{name}", f"the row has no {name}")
    return value


def text_in(row: Row, name: str) -> str:
    """Return a column that is text."""
    value = column_of(row, name)
    if not isinstance(value, str):
        raise unexpected(f"bad-{name}", name, value, "text")
    return value


@cache
def compiled_path(path: str) -> JsonPath:
    """Compile a JSONPath once, see `expressions.JsonPath`."""
    with needs_extra("remote", "a json_path"):
        from pytest_evalmetrics.expressions import JsonPath  # of the extra

        return JsonPath(path)


# A response: a body of OpenAI's APIs (chat completions or responses), one message, or text.


def response_of(row: Row) -> object:
    """Return the response: ``sample.response``, else ``item.response``; None for none."""
    response = row.sample_data.get("response")
    return row.item.get("response") if response is None else response


def response_in(row: Row, hint: str | None = None) -> str:
    """Return the response's text: the text generated for the row, else that of its ``response``."""
    text = row.sample_data.get("output_text")
    if isinstance(text, str):
        return text
    response = response_of(row)
    if response is None:
        what = "the row has no response, and nothing was generated for it"
        raise RowError("no-response", what, hint=hint)
    if isinstance(response, str):
        return response
    return _content(message_of(response))


_MESSAGE = "choices[0].message, as in an answer of chat completions, or a message"


def message_of(response: object) -> Mapping[str, object]:
    """Return the message of a response, as chat completions have it."""
    if not isinstance(response, dict):
        raise unexpected("bad-response", "the response", response, _MESSAGE)
    if "choices" in response:
        return _message_of_choices(response["choices"])
    if "output" in response:
        return _message_of_items(response["output"])
    if response.keys().isdisjoint(("role", "content", "tool_calls")):
        raise unexpected("bad-response", "the response", response, _MESSAGE)
    return response


def _message_of_choices(choices: object) -> Mapping[str, object]:
    """Return the message of a body of chat completions: that of its first choice."""
    first: object = None
    if isinstance(choices, list) and choices:
        first = choices[0]
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(message, dict):
        raise unexpected("bad-response", "response.choices", choices, _MESSAGE)
    return message


def _message_of_items(output: object) -> Mapping[str, object]:
    """Put the items of a body of the Responses API into one message."""
    if not isinstance(output, list):
        raise unexpected("bad-response", "response.output", output, "a list of items")
    texts: list[str] = []
    calls: list[Mapping[str, object]] = []
    for item in output:
        if not isinstance(item, dict):
            raise unexpected(
                "bad-response", "response.output", output, "a list of items"
            )
        if item.get("type") == "message":
            texts.append(_content(item))
        elif item.get("type") == "function_call":
            calls.append(item)
    return {"content": "".join(texts), "tool_calls": calls}


def _content(message: Mapping[str, object]) -> str:
    content = message.get("content")
    if not isinstance(content, str | list):
        raise unexpected("bad-response", "the content of a message", content, "text")
    return text_of(content) or ""


# Tool calls, in the forms in which conversations and data sets hold them.

_FORMS = "{name, args} or {function: {name, arguments}}"


class ToolCall(msgspec.Struct, frozen=True):
    """One call of a tool."""

    name: str | None
    # None if they are no JSON object
    args: Mapping[str, object] | None
    # the defect of the arguments; empty for none
    fault: str = ""
    has_args: bool = True


def made_calls(message: Mapping[str, object], where: str) -> list[ToolCall]:
    """Read the calls of a model's message; invalid arguments are the model's fault."""
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise unexpected("bad-call", f"{where}.tool_calls", calls, "a list")
    return [
        _tool_call(call, f"{where}.tool_calls", at) for at, call in enumerate(calls)
    ]


def wanted_calls(value: object, what: str) -> list[ToolCall]:
    """Read the tool calls of a reference."""
    if isinstance(value, str):
        try:
            value = _decoded(value)
        except ValueError as error:
            fault = f"{what} is text that is not JSON ({error}): {shown(value)}"
            raise RowError("bad-reference", fault) from None
    if not isinstance(value, list):
        raise unexpected("bad-reference", what, value, "a list of tool calls")
    calls = [_tool_call(call, what, at) for at, call in enumerate(value)]
    for at, call in enumerate(calls):
        if call.name is None or not call.has_args:
            expected = f"a call with name and arguments: {_FORMS}"
            raise unexpected("bad-reference", f"{what}[{at}]", value[at], expected)
        if call.fault:
            raise RowError("bad-reference", f"{what}[{at}]: {call.fault}")
    return calls


def _tool_call(value: object, what: str, at: int) -> ToolCall:
    call = value
    if isinstance(value, dict) and "function" in value:
        call = value["function"]
    if not isinstance(call, dict) or not _names_a_tool(call):
        raise unexpected("bad-call", f"{what}[{at}]", value, f"a tool call: {_FORMS}")
    name = call.get("name")
    key = _key_of_arguments(call)
    args = call.get(key)
    if args is None:
        return ToolCall(name, {}, has_args=key in call)
    reason = "they are no JSON object"
    if isinstance(args, str):
        try:
            args = _decoded(args)
        except ValueError as error:
            reason = f"they are no JSON: {error}"
    if isinstance(args, dict):
        return ToolCall(name, args)
    fault = f"the arguments of {name!r} are {shown(call[key])}: {reason}"
    return ToolCall(name, None, fault)


def _key_of_arguments(call: Mapping[str, object]) -> str:
    return "arguments" if "arguments" in call else "args"


def _names_a_tool(call: Mapping[str, object]) -> bool:
    """Check for a call: its name may be missing beside arguments, but is never a number."""
    name = call.get("name")
    if name is None:
        # {} and {"not_function": ...} are no calls
        return _key_of_arguments(call) in call
    return isinstance(name, str)


def _decoded(text: str) -> object:
    """Decode JSON; a key that an object holds twice is an error, as both values can't be meant."""
    try:
        return json.loads(
            text, parse_constant=_refuse_constant, object_pairs_hook=_with_single_keys
        )
    except RecursionError:
        raise ValueError("nested too deep") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _with_single_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    single = dict(pairs)
    if len(single) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} occurs twice")
    return single


# Conversations, written out for a judge.

AGENT = "Agent"
_SPEAKERS = {
    **dict.fromkeys(("human", "user"), "User"),
    **dict.fromkeys(("ai", "assistant"), AGENT),
    **dict.fromkeys(("tool", "function"), "Tool result"),
    **dict.fromkeys(("system", "developer"), "System"),
}


def speaker_of(message: object, at: int) -> str:
    """Return the speaker of a message of ``user_input``: ``User``, `AGENT` ..."""
    if isinstance(message, Mapping):
        # OpenAI's APIs write role, and perhaps type: message
        for key in ("type", "role"):
            role = message.get(key)
            if isinstance(role, str) and role in _SPEAKERS:
                return _SPEAKERS[role]
    expected = "a type (human, ai or tool) or a role (user, assistant, tool, system)"
    what = f"user_input[{at}]"
    raise unexpected("bad-user_input", what, message, f"a message with {expected}")


def conversation_of(row: Row, *, answered: bool = True) -> list[dict[str, object]]:
    """List the messages and the tool calls in a row's ``user_input``, and the response to it."""
    value = column_of(row, "user_input")
    messages = value
    if isinstance(value, str):
        messages = [{"role": "user", "content": value}]
    if not isinstance(messages, list) or not messages:
        expected = "a list of messages, or text"
        raise unexpected("bad-user_input", "user_input", value, expected)
    lines: list[dict[str, object]] = []
    for at, message in enumerate(messages):
        lines += _lines(message, at)
    if answered and _has_own_response(row, value):
        answer = response_in(row)
        if answer:
            lines.append({"from": AGENT, "text": answer})
    return lines


def _has_own_response(row: Row, user_input: object) -> bool:
    """Check whether a response follows ``user_input``; a recorded conversation has its own end."""
    if row.sample_data and row.sample_data is not row.item:
        return True
    return isinstance(user_input, str) and row.item.get("response") is not None


def _lines(message: object, at: int) -> Iterator[dict[str, object]]:
    speaker = speaker_of(message, at)
    if not isinstance(message, Mapping):
        return
    if message.get("content") is not None:
        text = _content(message)
        if text:
            yield {"from": speaker, "text": text}
    for call in made_calls(message, f"user_input[{at}]"):
        arguments: object = call.fault
        if call.args is not None:
            arguments = dict(call.args)
        yield {"from": AGENT, "calls": call.name, "arguments": arguments}
