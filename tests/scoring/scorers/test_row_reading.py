"""Numbers, texts and conversations in rows: what is read, and what is refused in clear words."""

import numpy as np
import pytest
from scoring.scorers.offline import recorded, row

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.scoring.scorers.row_reading import (
    as_number,
    column_of,
    conversation_of,
    is_number,
    message_of,
    speaker_of,
    text_in,
    wanted_calls,
    within,
)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (0.25, 0.25),
        ("0.25", 0.25),
        (" -1e3 ", -1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        (True, 1.0),
        (np.float32(0.5), 0.5),
        (10**20, 1e20),
    ],
)
def test_a_number_is_read_as_people_write_it(value, number):
    assert as_number(value, "the score") == number


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("nan", 'the score is "nan", expected a finite number'),
        ("1_0", 'the score is "1_0", expected a finite number'),
        ("1e999", 'the score is "1e999", expected a finite number'),
        ("", 'the score is "", expected a finite number'),
        (float("inf"), "expected a finite number"),
        (10**400, "expected a finite number"),
        ([1], "the score is [1], expected a finite number"),
    ],
)
def test_what_is_no_number_is_shown(value, words):
    with pytest.raises(RowError) as raised:
        as_number(value, "the score")
    assert raised.value.kind == "no-number"
    assert words in raised.value.message


def test_a_null_is_no_score():
    with pytest.raises(RowError, match="the score is null") as raised:
        as_number(None, "the score")
    assert raised.value.kind == "no-score"


@pytest.mark.parametrize("text", ["1.2.3", "5%", "five", "٣", "--1", "1e", "."])
def test_these_texts_are_no_number(text):
    assert not is_number(text)


@pytest.mark.parametrize(
    ("low", "high"), [(None, None), (1, None), (None, 1), (1, 1), (0.5, 2)]
)
def test_a_number_on_or_within_its_bounds_is_kept(low, high):
    assert within("s", 1.0, low, high) == 1.0


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (4, None, "s is 3, expected at least 4"),
        (None, 2, "s is 3, expected at most 2"),
        (1, 2, "s is 3, expected at least 1 and at most 2"),
    ],
)
def test_a_number_out_of_its_bounds_names_them(low, high, words):
    with pytest.raises(RowError) as raised:
        within("s", 3.0, low, high)
    assert (raised.value.kind, raised.value.message) == ("out-of-range", words)


@pytest.mark.parametrize("item", [{}, {"topic": None}])
def test_a_column_that_is_missing_is_named(item):
    with pytest.raises(RowError, match="the row has no topic") as raised:
        column_of(row(item), "topic")
    assert raised.value.kind == "no-topic"


def test_a_column_that_has_to_be_text():
    assert text_in(row({"topic": "sun"}), "topic") == "sun"
    with pytest.raises(RowError, match="topic is 5, expected text") as raised:
        text_in(row({"topic": 5}), "topic")
    assert raised.value.kind == "bad-topic"


@pytest.mark.parametrize(
    ("response", "words"),
    [
        ("text", "the response is"),
        ({"other": 1}, "the response is"),
        ({"choices": []}, "response.choices is"),
        ({"choices": [{"text": "x"}]}, "response.choices is"),
        ({"output": "x"}, "response.output is"),
        ({"output": ["x"]}, "response.output is"),
        ({"output": [{"type": "message", "content": 5}]}, "the content of a message"),
    ],
)
def test_what_is_no_response_is_shown(response, words):
    with pytest.raises(RowError) as raised:
        message_of(response)
    assert raised.value.kind == "bad-response"
    assert raised.value.message.startswith(words)


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("no JSON", "the reference is text that is not JSON"),
        ('[{"name": "f", "name": "g", "args": {}}]', "the key 'name' occurs twice"),
        ('[{"name": "f", "args": {"x": NaN}}]', "NaN is not JSON"),
        ("[" * 100_000, "nested too deep"),
        ({"name": "f"}, "expected a list of tool calls"),
        ([{"name": "f"}], "the reference[0] is"),
        ([{"args": {}}], "the reference[0] is"),
        ([{"name": "f", "args": "x"}], "the reference[0]: the arguments of 'f' are"),
    ],
    ids=range(8),
)
def test_what_is_no_list_of_wanted_calls_says_why(reference, words):
    with pytest.raises(RowError) as raised:
        wanted_calls(reference, "the reference")
    assert raised.value.kind == "bad-reference"
    assert words in raised.value.message


# -- conversations -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "speaker"),
    [
        ({"type": "human"}, "User"),
        ({"role": "user"}, "User"),
        ({"type": "message", "role": "assistant"}, "Agent"),
        ({"type": "ai"}, "Agent"),
        ({"role": "tool"}, "Tool result"),
        ({"role": "function"}, "Tool result"),
        ({"role": "developer"}, "System"),
    ],
)
def test_who_speaks(message, speaker):
    assert speaker_of(message, 0) == speaker


@pytest.mark.parametrize("message", [{"role": "judge"}, {"role": 5}, {}, "hi"])
def test_a_message_of_nobody_is_refused_with_its_place(message):
    with pytest.raises(RowError, match=r"user_input\[3\] is .*, expected a message"):
        speaker_of(message, 3)


CALL = {"name": "look_up", "args": {"of": "sun"}}


def test_a_conversation_is_one_line_for_each_text_and_call():
    messages = [
        {"role": "user", "content": "How far?"},
        {"role": "assistant", "content": "I look.", "tool_calls": [CALL]},
        {"role": "tool", "content": "1 au"},
        {"role": "assistant", "content": ""},
    ]
    assert conversation_of(recorded({"user_input": messages})) == [
        {"from": "User", "text": "How far?"},
        {"from": "Agent", "text": "I look."},
        {"from": "Agent", "calls": "look_up", "arguments": {"of": "sun"}},
        {"from": "Tool result", "text": "1 au"},
    ]


def test_arguments_that_are_none_are_shown_as_the_fault_they_are():
    call = {"name": "f", "args": "no JSON"}
    messages = [{"role": "assistant", "content": None, "tool_calls": [call]}]
    (line,) = conversation_of(recorded({"user_input": messages}))
    assert "they are no JSON" in line["arguments"]


def test_a_text_is_what_the_user_says_and_the_response_follows():
    lines = [{"from": "User", "text": "Hi"}, {"from": "Agent", "text": "Hello"}]
    item = {"user_input": "Hi", "response": "Hello"}
    assert conversation_of(recorded(item)) == lines
    assert conversation_of(recorded(item), answered=False) == lines[:1]
    assert conversation_of(recorded({"user_input": "Hi"})) == lines[:1]


def test_a_recorded_conversation_has_its_own_end():
    messages = [{"role": "user", "content": "Hi"}]
    item = {"user_input": messages, "response": "Hello"}
    assert conversation_of(recorded(item)) == [{"from": "User", "text": "Hi"}]


def test_what_was_generated_ends_a_conversation_of_a_data_set():
    messages = [{"role": "user", "content": "Hi"}]
    generated = row({"user_input": messages}, {"output_text": "Hello"})
    assert conversation_of(generated)[-1] == {"from": "Agent", "text": "Hello"}


@pytest.mark.parametrize("value", [[], 5, {"role": "user"}])
def test_what_is_no_conversation_is_shown(value):
    with pytest.raises(RowError, match="expected a list of messages, or text"):
        conversation_of(recorded({"user_input": value}))
