"""Whether a response says what the reference says: two ratings, each way round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from judge_process import TERMS, judged, row

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.scorers import Row
from pytest_evalmetrics.scorers.judge_scorers import AnswerAccuracy, AnswerAccuracySpec
from pytest_evalmetrics.transport import CallError

if TYPE_CHECKING:
    from judge_process import JudgeProcess


def scorer(judge_server: JudgeProcess, query: str = "", **more: Any) -> AnswerAccuracy:
    spec = AnswerAccuracySpec(type="answer_accuracy", judge_model=judge_server.model(query, **more))
    return AnswerAccuracy(spec, TERMS)


@pytest.mark.parametrize(("first", "second", "expected"), [(4, 2, 0.75), (0, 4, 0.5), (0, 0, 0)])
def test_the_mean_of_two_ratings(
    judge_server: JudgeProcess, first: int, second: int, expected: float
) -> None:
    made = scorer(judge_server)
    assert made.scores == ("nv_accuracy",)
    found = row(
        user_input="Where?", response=f"[[rating: {first}]]", reference=f"[[rating: {second}]]"
    )
    explained = judged(made, found)
    assert (explained.scores, explained.reason) == (expected, f"{first}: rated; {second}: rated")
    assert judge_server.posts == 2


def test_what_was_generated_comes_before_a_recorded_response(judge_server: JudgeProcess) -> None:
    item = {"user_input": "?", "response": "[[rating: 0]]", "reference": "[[rating: 4]]"}
    found = Row(0, "a", 0, 0, item, {"output_text": "[[rating: 4]]"})
    assert judged(scorer(judge_server), found).scores == 1


@pytest.mark.parametrize("rating", [1, 3, 5, -1])
def test_a_rating_that_was_not_offered_is_no_rating(
    judge_server: JudgeProcess, rating: int
) -> None:
    found = row(user_input="?", response=f"[[rating: {rating}]]", reference="[[rating: 4]]")
    with pytest.raises((RowError, CallError), match="expected 0, 2 or 4") as raised:
        judged(scorer(judge_server), found)
    assert raised.value.kind == "bad-answer"  # the other rating alone is no score
    assert judge_server.posts == 3


@pytest.mark.parametrize("lacks", ["user_input", "response", "reference"])
def test_what_a_row_needs(judge_server: JudgeProcess, lacks: str) -> None:
    item = {"user_input": "?", "response": "a", "reference": "b"}
    with pytest.raises(RowError, match=f"the row has no {lacks}"):
        judged(scorer(judge_server), row(**{**item, lacks: None}))
    assert judge_server.posts == 0
