"""What a server of the NeMo Agent Toolkit answers, and what it means."""

import asyncio

import pytest

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.ext import Row
from pytest_evalmetrics.scorers import Terms
from pytest_evalmetrics.scorers.remote_scorers import NatScorer, NatScorerSpec

SPEC = NatScorerSpec(
    type="nemo-agent-toolkit-remote", url="http://127.0.0.1:1/evaluate", evaluator_name="My eval/2"
)
ROW = Row(0, "agent", "a", 0, {"id": "a", "output_obj": "x"})


class Answers:
    """Answers every call alike, and keeps what it was asked."""

    def __init__(self, answer):
        self.answer = answer
        self.asked = []

    async def post(self, endpoint, body, *, check, **_):
        self.asked.append((endpoint.url, body))
        check(self.answer)
        return self.answer


def score(answer):
    return asyncio.run(NatScorer(SPEC, Terms()).score(ROW, Answers(answer)))


def result(value, reasoning=None, **more):
    return {"success": True, "result": {"score": value, "reasoning": reasoning}, **more}


def test_the_row_is_the_item_and_the_evaluator_names_the_score():
    calls = Answers(result(0.85, {"method": "cosine"}))
    scorer = NatScorer(SPEC, Terms())
    assert asyncio.run(scorer.score(ROW, calls)) == 0.85
    assert calls.asked == [
        ("http://127.0.0.1:1/evaluate", {"evaluator_name": "My eval/2", "item": ROW.item})
    ]
    assert scorer.scores == ("My_eval_2",)


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        (result(0.0), 0.0),
        (result(0.0, {"method": "cosine"}), 0.0),
        (result(0.0, {"error": None}), 0.0),
        (result(0.0, "The answer has an error in its second step."), 0.0),
        (result(0.0, "Errors abound in the answer."), 0.0),
        (result(0.5, {"error": "but a score"}), 0.5),
        (result("0.25"), 0.25),
        (result(True), 1.0),
        ({"result": {"score": 1}}, 1.0),
    ],
)
def test_scores(answer, value):
    assert score(answer) == value


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (result(0.0, {"error": "Evaluator error: no judge"}), "evaluator-crashed", "no judge"),
        (result(0, {"error": {"type": "KeyError"}}), "evaluator-crashed", "KeyError"),
        (result(0.0, "Evaluator error: 'x'"), "evaluator-crashed", "'x'"),
        (
            result(0.0, "Error in evaluator from parsing judge LLM response."),
            "evaluator-crashed",
            "",
        ),
        (result(0.0, "ValueError: no such key"), "evaluator-crashed", "no such key"),
        (result(0.0, "Traceback (most recent call last):\n"), "evaluator-crashed", "Traceback"),
        ({"success": False, "result": None, "error": "time is up"}, "not-successful", "time is up"),
        ({"success": False}, "not-successful", "no reason"),
        ({"success": True, "result": {"score": 0.5, "error": "cut"}}, "evaluator-crashed", "cut"),
        (result(None), "no-score", "null"),
        (result("n/a"), "no-number", "n/a"),
        (result([1]), "no-number", "[1]"),
        ({"success": True, "result": {}}, "no-score", "$.result.score"),
        ({"success": True, "result": None}, "no-score", "$.result.score"),
        ([1], "no-score", "no object"),
    ],
)
def test_failed_rows(answer, kind, said):
    with pytest.raises(RowError) as raised:
        score(answer)
    assert raised.value.kind == kind
    assert said in str(raised.value)
