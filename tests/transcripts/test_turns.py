"""Parts, dialects and odd rows."""

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_evalmetrics.transcripts import Image, ToolCall, turns_of


def test_parallel_calls_are_one_turn_in_items_as_in_messages():
    items = [
        {"type": "message", "role": "assistant", "content": "Both."},
        {"type": "function_call", "call_id": "1", "name": "a", "arguments": "{}"},
        {"type": "function_call", "call_id": "2", "name": "b", "arguments": ""},
        {"type": "function_call_output", "call_id": "2", "output": "of b"},
        {"type": "function_call_output", "call_id": "1", "output": "of a"},
    ]
    function = {"arguments": "{}"}
    messages = [
        {
            "role": "assistant",
            "content": "Both.",
            "tool_calls": [
                {"id": "1", "function": {"name": "a", **function}},
                {"id": "2", "function": {"name": "b", **function}},
            ],
        },
        {"role": "tool", "tool_call_id": "2", "content": "of b"},
        {"role": "tool", "tool_call_id": "1", "content": "of a"},
    ]
    turns = turns_of({"response": {"output": items}})
    assert turns == turns_of({"messages": messages})
    assert turns[0].calls == (ToolCall("a", "{}", "1"), ToolCall("b", "{}", "2"))
    assert [turn.result.name for turn in turns[1:]] == ["b", "a"]


def test_each_reasoning_begins_a_turn():
    items = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "one"}]},
        {"type": "function_call", "call_id": "1", "name": "a", "arguments": "{}"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "two"}]},
        {"type": "function_call", "call_id": "2", "name": "b", "arguments": "{}"},
    ]
    turns = turns_of({"response": {"output": items}})
    assert [turn.reasoning for turn in turns] == ["one", "two"]


def test_arguments_are_the_same_text_in_any_order_of_keys():
    rows = [
        {"messages": [{"role": "assistant", "tool_calls": [{"name": "f", "args": a}]}]}
        for a in ({"a": 1, "b": [2]}, '{"b": [2], "a": 1}')
    ]
    assert [turns_of(row)[0].calls[0].arguments for row in rows] == [
        '{"a":1,"b":[2]}',
        '{"a":1,"b":[2]}',
    ]


def test_arguments_that_are_not_json_stay_as_they_are():
    call = {"function": {"name": "f", "arguments": '{"a": '}}
    (turn,) = turns_of({"messages": [{"role": "assistant", "tool_calls": [call]}]})
    assert turn.calls[0].arguments == '{"a": '


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAEC"}},
        {"type": "input_image", "image_url": "data:image/png;base64,AAEC"},
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": "AAEC"},
        },
        {"type": "image", "image": "data:image/png;base64,AAEC"},
        {"inlineData": {"mimeType": "image/png", "data": "AAEC"}},
    ],
)
def test_an_embedded_image_has_its_type_and_size(part):
    (turn, _) = turns_of(
        {
            "messages": [
                {"role": "user", "content": [part, {"type": "text", "text": "?"}]},
                {"role": "assistant", "content": "!"},
            ]
        }
    )
    assert turn.images == (Image("image/png", len(base64.b64decode("AAEC")), "AAEC"),)
    assert turn.text == "?"


def test_an_image_elsewhere_has_its_address():
    part = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    turn = turns_of({"messages": [{"role": "user", "content": [part]}]})[0]
    assert turn.images == (Image(url="https://example.org/a.png"),)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"response": {"choices": [{"message": {"content": "a"}, "finish_reason": "length"}]}}, "length"),
        ({"response": {"content": [{"type": "text", "text": "a"}], "stop_reason": "max_tokens"}}, "length"),
        ({"response": {"output": [{"type": "message", "content": "a"}], "incomplete_details": {"reason": "max_output_tokens"}, "status": "incomplete"}}, "length"),
        ({"response": {"output": [{"type": "message", "content": "a"}], "status": "completed"}}, "stop"),
        ({"response": {"candidates": [{"content": {"role": "model", "parts": [{"text": "a"}]}, "finishReason": "MAX_TOKENS"}]}}, "length"),
        ({"messages": [{"role": "assistant", "content": "a"}], "stop_reason": "end_turn"}, "stop"),
        ({"prompt": "q", "completion": "a", "is_truncated": True}, "length"),
        ({"messages": [{"role": "assistant", "content": None, "refusal": "no"}]}, "content_filter"),
        ({"prompt": "q", "completion": "a"}, ""),
    ],
)  # fmt: skip
def test_why_an_answer_ended_is_said_in_the_same_words(row, reason):
    assert turns_of(row)[-1].stop_reason == reason


