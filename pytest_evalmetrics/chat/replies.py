"""Reading what a model said."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.transport import tokens_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_evalmetrics.transport import Tokens

__all__ = ["Reply", "json_in", "read_reply", "tool_calls_of"]

_SHOWN = 160
_FENCED = re.compile(r"```(?:json|JSON)?\s*\n(.*?)```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said.

    Attributes
    ----------
    text
        The answer, without the reasoning; empty where it only called tools.
    reasoning
        What it said before, or apart.
    tool_calls
        As it wrote them.
    finish_reason
        ``stop``, ``length``, ``tool_calls`` ...; empty where it says none.
    message
        The whole message.
    tokens
        What it says it took; None where it does not.
    """

    text: str
    reasoning: str = ""
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    finish_reason: str = ""
    message: Mapping[str, Any] = field(default_factory=dict)
    tokens: Tokens | None = None

    @property
    def cut(self) -> bool:
        """It was cut off at the most tokens that it may write."""
        return self.finish_reason == "length"


def read_reply(body: Any, end_token: str | None = None) -> Reply:
    """Read the body of an answer of chat completions, or of plain completions.

    Parameters
    ----------
    body
        The parsed JSON.
    end_token
        What ends the reasoning: the answer is what follows the last one.

    Raises
    ------
    RowError
        It holds no answer: no choices, a refusal, filtered content, no text and no calls.
    """
    message, finish = _message_of(body)
    text = _text(message.get("content"))
    calls = tool_calls_of(message)
    apart = message.get("reasoning_content") or message.get("reasoning")
    reasoning = apart if isinstance(apart, str) else ""
    if end_token and text is not None:
        before, found, after = text.rpartition(end_token)
        if found:
            reasoning, text = reasoning + before, after.strip()
        elif finish == "length":  # it never came to its answer
            reasoning, text = reasoning + text, ""
    if not text and not calls and finish == "length":
        raise RowError(
            "cut-off",
            "the model wrote as many tokens as it may and came to no answer "
            "(finish_reason: length)",
            hint="raise max_tokens",
        )
    if text is None and not calls:
        raise RowError("no-text", f"the model gave no text and no tool calls: {_short(message)}")
    return Reply(text or "", reasoning, calls, finish, message, tokens_of(body))


def tool_calls_of(message: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Give the tool calls of a message; none where it has none.

    Raises
    ------
    RowError
        They are no list.
    """
    found = message.get("tool_calls") or []
    if not isinstance(found, list):
        raise RowError(
            "bad-tool_calls", f"the answer's tool_calls is {_short(found)}, expected a list"
        )
    return tuple(call for call in found if isinstance(call, dict))


def _message_of(body: Any) -> tuple[dict[str, Any], str]:
    """Find the message and why it ends."""
    choices = body.get("choices") if isinstance(body, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise RowError("no-choices", f"the answer has no choices: {_short(body)}")
    choice = choices[0]
    finish = choice.get("finish_reason")
    finish = finish if isinstance(finish, str) else ""
    message = choice.get("message")
    if message is None and isinstance(choice.get("text"), str):  # plain completions
        message = {"role": "assistant", "content": choice["text"]}
    if not isinstance(message, dict):
        raise RowError("no-message", f"the answer has no message: {_short(choice)}")
    if message.get("refusal"):
        raise RowError("refusal", f"the model refused: {_short(message['refusal'])}")
    if finish == "content_filter":
        raise RowError("filtered", "the endpoint's content filter took the answer")
    return message, finish


def json_in(reply: Reply) -> Any:
    """Find the JSON in a reply: the whole text, else what is fenced, else its last object.

    Raises
    ------
    RowError
        There is none, or it holds a number that is not finite.
    """
    text = reply.text.strip()
    for candidate in (text, *reversed(_FENCED.findall(text))):
        try:
            return _finite(json.loads(candidate))
        except (ValueError, RecursionError):
            continue
    for value in _objects(text):
        return _finite(value)
    cut = ", and was cut off at max_tokens" if reply.cut else ""
    raise RowError("no-json", f"the model's answer holds no JSON object{cut}: {_short(text)}")


def _objects(text: str) -> Iterator[Any]:
    """Yield the outermost JSON objects in a text, the last one first."""
    found: list[Any] = []
    at = text.find("{")
    while at >= 0:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            found.append(value)
        at = text.find("{", end)
    return iter(reversed(found))


_DECODER = json.JSONDecoder()


def _finite(value: Any) -> Any:
    for number in _floats(value):
        if not math.isfinite(number):
            raise RowError("no-number", f"the model's answer holds {number}, no finite number")
    return value


def _floats(value: Any) -> Iterator[float]:
    if isinstance(value, float):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _floats(item)
    elif isinstance(value, list):
        for item in value:
            yield from _floats(item)


def _text(content: Any) -> str | None:
    """Give a message's text; its parts are joined."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [p.get("text") for p in content if isinstance(p, dict)]
        texts = [p for p in parts if isinstance(p, str)]
        return "".join(texts) if texts else None
    return None


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
