"""What a person reads of a row that can't be scored, whole, with the place of the fault."""

import pytest
from scoring.scorers.offline import recorded, row

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.scoring.scorers.row_reading import (
    AGENT,
    ToolCall,
    as_text,
    conversation_of,
    made_calls,
    message_of,
    response_in,
    response_of,
    text_in,
    wanted_calls,
    within,
)


def error_of(function, *args, **keys):
    with pytest.raises(RowError) as raised:
        function(*args, **keys)
    return raised.value


# -- texts and numbers -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "message", "hint"),
    [
        (
            5,
            "the candidate is 5, expected text",
            "a template can make one: {{ item.answer | string }}",
        ),
        (
            None,
            "the candidate is null, expected text",
            "where that is meant, a template says so: {{ ... | default('none') }}",
        ),
    ],
)
def test_a_value_that_is_no_text(value, message, hint):
    error = error_of(as_text, value, "the candidate")
    assert (error.kind, error.message, error.hint) == ("no-text", message, hint)


def test_a_column_that_is_no_text():
    error = error_of(text_in, row({"topic": [1]}), "topic")
    assert (error.kind, error.message) == ("bad-topic", "topic is [1], expected text")
    assert error.hint is None


def test_bounds_have_twelve_digits():
    error = error_of(within, "s", 1 / 3, 0.5, None)
    assert error.message == "s is 0.333333333333, expected at least 0.5"


# -- responses ---------------------------------------------------------------------------------------


def test_a_row_without_a_response_may_say_what_to_do():
    error = error_of(response_in, row({}), "say where the answer is")
    assert error.kind == "no-response"
    assert error.message == (
        "the row has no response, and nothing was generated for it"
    )
    assert error.hint == "say where the answer is"


@pytest.mark.parametrize(
    ("scored", "text"),
    [
        (row({"response": "a"}), "a"),
        (row({"response": "a"}, {"output_text": "b"}), "b"),
        (row({"response": "a"}, {"response": "b"}), "b"),
        (row({"response": "a"}, {"response": None}), "a"),
        (row({"response": "a"}, {"output_text": None, "response": "b"}), "b"),
        (row({}, {"output_text": ""}), ""),
        (recorded({"response": {"content": [{"text": "a"}, {"text": "b"}]}}), "ab"),
        (recorded({"response": {"content": [{"type": "image"}]}}), ""),
    ],
)
def test_the_text_of_a_response(scored, text):
    assert response_in(scored) == text


def test_the_response_itself_is_that_of_the_sample_or_of_the_row():
    assert response_of(row({"response": "a"}, {"response": "b"})) == "b"
    assert response_of(row({"response": "a"})) == "a"
    assert response_of(row({})) is None


MESSAGE = "choices[0].message, as in an answer of chat completions, or a message"


@pytest.mark.parametrize(
    ("response", "message"),
    [
        ("a", f'the response is "a", expected {MESSAGE}'),
        ({"x": 1}, f'the response is {{"x": 1}}, expected {MESSAGE}'),
        ({"choices": []}, f"response.choices is [], expected {MESSAGE}"),
        ({"choices": [1]}, f"response.choices is [1], expected {MESSAGE}"),
        ({"choices": {"a": 1}}, f'response.choices is {{"a": 1}}, expected {MESSAGE}'),
        ({"output": "a"}, 'response.output is "a", expected a list of items'),
        ({"output": [5]}, "response.output is [5], expected a list of items"),
    ],
)
def test_a_response_of_no_known_form(response, message):
    error = error_of(message_of, response)
    assert (error.kind, error.message) == ("bad-response", message)


def test_a_content_that_is_no_text():
    error = error_of(response_in, recorded({"response": {"content": 5}}))
    assert error.kind == "bad-response"
    assert error.message == "the content of a message is 5, expected text"


@pytest.mark.parametrize("key", ["role", "content", "tool_calls"])
def test_one_key_of_a_message_is_enough(key):
    assert message_of({key: "x"}) == {key: "x"}


def test_the_items_of_a_response_are_one_message():
    call = {"type": "function_call", "name": "f", "arguments": "{}"}
    items = [
        {"type": "message", "content": "a"},
        {"type": "reasoning", "content": "why"},
        call,
        {"type": "message", "content": [{"type": "output_text", "text": "b"}]},
    ]
    assert message_of({"output": items}) == {"content": "ab", "tool_calls": [call]}


# -- tool calls ----------------------------------------------------------------------------------------

FORMS = "{name, args} or {function: {name, arguments}}"


