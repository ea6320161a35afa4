"""A call of a tool and its result, as the dialects write them."""

import pytest

from pytest_evalmetrics.transcripts.calls import (
    add_calls,
    answered_id_of,
    arguments_of,
    call_id_of,
    read_call,
)
from pytest_evalmetrics.transcripts.conversation import Draft, ResultDraft
from pytest_evalmetrics.transcripts.parts import image_of, result_of
from pytest_evalmetrics.transcripts.turns import Image, ToolCall

NAMES = ("name", "tool_name", "toolName", "function_name", "tool")
IDS = ("call_id", "tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "id")
ARGUMENTS = (
    *("arguments", "args", "input", "parameters", "inputParameters"),
    *("action_input", "tool_input", "kwargs"),
)


@pytest.mark.parametrize("name", NAMES)
def test_a_call_is_named_by_the_keys_of_the_dialects(name):
    assert read_call({name: "f"}) == ToolCall("f", "{}")


@pytest.mark.parametrize("key", IDS)
def test_a_call_has_the_id_of_the_keys_of_the_dialects(key):
    assert read_call({"name": "f", key: "c1"}).id == "c1"
    assert call_id_of({key: "c1"}) == "c1"


@pytest.mark.parametrize("key", ARGUMENTS)
def test_a_call_has_the_arguments_of_the_keys_of_the_dialects(key):
    assert arguments_of({key: {"b": 1, "a": 2}}) == '{"a":2,"b":1}'


def test_the_first_of_several_arguments_counts():
    assert arguments_of({"args": None, "input": {"a": 1}}) == "{}"
    assert arguments_of({}) == "{}"


@pytest.mark.parametrize("key", IDS[:-1])
def test_a_result_names_its_call_by_another_key_than_its_own_id(key):
    assert answered_id_of({key: "c1", "id": "r1"}) == "c1"
    assert answered_id_of({"id": "r1"}) == ""


@pytest.mark.parametrize(
    "value",
    [
        {"name": "f", "args": {"a": 1}, "id": "c1"},
        '{"name": "f", "args": {"a": 1}, "id": "c1"}',
        {"tool_call": {"name": "f", "args": {"a": 1}, "id": "c1"}},
        {"function": {"name": "f", "arguments": '{"a": 1}'}, "id": "c1"},
        {"function": "f", "arguments": {"a": 1}, "id": "c1"},
        {"function": "f", "name": "other", "arguments": {"a": 1}, "id": "c1"},
    ],
)
def test_the_forms_of_a_call_are_one(value):
    assert read_call(value) == ToolCall("f", '{"a":1}', "c1")


@pytest.mark.parametrize("value", [None, 3, "f", [], {}, {"name": ""}, {"id": "c1"}])
def test_what_names_no_tool_is_no_call(value):
    assert read_call(value) is None


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        ({}, ""),
        ({"parse_error": "no JSON"}, "no JSON"),
        ({"error": {"message": "gone"}}, "gone"),
        ({"parse_error": None, "error": "gone"}, "gone"),
        ({"parse_error": "no JSON", "error": "gone"}, "no JSON"),
        ({"error": None}, ""),
    ],
)
def test_a_call_that_could_not_be_made_has_its_error(flags, error):
    assert read_call({"name": "f", **flags}).error == error


def test_the_calls_of_a_list_are_added_and_what_is_none_is_left_out():
    draft = Draft("assistant")
    add_calls(draft, [{"name": "f"}, "no call", {"name": "g"}])
    add_calls(draft, {"name": "h"})
    assert [call.name for call in draft.calls] == ["f", "g"]


# -- results ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key", ["content", "output", "response", "result", "observation", "value"]
)
def test_the_output_of_a_result_is_read_of_the_keys_of_the_dialects(key):
    assert result_of({key: "r"}) == ResultDraft(text="r")


def test_a_result_has_its_call_and_its_tool():
    part = {"tool_use_id": "c1", "id": "r1", "toolName": "f", "content": None}
    assert result_of(part | {"output": "r"}) == ResultDraft(id="c1", name="f", text="r")
    assert result_of({"id": "r1", "tool_name": "f"}) == ResultDraft(id="r1", name="f")
    assert result_of({"name": "f"}) == ResultDraft(name="f")


@pytest.mark.parametrize(
    ("part", "shown", "error"),
    [
        ({"content": "r", "is_error": True}, "r", "r"),
        ({"content": "r", "isError": True}, "r", "r"),
        ({"is_error": True}, "", "error"),
        ({"content": "r", "error": "gone", "is_error": True}, "r", "gone"),
        ({"error": {"message": "gone"}}, "gone", "gone"),
        ({"content": "r", "status": "failed"}, "r", "r"),
        ({"status": "failed"}, "failed", "failed"),
        ({"content": "r", "status": "success", "is_error": False}, "r", ""),
    ],
)
def test_a_result_that_failed_has_its_words(part, shown, error):
    result = result_of(part)
    assert (result.text, result.error) == (shown, error)


def test_the_images_of_a_result_are_read():
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    result = result_of({"content": [image, {"type": "text", "text": "r"}, "x"]})
    assert result.images == (Image(url="https://example.org/a.png"),)
    assert result.text == "r\nx"


# -- images ----------------------------------------------------------------------------------

PNG = Image(media_type="image/png", size=2, data="AAE=")


@pytest.mark.parametrize(
    ("part", "image"),
    [
        ({"image_url": {"url": "https://a/b.png"}}, Image(url="https://a/b.png")),
        ({"image_url": "https://a/b.png"}, Image(url="https://a/b.png")),
        ({"image": "https://a/b.png"}, Image(url="https://a/b.png")),
        ({"source": {"url": "https://a/b.png"}}, Image(url="https://a/b.png")),
        ({"source": {"fileUri": "gs://a/b.png"}}, Image(url="gs://a/b.png")),
        ({"source": {"media_type": "image/png", "data": "AAE="}}, PNG),
        ({"inlineData": {"mimeType": "image/png", "data": "AAE="}}, PNG),
        ({"inline_data": {"mime_type": "image/png", "data": "AAE="}}, PNG),
        ({"image_url": "data:image/png;base64,AAE="}, PNG),
        ({"image_url": "data:image/png,AAE="}, PNG),
        ({"source": {"data": "AAECAw=="}}, Image(size=4, data="AAECAw==")),
        ({"source": {}}, None),
        ({"image_url": {}}, None),
        ({"image_url": ""}, None),
        ({}, None),
    ],
)
def test_an_image_has_its_address_or_its_type_size_and_data(part, image):
    assert image_of(part) == image
