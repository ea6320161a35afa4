"""``trajectory_evaluation``: whether an agent went about it in a sensible way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.layout import spaced
from pytest_evalmetrics.registry import register_scorer
from pytest_evalmetrics.scorers.conversations import column_of, text_in
from pytest_evalmetrics.scorers.judges import OneJudge, field_of, reasoning_of, unusable
from pytest_evalmetrics.scorers.prompts import trajectory_evaluation as prompts
from pytest_evalmetrics.scorers.protocol import Explained
from pytest_evalmetrics.scorers.reading import shown

if TYPE_CHECKING:
    from pytest_evalmetrics.chat import Reply
    from pytest_evalmetrics.scorers.calls import Calls
    from pytest_evalmetrics.scorers.protocol import Row, Terms
    from pytest_evalmetrics.spec import TrajectoryEvaluationSpec

__all__ = ["TrajectoryEvaluation"]

_KINDS = {"LLM_END": "The model", "TOOL_END": "The tool"}


@register_scorer("trajectory_evaluation")
@register_scorer("trajectory-evaluation")
class TrajectoryEvaluation(OneJudge):
    """Has a judge grade the steps of an agent of the NeMo Agent Toolkit, from 1 to 5.

    The score is (grade - 1) / 4.
    """

    def __init__(self, spec: TrajectoryEvaluationSpec, terms: Terms) -> None:
        super().__init__(spec, terms, "trajectory-evaluation", prompts.VERSION)
        told = spec.trajectory_custom_tools
        self._tools = "\n".join(
            f"- {name}: {' '.join(told[name].split())}" if told.get(name) else f"- {name}"
            for name in spec.trajectory_used_tools
        )

    async def score(self, row: Row, calls: Calls) -> Explained:
        """Score one row."""
        reference = row.item.get("answer")
        if reference is not None:
            reference = text_in(row, "answer")
        asked = prompts.ask_for_grade(
            text_in(row, "question"),
            self._tools,
            _steps(column_of(row, "intermediate_steps")),
            text_in(row, "generated_answer"),
            reference,
        )
        grade, why = await self._judge.ask(calls, asked, _grade, prompts.GRADE)
        return Explained((grade - 1) / 4, why)


def _steps(found: Any) -> str:
    """Write the steps that end a call of a model or a tool."""
    if not isinstance(found, list):
        raise _bad(f"is {shown(found)}, expected a list")
    steps: list[str] = []
    for at, step in enumerate(found):
        payload = step.get("payload") if isinstance(step, Mapping) else None
        if not isinstance(payload, Mapping) or "event_type" not in payload:
            raise _bad(f"[{at}] is {shown(step)}, expected payload.event_type")
        who = _KINDS.get(str(payload["event_type"]))
        if who is None:
            continue
        data = payload.get("data")
        if not isinstance(data, Mapping):
            raise _bad(f"[{at}].payload has no data: {shown(payload)}")
        named = f"{who} {payload['name']}" if payload.get("name") else who
        lines = [f"{key}: {_text(data[key])}" for key in ("input", "output") if key in data]
        steps.append("\n".join([f"{len(steps) + 1}. {named}", *lines]))
    if not steps:
        raise _bad("has no step that ends a call of a model (LLM_END) or a tool (TOOL_END)")
    return "\n".join(steps)


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else spaced(value)


def _bad(what: str) -> RowError:
    space = "" if what.startswith("[") else " "
    return RowError("bad-intermediate_steps", f"intermediate_steps{space}{what}")


def _grade(reply: Reply) -> tuple[int, str]:
    found = field_of(reply, "score", int, "a whole number from 1 to 5")
    if found not in prompts.GRADES:
        raise unusable("score", found, "a whole number from 1 to 5")
    return found, reasoning_of(reply)
