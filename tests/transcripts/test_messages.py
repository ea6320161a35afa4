"""Lists of messages and items: who speaks, what is in an envelope, and what is one turn."""

import pytest

from pytest_evalmetrics.transcripts import ToolCall, ToolResult, Turn
from pytest_evalmetrics.transcripts.conversation import Conversation
from pytest_evalmetrics.transcripts.messages import add_messages, is_message, role_of

ROLES = {
    "system": "system developer SystemMessage",
    "user": "user human HumanMessage",
    "assistant": "assistant ai model agent gpt bot AIMessage",
    "tool": "tool function ipython observation toolResult ToolMessage",
}


def turns_of_messages(*messages):
    conversation = Conversation()
    add_messages(conversation, messages)
    return conversation.turns


# -- who speaks ------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["role", "type", "from"])
@pytest.mark.parametrize(
    ("word", "role"),
    [(word, role) for role, words in ROLES.items() for word in words.split()],
)
def test_the_words_of_the_dialects_name_four_roles(key, word, role):
    assert role_of({key: word, "content": "a"}) == role


@pytest.mark.parametrize("message", [{}, {"role": "narrator"}, {"role": 3}])
def test_a_message_of_nobody_has_no_role(message):
    assert role_of(message) is None
    assert turns_of_messages(message) == []


def test_the_role_goes_before_the_type():
    assert role_of({"type": "ai", "role": "user"}) == "user"
    assert role_of({"type": "message", "role": "user"}) == "user"


@pytest.mark.parametrize(
    "value",
    [
        {"role": "user"},
        {"type": "reasoning"},
        {"type": "message"},
        {"type": "function_call"},
        {"type": "function_call_output"},
        {"type": "web_search_call"},
        {"message": {}},
        {"payload": {"role": "user"}},
        {"payload": {"type": "reasoning"}},
        {"kwargs": {}, "id": []},
        {"kind": "request", "parts": []},
        {"kind": "response", "parts": []},
    ],
)
def test_a_message_or_an_item_is_known_by_its_keys(value):
    assert is_message(value)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "user",
        {},
        {"content": "a"},
        {"type": "text"},
        {"message": "a"},
        {"payload": {"n": 1}},
        {"payload": "a"},
        {"kwargs": {}, "id": "a"},
        {"kwargs": "a", "id": []},
        {"kind": "request"},
        {"kind": "other", "parts": []},
    ],
)
def test_anything_else_is_no_message(value):
    assert not is_message(value)


# -- what is said ----------------------------------------------------------------------------


def test_a_text_is_said_by_the_user():
    assert turns_of_messages("a", None, 3) == [Turn("user", "a")]


@pytest.mark.parametrize("key", ["content", "parts", "contents", "value", "text"])
def test_the_content_is_read_of_the_keys_of_the_dialects(key):
    assert turns_of_messages({"role": "user", key: "a"}) == [Turn("user", "a")]


def test_the_first_key_that_holds_content_counts():
    message = {"role": "user", "content": None, "value": "a", "text": "b"}
    assert turns_of_messages(message) == [Turn("user", "a")]


@pytest.mark.parametrize(
    "key",
    [
        "reasoning_content",
        "reasoning",
        "thinking",
        "thought",
        "thinking_blocks",
        "reasoning_details",
    ],
)
@pytest.mark.parametrize(
    "value", ["a", [{"text": "a"}], [{"thinking": "a"}, "no part"]]
)
def test_reasoning_is_read_of_the_keys_of_the_dialects(key, value):
    (turn,) = turns_of_messages({"role": "assistant", key: value, "content": "b"})
    assert (turn.reasoning, turn.text) == ("a", "b")


def test_reasoning_that_is_recorded_twice_is_read_once():
    message = {"role": "assistant", "reasoning_content": "", "reasoning": "a"}
    message |= {"reasoning_details": [{"text": "a"}]}
    (turn,) = turns_of_messages(message)
    assert turn.reasoning == "a"


CALL = {"name": "f", "args": {"a": 1}, "id": "c1"}


@pytest.mark.parametrize(
    "calls",
    [
        {"tool_calls": [CALL]},
        {"toolCalls": [CALL]},
        {"tool_calls": '[{"name": "f", "args": {"a": 1}, "id": "c1"}]'},
        {"function_call": CALL},
        {"tool_calls": [], "function_call": CALL},
        {"additional_kwargs": {"tool_calls": [CALL]}},
        {"tool_calls": [CALL], "additional_kwargs": {"tool_calls": [{"name": "g"}]}},
    ],
)
def test_the_calls_of_a_message_are_read_where_the_dialects_keep_them(calls):
    (turn,) = turns_of_messages({"role": "assistant", "content": "a", **calls})
    assert turn == Turn("assistant", "a", calls=(ToolCall("f", '{"a":1}', "c1"),))


