"""Prompts: a text, messages, and columns that hold messages."""

import sys

import pytest

from pytest_evalmetrics.errors import EvalMetricsError, RowError
from pytest_evalmetrics.ext import compile_prompt

USER = {"role": "user", "content": "hi"}


def ask(template, **row):
    return compile_prompt(template)({**row, "item": row})


@pytest.mark.parametrize(
    ("template", "row", "messages"),
    [
        ("{{ q }}", {"q": "hi"}, [USER]),
        ("{{ q }}", {"q": 5}, [{"role": "user", "content": "5"}]),
        (["{{ messages }}"], {"messages": [USER, USER]}, [USER, USER]),
        # a text among messages is one of the user
        (["hi", "{{ messages }}"], {"messages": [USER]}, [USER, USER]),
        # a text is one message, unless the data are a conversation
        ("{{ x }}", {"x": [1]}, [{"role": "user", "content": "[1]"}]),
        (
            [{"role": "system", "content": "be {{ how }}"}, "{{ messages }}"],
            {"how": "kind", "messages": [USER]},
            [{"role": "system", "content": "be kind"}, USER],
        ),
        (
            ["{{ said }}"],
            {
                "said": [
                    {"type": "human", "content": "hi"},
                    {"type": "ai", "content": "ho"},
                ]
            },
            [USER, {"role": "assistant", "content": "ho"}],
        ),
        (
            [{"role": "user", "content": "{{ parts }}"}],
            {"parts": [{"type": "text", "text": "hi"}]},
            [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        ),
        (
            [{"role": "user", "content": "{{ n }}"}],
            {"n": 5},
            [{"role": "user", "content": "5"}],
        ),
    ],
)
def test_what_is_sent(template, row, messages):
    assert ask(template, **row) == messages


CALL = {"name": "weather", "args": {"city": "Paris"}}
TALK = [
    {"type": "human", "content": "Weather?"},
    {"type": "ai", "content": "Let me see.", "tool_calls": [CALL]},
    {"type": "tool", "content": "sunny"},
    {"type": "human", "content": "Thanks."},
]
SENT = [
    {"role": "user", "content": "Weather?"},
    {
        "role": "assistant",
        "content": "Let me see.",
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "weather", "arguments": '{"city": "Paris"}'},
            }
        ],
    },
    {"role": "tool", "content": "sunny", "tool_call_id": "call_1"},
    {"role": "user", "content": "Thanks."},
]


@pytest.mark.parametrize(
    "template",
    [
        "{{ user_input }}",
        ["{{ user_input }}"],
        [{"role": "user", "content": "{{ user_input }}"}],
    ],
)
def test_a_conversation_becomes_the_messages_of_openais_api(template):
    assert ask(template, user_input=TALK) == SENT


def test_a_conversation_follows_the_message_of_the_system():
    system = {"role": "system", "content": "be kind"}
    template = [system, {"role": "user", "content": "{{ user_input }}"}]
    assert ask(template, user_input=TALK) == [system, *SENT]


def test_a_conversation_of_openais_form_is_sent_as_it_is():
    assert ask("{{ user_input }}", user_input=SENT) == SENT


def test_a_judges_prompt_shows_a_conversation_as_data():
    prompt = compile_prompt("{{ user_input }}", conversations=False)
    (message,) = prompt({"user_input": TALK, "item": {}})
    assert message["role"] == "user"
    assert message["content"].startswith('[{"type": "human", "content": "Weather?"}')


@pytest.mark.parametrize(
    ("template", "row", "kind"),
    [
        ("{{ gone }}", {"q": 1}, "template"),
        ("{{ q }}", {"q": None}, "bad-prompt"),
        (["{{ messages }}"], {"messages": []}, "bad-prompt"),
        (["{{ messages }}"], {"messages": [{"content": "hi"}]}, "bad-prompt"),
        (["{{ messages }}"], {"messages": [5]}, "bad-prompt"),
        ([{"role": "user", "content": "{{ q }}"}], {"q": {"a": 1}}, "bad-prompt"),
    ],
)
def test_what_no_row_can_be_asked(template, row, kind):
    with pytest.raises(RowError) as raised:
        ask(template, **row)
    assert raised.value.kind == kind


def test_a_message_without_a_role_is_named_by_its_place():
    with pytest.raises(RowError, match=r"message 2 of the prompt is 5, without a role"):
        ask(["{{ messages }}"], messages=[USER, 5])


def test_without_the_extra_the_place_of_the_prompt_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pytest_evalmetrics.expressions", None)
    with pytest.raises(EvalMetricsError, match="a prompt_template needs"):
        compile_prompt("{{ q }}")


def function(name, arguments="{}"):
    return {"name": name, "arguments": arguments}


@pytest.mark.parametrize(
    ("call", "sent"),
    [
        (
            {"id": "c7", "name": "f", "args": {"x": "ü"}},
            {"id": "c7", "type": "function", "function": function("f", '{"x": "ü"}')},
        ),
        (
            {"name": "f", "arguments": '{"x":1}'},
            {"type": "function", "function": function("f", '{"x":1}'), "id": "call_1"},
        ),
        (
            {"name": "f"},
            {"type": "function", "function": function("f"), "id": "call_1"},
        ),
        (
            {"id": "c7", "function": function("f")},
            {"id": "c7", "function": function("f")},
        ),
    ],
)
def test_a_call_is_written_as_openais_api_has_it(call, sent):
    (message,) = ask("{{ x }}", x=[{"role": "assistant", "tool_calls": [call]}])
    assert message == {"role": "assistant", "tool_calls": [sent]}


def test_results_answer_the_calls_that_they_name_and_else_the_first_that_waits():
    calls = [{"name": name, "args": {}} for name in ("a", "b", "c")]
    talk = [
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "content": "of b", "tool_call_id": "call_2"},
        {"role": "tool", "content": "of a"},
        {"role": "tool", "content": "of c"},
        {"role": "tool", "content": "of nothing"},
    ]
    messages = ask("{{ x }}", x=talk)
    assert [message.get("tool_call_id") for message in messages] == [
        None,
        "call_2",
        "call_1",
        "call_3",
        None,
    ]


def test_a_message_without_calls_has_no_empty_list_of_them():
    assert ask("{{ x }}", x=[{**USER, "tool_calls": []}]) == [USER]


def test_parts_of_a_content_are_sent_as_they_are():
    parts = [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {}}]
    assert ask(["{{ x }}"], x=[{"role": "user", "content": parts}]) == [
        {"role": "user", "content": parts}
    ]


def test_a_content_that_is_no_text_says_how_to_make_it_one():
    with pytest.raises(RowError, match="expected text") as raised:
        ask(["{{ x }}"], x=[{"role": "user", "content": {"a": 1}}])
    assert raised.value.hint == (
        'make it text: "{{ column | string }}" or "{{ column | tojson }}"'
    )
