"""Replies of models: the answer, its reasoning, and the JSON in it."""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import msgspec

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.json_types import list_of, object_of, objects_in
from pytest_evalmetrics.layout import shown
from pytest_evalmetrics.scoring import transport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.json_types import JsonObject, JsonValue
    from pytest_evalmetrics.scoring.transport import Tokens

_T = TypeVar("_T")
_DECODER = json.JSONDecoder(object_pairs_hook=transport.unique_keys)


class Reply(msgspec.Struct, frozen=True):
    """A model's reply."""

    # the answer, without reasoning that its endpoint or an `end_token` sets apart; empty if the
    # model only called tools
    text: str
    reasoning: str = ""
    # as the model wrote them
    tool_calls: tuple[JsonObject, ...] = ()
    # ``stop``, ``length``, ``tool_calls`` ...; empty for none
    finish_reason: str = ""
    # the whole message
    message: JsonObject = msgspec.field(default_factory=dict)
    # None if the answer does not give them
    tokens: Tokens | None = None


class _Message(msgspec.Struct, frozen=True):
    """The message in a body, in the words of chat completions."""

    message: JsonObject
    finish_reason: str


# -- from a body to a reply ----------------------------------------------------------------

# the words of other endpoints, for those of chat completions
_FINISH_REASONS = {
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "incomplete": "length",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "completed": "stop",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "safety": "content_filter",
    "recitation": "content_filter",
    "prohibited_content": "content_filter",
    "blocklist": "content_filter",
}


def read_reply(body: JsonValue, end_token: str | None = None) -> Reply:
    """Read the body of an answer.

    The body is one of chat completions, of plain completions, of the Responses API, or of
    Anthropic's messages.

    Raises
    ------
    RowError
        There is no answer in it, with the reason: ``no-answer`` for reasoning alone.
    """
    answered = _message_in(body)
    message = answered.message
    finish = answered.finish_reason
    text = text_of(message.get("content"))
    calls = tool_calls_of(message)
    reasoning = _reasoning_of(message)
    if end_token and text is not None:
        before, token, after = text.rpartition(end_token)
        if token:
            reasoning += before
            text = after.strip()
        elif finish == "length":
            # it was cut off before the answer
            reasoning += text
            text = ""
    has_answer = text is not None and _split(text).answer.strip()
    if not has_answer and not calls:
        _refuse_without_text(message, text, reasoning, finish)
    return Reply(
        text=text or "",
        reasoning=reasoning,
        tool_calls=calls,
        finish_reason=finish,
        message=message,
        tokens=transport.tokens_of(body),
    )


def _refuse_without_text(
    message: Mapping[str, JsonValue], text: str | None, reasoning: str, finish: str
) -> None:
    """Refuse a message without an answer, but for one that is empty and complete."""
    if finish == "length":
        raise RowError(
            "cut-off",
            "the model wrote as many tokens as it may and came to no answer "
            "(finish_reason: length)",
            hint="raise max_tokens",
        )
    thoughts = reasoning or text or ""
    if thoughts.strip():
        raise RowError(
            "no-answer", f"the model gave reasoning and no answer: {shown(thoughts)}"
        )
    if text is None:
        raise RowError(
            "no-text", f"the model gave no text and no tool calls: {shown(message)}"
        )


def _message_in(body: JsonValue) -> _Message:
    """Find the message of a body, and why the model stopped."""
    if isinstance(body, dict) and isinstance(body.get("output"), list):
        found = _of_responses(body)
    elif isinstance(body, dict) and body.get("type") == "message":
        found = _of_messages(body)
    else:
        found = _of_completions(body)
    if found.message.get("refusal"):
        raise RowError(
            "refusal", f"the model refused: {shown(found.message['refusal'])}"
        )
    if found.finish_reason == "content_filter":
        raise RowError("filtered", "the endpoint's content filter took the answer")
    return found


def _of_completions(body: JsonValue) -> _Message:
    choices: list[JsonObject] = []
    if isinstance(body, dict):
        choices = objects_in(body.get("choices"))
    if not choices:
        raise RowError("no-choices", f"the answer has no choices: {shown(body)}")
    choice = choices[0]
    messages = [other.get("message") for other in choices]
    if any(message != messages[0] for message in messages):
        raise RowError(
            "several-answers",
            f"the model gave {len(choices)} answers to one question: {shown(choices)}",
            hint="ask for one: num_samples, and judge_repeats of a judge, ask several times",
        )
    error = choice.get("error") or object_of(body).get("error")
    if error or choice.get("finish_reason") in ("error", "abort"):
        # from a router whose model failed midway
        raise _failed_answer(error or choice)
    return _Message(_message_of(choice), _finish_reason(choice.get("finish_reason")))


