"""``tool_call_accuracy``: the right tools, in the right order, with the right arguments."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.registry import register_scorer
from pytest_evalmetrics.scorers.conversations import AGENT, speaker_of
from pytest_evalmetrics.scorers.protocol import Explained
from pytest_evalmetrics.scorers.reading import shown
from pytest_evalmetrics.scorers.responses import response_of, tool_calls_of
from pytest_evalmetrics.scorers.tool_calls import ToolCall, made_calls, wanted_calls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.scorers.protocol import Row, Terms
    from pytest_evalmetrics.spec import ToolCallAccuracySpec

__all__ = ["ToolCallAccuracy"]

_REFERENCE = "reference_tool_calls"


@register_scorer("tool_call_accuracy")
class ToolCallAccuracy:
    """Compares an agent's tool calls with ``reference_tool_calls``.

    Parameters
    ----------
    spec
        What the benchmark file says.
    terms
        Not needed: nothing is called.

    Notes
    -----
    1 where there are no calls on both sides, 0 where there are on one. Else 0 unless the
    names are the same in the same order (``strict_order: false``: after sorting both sides);
    then the mean over the reference's calls of the share of its arguments whose text is the
    same in the call at that place. Arguments that the reference doesn't have cost nothing,
    except where it has none at all. The formula of ``ToolCallAccuracy`` in RAGAS 0.4.
    """

    def __init__(self, spec: ToolCallAccuracySpec, terms: Terms) -> None:
        del terms
        self.scores = spec.score_names
        self._strict = spec.strict_order

    def score(self, row: Row) -> float | Explained:
        """Score one row."""
        if _REFERENCE not in row.item:
            raise RowError("no-reference", f"the row has no {_REFERENCE}")
        wanted = wanted_calls(row.item[_REFERENCE], _REFERENCE)
        made = _made(row)
        value = self._compared(made, wanted)
        faults = [call.fault for call in made if call.fault]
        return Explained(value, "; ".join(faults)) if faults else value

    def _compared(self, made: list[ToolCall], wanted: list[ToolCall]) -> float:
        if not made or not wanted:
            return 0.0 if made or wanted else 1.0
        if len(made) != len(wanted):
            return 0.0
        if not self._strict:
            made, wanted = sorted(made, key=_order), sorted(wanted, key=_order)
        pairs = list(zip(made, wanted, strict=True))
        if any(one.name != other.name for one, other in pairs):
            return 0.0
        return math.fsum(_share(one.args, other.args or {}) for one, other in pairs) / len(wanted)


def _made(row: Row) -> list[ToolCall]:
    """Find the calls: of what was generated, else of the conversation, else of a response."""
    if row.sample_data is not row.item and row.sample_data.get("response") is not None:
        return _of_response(row.sample_data["response"])
    said = row.item.get("user_input")
    if isinstance(said, list):
        found = _of_conversation(said)
        if found is not None:
            return found
    elif said is not None and not isinstance(said, str):
        raise RowError(
            "bad-conversation", f"user_input is {shown(said)}, expected a list of messages"
        )
    response = response_of(row)
    if response is None:
        what = "no user_input" if said is None else "no message of the agent in user_input"
        raise RowError("no-response", f"the row has {what}, and no response")
    return _of_response(response)


def _of_response(response: Any) -> list[ToolCall]:
    return _named(made_calls(tool_calls_of(response), "response.tool_calls"))


def _of_conversation(messages: list[Any]) -> list[ToolCall] | None:
    """Join the calls of the agent's messages; None where there is no such message."""
    calls: list[ToolCall] = []
    spoke = False
    for at, message in enumerate(messages):
        if speaker_of(message, f"user_input[{at}]", "bad-conversation") != AGENT:
            continue
        spoke = True
        found = message.get("tool_calls")
        if isinstance(found, list):
            calls += made_calls(found, f"user_input[{at}].tool_calls")
        elif found is not None:
            raise RowError(
                "bad-conversation",
                f"user_input[{at}].tool_calls is {shown(found)}, expected a list",
            )
    return _named(calls) if spoke else None


def _named(calls: list[ToolCall]) -> list[ToolCall]:
    for at, call in enumerate(calls):
        if call.name is None:
            raise RowError("bad-call", f"the agent's tool call {at + 1} has no name")
    return calls


def _share(made: Mapping[str, Any] | None, wanted: Mapping[str, Any]) -> float:
    if made is None:
        return 0.0
    if not wanted:
        return 0.0 if made else 1.0
    hits = 0
    for name, value in wanted.items():
        if name in made:
            found = made[name]
            both_texts = type(found) is str and type(value) is str
            hits += found == value if both_texts else _text(found) == _text(value)
    return hits / len(wanted)


def _order(call: ToolCall) -> tuple[str, ...]:
    args = call.args or {}
    return (call.name or "", *(part for key in sorted(args) for part in (key, _text(args[key]))))


def _text(value: Any) -> str:
    return str(_sorted(value) if isinstance(value, dict | list) else value)


def _sorted(value: Any) -> Any:
    """Give objects with their keys in one order: JSON's have none."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value
