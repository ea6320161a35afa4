"""Prompts: a text, messages, and columns that hold messages."""

import pytest

from pytest_evalmetrics.errors import RowError
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
        # a text is one message, whatever the data hold
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
