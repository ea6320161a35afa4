"""Whether a conversation ends as the user wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from judge_process import TERMS, judged, row

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.scorers import Terms
from pytest_evalmetrics.scorers.judge_scorers import AgentGoalAccuracy, AgentGoalAccuracySpec
from pytest_evalmetrics.spec import ParamsSpec, ReasoningSpec

if TYPE_CHECKING:
    from judge_process import JudgeProcess


def scorer(
    judge_server: JudgeProcess, *, use_reference: bool = True, terms: Terms = TERMS
) -> AgentGoalAccuracy:
    spec = AgentGoalAccuracySpec(
        type="agent_goal_accuracy", use_reference=use_reference, judge_model=judge_server.model()
    )
    return AgentGoalAccuracy(spec, terms)


def conversation(goal: str, end: str) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": f"[[goal: {goal}]] [[end: {end}]]"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"function": {"name": "book", "arguments": '{"at": 8}'}}],
        },
        {"role": "tool", "content": [{"type": "text", "text": "booked"}]},
    ]


@pytest.mark.parametrize(
    ("use_reference", "reference", "expected"),
    [(True, "booked", 1), (True, "nothing", 0), (False, None, 0), (False, "booked", 0)],
)
def test_the_end_is_compared_with_what_was_wanted(
    judge_server: JudgeProcess, use_reference: bool, reference: str | None, expected: int
) -> None:
    found = row(user_input=conversation("a table", "booked"), reference=reference)
    explained = judged(scorer(judge_server, use_reference=use_reference), found)
    assert explained.scores == expected
    assert explained.reason == "goal: a table; end: booked; compared"
    assert judge_server.posts == 2
    asked = judge_server.bodies[0]["messages"][0]["content"]
    assert 'Agent calls book: {"at": 8}\nTool result: booked' in asked


def test_a_goal_that_was_reached_without_a_reference(judge_server: JudgeProcess) -> None:
    found = row(user_input=conversation("booked", "booked"))
    assert judged(scorer(judge_server, use_reference=False), found).scores == 1


def test_a_reference_is_needed_unless_it_is_not_used(judge_server: JudgeProcess) -> None:
    with pytest.raises(RowError, match="the row has no reference"):
        judged(scorer(judge_server), row(user_input=conversation("a", "b")))
    assert judge_server.posts == 0


def test_what_params_say_of_models_holds_for_judges(judge_server: JudgeProcess) -> None:
    params = ParamsSpec(
        system_prompt="detailed thinking on",
        reasoning=ReasoningSpec(end_token="</think>"),  # noqa: S106 - no password
        inference={"temperature": 0},
    )
    made = scorer(judge_server, terms=Terms(timeout_s=10, judging=params))
    found = row(user_input=conversation("a", "b"), reference="b")
    assert judged(made, found).scores == 1  # the judge thinks aloud, in JSON
    for body in judge_server.bodies:
        assert body["messages"][0] == {"role": "system", "content": "detailed thinking on"}
        assert set(body) == {"model", "messages", "temperature", "response_format"}
