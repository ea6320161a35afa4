"""What a server of the NeMo Agent Toolkit answers, and what it means."""

import asyncio

import pytest
from scoring.scorers.offline import entry, make, row

from pytest_evalmetrics.errors import RowError

URL = "http://127.0.0.1:1/evaluate"
SCORER = make(
    entry(type="nemo-agent-toolkit-remote", url=URL, evaluator_name="My eval/2")
)
ITEM = {"id": "a", "output_obj": "x"}
CRASHED = "evaluator-crashed"


class Answers:
    """Answers every call alike."""

    def __init__(self, answer):
        self.answer = answer

    async def post(self, endpoint, body, *, kind, check):
        assert (endpoint.url, body) == (
            URL,
            {"evaluator_name": "My eval/2", "item": ITEM},
        )
        # a part of the key under which paid answers are kept
        assert kind == "nemo-agent-toolkit-remote/1"
        check(self.answer)
        return self.answer


def score(answer):
    return asyncio.run(SCORER.score_with(row(ITEM), Answers(answer))).scores


def result(value, reasoning=None):
    return {"success": True, "result": {"score": value, "reasoning": reasoning}}


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        (result(0.0), 0.0),
        (result(0.0, {"method": "cosine"}), 0.0),
        (result(0.0, {"error": None}), 0.0),
        (result(0.0, "The answer has an error in its second step."), 0.0),
        (result(0.5, {"error": "but a score"}), 0.5),
        (result("0.25"), 0.25),
        (result(True), 1.0),
        ({"result": {"score": 1}}, 1.0),
    ],
)
def test_the_row_is_the_item_and_the_evaluator_names_the_score(answer, value):
    assert score(answer) == {"My_eval_2": value}


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (result(0.0, {"error": "Evaluator error: no judge"}), CRASHED, "no judge"),
        (result(0, {"error": {"type": "KeyError"}}), CRASHED, "KeyError"),
        (result(0.0, "Evaluator error: 'x'"), CRASHED, "'x'"),
        (
            result(0.0, "Error in evaluator from parsing judge LLM response."),
            CRASHED,
            "",
        ),
        (result(0.0, "ValueError: no such key"), CRASHED, "no such key"),
        (result(0.0, "Traceback (most recent call last):\n"), CRASHED, "Traceback"),
        (
            {"success": False, "result": None, "error": "time is up"},
            "not-successful",
            "time is up",
        ),
        ({"success": False}, "not-successful", "no reason"),
        ({"success": True, "result": {"score": 0.5, "error": "cut"}}, CRASHED, "cut"),
        (result(0.0) | {"error": "time is up"}, "not-successful", "time is up"),
        (result(None), "no-score", "null"),
        (result("n/a"), "no-number", "n/a"),
        (result([1]), "no-number", "[1]"),
        ({"success": True, "result": {}}, "no-score", "$.result.score"),
        ({"success": True, "result": None}, "no-score", "$.result.score"),
        ([1], "no-score", "not an object"),
    ],
)
def test_failed_rows(answer, kind, message):
    with pytest.raises(RowError) as raised:
        score(answer)
    assert raised.value.kind == kind
    assert message in str(raised.value)
