"""Tool calls, in the forms in which conversations and data sets hold them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import msgspec

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.scorers.reading import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ToolCall", "made_calls", "wanted_calls"]

_FORMS = "{name, args} or {function: {name, arguments}}"


class ToolCall(NamedTuple):
    """One call of a tool."""

    name: str | None  # the tool; None where the call has none
    args: Mapping[str, Any] | None  # its arguments; None where they are no JSON object
    fault: str = ""  # what is wrong with the arguments; empty where nothing is


def made_calls(values: Sequence[Any], what: str) -> list[ToolCall]:
    """Read the calls that a model made: what is wrong with their arguments is its fault."""
    return [_call(value, what, at)[0] for at, value in enumerate(values)]


def wanted_calls(value: Any, what: str) -> list[ToolCall]:
    """Read the calls of a reference, each of which has a name and arguments."""
    if isinstance(value, str):
        try:
            value = _decoded(value)
        except ValueError as error:
            raise RowError(
                "bad-reference", f"{what} is text that is no JSON ({error}): {shown(value)}"
            ) from None
    if not isinstance(value, list):
        raise RowError("bad-reference", f"{what} is {shown(value)}, expected a list of tool calls")
    calls = []
    for at, item in enumerate(value):
        call, complete = _call(item, what, at)
        if call.name is None or not complete:
            raise RowError(
                "bad-reference",
                f"{what}[{at}] is {shown(item)}, expected a call with name and arguments: {_FORMS}",
            )
        if call.args is None:
            raise RowError("bad-reference", f"{what}[{at}]: {call.fault}")
        calls.append(call)
    return calls


def _call(value: Any, what: str, at: int) -> tuple[ToolCall, bool]:
    """Read a call, and whether it has arguments."""
    inner = value["function"] if isinstance(value, dict) and "function" in value else value
    if not isinstance(inner, dict):
        _no_call(value, what, at)
    key = "arguments" if "arguments" in inner else "args"
    name = inner.get("name")
    if name is None:
        if key not in inner:  # {} and {"not_function": ...}
            _no_call(value, what, at)
    elif not isinstance(name, str):
        _no_call(value, what, at)
    found = inner.get(key)
    if type(found) is dict:
        return ToolCall(name, found), True
    if found is None:
        return ToolCall(name, {}), key in inner
    args, fault = _arguments(found, name)
    return ToolCall(name, args, fault), True


def _arguments(found: Any, name: str | None) -> tuple[Mapping[str, Any] | None, str]:
    value, reason = found, "they are no JSON object"
    if isinstance(found, str):
        try:
            value = _decoded(found)
        except ValueError as error:
            value, reason = None, f"they are no JSON: {error}"
    if isinstance(value, dict):
        return value, ""
    return None, f"the arguments of {name!r} are {shown(found)}: {reason}"


def _decoded(text: str) -> Any:
    """Parse JSON; ValueError where it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        pass
    try:  # numbers and escapes that only the slow way can read; and its words for what is wrong
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _no_call(value: Any, what: str, at: int) -> NoReturn:
    raise RowError("bad-call", f"{what}[{at}] is {shown(value)}, expected a tool call: {_FORMS}")