@pytest.mark.parametrize(
    "messages",
    [
        # Gemini
        [
            {"role": "user", "parts": [{"text": "q"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"a": 1}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"content": "r"}}}]},
            {"role": "model", "parts": [{"text": "done"}]},
        ],
        # Bedrock
        [
            {"role": "user", "content": [{"text": "q"}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "call_1", "name": "f", "input": {"a": 1}}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "call_1", "content": [{"text": "r"}], "status": "success"}}]},
            {"role": "assistant", "content": [{"text": "done"}]},
        ],
        # LangChain, as ragas keeps it
        [
            {"type": "human", "content": "q"},
            {"type": "ai", "content": "", "tool_calls": [{"name": "f", "args": {"a": 1}}]},
            {"type": "tool", "content": "r"},
            {"type": "ai", "content": "done"},
        ],
        # LangChain, serialised
        [
            {"id": ["langchain", "schema", "messages", "HumanMessage"], "kwargs": {"content": "q"}},
            {"id": ["langchain", "schema", "messages", "AIMessage"], "kwargs": {"content": "", "tool_calls": [{"name": "f", "args": {"a": 1}}]}},
            {"id": ["langchain", "schema", "messages", "ToolMessage"], "kwargs": {"content": "r"}},
            {"id": ["langchain", "schema", "messages", "AIMessage"], "kwargs": {"content": "done"}},
        ],
        # pydantic-ai
        [
            {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "q"}]},
            {"kind": "response", "parts": [{"part_kind": "tool-call", "tool_name": "f", "args": '{"a":1}', "tool_call_id": "call_1"}]},
            {"kind": "request", "parts": [{"part_kind": "tool-return", "tool_name": "f", "content": "r", "tool_call_id": "call_1"}]},
            {"kind": "response", "parts": [{"part_kind": "text", "content": "done"}]},
        ],
        # tau2-bench
        [
            {"role": "user", "content": "q", "turn_idx": 0},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "call_1", "name": "f", "arguments": {"a": 1}, "requestor": "assistant"}]},
            {"id": "call_1", "role": "tool", "content": "r", "requestor": "assistant", "error": False},
            {"role": "assistant", "content": "done"},
        ],
        # the older API of functions
        [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}},
            {"role": "function", "name": "f", "content": "r"},
            {"role": "assistant", "content": "done"},
        ],
    ],
    ids=["gemini", "bedrock", "langchain", "serialised", "pydantic-ai", "tau2", "functions"],
)  # fmt: skip
def test_other_dialects_of_a_call(messages):
    turns = turns_of({"messages": messages})
    assert [turn.role for turn in turns] == ["user", "assistant", "tool", "assistant"]
    assert turns[1].calls == (ToolCall("f", '{"a":1}', "call_1"),)
    assert (turns[2].text, turns[2].result.id, turns[2].result.name) == (
        "r",
        "call_1",
        "f",
    )
    assert turns[3].text == "done"


def test_a_failure_in_json_marks_the_call():
    messages = [
        {"role": "assistant", "tool_calls": [{"id": "1", "name": "f", "args": {}}]},
        {"role": "tool", "tool_call_id": "1", "content": '{"error": "no such user"}'},
    ]
    turns = turns_of({"messages": messages})
    assert turns[0].calls[0].error == "no such user"


def test_an_output_that_mentions_an_error_is_none():
    messages = [
        {"role": "assistant", "tool_calls": [{"id": "1", "name": "f", "args": {}}]},
        {"role": "tool", "tool_call_id": "1", "content": "0 errors, 3 warnings"},
    ]
    assert turns_of({"messages": messages})[0].calls[0].error == ""


def test_a_command_of_a_shell_is_a_call_of_its_program():
    steps = [{"thought": "look", "action": "ls -la src", "observation": "a.py"}]
    turns = turns_of({"trajectory": steps})
    assert turns[0].calls[0].name == "ls"
    assert turns[1].text == "a.py"


@pytest.mark.parametrize(
    "row",
    [
        None,
        [],
        "text",
        {},
        {"task": "a", "reward": 1.0},
        {"messages": "none", "response": 3},
        {"messages": [], "traj": None},
        {"attributes": {"color": "red"}, "reward": 1},
        {"question": "2+2?", "expected": "4"},
    ],
)
def test_a_row_without_a_conversation_has_no_turns(row):
    assert turns_of(row) == ()


def test_of_a_graph_of_messages_the_last_branch_is_read():
    nodes = [
        {"parent": None, "message": {"role": "user", "content": "q"}},
        {"parent": 0, "message": {"role": "assistant", "content": "given up"}},
        {"parent": 0, "message": {"role": "assistant", "content": "done"}},
    ]
    assert [turn.text for turn in turns_of({"nodes": nodes})] == ["q", "done"]


def test_a_graph_that_goes_in_a_circle_ends():
    nodes = [{"parent": 0, "message": {"role": "user", "content": "q"}}]
    assert turns_of({"nodes": nodes})


_keys = st.sampled_from(
    ["messages", "role", "content", "type", "tool_calls", "function", "name", "output",
     "response", "choices", "message", "parts", "steps", "action", "attributes", "events",
     "spans", "arguments", "prompt", "completion", "traj", "gen_ai.input.messages", "kind"]
)  # fmt: skip
_leaves = st.sampled_from(
    [None, True, 0, 1.5, "", "user", "assistant", "tool", "text", "reasoning", "x_call",
     "function_call_output", "{", "[1]", '{"name": "f"}', "request"]
)  # fmt: skip
_json = st.recursive(
    _leaves,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(_keys, inner, max_size=5)
    ),
    max_leaves=30,
)


@given(st.dictionaries(_keys, _json, max_size=5))
@settings(max_examples=300, deadline=None)
def test_no_row_raises(row):
    for turn in turns_of(row):
        assert isinstance(turn.text, str)


def test_rows_that_are_nested_without_end_have_no_turns():
    value = "x"
    for _ in range(100_000):
        value = [value]
    assert turns_of({"messages": [{"role": "user", "content": value}]})[0].text == ""
