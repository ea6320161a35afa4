"""Answers of the Responses API and of Anthropic's messages, in the words of chat completions."""

import pytest

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.scoring.chat.replies import read_reply, text_of


def responses(*items, **body):
    return {"output": list(items), "status": "completed", **body}


def said(*parts):
    return {"type": "message", "content": list(parts)}


def messages(*blocks, stop_reason="end_turn"):
    return {"type": "message", "content": list(blocks), "stop_reason": stop_reason}


TEXT = {"type": "output_text", "text": "4"}
CALL = {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}
CALLED = {
    "id": "1",
    "type": "function",
    "function": {"name": "f", "arguments": "{}"},
}


def test_the_responses_api_calls_a_tool():
    reply = read_reply(responses(CALL))
    assert (reply.text, reply.tool_calls) == ("", (CALLED,))


def test_the_responses_api_sets_reasoning_apart():
    thought = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "short"}],
        "content": [{"type": "reasoning_text", "text": "long"}],
    }
    reply = read_reply(responses(thought, said(TEXT)))
    assert (reply.text, reply.reasoning) == ("4", "short\nlong")


def test_the_texts_of_all_messages_of_a_response_are_one():
    reply = read_reply(responses(said(TEXT), said(TEXT, TEXT)))
    assert reply.text == "444"


def test_a_message_of_anthropics_is_read():
    thought = {"type": "thinking", "thinking": "why"}
    block = {"type": "text", "text": "4"}
    call = {"type": "tool_use", "id": "1", "name": "f", "input": {}}
    reply = read_reply(messages(thought, block, call, stop_reason="tool_use"))
    assert reply.text == "4"
    assert reply.reasoning == "why"
    assert reply.message == {
        "role": "assistant",
        "content": "4",
        "tool_calls": [CALLED],
        "reasoning_content": "why",
    }
    assert reply.tool_calls == (CALLED,)
    assert reply.finish_reason == "tool_calls"


def test_an_empty_message_that_is_complete_is_an_empty_answer():
    assert read_reply(messages()).text == ""


REASONED = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (responses(status="failed"), "failed-answer", "holds an error: .failed."),
        (responses(status="cancelled"), "failed-answer", "holds an error: .cancelled."),
        (responses(error={"code": "x"}), "failed-answer", "holds an error"),
        (responses(), "no-text", "no text and no tool calls"),
        (responses(REASONED), "no-answer", "gave reasoning and no answer: .hm."),
        (
            responses(said({"type": "refusal", "refusal": "I won't"})),
            "refusal",
            "the model refused",
        ),
        ({"type": "message"}, "no-message", "the answer has no content"),
        (messages(stop_reason="refusal"), "refusal", "stop_reason: refusal"),
        (messages(stop_reason="max_tokens"), "cut-off", "as many tokens as it may"),
        (messages(stop_reason="SAFETY"), "filtered", "content filter"),
        (
            {"choices": [{"message": {"content": "a"}, "finish_reason": "abort"}]},
            "failed-answer",
            "holds an error",
        ),
        (
            {"choices": [{"message": {"content": "a"}}, {"message": None}]},
            "several-answers",
            "2 answers to one question",
        ),
    ],
)
def test_a_body_without_an_answer_says_why(body, kind, words):
    with pytest.raises(RowError, match=words) as raised:
        read_reply(body)
    assert raised.value.kind == kind


@pytest.mark.parametrize(
    ("reason", "read"),
    [
        ("stop", "stop"),
        ("STOP", "stop"),
        ("stop_sequence", "stop"),
        ("model_length", "length"),
        ("function_call", "tool_calls"),
        ("eos", "eos"),
        (None, ""),
        (7, ""),
    ],
)
def test_reasons_to_stop_are_in_the_words_of_chat_completions(reason, read):
    choice = {"message": {"content": "4"}, "finish_reason": reason}
    assert read_reply({"choices": [choice]}).finish_reason == read


def test_parts_that_hold_reasoning_are_no_part_of_the_answer():
    parts = [
        {"type": "thinking", "thinking": "a"},
        {"type": "reasoning", "text": "b"},
        {"type": "text", "text": "4"},
    ]
    reply = read_reply({"choices": [{"message": {"content": parts}}]})
    assert (reply.text, reply.reasoning) == ("4", "b\na")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("4", "4"),
        ([{"text": "4"}], "4"),
        ([{"type": "input_text", "text": "4"}, {"type": "text", "text": 5}], "4"),
        ([{"type": "image_url"}], None),
        ([], None),
        (None, None),
        (4, None),
    ],
)
def test_the_text_of_a_content(content, text):
    assert text_of(content) == text


def test_an_answer_gives_its_tokens():
    body = responses(said(TEXT), usage={"input_tokens": 5, "output_tokens": 3})
    tokens = read_reply(body).tokens
    assert (tokens.prompt, tokens.completion, tokens.total) == (5, 3, 8)
    assert read_reply(responses(said(TEXT))).tokens is None