def _message_of(choice: JsonObject) -> JsonObject:
    """Return the message of a choice; of plain completions it is a text alone."""
    message = choice.get("message")
    if message is None and isinstance(choice.get("text"), str):
        return {"role": "assistant", "content": choice["text"]}
    if not isinstance(message, dict):
        raise RowError("no-message", f"the answer has no message: {shown(choice)}")
    return message


def _failed_answer(fault: JsonValue) -> RowError:
    return RowError("failed-answer", f"the answer holds an error: {shown(fault)}")


def _of_responses(body: JsonObject) -> _Message:
    """Read a body of OpenAI's Responses API: a list of items."""
    status = body.get("status")
    if body.get("error") or status in ("failed", "cancelled"):
        raise _failed_answer(body.get("error") or status)
    message = _message_of_items(objects_in(body["output"]))
    why = object_of(body.get("incomplete_details")).get("reason")
    return _Message(message, _finish_reason(why or status))


def _message_of_items(items: Iterable[JsonObject]) -> JsonObject:
    """Make one message of a model's items: texts, calls of functions, and reasoning."""
    parts: list[JsonValue] = []
    calls: list[JsonValue] = []
    thoughts: list[str] = []
    for item in items:
        kind = item.get("type")
        if kind == "message":
            parts += list_of(item.get("content"))
        elif kind == "function_call":
            calls.append(
                _call(item.get("call_id"), item.get("name"), item.get("arguments"))
            )
        elif kind == "reasoning":
            thoughts += _texts(item.get("summary"), "text")
            thoughts += _texts(item.get("content"), "text")
    text = text_of(parts)
    if text is None and thoughts and not calls:
        # a reply of reasoning alone has no message, and an empty one is no answer
        text = ""
    message = _message(text, calls, thoughts)
    refusals = _texts(parts, "refusal")
    if refusals:
        message["refusal"] = " ".join(refusals)
    return message


def _of_messages(body: JsonObject) -> _Message:
    """Read a body of Anthropic's messages: a list of blocks."""
    blocks = body.get("content")
    if not isinstance(blocks, list):
        raise RowError("no-message", f"the answer has no content: {shown(body)}")
    calls: list[JsonValue] = []
    for block in objects_in(blocks):
        if block.get("type") == "tool_use":
            arguments = json.dumps(block.get("input"))
            calls.append(_call(block.get("id"), block.get("name"), arguments))
    text = text_of(blocks)
    if text is None and not calls:
        text = ""
    message = _message(text, calls, _texts(blocks, "thinking"))
    reason = body.get("stop_reason")
    if reason == "refusal":
        message["refusal"] = text or "stop_reason: refusal"
    return _Message(message, _finish_reason(reason))


def _message(
    text: str | None, calls: list[JsonValue], thoughts: Sequence[str]
) -> JsonObject:
    """Write a message in the words of chat completions."""
    message: JsonObject = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = calls
    if thoughts:
        message["reasoning_content"] = "\n".join(thoughts)
    return message


def _call(number: JsonValue, name: JsonValue, arguments: JsonValue) -> JsonObject:
    """Write a call of a tool in the words of chat completions."""
    function: JsonObject = {"name": name, "arguments": arguments}
    return {"id": number, "type": "function", "function": function}


def _finish_reason(reason: JsonValue) -> str:
    if not isinstance(reason, str):
        return ""
    return _FINISH_REASONS.get(reason.lower(), reason.lower())


def _reasoning_of(message: Mapping[str, JsonValue]) -> str:
    """Return the reasoning that an endpoint sets apart from the answer."""
    for key in ("reasoning_content", "reasoning"):
        reasoning = message.get(key)
        if isinstance(reasoning, str) and reasoning:
            return reasoning
    details = message.get("reasoning_details")
    if isinstance(details, list):
        return "\n".join([*_texts(details, "text"), *_texts(details, "summary")])
    content = message.get("content")
    if not isinstance(content, list):
        return ""
    parts = [part for part in content if not _is_text_part(part)]
    return "\n".join([*_texts(parts, "text"), *_texts(parts, "thinking")])


def tool_calls_of(
    message: Mapping[str, JsonValue],
) -> tuple[JsonObject, ...]:
    """Return the tool calls of a message."""
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        fault = f"the answer's tool_calls is {shown(calls)}, expected a list"
        raise RowError("bad-tool_calls", fault)
    called = tuple(call for call in calls if isinstance(call, dict))
    function = message.get("function_call")
    if isinstance(function, dict) and not called:
        # what tool_calls replaced, and older servers still send
        return ({"type": "function", "function": function},)
    return called


# the types of a message's parts that hold its text; others hold reasoning or images
_TEXT_PARTS = (None, "text", "input_text", "output_text")