@pytest.mark.parametrize(
    ("call", "read"),
    [
        ({"name": "f", "args": {"x": 1}}, ToolCall("f", {"x": 1})),
        ({"name": "f", "arguments": '{"x": 1}'}, ToolCall("f", {"x": 1})),
        ({"function": {"name": "f", "arguments": "{}"}}, ToolCall("f", {})),
        ({"name": "f"}, ToolCall("f", {}, has_args=False)),
        ({"name": "f", "args": None}, ToolCall("f", {}, has_args=True)),
        ({"args": {}}, ToolCall(None, {})),
        (
            {"name": "f", "args": "x"},
            ToolCall(
                "f",
                None,
                "the arguments of 'f' are \"x\": they are no JSON: Expecting value: line 1 "
                "column 1 (char 0)",
            ),
        ),
        (
            {"name": "f", "args": "[1]"},
            ToolCall(
                "f",
                None,
                "the arguments of 'f' are \"[1]\": they are no JSON object",
            ),
        ),
        (
            {"name": "f", "arguments": [1]},
            ToolCall(
                "f", None, "the arguments of 'f' are [1]: they are no JSON object"
            ),
        ),
        (
            {"name": "f", "args": '{"x": Infinity}'},
            ToolCall(
                "f",
                None,
                'the arguments of \'f\' are "{\\"x\\": Infinity}": they are no JSON: '
                "Infinity is not JSON",
            ),
        ),
        (
            {"name": "f", "args": '{"x": 1, "y": 2, "y": 3}'},
            ToolCall(
                "f",
                None,
                'the arguments of \'f\' are "{\\"x\\": 1, \\"y\\": 2, \\"y\\": 3}": they are '
                "no JSON: the key 'y' occurs twice",
            ),
        ),
    ],
)
def test_a_call_of_a_model_is_read_with_its_fault(call, read):
    assert made_calls({"tool_calls": [call]}, "response") == [read]


@pytest.mark.parametrize("message", [{}, {"tool_calls": None}, {"tool_calls": []}])
def test_a_message_without_calls_has_none(message):
    assert made_calls(message, "response") == []


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        ("f", 'response.tool_calls is "f", expected a list'),
        (
            [{"name": "f"}, 3],
            f"response.tool_calls[1] is 3, expected a tool call: {FORMS}",
        ),
        ([{}], f"response.tool_calls[0] is {{}}, expected a tool call: {FORMS}"),
        (
            [{"name": 5, "args": {}}],
            (
                'response.tool_calls[0] is {"name": 5, "args": {}}, expected a tool call: '
                f"{FORMS}"
            ),
        ),
    ],
)
def test_what_is_no_call_is_named_by_its_place(calls, message):
    error = error_of(made_calls, {"tool_calls": calls}, "response")
    assert (error.kind, error.message) == ("bad-call", message)


WANTED = f"a call with name and arguments: {FORMS}"


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (5, "the reference is 5, expected a list of tool calls"),
        ('"f"', 'the reference is "f", expected a list of tool calls'),
        (
            "oops",
            (
                "the reference is text that is not JSON (Expecting value: line 1 column 1 "
                '(char 0)): "oops"'
            ),
        ),
        (
            [{"name": "f", "args": {}}, {"args": {}}],
            f'the reference[1] is {{"args": {{}}}}, expected {WANTED}',
        ),
        (
            [{"name": "f"}],
            f'the reference[0] is {{"name": "f"}}, expected {WANTED}',
        ),
        (
            [{"name": "f", "args": [1]}],
            "the reference[0]: the arguments of 'f' are [1]: they are no JSON object",
        ),
    ],
)
def test_what_is_no_reference_is_named_by_its_place(reference, message):
    error = error_of(wanted_calls, reference, "the reference")
    assert (error.kind, error.message) == ("bad-reference", message)


def test_a_reference_may_be_json_as_text():
    assert wanted_calls('[{"name": "f", "args": {"x": 1}}]', "x") == [
        ToolCall("f", {"x": 1})
    ]


# -- conversations -------------------------------------------------------------------------------------

USER = {"role": "user", "content": "Hi"}


@pytest.mark.parametrize(
    ("messages", "kind", "message"),
    [
        (
            [USER, {"role": "judge"}],
            "bad-user_input",
            (
                'user_input[1] is {"role": "judge"}, expected a message with a type (human, ai '
                "or tool) or a role (user, assistant, tool, system)"
            ),
        ),
        (
            [USER, {"role": "assistant", "tool_calls": "f"}],
            "bad-call",
            'user_input[1].tool_calls is "f", expected a list',
        ),
        (
            [{"role": "assistant", "tool_calls": [3]}],
            "bad-call",
            f"user_input[0].tool_calls[0] is 3, expected a tool call: {FORMS}",
        ),
        (
            5,
            "bad-user_input",
            "user_input is 5, expected a list of messages, or text",
        ),
    ],
)
def test_what_is_no_conversation_is_named_by_its_place(messages, kind, message):
    error = error_of(conversation_of, recorded({"user_input": messages}))
    assert (error.kind, error.message) == (kind, message)


def test_an_empty_answer_adds_no_line():
    item = {"user_input": "Hi", "response": ""}
    assert conversation_of(recorded(item)) == [{"from": "User", "text": "Hi"}]


def test_a_data_set_without_answers_ends_with_the_user():
    assert conversation_of(row({"user_input": [USER]})) == [
        {"from": "User", "text": "Hi"}
    ]


def test_a_text_with_a_response_of_the_data_set_ends_with_it():
    item = {"user_input": "Hi", "response": "Ho"}
    assert conversation_of(row(item))[-1] == {"from": AGENT, "text": "Ho"}
