"""The same question in the words of each API."""

import pytest

from pytest_evalmetrics.scoring.chat.requests import body_for

QUESTION = [{"role": "user", "content": "2 + 3"}]
TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "parameters": {"type": "object"},
        "strict": True,
    },
}
SCHEMA = {
    "type": "json_schema",
    "json_schema": {"name": "s", "schema": {"type": "object"}},
}
CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "look_up", "arguments": '{"of": "sun"}'},
}


@pytest.mark.parametrize(
    ("api", "key", "value", "expected"),
    [
        ("chat", "max_tokens", 5, {"max_tokens": 5}),
        ("chat", "reasoning_effort", "low", {"reasoning_effort": "low"}),
        ("completions", "stop", "END", {"stop": "END"}),
        ("responses", "max_tokens", 5, {"max_output_tokens": 5}),
        ("responses", "max_completion_tokens", 5, {"max_output_tokens": 5}),
        ("responses", "reasoning_effort", "low", {"reasoning": {"effort": "low"}}),
        (
            "responses",
            "response_format",
            SCHEMA,
            {
                "text": {
                    "format": {
                        "type": "json_schema",
                        "name": "s",
                        "schema": {"type": "object"},
                    }
                }
            },
        ),
        (
            "responses",
            "response_format",
            {"type": "json_object"},
            {"text": {"format": {"type": "json_object"}}},
        ),
        ("responses", "tools", [{"type": "web"}], {"tools": [{"type": "web"}]}),
        ("responses", "top_p", 0.5, {"top_p": 0.5}),
        ("messages", "max_tokens", 5, {"max_tokens": 5}),
        ("messages", "max_completion_tokens", 5, {"max_tokens": 5}),
        ("messages", "stop", "END", {"stop_sequences": ["END"]}),
        ("messages", "stop", ["A", "B"], {"stop_sequences": ["A", "B"]}),
        (
            "messages",
            "tools",
            [TOOL],
            {"tools": [{"name": "look_up", "input_schema": {"type": "object"}}]},
        ),
        # Anthropic's API needs the schema that OpenAI's may leave out
        (
            "messages",
            "tools",
            [{"type": "function", "function": {"name": "now"}}],
            {"tools": [{"name": "now", "input_schema": {"type": "object"}}]},
        ),
        ("messages", "top_p", 0.5, {"top_p": 0.5}),
    ],
)
def test_a_key_in_the_words_of_an_api(api, key, value, expected):
    body = body_for(api, QUESTION, {key: value})
    plain = body_for(api, QUESTION, {})
    added = {name: item for name, item in body.items() if plain.get(name) != item}
    assert added == expected
    assert plain.keys() <= body.keys()


def test_anthropics_api_always_gets_a_bound():
    assert body_for("messages", QUESTION, {})["max_tokens"] == 4096


def test_plain_completions_get_the_texts_of_all_messages():
    messages = [{"role": "system", "content": "Be short."}, *QUESTION]
    assert body_for("completions", messages, {}) == {"prompt": "Be short.\n\n2 + 3"}


def test_chat_completions_get_the_messages_as_they_are():
    assert body_for("chat", QUESTION, {}) == {"messages": QUESTION}


def test_system_and_developer_messages_are_one_text_of_anthropics():
    messages = [
        {"role": "system", "content": "Be short."},
        {"role": "developer", "content": "Be kind."},
        *QUESTION,
    ]
    body = body_for("messages", messages, {})
    assert body["system"] == "Be short.\n\nBe kind."
    assert [turn["role"] for turn in body["messages"]] == ["user"]


def test_results_of_several_tools_are_one_turn_of_anthropics():
    messages = [
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
        {"role": "tool", "tool_call_id": "c2", "content": "2"},
    ]
    turns = body_for("messages", messages, {})["messages"]
    assert [turn["role"] for turn in turns] == ["assistant", "user"]
    assert turns[1]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": "1"},
        {"type": "tool_result", "tool_use_id": "c2", "content": "2"},
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"of": "sun"}', {"of": "sun"}),
        ({"of": "sun"}, {"of": "sun"}),
        (None, {}),
        ("no JSON", {"arguments": "no JSON"}),
        ("[1]", {"arguments": [1]}),
    ],
)
def test_arguments_of_a_call_are_an_object_of_anthropics(arguments, expected):
    call = {"id": "c1", "function": {"name": "look_up", "arguments": arguments}}
    message = {"role": "assistant", "tool_calls": [call]}
    body = body_for("messages", [message], {})
    assert body["messages"][0]["content"] == [
        {"type": "tool_use", "id": "c1", "name": "look_up", "input": expected}
    ]


@pytest.mark.parametrize(
    ("role", "kind"), [("user", "input_text"), ("assistant", "output_text")]
)
def test_parts_of_a_message_have_names_of_their_own_in_the_responses_api(role, kind):
    image = {"type": "input_image", "image_url": "data:,"}
    content = [{"type": "text", "text": "Look"}, image]
    body = body_for("responses", [{"role": role, "content": content}], {})
    assert body["input"] == [
        {"role": role, "content": [{"type": kind, "text": "Look"}, image]}
    ]


def test_a_result_of_a_tool_is_an_item_of_the_responses_api():
    messages = [
        {"role": "assistant", "content": "I look", "tool_calls": [CALL, "x"]},
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
    ]
    assert body_for("responses", messages, {})["input"] == [
        {"role": "assistant", "content": "I look"},
        {
            "type": "function_call",
            "call_id": "c1",
            "name": "look_up",
            "arguments": '{"of": "sun"}',
        },
        {"type": "function_call_output", "call_id": "c1", "output": "1"},
    ]


@pytest.mark.parametrize(
    ("api", "key", "item"),
    [("responses", "input", "output"), ("messages", "messages", "content")],
)
def test_a_result_of_a_tool_without_text_is_an_empty_one(api, key, item):
    message = {"role": "tool", "tool_call_id": "c1", "content": None}
    (sent,) = body_for(api, [message], {})[key]
    if api == "messages":
        (sent,) = sent["content"]
    assert sent[item] == ""


def test_the_schema_of_a_tool_is_flat_in_the_responses_api():
    body = body_for("responses", QUESTION, {"tools": [TOOL]})
    assert body["tools"] == [
        {
            "type": "function",
            "name": "look_up",
            "parameters": {"type": "object"},
            "strict": True,
        }
    ]


def test_what_one_side_says_in_several_messages_is_one_turn_of_anthropics():
    image = {"type": "image", "source": {}}
    messages = [
        {"role": "user", "content": "Look"},
        {"role": "user", "content": [image]},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": 5},
    ]
    assert body_for("messages", messages, {})["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "Look"}, image]},
        {"role": "assistant", "content": []},
        {"role": "user", "content": [{"type": "text", "text": "5"}]},
    ]


def test_tools_that_are_no_list_are_left_out():
    assert body_for("responses", QUESTION, {"tools": "x"})["tools"] == []


def test_a_tool_of_anthropics_own_form_stays():
    tool = {"name": "now", "input_schema": {"type": "object"}}
    assert body_for("messages", QUESTION, {"tools": [tool]})["tools"] == [tool]