def text_of(content: object) -> str | None:
    """Return the text of a message's content, with its parts joined, or None."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = _texts([part for part in content if _is_text_part(part)], "text")
    if not texts:
        return None
    return "".join(texts)


def _is_text_part(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") in _TEXT_PARTS


def _texts(parts: object, key: str) -> list[str]:
    """List the texts that parts of a message hold under a key."""
    if not isinstance(parts, list):
        return []
    values = [part.get(key) for part in parts if isinstance(part, dict)]
    return [value for value in values if isinstance(value, str)]


# -- from a reply to a verdict -------------------------------------------------------------

_NAMES = (
    "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis|rationale"
    "|chain_of_thought|inner_monologue|seed:think|antthinking"
)
_BEGINS = (
    rf"<(?:\w+[:_-])?(?:{_NAMES})\b[^<>]*>|\[THINK\]|◁think▷"
    rf"|<\|(?:(?:start|begin)_(?:of_)?)?(?:{_NAMES})\|>"
    r"|<\|channel\|>\s*analysis\s*<\|message\|>"
)
_ENDS = (
    rf"</(?:\w+[:_-])?(?:{_NAMES})\s*>|\[/THINK\]|◁/think▷"
    rf"|<\|(?:/|end_(?:of_)?)(?:{_NAMES})\|>"
    r"|<\|channel\|>\s*final\s*<\|message\|>"
)
_MARK = re.compile(f"(?P<begin>{_BEGINS})|(?P<end>{_ENDS})", re.IGNORECASE)
# a call of a tool that a server did not take out of the text
_TOOL_CALL = re.compile(
    r"^\s*(<\|?(tool_calls?|function_calls?|python_tag)\b[^<>]*>|<function=|\[TOOL_CALLS\]"
    r"|<\uff5ctool\u2581calls?\u2581begin\uff5c>|<\|tool_calls?_(section_)?begin\|>)",
    re.IGNORECASE | re.MULTILINE,
)


class PlacedJson(msgspec.Struct, frozen=True):
    """A JSON value in a text, at ``text[start:end]``."""

    value: JsonValue
    start: int
    end: int


def final_answer(reply: Reply) -> Reply:
    """Return a judge's reply without the reasoning that is written into its text.

    Raises
    ------
    RowError
        The judge came to no answer: it was cut off, still reasons, or calls a tool.
    """
    if reply.finish_reason == "length":
        raise RowError(
            "cut-off",
            "the judge wrote as many tokens as it may, and its answer was cut off "
            f"(finish_reason: length): {shown(reply.text)}",
            hint="raise max_tokens",
        )
    parts = _split(reply.text)
    if reply.tool_calls or _TOOL_CALL.search(parts.answer):
        called = reply.tool_calls or reply.text
        raise RowError(
            "tool-call",
            f"the judge called a tool in place of an answer: {shown(called)}",
        )
    if parts.is_open:
        raise RowError(
            "no-answer",
            f"the judge's reasoning has no end, and no answer: {shown(reply.text)}",
        )
    if not parts.reasoning:
        return reply
    return msgspec.structs.replace(
        reply,
        text=parts.answer.strip(),
        reasoning=reply.reasoning + parts.reasoning,
    )


class _Parts(msgspec.Struct, frozen=True):
    """The parts of a text that holds reasoning between marks."""

    answer: str
    reasoning: str
    # whether the last reasoning has no end
    is_open: bool


def _split(text: str) -> _Parts:
    """Split a text into its answer, and the reasoning that is written into it."""
    if _MARK.search(text) is None:
        return _Parts(answer=text, reasoning="", is_open=False)
    answer = ""
    reasoning = ""
    is_open = False
    at = 0
    for mark in _marks_outside_json(text):
        before = text[at : mark.start()]
        if mark["end"] is None:
            if is_open:
                # named in the reasoning
                continue
            answer += before
            is_open = True
        elif is_open:
            reasoning += before
            is_open = False
        else:
            # without a beginning it is the prompt's template that began the reasoning
            reasoning += answer + before
            answer = ""
        at = mark.end()
    rest = text[at:]
    if is_open:
        return _Parts(answer=answer, reasoning=reasoning + rest, is_open=True)
    return _Parts(answer=answer + rest, reasoning=reasoning, is_open=False)


def _marks_outside_json(text: str) -> Iterator[re.Match[str]]:
    """Yield the marks of reasoning, but for a judge's words about a tag inside of its JSON."""
    values: list[PlacedJson] = []
    with suppress(RowError):
        values = json_values(text)
    for mark in _MARK.finditer(text):
        if not any(value.start < mark.start() < value.end for value in values):
            yield mark


