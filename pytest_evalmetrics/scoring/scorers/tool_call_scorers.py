"""``tool_call_accuracy`` and ``tool-calling``: the right tools with the right arguments."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.model.rollout_table import Row
from pytest_evalmetrics.scoring.chat.prompts import compile_templates
from pytest_evalmetrics.scoring.scorers import row_reading as reading
from pytest_evalmetrics.scoring.scorers.row_reading import (
    made_calls,
    message_of,
    response_of,
    wanted_calls,
)
from pytest_evalmetrics.scoring.scorers.scorer import Explained
from pytest_evalmetrics.scoring.transport import Terms
from pytest_evalmetrics.spec.field_types import TemplateText
from pytest_evalmetrics.spec.scorer_keys import NamedScores
from pytest_evalmetrics.spec.validation import doc

_REFERENCE = "reference_tool_calls"


@dataclass(frozen=True, kw_only=True)
class ToolCallAccuracySpec(NamedScores):
    """Compare an agent's tool calls with ``reference_tool_calls``.

    1 if there are no calls on both sides, 0 if there are on one. Else 0 unless the
    names are the same in the same order (``strict_order: false``: after sorting both sides);
    then the mean over the reference's calls of the share of its arguments whose text is the
    same in the call at that place. Arguments that the reference doesn't have cost nothing,
    except where it has none at all. The formula of ``ToolCallAccuracy`` in RAGAS 0.4.
    """

    own_names = ("tool_call_accuracy",)
    type: Annotated[
        Literal["tool_call_accuracy", "tool-call-accuracy"],
        doc("the agent's tool calls against the row's reference_tool_calls"),
    ]
    strict_order: Annotated[bool, doc("whether the order of the calls counts")] = True

    def make(self, _terms: Terms) -> Callable[[Row], Explained]:
        """Make the function that scores a row."""
        return self._score

    def _score(self, row: Row) -> Explained:
        if _REFERENCE not in row.item:
            raise RowError("no-reference", f"the row has no {_REFERENCE}")
        wanted = wanted_calls(row.item[_REFERENCE], _REFERENCE)
        made = _calls_of(row)
        for at, call in enumerate(made):
            if call.name is None:
                raise RowError(
                    "bad-call", f"the agent's tool call {at + 1} has no name"
                )
        return Explained(self._compare(made, wanted), _faults(made))

    def _compare(
        self, made: list[reading.ToolCall], wanted: list[reading.ToolCall]
    ) -> float:
        if not made and not wanted:
            return 1.0
        if not made or not wanted:
            return 0.0
        if not self.strict_order:
            made = sorted(made, key=_sort_key)
            wanted = sorted(wanted, key=_sort_key)
        if [call.name for call in made] != [call.name for call in wanted]:
            return 0.0
        pairs = zip(made, wanted, strict=True)
        shares = [_share(call.args, reference.args or {}) for call, reference in pairs]
        return math.fsum(shares) / len(wanted)


def _faults(made: list[reading.ToolCall]) -> str:
    """List the calls that have invalid arguments."""
    return "; ".join(call.fault for call in made if call.fault)


def _calls_of(row: Row) -> list[reading.ToolCall]:
    """Return the calls of the generated response, else of the conversation, else of a response."""
    is_generated = (
        row.sample_data is not row.item and row.sample_data.get("response") is not None
    )
    if not is_generated:
        spoken = _calls_in_conversation(row)
        if spoken is not None:
            return spoken
    response = response_of(row)
    if response is None:
        what = "no message of the agent in user_input"
        if row.item.get("user_input") is None:
            what = "no user_input"
        raise RowError("no-response", f"the row has {what}, and no response")
    return made_calls(message_of(response), "response")


def _calls_in_conversation(row: Row) -> list[reading.ToolCall] | None:
    """Return the calls of the agent's messages in ``user_input``; None without such a message."""
    messages = row.item.get("user_input")
    if isinstance(messages, str | None):
        return None
    if not isinstance(messages, list):
        raise reading.unexpected(
            "bad-user_input", "user_input", messages, "a list of messages"
        )
    is_spoken = False
    calls: list[reading.ToolCall] = []
    for at, message in enumerate(messages):
        if reading.speaker_of(message, at) == reading.AGENT:
            is_spoken = True
            calls += made_calls(message, f"user_input[{at}]")
    return calls if is_spoken else None


