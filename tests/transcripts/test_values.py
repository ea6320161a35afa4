"""Values that the dialects write in several ways, and the failures of tools."""

import pytest

from pytest_evalmetrics.transcripts.failures import (
    failed_status,
    failure_in_text,
    stated_failure,
)
from pytest_evalmetrics.transcripts.values import (
    decoded,
    first_text,
    json_text,
    normalised,
    plain_text,
    stop_reason,
    text,
)


def test_only_a_text_is_a_text():
    assert text("a") == "a"
    assert text(None) == text(3) == text(["a"]) == ""


@pytest.mark.parametrize(
    ("record", "found"),
    [
        ({"a": "x", "b": "y"}, "x"),
        ({"a": "", "b": "y"}, "y"),
        ({"a": 3, "b": "y"}, "y"),
        ({"b": None}, ""),
        ({}, ""),
    ],
)
def test_the_first_text_at_some_keys_counts(record, found):
    assert first_text(record, "a", "b") == found


def test_json_is_written_with_sorted_keys_and_no_spaces():
    assert json_text({"b": [1, "ä"], "a": None}) == '{"a":null,"b":[1,"ä"]}'


def test_what_json_can_not_hold_is_written_as_python_writes_it():
    assert json_text({1j: 2}) == "{1j: 2}"
    assert json_text([1j]) == '["1j"]'


@pytest.mark.parametrize(
    ("written", "value"),
    [('{"a": 1}', {"a": 1}), ("[1]", [1]), ("3", 3), ("x", "x"), ('{"a":', '{"a":')],
)
def test_text_that_is_json_is_parsed(written, value):
    assert decoded(written) == value


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"b": 1, "a": 2}, '{"a":2,"b":1}'),
        ('{"b": 1, "a": 2}', '{"a":2,"b":1}'),
        ("  ", "{}"),
        ("", "{}"),
        (None, "{}"),
        ([1], "[1]"),
        ("ls -la", "ls -la"),
        ('{"a": ', '{"a": '),
    ],
)
def test_arguments_are_written_in_one_way(arguments, shown):
    assert normalised(arguments) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a", "a"),
        (None, ""),
        (3, "3"),
        ([1, "a"], '[1,"a"]'),
        ([], "[]"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        ([{"type": "text", "text": "a"}, "b", None], "a\nb"),
        ([{"type": "text", "text": ""}, {"type": "text", "text": "b"}], "b"),
        ({"type": "text", "text": "a"}, "a"),
        ({"type": "x", "output_text": "a"}, "a"),
        ({"type": "x", "content": "a"}, "a"),
        ({"type": "x", "value": "a"}, "a"),
        ({"type": "x", "content": [{"text": "a"}]}, "a"),
        ({"text": "a"}, "a"),
        ({"text": "a", "id": 1}, '{"id":1,"text":"a"}'),
        ({"type": "image", "text": "a"}, ""),
        ({"type": "input_image", "text": "a"}, ""),
        ({"type": "image_url", "text": "a"}, ""),
        ({"json": {"b": 1, "a": 2}}, '{"a":2,"b":1}'),
        ({"json": {"a": 2}, "id": 1}, '{"id":1,"json":{"a":2}}'),
        ({"type": "x", "text": 3}, '{"text":3,"type":"x"}'),
    ],
)
def test_content_is_written_as_text(value, shown):
    assert plain_text(value) == shown


@pytest.mark.parametrize(("levels", "shown"), [(4, "a"), (5, "")])
def test_text_is_found_as_deep_as_content_goes(levels, shown):
    value = "a"
    for _ in range(levels):
        value = [{"text": value}]
    assert plain_text(value) == shown


WORDS = {
    "stop": "stop end_turn stop_sequence completed complete eos",
    "length": (
        "length max_tokens max_output_tokens model_length max_steps max_turns "
        "max_turns_reached context_length"
    ),
    "tool_calls": "tool_calls tool_use function_call tool_call",
    "content_filter": "content_filter refusal safety",
}


@pytest.mark.parametrize(
    ("word", "reason"),
    [(word, reason) for reason, words in WORDS.items() for word in words.split()],
)
def test_the_words_of_the_tools_have_one_meaning(word, reason):
    assert stop_reason(word) == reason


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (" STOP ", "stop"),
        ("FinishReason.MAX_TOKENS", "length"),
        ("user_stopped", "user_stopped"),
        (["length", "stop"], "stop"),
        ([], ""),
        ([None], ""),
        (None, ""),
        (3, ""),
    ],
)
def test_any_other_reason_is_the_tools_own_word(value, reason):
    assert stop_reason(value) == reason


# -- failures --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "output",
    [
        "Error: no seats left",
        "error: x",
        "  ValueError: x",
        "requests.exceptions.HTTPError: 404",
        "Exception: x",
        "Error reading file: x",
        "Error executing tool",
        "<tool_use_error>x",
        "Traceback (most recent call last):\n  x",
    ],
)
def test_an_output_that_begins_with_an_error_is_a_failure(output):
    assert failure_in_text(output) == output


@pytest.mark.parametrize(
    ("output", "failure"),
    [
        ('{"error": "no such user"}', "no such user"),
        ('{"error": {"type": "text", "text": "gone"}}', "gone"),
        ('{"error": "", "is_error": true}', '{"error": "", "is_error": true}'),
        ('{"is_error": true}', '{"is_error": true}'),
        ('{"is_error": false}', ""),
        ('{"is_error": 1}', ""),
        ('{"error": null}', ""),
        ('{"errors": 3}', ""),
        ('{"error": ', ""),
        ('["error"]', ""),
        (' {"error": "x"}', ""),
        ("no errors", ""),
        ("There was an error: x", ""),
        ("", ""),
    ],
)
def test_an_object_with_an_error_is_a_failure(output, failure):
    assert failure_in_text(output) == failure


def test_a_long_failure_is_shortened():
    assert failure_in_text(f"Error: {'x' * 600}") == f"Error: {'x' * 493}"
    assert failure_in_text(f'{{"error": "{"x" * 600}"}}') == "x" * 500


@pytest.mark.parametrize(("length", "failure"), [(20_000, "x"), (20_001, "")])
def test_a_long_output_is_not_parsed(length, failure):
    start = '{"error": "x", "rest": "'
    output = f'{start}{"y" * (length - len(start) - 2)}"}}'
    assert len(output) == length
    assert failure_in_text(output) == failure


@pytest.mark.parametrize(
    ("flags", "failure"),
    [
        ((), ""),
        ((None, False, "", {}, 0), ""),
        ((True,), "error"),
        ((False, "gone", "other"), "gone"),
        (({"message": "gone", "type": "x"},), "gone"),
        (({"type": "timeout"},), "timeout"),
        (({"code": 3},), '{"code":3}'),
        (({"message": {"type": "image"}},), "error"),
        (("x" * 600,), "x" * 500),
        (({"message": "x" * 600},), "x" * 500),
    ],
)
def test_the_first_flag_or_message_of_a_failure_counts(flags, failure):
    assert stated_failure(*flags) == failure


@pytest.mark.parametrize(
    "status", ["error", "failed", "failure", "incomplete", "FAILED"]
)
def test_the_status_of_an_item_that_failed(status):
    assert failed_status(status)


@pytest.mark.parametrize("status", ["completed", "", None, True])
def test_any_other_status_is_no_failure(status):
    assert not failed_status(status)
