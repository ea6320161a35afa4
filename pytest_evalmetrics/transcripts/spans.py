"""Read spans of OpenTelemetry's conventions for generative AI, and of OpenInference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import structs

from pytest_evalmetrics.transcripts.conversation import (
    Conversation,
    Draft,
    ResultDraft,
)
from pytest_evalmetrics.transcripts.messages import add_messages
from pytest_evalmetrics.transcripts.turns import ToolCall, Turn
from pytest_evalmetrics.transcripts.values import (
    decoded,
    first_text,
    normalised,
    plain_text,
    stop_reason,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_NESTED: Final = 12  # levels of attributes that are nested
# what a list of messages is called: first those that were asked, then those answered
_ASKED: Final = (
    *("gen_ai.input.messages", "llm.input_messages", "gen_ai.prompt"),
    *("ai.prompt.messages", "gen_ai.request.messages", "mlflow.spanInputs"),
)
_ANSWERED: Final = (
    *("gen_ai.output.messages", "llm.output_messages", "gen_ai.completion"),
    *("gen_ai.response.messages", "mlflow.spanOutputs"),
)
_ROLES_OF_EVENTS: Final = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}
_DETAILS: Final = "gen_ai.client.inference.operation.details"
_HOLDERS: Final = (
    *("spans", "resourceSpans", "scopeSpans", "observations", "trace", "data"),
)
_MARKS: Final = ("gen_ai.", "llm.", "openinference.", "ai.prompt", "mlflow.span")
_GENERATIONS: Final = ("GENERATION", "TOOL", "AGENT", "llm", "tool")  # of Langfuse


def spans_in(row: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Find the spans of a row: one that is a span, a list of them, or OTLP."""
    if _is_span(row):
        return [row]
    found: list[Mapping[str, object]] = []
    for key in _HOLDERS:
        if key not in row:
            continue
        value = row[key]
        if isinstance(value, dict):
            found += spans_in(value)
        for inner in value if isinstance(value, list) else ():
            if isinstance(inner, dict):
                found += spans_in(inner)
        if found:
            return found
    return found


def _is_span(row: Mapping[str, object]) -> bool:
    if row.get("type") in _GENERATIONS and ("input" in row or "output" in row):
        return True
    names: Iterable[str] = row
    if "attributes" in row:
        names = _flat(row["attributes"])
    return any(name.startswith(_MARKS) for name in names)


def add_spans(
    conversation: Conversation, spans: Sequence[Mapping[str, object]]
) -> None:
    """Add the conversation of a trace's spans, in the order of their start.

    A call of a model repeats what was said before it, which is added once.
    """
    flat = [_FlatSpan(span) for span in sorted(spans, key=_start)]
    said: list[Turn] = []  # as far as two spans know the same of it
    for span in flat:
        own = Conversation()
        add_messages(own, span.messages())
        compared = [_plain(turn) for turn in own.turns]
        repeated = _repeated(said, compared)
        for at in range(repeated):  # results may have shown since that calls failed
            calls = own.turns[at].calls
            conversation.turns[at] = structs.replace(
                conversation.turns[at], calls=calls
            )
        for turn in own.turns[repeated:]:
            conversation.add_turn(turn)
        said += compared[repeated:]
    if not conversation.turns:
        for span in flat:
            span.add_execution(conversation)


def _repeated(said: Sequence[Turn], turns: Sequence[Turn]) -> int:
    """Count the first turns that only repeat all that was said, or a beginning of it."""
    count = 0
    for before, now in zip(said, turns, strict=False):
        if before != now:
            return 0
        count += 1
    return count


def _plain(turn: Turn) -> Turn:
    """Return what a turn says, without what only one of two spans knows of it."""
    return Turn(
        role=turn.role,
        text=turn.text,
        calls=tuple(ToolCall(call.name, call.arguments) for call in turn.calls),
    )


def _start(span: Mapping[str, object]) -> float:
    value = first_text(
        span, "startTimeUnixNano", "start_time", "startTime", "start_time_unix_nano"
    )
    if value.isdecimal():
        return float(value)
    number = span.get("start_time", span.get("startTimeUnixNano"))
    if isinstance(number, int | float):
        return float(number)
    return _seconds(value)


def _seconds(time: str) -> float:
    from datetime import datetime

    try:
        return datetime.fromisoformat(time).timestamp()
    except (ValueError, OverflowError):
        return 0.0