def json_values(text: str) -> list[PlacedJson]:
    """List the JSON in a text: the whole of it, or the outermost objects and lists of objects.

    Raises
    ------
    RowError
        An object holds a key twice, or stands inside of one that is not valid.
    """
    with suppress(ValueError, RecursionError):
        return [PlacedJson(_DECODER.decode(text.strip()), 0, len(text))]
    values: list[PlacedJson] = []
    broken: list[int] = []
    start = _next_opening(text, 0)
    while start >= 0:
        end = start + 1
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            if re.match(r'\{\s*"', text[start : start + 20]):
                broken.append(start)
        else:
            if isinstance(value, dict) or _holds_objects(value):
                values.append(PlacedJson(value, start, end))
        start = _next_opening(text, end)
    for value in values:
        if any(_is_open(text, at, value.start) for at in broken if at < value.start):
            raise RowError(
                "no-json", f"the model's answer is not valid JSON: {shown(text)}"
            )
    return values


def _next_opening(text: str, start: int) -> int:
    places = [text.find(bracket, start) for bracket in "{["]
    return min((place for place in places if place >= 0), default=-1)


def _holds_objects(value: JsonValue) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def _is_open(text: str, start: int, end: int) -> bool:
    """Check whether an object that begins at `start` is not closed before `end`."""
    return text.count("{", start, end) > text.count("}", start, end)


def verdict_in(
    reply: Reply,
    read: Callable[[JsonValue], _T],
    *,
    claim: Callable[[JsonValue], object] | None = None,
) -> _T:
    """Read the verdict in a judge's answer: that of the last object.

    Parameters
    ----------
    read
        Reads a JSON value; raises a `RowError` for one that is no verdict.
    claim
        Returns what a JSON value says, to be compared with the other values of the answer; raises
        a `RowError` for one that says nothing, such as the form that was asked for. By default
        what `read` returns.

    Raises
    ------
    RowError
        There is no verdict, or an earlier value claims something else.
    """
    values = json_values(reply.text)
    if not values:
        raise RowError(
            "no-json", f"the model's answer holds no JSON object: {shown(reply.text)}"
        )
    last = values[-1].value
    verdict = read(_finite(last))
    claimed = claim or read
    for value in values[:-1]:
        try:
            other = claimed(_finite(value.value))
        except RowError:
            continue
        if other != claimed(last):
            raise disagreement(value.value, last)
    return verdict


def disagreement(first: JsonValue, last: JsonValue) -> RowError:
    """Make the error of an answer that says two things."""
    return RowError(
        "disagree",
        f"the judge's answer says {shown(first)} and {shown(last)}: it is not clear which counts",
    )


def json_in(reply: Reply) -> JsonValue:
    """Extract the JSON of a reply: the whole text, or the last object in it.

    Raises
    ------
    RowError
        There is none, or an earlier object has the same keys and other values.
    """
    last_keys: list[object] = []

    def read(value: JsonValue) -> JsonValue:
        keys: list[str] | None = None
        if isinstance(value, dict):
            keys = sorted(value)
        if last_keys and keys != last_keys[0]:
            raise RowError("no-json", "another object")
        last_keys.append(keys)
        return value

    return verdict_in(reply, read)


def _finite(value: JsonValue) -> JsonValue:
    if isinstance(value, float) and not math.isfinite(value):
        raise RowError(
            "no-number", f"the model's answer holds {value}, no finite number"
        )
    children = list_of(value)
    if isinstance(value, dict):
        children = list(value.values())
    for child in children:
        _finite(child)
    return value


# -- words beside the JSON -----------------------------------------------------------------

_VALUE = r"""[\s"'*_`:]*(?P<said>(?>[-+]?[\w.]*\w))"""
# ``1-5``, ``1 to 5``, ``"kind" or "cold"``: a form that is shown
_OF_SEVERAL = r"""(?!["'\s]*(?:-|\u2013|to\b|or\b|\||\.\.)\s*["']?\w)"""
_SAYS = rf"""["'*_`]*\s*(?:[:=>\uff1a\uff1d]|\bis\b){_VALUE}{_OF_SEVERAL}"""
_BEGINS_LINE = r"""^[\W_]*(?:(?:my|the|final|overall)\s+)*"""


def said_beside(text: str, name: str) -> list[str]:
    """List what the words beside the JSON of a text say of a name: ``quality: 1``.

    Words behind the last object count wherever they stand. Those before it are an argument,
    unless they begin a line.
    """
    values = json_values(text)
    before = ""
    at = 0
    for value in values:
        before += text[at : value.start] + "\n"
        at = value.end
    pattern = rf"(?<!\w){re.escape(name)}{_SAYS}"
    flags = re.IGNORECASE | re.MULTILINE
    matches = [*re.finditer(_BEGINS_LINE + pattern, before, flags)]
    matches += re.finditer(pattern, text[at:], flags)
    return [match["said"] for match in matches]
