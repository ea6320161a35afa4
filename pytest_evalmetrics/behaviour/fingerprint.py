"""The fingerprint of a rollout: what it called, how long it took, and how it answered."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import msgspec

from pytest_evalmetrics.behaviour.text_signs import (
    count_citations,
    is_json,
    is_refusal,
    language_of,
)
from pytest_evalmetrics.transcripts.turns import CONTENT_FILTER, LENGTH, STOP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.transcripts.turns import Turn

#: The numbers of a rollout, in this order.
NUMBERS: Final = (
    "steps",
    "tool_calls",
    "retries",
    "tool_errors",
    "repeats",
    "answer_chars",
    "reasoning_chars",
    "refusals",
    "json_answers",
    "code_answers",
    "citations",
    "truncated",
)
#: Those that are 0 or 1.
RATES: Final = frozenset({"refusals", "json_answers", "code_answers", "truncated"})
FAILED: Final = "!"  # behind a call that failed
_decode = msgspec.json.Decoder().decode
_KINDS: Final = {
    str: "text",
    int: "number",
    float: "number",
    bool: "flag",
    list: "list",
    dict: "object",
    type(None): "null",
}
_NOT_IN_NAMES: Final = str.maketrans(dict.fromkeys(" \t\r\n()!", "_"))


class Fingerprint(msgspec.Struct, frozen=True):
    """What one rollout does."""

    #: In the order of `NUMBERS`.
    numbers: tuple[float, ...]
    #: The calls in their order: ``search(city:text,day:number) book(id:text)!``.
    calls: str
    language: str
    #: Why the last message ended; `stop` where nothing says so.
    stop: str
    #: The last message of the agent.
    answer: str


def fingerprint_of(turns: Sequence[Turn]) -> Fingerprint:
    """Describe what the agent of a conversation does.

    Parameters
    ----------
    turns
        The conversation, as `turns_of` reads it.
    """
    replies = [turn for turn in turns if turn.role == "assistant"]
    answer = ""
    stop = STOP
    if replies:
        answer = replies[-1].text
        stop = replies[-1].stop_reason or STOP
    made = _made_calls(replies)
    numbers = (
        len(replies),
        len(made.written),
        made.retries,
        made.errors,
        made.most_repeated,
        len(answer),
        sum(len(turn.reasoning) for turn in replies),
        stop == CONTENT_FILTER or is_refusal(answer),
        is_json(answer),
        "```" in answer,
        count_citations(answer),
        stop == LENGTH,
    )
    return Fingerprint(
        numbers=tuple(float(number) for number in numbers),
        calls=" ".join(made.written),
        language=language_of(answer),
        stop=stop,
        answer=answer,
    )


class _MadeCalls(msgspec.Struct, frozen=True):
    """The calls of tools in one rollout."""

    # in their order, each as `seen_calls` reads it
    written: list[str]
    # calls after a failed one of the same tool, and calls that were made before
    retries: int
    # calls that failed
    errors: int
    # how often the most frequent call was made
    most_repeated: int


def _made_calls(replies: Sequence[Turn]) -> _MadeCalls:
    counts = Counter[tuple[str, str]]()
    written: list[str] = []
    errors = 0
    retries = 0
    failed_before = ""
    for turn in replies:
        for call in turn.calls:
            key = (call.name, call.arguments)
            retries += call.name == failed_before or counts[key] > 0
            counts[key] += 1
            name = call.name.translate(_NOT_IN_NAMES)
            text = f"{name}({shape_of(call.arguments)})"
            failed_before = ""
            if call.error:
                errors += 1
                failed_before = call.name
                text += FAILED
            written.append(text)
    return _MadeCalls(
        written=written,
        retries=retries,
        errors=errors,
        most_repeated=max(counts.values(), default=0),
    )


def shape_of(arguments: str) -> str:
    """Write the shape of a call's arguments: their names and kinds, not their values."""
    try:
        value = _decode(arguments)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return "text"
    if not isinstance(value, dict):
        return _KINDS.get(type(value), "text")
    return ",".join(
        f"{str(key).translate(_NOT_IN_NAMES)}:{_KINDS.get(type(inner), 'text')}"
        for key, inner in value.items()
    )


class SeenCall(msgspec.Struct, frozen=True):
    """A call in a written sequence."""

    name: str
    shape: str
    has_failed: bool


def seen_calls(written: str) -> tuple[SeenCall, ...]:
    """Read the calls of a fingerprint."""
    return tuple(_seen_call(text) for text in written.split(" ") if text)


def _seen_call(written: str) -> SeenCall:
    has_failed = written.endswith(FAILED)
    name, _, rest = written.removesuffix(FAILED).partition("(")
    return SeenCall(name, rest.removesuffix(")"), has_failed)
