"""``agent_goal_accuracy``: whether a conversation ends as the user wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.registry import register_scorer
from pytest_evalmetrics.scorers.conversations import conversation_of, text_in
from pytest_evalmetrics.scorers.judges import OneJudge, field_of, reasoning_of, unusable
from pytest_evalmetrics.scorers.prompts import agent_goal_accuracy as prompts
from pytest_evalmetrics.scorers.protocol import Explained

if TYPE_CHECKING:
    from pytest_evalmetrics.chat import Reply
    from pytest_evalmetrics.scorers.calls import Calls
    from pytest_evalmetrics.scorers.protocol import Row, Terms
    from pytest_evalmetrics.spec import AgentGoalAccuracySpec

__all__ = ["AgentGoalAccuracy"]


@register_scorer("agent_goal_accuracy")
class AgentGoalAccuracy(OneJudge):
    """1 where what was wanted came out, else 0.

    One call finds the user's goal and how the conversation ends; another one compares that
    end with the row's ``reference``, or without one with the goal.
    """

    def __init__(self, spec: AgentGoalAccuracySpec, terms: Terms) -> None:
        super().__init__(spec, terms, "agent-goal-accuracy", prompts.VERSION)
        self._with_reference = spec.use_reference

    async def score(self, row: Row, calls: Calls) -> Explained:
        """Score one row."""
        reference = text_in(row, "reference") if self._with_reference else None
        asked = prompts.ask_for_outcome(conversation_of(row))
        goal, end = await self._judge.ask(calls, asked, _outcome, prompts.OUTCOME)
        asked = prompts.ask_for_verdict(goal if reference is None else reference, end)
        verdict, why = await self._judge.ask(calls, asked, _verdict, prompts.VERDICT)
        return Explained(float(verdict), f"goal: {goal}; end: {end}; {why}".rstrip("; "))


def _outcome(reply: Reply) -> tuple[str, str]:
    goal = field_of(reply, "user_goal", str, "text").strip()
    end = field_of(reply, "end_state", str, "text").strip()
    if not goal or not end:
        raise unusable("end_state" if goal else "user_goal", "", "text that is not empty")
    return goal, end


def _verdict(reply: Reply) -> tuple[int, str]:
    found = field_of(reply, "verdict", int, "0 or 1")
    if found not in (0, 1):
        raise unusable("verdict", found, "0 or 1")
    return found, reasoning_of(reply)
