"""What a person reads of a reply that is no answer."""

import pytest

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.ext import Reply, json_in, verdict_in
from pytest_evalmetrics.scoring.chat.replies import (
    final_answer,
    json_values,
    read_reply,
)


def body(content=None, finish="stop", **message):
    message = {"content": content, **message}
    return {"choices": [{"message": message, "finish_reason": finish}]}


def error_of(function, *args):
    with pytest.raises(RowError) as raised:
        function(*args)
    return raised.value


BODIES = [
    (
        body("", "length"),
        "cut-off",
        (
            "the model wrote as many tokens as it may and came to no answer "
            "(finish_reason: length)"
        ),
        "raise max_tokens",
    ),
    (
        body("", reasoning_content="why"),
        "no-answer",
        'the model gave reasoning and no answer: "why"',
        None,
    ),
    (
        body("<think>why</think> "),
        "no-answer",
        'the model gave reasoning and no answer: "<think>why</think> "',
        None,
    ),
    (
        body(None),
        "no-text",
        'the model gave no text and no tool calls: {"content": null}',
        None,
    ),
    (body("x", refusal="I can't"), "refusal", 'the model refused: "I can\'t"', None),
    (
        body("x", "content_filter"),
        "filtered",
        "the endpoint's content filter took the answer",
        None,
    ),
    ({"a": 1}, "no-choices", 'the answer has no choices: {"a": 1}', None),
    ([], "no-choices", "the answer has no choices: []", None),
    (
        {"choices": [{"message": {"content": "a"}}, {"message": {"content": "b"}}]},
        "several-answers",
        (
            'the model gave 2 answers to one question: [{"message": {"content": "a"}}, '
            '{"message": {"content": "b"}}]'
        ),
        "ask for one: num_samples, and judge_repeats of a judge, ask several times",
    ),
    (
        {"choices": [{"message": {"content": "a"}, "error": {"code": 502}}]},
        "failed-answer",
        'the answer holds an error: {"code": 502}',
        None,
    ),
    (
        {**body("a"), "error": "overloaded"},
        "failed-answer",
        'the answer holds an error: "overloaded"',
        None,
    ),
    (
        {"choices": [{"finish_reason": "abort"}]},
        "failed-answer",
        'the answer holds an error: {"finish_reason": "abort"}',
        None,
    ),
    (
        {"choices": [{"index": 0}]},
        "no-message",
        'the answer has no message: {"index": 0}',
        None,
    ),
    (
        {"choices": [{"message": "hi"}]},
        "no-message",
        'the answer has no message: {"message": "hi"}',
        None,
    ),
    (
        {"type": "message", "content": "hi"},
        "no-message",
        'the answer has no content: {"type": "message", "content": "hi"}',
        None,
    ),
    (
        body("x", tool_calls="f"),
        "bad-tool_calls",
        'the answer\'s tool_calls is "f", expected a list',
        None,
    ),
    (
        {"output": [], "status": "failed"},
        "failed-answer",
        'the answer holds an error: "failed"',
        None,
    ),
    (
        {"output": [], "error": {"code": "x"}, "status": "failed"},
        "failed-answer",
        'the answer holds an error: {"code": "x"}',
        None,
    ),
    (
        {"type": "message", "content": [], "stop_reason": "refusal"},
        "refusal",
        'the model refused: "stop_reason: refusal"',
        None,
    ),
    (
        {
            "type": "message",
            "content": [{"type": "text", "text": "I won't"}],
            "stop_reason": "refusal",
        },
        "refusal",
        'the model refused: "I won\'t"',
        None,
    ),
    (
        {
            "output": [
                {
                    "type": "message",
                    "content": [
                        {"type": "refusal", "refusal": "I"},
                        {"type": "refusal", "refusal": "won't"},
                    ],
                }
            ]
        },
        "refusal",
        'the model refused: "I won\'t"',
        None,
    ),
]


@pytest.mark.parametrize(
    ("answer", "kind", "message", "hint"), BODIES, ids=range(len(BODIES))
)
def test_a_body_without_an_answer(answer, kind, message, hint):
    error = error_of(read_reply, answer)
    assert (error.kind, error.message, error.hint) == (kind, message, hint)


JUDGED = [
    (
        Reply("It is", finish_reason="length"),
        "cut-off",
        (
            "the judge wrote as many tokens as it may, and its answer was cut off "
            '(finish_reason: length): "It is"'
        ),
        "raise max_tokens",
    ),
    (
        Reply("4", tool_calls=({"id": "1"},)),
        "tool-call",
        'the judge called a tool in place of an answer: [{"id": "1"}]',
        None,
    ),
    (
        Reply("<tool_call>f"),
        "tool-call",
        'the judge called a tool in place of an answer: "<tool_call>f"',
        None,
    ),
    (
        Reply("4<think>or"),
        "no-answer",
        'the judge\'s reasoning has no end, and no answer: "4<think>or"',
        None,
    ),
]