class _FlatSpan:
    """A span whose attributes have dotted names, however they were written."""

    def __init__(self, span: Mapping[str, object]) -> None:
        attributes = span.get("attributes")
        self._attributes = _flat(span if attributes is None else attributes)
        if span.get("type") in _GENERATIONS:
            self._attributes = _of_observation(span)
        events = span.get("events")
        self._events: Sequence[object] = events if isinstance(events, list) else ()

    def messages(self) -> Iterator[object]:
        """Yield the messages of a call of a model."""
        yield from self._system()
        asked = self._listed(_ASKED)
        answered = self._listed(_ANSWERED)
        if asked or answered:
            reasons = self._attributes.get("gen_ai.response.finish_reasons")
            yield from asked
            yield from _ended(answered, reasons)
            return
        for event in self._events:
            if isinstance(event, dict):
                yield from _of_event(event)

    def add_execution(self, conversation: Conversation) -> None:
        """Add the call of a tool that this span is."""
        name = first_text(self._attributes, "gen_ai.tool.name", "tool.name")
        if not name:
            return
        found = self._attributes
        asked = found.get("gen_ai.tool.call.arguments", found.get("input.value"))
        output = found.get("gen_ai.tool.call.result", found.get("output.value"))
        call = ToolCall(
            name=name,
            arguments=normalised(asked),
            id=text(found.get("gen_ai.tool.call.id")),
        )
        draft = Draft("assistant")
        draft.calls.append(call)
        conversation.add(draft)
        conversation.add_result(
            ResultDraft(
                id=call.id,
                name=name,
                text=plain_text(output),
                error=text(found.get("error.type")),
            )
        )

    def _system(self) -> Iterator[object]:
        value = self._attributes.get("gen_ai.system_instructions")
        if isinstance(value, str):
            value = decoded(value)
        if value:
            yield {"role": "system", "content": value}

    def _listed(self, names: Iterable[str]) -> list[object]:
        for name in names:
            value = self._attributes.get(name)
            if isinstance(value, str):
                value = decoded(value)
            if isinstance(value, dict):
                value = value.get("messages", value.get("choices"))
            if isinstance(value, list) and value:
                return value
            numbered = self._numbered(f"{name}.")
            if numbered:
                return numbered
        return []

    def _numbered(self, prefix: str) -> list[object]:
        """Collect ``prefix.0.role``, ``prefix.0.content`` ... as a list of messages."""
        named = {
            name.removeprefix(prefix): value
            for name, value in self._attributes.items()
            if name.startswith(prefix)
        }
        nested = _nested(named)
        return nested if isinstance(nested, list) else []


def _of_observation(span: Mapping[str, object]) -> dict[str, object]:
    """Give an observation of Langfuse the attributes of a span."""
    asked = span.get("input")
    answered = span.get("output")
    if str(span.get("type")).upper() == "TOOL":
        return {
            "gen_ai.tool.name": span.get("name"),
            "gen_ai.tool.call.arguments": asked,
            "gen_ai.tool.call.result": answered,
        }
    if isinstance(answered, str):
        answered = {"role": "assistant", "content": answered}
    if isinstance(answered, dict) and "role" in answered:
        answered = [answered]
    if isinstance(asked, str):
        asked = [{"role": "user", "content": asked}]
    return {"gen_ai.input.messages": asked, "gen_ai.output.messages": answered}


def _ended(messages: list[object], reasons: object) -> list[object]:
    """Add the reason why a response ended to its last message."""
    if isinstance(reasons, str):
        reasons = decoded(reasons)
    reason = stop_reason(reasons)
    last = messages[-1] if messages else None
    if not reason or not isinstance(last, dict) or "finish_reason" in last:
        return messages
    return [*messages[:-1], {**last, "finish_reason": reason}]


def _of_event(event: Mapping[str, object]) -> Iterator[object]:
    """Yield the messages of an event."""
    attributes = _flat(event.get("attributes"))
    name = first_text(event, "name", "event.name") or text(attributes.get("event.name"))
    if name == _DETAILS:
        yield from _FlatSpan({"attributes": attributes}).messages()
        return
    role = _ROLES_OF_EVENTS.get(name)
    if role is None:
        return
    body = event.get("body", attributes.get("event_body"))
    if isinstance(body, str):
        body = decoded(body)
    if not isinstance(body, dict):
        body = _nested(attributes)
    if isinstance(body, dict):
        inner = body.get("message")
        message = inner if isinstance(inner, dict) else body
        reason = body.get("finish_reason")
        yield {"finish_reason": reason, **message, "role": role}


# -- attributes ----------------------------------------------------------------------------------


def _flat(attributes: object) -> dict[str, object]:
    """Give attributes dotted names: of OTLP's lists, and of nested objects."""
    flat: dict[str, object] = {}
    if isinstance(attributes, list):
        for pair in attributes:
            if isinstance(pair, dict) and isinstance(pair.get("key"), str):
                flat[pair["key"]] = _otlp_value(pair.get("value"))
    elif isinstance(attributes, dict):
        _flatten(attributes, "", flat, 0)
    return flat


def _flatten(
    value: Mapping[str, object], prefix: str, flat: dict[str, object], level: int
) -> None:
    for key, inner in value.items():
        name = f"{prefix}{key}"
        flat[name] = inner
        if isinstance(inner, dict) and level < _NESTED:
            _flatten(inner, f"{name}.", flat, level + 1)


def _otlp_value(value: object) -> object:
    """Return the value of an attribute that OTLP writes with its type."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    if isinstance(inner, dict) and isinstance(inner.get("values"), list):
        if kind == "kvlistValue":
            return _flat(inner["values"])
        return [_otlp_value(entry) for entry in inner["values"]]
    return inner


def _nested(flat: Mapping[str, object]) -> object:
    """Make objects and lists of dotted names, whose numbers are places in a list."""
    tree: dict[str, object] = {}
    for name, value in flat.items():
        if isinstance(value, dict):
            continue  # its own values follow
        *parents, last = name.split(".")
        place = tree
        for parent in parents[:_NESTED]:
            inner = place.setdefault(parent, {})
            if not isinstance(inner, dict):
                break
            place = inner
        else:
            place[last] = value
    return _with_lists(tree)


def _with_lists(tree: object) -> object:
    if not isinstance(tree, dict):
        return tree
    values = {key: _with_lists(value) for key, value in tree.items()}
    if values and all(key.isdecimal() for key in values):
        return [values[key] for key in sorted(values, key=int)]
    return values
