"""What a model answered: in a body of OpenAI's API, or a message of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.scorers.reading import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.scorers.protocol import Row

__all__ = ["response_of", "text_of", "tool_calls_of"]

_EXPECTED = "expected choices[0].message, as in an answer of chat completions, or a message"
_OF_A_MESSAGE = ("role", "content", "tool_calls")


def response_of(row: Row) -> Any:
    """Give what was answered: ``sample.response``, else ``item.response``; None for none."""
    found = row.sample_data.get("response")
    return row.item.get("response") if found is None else found


def tool_calls_of(response: Any) -> list[Any]:
    """Find the tool calls of a response, as they are written there."""
    items = _output(response)
    if items is not None:
        return [item for item in items if item.get("type") == "function_call"]
    found = _message(response).get("tool_calls")
    if not found:
        return []
    if not isinstance(found, list):
        raise _bad(f"its tool_calls are {shown(found)}, expected a list")
    return found


def text_of(response: Any) -> str:
    """Find the text of a response: what `tool_calls_of` takes, or the text itself."""
    if isinstance(response, str):
        return response
    items = _output(response)
    if items is None:
        return _joined(_message(response).get("content"))
    return "".join(_joined(item.get("content")) for item in items if item.get("type") == "message")


def _joined(content: Any) -> str:
    """Give a message's content as a text: it may be a list of parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    if isinstance(content, str):
        return content
    raise _bad(f"its content is {shown(content)}, expected text")


def _output(response: Any) -> list[Mapping[str, Any]] | None:
    if not isinstance(response, dict) or "choices" in response or "output" not in response:
        return None
    items = response["output"]
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise _bad(f"its output is {shown(items)}, expected a list of items")
    return items


def _message(response: Any) -> Mapping[str, Any]:
    if not isinstance(response, dict):
        raise _bad(f"it is {shown(response)}, {_EXPECTED}")
    if "choices" not in response:
        if not any(key in response for key in _OF_A_MESSAGE):
            raise _bad(f"it has no choices, {_EXPECTED}: {shown(response)}")
        return response
    choices = response["choices"]
    if not isinstance(choices, list) or not choices:
        raise _bad(f"its choices are {shown(choices)}, expected a list that is not empty")
    message = choices[0].get("message") if isinstance(choices[0], dict) else None
    if not isinstance(message, dict):
        raise _bad(f"choices[0] is {shown(choices[0])}, {_EXPECTED}")
    return message


def _bad(what: str) -> RowError:
    return RowError("bad-response", f"the response can't be read: {what}")
