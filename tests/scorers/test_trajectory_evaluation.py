"""Whether an agent went about it in a sensible way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from judge_process import TERMS, judged, row

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.scorers.judge_scorers import TrajectoryEvaluation, TrajectoryEvaluationSpec
from pytest_evalmetrics.transport import CallError

if TYPE_CHECKING:
    from judge_process import JudgeProcess

STEPS = [
    {"payload": {"event_type": "LLM_START", "name": "m"}},
    {
        "payload": {
            "event_type": "LLM_END",
            "name": "m",
            "data": {"input": "Question: ?", "output": "Action: search\n"},
        }
    },
    {"payload": {"event_type": "TOOL_END", "name": "search", "data": {"output": {"hits": [1]}}}},
]


def scorer(judge_server: JudgeProcess, query: str = "") -> TrajectoryEvaluation:
    spec = TrajectoryEvaluationSpec(
        type="trajectory-evaluation",
        judge_model=judge_server.model(query),
        trajectory_used_tools=("search", "clock"),
        trajectory_custom_tools={"search": "Finds\n  pages."},
    )
    return TrajectoryEvaluation(spec, TERMS)


def item(score: Any, **more: Any) -> dict[str, Any]:
    return {
        "question": f'What? [[say: {{"reasoning": "why", "score": {score}}}]]',
        "generated_answer": "That.",
        "answer": "This.",
        "intermediate_steps": STEPS,
        **more,
    }


@pytest.mark.parametrize(("grade", "expected"), [(1, 0), (2, 0.25), (3, 0.5), (5, 1)])
def test_grades_are_normalised(judge_server: JudgeProcess, grade: int, expected: float) -> None:
    found = judged(scorer(judge_server), row(**item(grade)))
    assert (found.scores, found.reason) == (expected, "why")
    assert judge_server.posts == 1


def test_the_judge_sees_tools_steps_and_answers(judge_server: JudgeProcess) -> None:
    judged(scorer(judge_server), row(**item(3)))
    asked = judge_server.bodies[0]["messages"][0]["content"]
    for part in (
        "- search: Finds pages.\n- clock\n",
        "1. The model m\ninput: Question: ?\noutput: Action: search\n2. The tool search\n",
        'output: {"hits": [1]}\n</steps>',
        "<final_answer>\nThat.\n",
        "<reference_answer>\nThis.\n",
    ):
        assert part in asked
    judge_server.forget()
    judged(scorer(judge_server), row(**item(3, answer=None)))
    assert "reference_answer" not in judge_server.bodies[0]["messages"][0]["content"]


@pytest.mark.parametrize("grade", ["3.5", "10", "0", '"great"', "null"])
def test_a_grade_that_was_not_offered_is_the_rows_error(
    judge_server: JudgeProcess, grade: str
) -> None:
    with pytest.raises((RowError, CallError), match="expected a whole number from 1 to 5"):
        judged(scorer(judge_server), row(**item(grade)))
    assert judge_server.posts == 2


@pytest.mark.parametrize(
    "more",
    [
        {"question": None},
        {"generated_answer": None},
        {"answer": 3},
        {"intermediate_steps": None},
        {"intermediate_steps": "x"},
        {"intermediate_steps": []},
        {"intermediate_steps": ["x"]},
        {"intermediate_steps": [{"payload": {"event_type": "LLM_START"}}]},
        {"intermediate_steps": [{"payload": {"event_type": "TOOL_END"}}]},
    ],
)
def test_a_row_that_can_not_be_judged_costs_nothing(
    judge_server: JudgeProcess, more: dict[str, Any]
) -> None:
    with pytest.raises(RowError):
        judged(scorer(judge_server), row(**item(3, **more)))
    assert judge_server.posts == 0
