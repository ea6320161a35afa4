"""What a target gave -> an answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.chat import read_reply, tool_calls_of
from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.generation.protocol import Generated
from pytest_evalmetrics.transport import tokens_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["as_json", "read_answer"]

_TEXTS = ("output_text", "output", "response", "content", "text")
_OURS = {*_TEXTS, "usage", "tool_calls", "reasoning", "finish_reason", "role"}


def as_json(value: Any) -> str:
    """Write what a target gave: builtins, or what has a ``model_dump`` of them.

    Raises
    ------
    RowError
        It can't be written as JSON.
    """
    dump = getattr(value, "model_dump", None)
    if callable(dump):  # a model of pydantic, such as an answer of the OpenAI client
        value = dump(mode="json")
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise RowError(
            "no-answer",
            f"the target gave a {type(value).__name__} that can't be written as JSON: {error}",
            hint="give a text, a message, or a mapping with output",
        ) from None


def read_answer(value: Any, latency_s: float) -> Generated:
    """Read what a target gave.

    Parameters
    ----------
    value
        A text; a message (``{role, content, tool_calls}``); the body of a chat completion
        (``{choices: [...]}``); or a mapping with ``output`` (also ``output_text``,
        ``response``), and perhaps ``usage``, ``tool_calls``, ``reasoning``, ``finish_reason``
        and more, which is kept.
    latency_s
        Seconds that it took.

    Raises
    ------
    RowError
        It is none of these.
    """
    if isinstance(value, str):
        return Generated(
            output_text=value, response=_body({"content": value}, {}), latency_s=latency_s
        )
    if not isinstance(value, dict):
        raise RowError(
            "no-answer",
            f"the target gave {value!r:.60}, expected a text, a message, or a mapping with output",
        )
    if "choices" in value:
        return _completion(value, latency_s)
    text = next((value[key] for key in _TEXTS if value.get(key) is not None), None)
    calls = tool_calls_of(value)
    if isinstance(text, dict) and "choices" in text:  # the whole body as `response`
        return _completion({"usage": value.get("usage"), **text}, latency_s, _more(value))
    if text is None and calls:
        text = ""
    if not isinstance(text, str):
        found = f"{text!r:.60}" if text is not None else f"the keys {', '.join(value)[:60]}"
        raise RowError(
            "no-answer", f"the target gave {found}, expected the answer's text under output"
        )
    finish = value.get("finish_reason")
    reasoning = value.get("reasoning")
    return Generated(
        output_text=text,
        response=_body({"content": text, "tool_calls": list(calls)}, value),
        reasoning=reasoning if isinstance(reasoning, str) else "",
        tool_calls=calls,
        finish_reason=finish if isinstance(finish, str) else "",
        tokens=tokens_of(value),
        latency_s=latency_s,
        more=_more(value),
    )


def _completion(
    body: Mapping[str, Any], latency_s: float, more: Mapping[str, Any] | None = None
) -> Generated:
    reply = read_reply(body)
    return Generated.of(reply, body, tokens=reply.tokens, latency_s=latency_s, more=more or {})


def _more(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key not in _OURS}


def _body(message: Mapping[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
    """Word an answer as OpenAI's API does, for scorers that read it so."""
    said = {key: item for key, item in message.items() if item != []}
    choice = {"index": 0, "message": {"role": "assistant", **said}}
    usage = {"usage": value["usage"]} if isinstance(value.get("usage"), dict) else {}
    return {"choices": [choice], **usage}
