"""What a model said: the answer, its reasoning, the JSON in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.ext import Reply, json_in
from pytest_evalmetrics.scoring.chat.replies import read_reply


def body(content=None, finish="stop", **message):
    return {
        "choices": [
            {"message": {"content": content, **message}, "finish_reason": finish}
        ]
    }


def test_the_answer_is_what_follows_the_last_end_token():
    reply = read_reply(body("<think>a</think>b</think>\n c "), "</think>")
    assert (reply.text, reply.reasoning) == ("c", "<think>a</think>b")
    assert read_reply(body("no thoughts"), "</think>").text == "no thoughts"
    assert read_reply(body("x", reasoning_content="why")).reasoning == "why"


def test_parts_are_joined_and_plain_completions_read():
    parts = [
        {"type": "text", "text": "a"},
        {"type": "image"},
        {"type": "text", "text": "b"},
    ]
    assert read_reply(body(parts)).text == "ab"
    assert read_reply({"choices": [{"text": "c", "finish_reason": "stop"}]}).text == "c"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (None, "no-choices"),
        ({"choices": []}, "no-choices"),
        ({"choices": ["x"]}, "no-choices"),
        ({"choices": [{}]}, "no-message"),
        (body(None), "no-text"),
        (body("no", refusal="I can't"), "refusal"),
        (body("no", tool_calls=5), "bad-tool_calls"),
        (body("no", tool_calls={"name": "f"}), "bad-tool_calls"),
        (body("no", "content_filter"), "filtered"),
        (body("", "length"), "cut-off"),
        (body("", reasoning_content="why"), "no-answer"),
        (body("<think>why</think>"), "no-answer"),
        (body("<think>why"), "no-answer"),
        (body("<think>and on", "length"), "cut-off"),
        (body("", "error"), "failed-answer"),
        (
            {"choices": [{"message": {"content": "a"}, "error": {"code": 502}}]},
            "failed-answer",
        ),
        ({**body("a"), "error": {"message": "overloaded"}}, "failed-answer"),
    ],
)
def test_what_is_no_answer(answer, kind):
    with pytest.raises(RowError) as raised:
        read_reply(answer, "</think>")
    assert raised.value.kind == kind


def test_calls_of_tools_are_an_answer():
    reply = read_reply(body(None, "tool_calls", tool_calls=[{"id": "1"}, "x"]))
    assert (reply.text, reply.tool_calls, reply.finish_reason) == (
        "",
        ({"id": "1"},),
        "tool_calls",
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ('Sure:\n```json\n{"a": 1}\n```\nthere', {"a": 1}),
        ('Of {"b": 0} I say {"a": {"b": 1}}.', {"a": {"b": 1}}),
        ("4", 4),
        ('a { b {"c": 1}', {"c": 1}),
    ],
)
def test_json_is_extracted(text, expected):
    assert json_in(Reply(text)) == expected


@pytest.mark.parametrize("text", ["", "four", '{"a": 1', "{" * 5000, '{"a":' * 3000])
def test_text_without_json(text):
    with pytest.raises(RowError) as raised:
        json_in(Reply(text))
    assert raised.value.kind == "no-json"


def test_two_objects_of_one_form_are_no_json():
    with pytest.raises(RowError) as raised:
        json_in(Reply('First {"a": 0}, or rather {"a": 1}.'))
    assert raised.value.kind == "disagree"


@pytest.mark.parametrize(
    "text", ['{"a": NaN}', '{"a": [1, -Infinity]}', '{"a": 1e999}']
)
def test_no_number_that_is_not_finite_gets_in(text):
    with pytest.raises(RowError) as raised:
        json_in(Reply(text))
    assert raised.value.kind == "no-number"


@pytest.mark.parametrize("text", ['{"a": 1, "a": 5}', 'I say {"b": {"a": 1, "a": 5}}.'])
def test_no_key_has_two_values(text):
    with pytest.raises(RowError, match="'a' twice"):
        json_in(Reply(text))
    assert json_in(Reply(text.replace("5", "1"))) in ({"a": 1}, {"b": {"a": 1}})


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda c: st.lists(c, max_size=3),
)


@given(st.dictionaries(st.text(), _JSON, max_size=4), st.text(alphabet="ab \n"))
def test_an_object_is_extracted_from_any_chatter(value, chatter):
    import json  # the oracle

    assert json_in(Reply(chatter + json.dumps(value) + chatter)) == value


def outcome_of(text):
    try:
        json_in(read_reply(body(text)))
    except RowError:
        return "refused"
    return "read"


@given(st.text())
def test_any_text_is_read_or_refused(text):
    # any other error would end the run
    assert outcome_of(text) in ("read", "refused")


def test_several_answers_to_one_question_are_none():
    several = body("4")
    several["choices"] += body("2")["choices"]
    with pytest.raises(RowError, match="2 answers to one question") as raised:
        read_reply(several)
    assert raised.value.kind == "several-answers"


def test_the_same_answer_twice_is_one():
    several = body("4")
    several["choices"] += body("4")["choices"]
    assert read_reply(several).text == "4"


def test_a_call_in_the_old_form_is_a_call_of_a_tool():
    call = {"name": "look_up", "arguments": "{}"}
    reply = read_reply(body(None, "function_call", function_call=call))
    assert reply.tool_calls == ({"type": "function", "function": call},)


@pytest.mark.parametrize(
    ("said", "finish_reason"),
    [
        ({"status": "completed"}, "stop"),
        (
            {
                "status": "incomplete",
                "incomplete_details": {"reason": "max_output_tokens"},
            },
            "length",
        ),
    ],
)
def test_the_responses_api_says_why_a_model_stopped(said, finish_reason):
    content = [{"type": "output_text", "text": "4"}]
    reply = read_reply({"output": [{"type": "message", "content": content}], **said})
    assert (reply.text, reply.finish_reason) == ("4", finish_reason)


@pytest.mark.parametrize(
    "message",
    [
        {"reasoning_content": "why"},
        {"reasoning": "why"},
        {"reasoning_details": [{"type": "reasoning.text", "text": "why"}]},
        {"reasoning_details": [{"type": "reasoning.summary", "summary": "why"}]},
    ],
)
def test_reasoning_that_an_endpoint_sets_apart_is_no_part_of_the_answer(message):
    reply = read_reply(body("4", **message))
    assert (reply.text, reply.reasoning) == ("4", "why")


def test_an_answer_that_is_cut_off_says_what_to_raise():
    with pytest.raises(RowError) as raised:
        read_reply(body("", "length"))
    assert raised.value.hint == "raise max_tokens"