@pytest.mark.parametrize(
    ("reply", "kind", "message", "hint"), JUDGED, ids=range(len(JUDGED))
)
def test_a_judges_reply_without_an_answer(reply, kind, message, hint):
    error = error_of(final_answer, reply)
    assert (error.kind, error.message, error.hint) == (kind, message, hint)


def same(value):
    return value


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("four", "no-json", 'the model\'s answer holds no JSON object: "four"'),
        (
            '{"a": oops {"b": 1}}',
            "no-json",
            'the model\'s answer is not valid JSON: "{\\"a\\": oops {\\"b\\": 1}}"',
        ),
        (
            '{"a": 0} or {"a": 1}',
            "disagree",
            'the judge\'s answer says {"a": 0} and {"a": 1}: it is not clear which counts',
        ),
        (
            '{"a": [{"b": NaN}]}',
            "no-number",
            "the model's answer holds nan, no finite number",
        ),
        (
            '{"a": 1, "a": 2}',
            "duplicate-key",
            "the answer holds 'a' twice, with different values",
        ),
    ],
)
def test_a_text_without_a_verdict(text, kind, message):
    error = error_of(verdict_in, Reply(text), same)
    assert (error.kind, error.message) == (kind, message)


def test_an_earlier_object_of_another_form_is_no_second_answer():
    assert json_in(Reply('{"form": 0} is the form, {"a": 1}')) == {"a": 1}
    assert json_in(Reply('[{"a": 0}], {"a": 1}')) == {"a": 1}


# -- the JSON of a text ----------------------------------------------------------------------------


def values_of(text):
    return [(value.value, text[value.start : value.end]) for value in json_values(text)]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (' {"a": 1}\n', [({"a": 1}, ' {"a": 1}\n')]),
        ("5", [(5, "5")]),
        ('x {"a": 1} y', [({"a": 1}, '{"a": 1}')]),
        (
            '{"a": 1} [{"b": 2}]',
            [({"a": 1}, '{"a": 1}'), ([{"b": 2}], '[{"b": 2}]')],
        ),
        ('[1] {"a": 1}', [({"a": 1}, '{"a": 1}')]),
        ('{"a": {"b": 1}} x', [({"a": {"b": 1}}, '{"a": {"b": 1}}')]),
        ('{x} {"a": 1}', [({"a": 1}, '{"a": 1}')]),
        ('{{"a": 1}', [({"a": 1}, '{"a": 1}')]),
        # closed before the object begins
        ('{"a": oops} {"b": 1}', [({"b": 1}, '{"b": 1}')]),
        ("no JSON", []),
    ],
)
def test_the_json_of_a_text_with_its_places(text, values):
    assert values_of(text) == values


@pytest.mark.parametrize(
    "text", ['{ "a" oops {"b": 1}', '{\n\n   "a": x, "c": {"b": 1}}']
)
def test_an_object_in_one_that_is_broken_is_refused(text):
    assert error_of(json_values, text).kind == "no-json"


# -- reasoning -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "end_token", "finish", "text", "reasoning"),
    [
        ("a</r> b ", "</r>", "stop", "b", "a"),
        ("a</r>b</r>c", "</r>", "stop", "c", "a</r>b"),
        (" b ", "</r>", "stop", " b ", ""),
        ("a</r>b", None, "stop", "a</r>b", ""),
        ("a</r>b", "</r>", "length", "b", "a"),
    ],
)
def test_the_answer_follows_the_end_token(content, end_token, finish, text, reasoning):
    reply = read_reply(body(content, finish), end_token)
    assert (reply.text, reply.reasoning) == (text, reasoning)


def test_reasoning_before_the_end_token_follows_that_of_the_endpoint():
    reply = read_reply(body("b</r>c", reasoning="a"), "</r>")
    assert (reply.text, reply.reasoning) == ("c", "ab")


def test_a_reply_keeps_its_whole_message():
    reply = read_reply(body("a", annotations=[1]))
    assert reply.message == {"content": "a", "annotations": [1]}


def test_a_text_of_plain_completions_is_a_message_of_the_assistant():
    reply = read_reply({"choices": [{"text": "a"}]})
    assert reply.message == {"role": "assistant", "content": "a"}


def test_a_tool_call_beside_an_old_function_call_counts():
    call = {"id": "1"}
    reply = read_reply(body(None, tool_calls=[call], function_call={"name": "f"}))
    assert reply.tool_calls == (call,)


def test_an_empty_list_of_tool_calls_is_none():
    assert read_reply(body("a", tool_calls=[])).tool_calls == ()