def _share(made: Mapping[str, object] | None, wanted: Mapping[str, object]) -> float:
    if made is None:
        return 0.0
    if not wanted:
        # arguments where there are to be none
        return float(not made)
    hits = 0
    for name, value in wanted.items():
        if name in made and _is_same(made[name], value):
            hits += 1
    return hits / len(wanted)


def _is_same(made: object, wanted: object) -> bool:
    """Check whether two values of an argument are written the same way."""
    return _text(made) == _text(wanted)


def _sort_key(call: reading.ToolCall) -> tuple[str, ...]:
    args = call.args or {}
    key = [call.name or ""]
    for name in sorted(args):
        key += [name, _text(args[name])]
    return tuple(key)


def _text(value: object) -> str:
    return str(_sorted_keys(value))


def _sorted_keys(value: object) -> object:
    """Sort the keys of all objects: JSON's have no order."""
    if isinstance(value, dict):
        return {key: _sorted_keys(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted_keys(item) for item in value]
    return value


@dataclass(frozen=True, kw_only=True)
class ToolCallingSpec(NamedScores):
    """Compare the tool calls of a response with a reference, as multisets.

    ``function_name_accuracy`` is 1 where the names are the same, each as often, and 0
    otherwise; ``function_name_and_args_accuracy`` is 1 where the calls can be paired so that
    names and arguments are equal as JSON: 1 is 1.0, and neither true nor "1". A dot in a name is
    an underscore.
    """

    type: Annotated[
        Literal["tool-calling", "tool_calling"],
        doc("the tool calls of a response against a reference, in any order"),
    ]
    own_names = ("function_name_accuracy", "function_name_and_args_accuracy")
    strictest = "function_name_and_args_accuracy"
    reference: Annotated[
        TemplateText, doc("template of a list of tool calls, such as {{tool_calls}}")
    ]

    def make(self, _terms: Terms) -> Callable[[Row], Explained]:
        """Make the function that scores a row."""
        reference = compile_templates(self.reference, f"the scorer {self.type}")
        names = self.score_names

        def score(row: Row) -> Explained:
            wanted = wanted_calls(reference(row.context), "the reference")
            response = response_of(row)
            if response is None:
                raise RowError("no-response", "the row has no response")
            made = [
                call
                for call in made_calls(message_of(response), "response")
                if call.name
            ]
            same = Counter(map(_plain_name, made)) == Counter(map(_plain_name, wanted))
            whole = same and _can_be_paired(made, wanted)
            scores = dict(zip(names, (float(same), float(whole)), strict=True))
            return Explained(scores, _faults(made))

        return score


def _plain_name(call: reading.ToolCall) -> str:
    return (call.name or "").replace(".", "_")


def _can_be_paired(
    made: list[reading.ToolCall], wanted: list[reading.ToolCall]
) -> bool:
    """Check that wanted and actual calls, equally many of each name, can be matched one to one."""
    left: defaultdict[str, list[object]] = defaultdict(list)
    for call in made:
        left[_plain_name(call)].append(call.args)
    for call in wanted:
        candidates = left[_plain_name(call)]
        for place, args in enumerate(candidates):
            if _same_json(args, call.args):
                del candidates[place]  # equal arguments are interchangeable
                break
        else:
            return False
    return True


def _same_json(one: object, other: object) -> bool:
    """Compare two values as JSON: a boolean is no number, at any depth."""
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return False
        return all(_same_json(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same_json, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, str) and isinstance(other, str):
        return _composed(one) == _composed(other)
    return bool(one == other)


def _composed(text: str) -> str:
    """Write a letter and its accents as one character, however a model spells them."""
    return unicodedata.normalize("NFC", text)