@pytest.mark.parametrize("key", ["finish_reason", "stop_reason"])
def test_the_reason_of_the_end_is_read(key):
    (turn,) = turns_of_messages(
        {"role": "assistant", "content": "a", key: "max_tokens"}
    )
    assert turn.stop_reason == "length"


def test_a_refusal_is_said_and_is_the_reason():
    message = {"role": "assistant", "content": None, "refusal": "No."}
    (turn,) = turns_of_messages(message | {"finish_reason": "stop"})
    assert (turn.text, turn.stop_reason) == ("No.", "content_filter")


# -- envelopes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        {"message": {"role": "assistant", "content": "a"}},
        {"role": "user", "message": {"role": "assistant", "content": "a"}},
        {"payload": {"role": "assistant", "content": "a"}},
        {"type": "ai", "data": {"content": "a"}},
        {"id": ["schema", "AIMessage"], "kwargs": {"content": "a"}},
    ],
)
def test_a_message_is_taken_out_of_its_envelope(message):
    assert turns_of_messages(message) == [Turn("assistant", "a")]


@pytest.mark.parametrize("key", ["finish_reason", "stop_reason"])
def test_the_reason_beside_an_envelope_is_that_of_the_message(key):
    message = {"message": {"role": "assistant", "content": "a"}, key: "stop"}
    assert turns_of_messages(message) == [Turn("assistant", "a", stop_reason="stop")]
    own = {"role": "assistant", "content": "a", "finish_reason": "length"}
    (turn,) = turns_of_messages({"message": own, key: "stop"})
    assert turn.stop_reason == "length"


@pytest.mark.parametrize(
    "message",
    [
        # the inner one names nobody, and the outer one does
        {"role": "assistant", "message": {"content": "b"}, "content": "a"},
        {"role": "assistant", "payload": {"n": 1}, "content": "a"},
        {"role": "assistant", "data": {"n": 1}, "content": "a"},
        {"role": "assistant", "kwargs": {"n": 1}, "content": "a"},
        {"role": "assistant", "kwargs": {"n": 1}, "id": [], "content": "a"},
    ],
)
def test_what_holds_no_message_is_no_envelope(message):
    assert turns_of_messages(message) == [Turn("assistant", "a")]


# -- tools -----------------------------------------------------------------------------------

ASKING = {"role": "assistant", "tool_calls": [{"name": "f", "id": "1"}]}
ASKING["tool_calls"].append({"name": "g", "id": "2"})


@pytest.mark.parametrize(
    "result",
    [
        {"role": "tool", "tool_call_id": "2", "content": "r"},
        {"role": "tool", "id": "2", "content": "r"},
        {"role": "tool", "id": "r1", "name": "g", "content": "r"},
        {"role": "tool", "tool_name": "g", "content": "r"},
        {"role": "tool", "function": "g", "content": "r"},
        {
            "role": "tool",
            "content": [{"type": "tool_result", "id": "2", "content": "r"}],
        },
        {"role": "tool", "parts": [{"functionResponse": {"name": "g", "result": "r"}}]},
        {"role": "tool", "name": "g", "content": [{"type": "text", "text": "r"}]},
    ],
)
def test_a_message_of_a_tool_answers_its_call(result):
    _, turn = turns_of_messages(ASKING, result)
    assert turn == Turn("tool", "r", result=ToolResult("2", "g"))


def test_an_id_of_the_message_itself_is_no_call():
    _, turn = turns_of_messages(ASKING, {"role": "tool", "id": "r1", "content": "r"})
    assert turn.result == ToolResult("1", "f")


def test_images_and_failures_of_a_tool_are_read():
    image = {"type": "image_url", "image_url": "https://a/b.png"}
    result = {"role": "tool", "tool_call_id": "1", "content": [image], "error": "gone"}
    asked, turn = turns_of_messages(ASKING, result)
    assert [found.url for found in turn.images] == ["https://a/b.png"]
    assert turn.result.error == asked.calls[0].error == "gone"


# -- items -----------------------------------------------------------------------------------


def item(kind, **fields):
    return {"type": kind, **fields}


def thought(text):
    return item("reasoning", summary=[{"type": "summary_text", "text": text}])


def test_reasoning_calls_and_a_message_that_follow_each_other_are_one_turn():
    turns = turns_of_messages(
        thought("x"),
        thought("y"),
        item("function_call", name="f", call_id="1", arguments="{}"),
        item("message", content=[{"type": "output_text", "text": "a"}]),
    )
    assert turns == [
        Turn("assistant", "a", reasoning="x\ny", calls=(ToolCall("f", "{}", "1"),))
    ]


