"""What a function gives in place of a model: the text, the tokens and the tools in it."""

import math

import pytest

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.ext import Reply
from pytest_evalmetrics.scoring.generation import Generated, as_json, read_answer
from pytest_evalmetrics.scoring.transport import Tokens

CALL = {"id": "1", "function": {"name": "f", "arguments": "{}"}}
BODY = {"choices": [{"message": {"content": "4"}, "finish_reason": "stop"}]}
USAGE = {"prompt_tokens": 5, "completion_tokens": 3}


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("4", "4"),
        ("", ""),
        ({"output": "4"}, "4"),
        ({"output": None, "text": "4"}, "4"),
        ({"output_text": "4", "output": "5"}, "4"),
        ({"response": "4"}, "4"),
        ({"role": "assistant", "content": "4"}, "4"),
        ({"tool_calls": [CALL]}, ""),
        (BODY, "4"),
        ({"response": BODY}, "4"),
    ],
)
def test_the_text_of_an_answer(answer, text):
    assert read_answer(answer, 0.5).reply.text == text


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (5, "the target gave 5, expected a text, a message, or a mapping with output"),
        (None, "the target gave None, expected a text"),
        ({"said": "4"}, "the keys said, expected the answer's text under output"),
        ({"output": 5}, "the target gave 5, expected the answer's text under output"),
        (
            {"output": " ", "reasoning": "hm"},
            "the target gave reasoning and no answer: 'hm'",
        ),
    ],
)
def test_what_is_no_answer_is_shown(answer, words):
    with pytest.raises(RowError) as raised:
        read_answer(answer, 0.5)
    assert raised.value.kind == "no-answer"
    assert words in raised.value.message


def test_what_an_answer_says_beside_its_text_is_kept():
    answer = {
        "output": "4",
        "reasoning": "why",
        "tool_calls": [CALL],
        "finish_reason": "stop",
        "usage": USAGE,
        "steps": 3,
    }
    generated = read_answer(answer, 0.5)
    reply = generated.reply
    assert (reply.reasoning, reply.finish_reason) == ("why", "stop")
    assert reply.tool_calls == (CALL,)
    assert (reply.tokens.prompt, reply.tokens.completion) == (5, 3)
    assert generated.more == {"steps": 3}
    assert generated.latency_s == 0.5


def test_an_answer_is_kept_as_chat_completions_write_it():
    generated = read_answer({"output": "4", "tool_calls": [CALL], "usage": USAGE}, 0.5)
    message = {"role": "assistant", "content": "4", "tool_calls": [CALL]}
    assert generated.response == {
        "choices": [{"index": 0, "message": message}],
        "usage": USAGE,
    }
    assert "usage" not in read_answer("4", 0.5).response


def test_a_whole_body_under_response_has_its_own_usage_or_that_beside_it():
    beside = read_answer({"response": BODY, "usage": USAGE, "steps": 3}, 0.5)
    assert beside.reply.tokens.prompt == 5
    assert beside.more == {"steps": 3}
    own = {"prompt_tokens": 7, "completion_tokens": 3}
    answer = {"response": {**BODY, "usage": own}, "usage": USAGE}
    assert read_answer(answer, 0.5).reply.tokens.prompt == 7


def test_templates_see_an_answer_as_a_sample():
    reply = Reply("4", reasoning="why", tool_calls=(CALL,), finish_reason="stop")
    generated = Generated(reply, BODY, 0.5, more={"steps": 3})
    assert generated.sample_data == {
        "steps": 3,
        "output_text": "4",
        "response": BODY,
        "reasoning": "why",
        "tool_calls": [CALL],
        "finish_reason": "stop",
    }


def test_what_an_answer_took_is_measured():
    reply = Reply("4", finish_reason="length", tokens=Tokens(5, 3, 8))
    assert Generated(reply, BODY, 0.5, cost=0.25).measured == {
        "input_tokens": 5.0,
        "output_tokens": 3.0,
        "total_tokens": 8.0,
        "latency_s": 0.5,
        "cost": 0.25,
        "truncated": 1.0,
    }


def test_what_an_answer_does_not_say_is_missing():
    measured = Generated(Reply("4", finish_reason="stop"), BODY, 0.5).measured
    missing = [name for name, value in measured.items() if math.isnan(value)]
    assert missing == ["input_tokens", "output_tokens", "total_tokens", "cost"]
    assert measured["truncated"] == 0.0


class Model:
    """A model of pydantic, such as an answer of the OpenAI client."""

    def model_dump(self, mode):
        return {"output": mode}


def test_an_answer_crosses_processes_as_json():
    assert as_json({"output": "4", "steps": [1, 2]}) == '{"output":"4","steps":[1,2]}'
    assert as_json(Model()) == '{"output":"json"}'


@pytest.mark.parametrize("value", [{1, 2}, float("nan"), object()])
def test_what_json_can_not_write_is_no_answer(value):
    with pytest.raises(RowError, match="that can't be written as JSON") as raised:
        as_json(value)
    assert raised.value.kind == "no-answer"
    assert "a mapping with output" in raised.value.hint
