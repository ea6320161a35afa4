"""``tool-calling``: the tools that a model called, in any order, and with which arguments."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.registry import register_scorer
from pytest_evalmetrics.scorers.protocol import Explained
from pytest_evalmetrics.scorers.responses import response_of, tool_calls_of
from pytest_evalmetrics.scorers.texts import compiled
from pytest_evalmetrics.scorers.tool_calls import ToolCall, made_calls, wanted_calls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.scorers.protocol import Row, Terms
    from pytest_evalmetrics.spec import ToolCallingSpec

__all__ = ["ToolCalling"]


@register_scorer("tool-calling")
class ToolCalling:
    """Compares the tool calls of a response with a reference, as multisets.

    ``function_name_accuracy`` is 1 where the names are the same, each as often, and 0
    otherwise; ``function_name_and_args_accuracy`` is 1 where the calls can be paired so that
    names and arguments are equal, as Python's ``==`` has it. A dot in a name is an underscore.
    """

    def __init__(self, spec: ToolCallingSpec, terms: Terms) -> None:
        del terms
        self.scores = spec.score_names
        self._reference = compiled(spec.reference, spec.type)

    def score(self, row: Row) -> Mapping[str, float] | Explained:
        """Score one row."""
        wanted = wanted_calls(self._reference(row.context), "the reference")
        response = response_of(row)
        if response is None:
            raise RowError("no-response", "the row has no response")
        made = [c for c in made_calls(tool_calls_of(response), "response.tool_calls") if c.name]
        same = Counter(map(_name, made)) == Counter(map(_name, wanted))
        whole = same and _paired(made, wanted)
        scores = dict(zip(self.scores, (float(same), float(whole)), strict=True))
        faults = [call.fault for call in made if call.fault]
        return Explained(scores, "; ".join(faults)) if faults else scores


def _name(call: ToolCall) -> str:
    return (call.name or "").replace(".", "_")


def _paired(made: list[ToolCall], wanted: list[ToolCall]) -> bool:
    """Whether each wanted call finds one of its own; there are as many of each name."""
    left: dict[str, list[Any]] = {}
    for call in made:
        left.setdefault(_name(call), []).append(call.args)
    for call in wanted:
        candidates = left[_name(call)]
        if call.args not in candidates:
            return False
        candidates.remove(call.args)  # what equals it equals each other: any of them will do
    return True