@pytest.mark.parametrize(
    "before",
    [
        [item("message", content="b")],
        [item("function_call", name="f", call_id="1"), thought("x")],
    ],
)
def test_reasoning_after_a_call_or_a_text_begins_a_turn(before):
    turns = turns_of_messages(*before, thought("y"), item("message", content="a"))
    assert turns[-1].text == "a"
    assert turns[-1].reasoning.endswith("y")
    assert len(turns) == 2


def test_two_messages_are_two_turns():
    turns = turns_of_messages(
        item("message", content="a"), item("message", content="b")
    )
    assert [turn.text for turn in turns] == ["a", "b"]
    messages = [{"role": "assistant", "content": text} for text in ("a", "b")]
    assert [turn.text for turn in turns_of_messages(*messages)] == ["a", "b"]


def test_a_message_that_is_no_item_does_not_go_on_with_items():
    turns = turns_of_messages(thought("x"), {"role": "assistant", "content": "a"})
    assert [(turn.reasoning, turn.text) for turn in turns] == [("x", ""), ("", "a")]


def test_a_message_of_a_user_ends_a_turn_of_items():
    asked = item("message", role="user", content="q")
    turns = turns_of_messages(thought("x"), asked, item("message", content="a"))
    assert [turn.role for turn in turns] == ["assistant", "user", "assistant"]


@pytest.mark.parametrize("kind", ["function_call_output", "computer_call_output"])
def test_an_output_is_the_result_of_its_call(kind):
    call = item("function_call", name="f", call_id="1")
    turns = turns_of_messages(call, item(kind, call_id="1", output="r"))
    assert turns[1] == Turn("tool", "r", result=ToolResult("1", "f"))


@pytest.mark.parametrize(
    ("fields", "name", "arguments"),
    [
        ({"name": "f", "arguments": '{"a": 1}'}, "f", '{"a":1}'),
        ({"action": {"query": "q"}}, "web_search", '{"query":"q"}'),
        ({"queries": ["q"]}, "web_search", '["q"]'),
        ({"code": "1+1"}, "web_search", "1+1"),
        ({"action": None, "code": "1+1"}, "web_search", "1+1"),
        ({"input": "x"}, "web_search", "x"),
        ({}, "web_search", "{}"),
    ],
)
def test_a_tool_of_the_server_is_called_by_its_kind(fields, name, arguments):
    (turn,) = turns_of_messages(item("web_search_call", id="1", **fields))
    assert turn.calls == (ToolCall(name, arguments, "1"),)


@pytest.mark.parametrize(
    ("fields", "shown", "error"),
    [
        ({"output": "r"}, "r", ""),
        ({"output": "", "error": "gone"}, "gone", "gone"),
        ({"error": {"message": "gone"}}, '{"message":"gone"}', "gone"),
        ({"output": "r", "error": "gone"}, "r", "gone"),
    ],
)
def test_the_output_of_a_tool_of_the_server_stands_beside_its_call(
    fields, shown, error
):
    called, result = turns_of_messages(item("mcp_call", id="1", name="f", **fields))
    assert called.calls == (ToolCall("f", "{}", "1", error),)
    assert result == Turn("tool", shown, result=ToolResult("1", "f", error))


def test_a_call_whose_output_is_beside_it_ends_the_turn():
    turns = turns_of_messages(
        item("mcp_call", id="1", name="f", output="r"), item("message", content="a")
    )
    assert [turn.role for turn in turns] == ["assistant", "tool", "assistant"]


@pytest.mark.parametrize(
    "kind", ["mcp_list_tools", "item_reference", "mcp_approval_request"]
)
def test_items_that_call_nothing_are_left_out(kind):
    assert turns_of_messages(item(kind, name="f")) == []


# -- pydantic-ai -----------------------------------------------------------------------------


def part(kind, content, **fields):
    return {"part_kind": kind, "content": content, **fields}


def test_a_request_of_pydantic_ai_has_a_turn_of_each_speaker():
    call = {"part_kind": "tool-call", "tool_name": "f", "tool_call_id": "1"}
    turns = turns_of_messages(
        {"kind": "response", "parts": [call], "finish_reason": "tool_call"},
        {
            "kind": "request",
            "parts": [
                part("user-prompt", "q"),
                part("tool-return", "r", tool_name="f", tool_call_id="1"),
                part("retry-prompt", "again", tool_call_id="1"),
                part("system-prompt", "Be brief."),
                "no part",
            ],
        },
    )
    assert [(turn.role, turn.text) for turn in turns] == [
        ("assistant", ""),
        ("system", "Be brief."),
        ("tool", "r"),
        ("tool", "again"),
        ("user", "q"),
    ]
    assert turns[0].stop_reason == "tool_calls"
    assert turns[2].result == ToolResult("1", "f")


def test_a_message_of_pydantic_ai_without_parts_is_left_out():
    assert turns_of_messages({"kind": "request", "parts": "q"}) == []
    assert turns_of_messages({"kind": "request", "parts": []}) == []
