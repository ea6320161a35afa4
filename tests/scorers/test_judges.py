"""What a judge answered, field by field; what it is asked with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from judge_process import TERMS, run

from pytest_evalmetrics.chat import Reply
from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.scorers.judge import field_of, judge_of, reasoning_of

if TYPE_CHECKING:
    from judge_process import JudgeProcess


def said(value: Any) -> Reply:
    return Reply(json.dumps({"field": value, "reasoning": " for\n this "}))


@pytest.mark.parametrize(
    ("value", "kind", "found"),
    [
        (1, int, 1),
        (1.0, int, 1),
        ("1", int, 1),
        (" 4 ", int, 4),
        (True, bool, True),
        ("False", bool, False),
        ("x", str, "x"),
        (["x"], list, ["x"]),
    ],
)
def test_what_can_mean_but_one_thing(value: Any, kind: type, found: Any) -> None:
    assert field_of(said(value), "field", kind, "that") == found
    assert type(field_of(said(value), "field", kind, "that")) is kind


@pytest.mark.parametrize(
    ("value", "kind"),
    [(1.5, int), (True, int), ("one", int), (None, int), (1, bool), ("yes", bool), (3, str)],
)
def test_what_can_not(value: Any, kind: type) -> None:
    with pytest.raises(RowError, match=r"the judge's 'field' is .*, expected that"):
        field_of(said(value), "field", kind, "that")


@pytest.mark.parametrize("text", ['{"other": 1}', "[1]", "3"])
def test_a_field_that_is_not_there(text: str) -> None:
    with pytest.raises(RowError, match="no 'field'"):
        field_of(Reply(text), "field", int, "that")


def test_reasoning_is_for_people() -> None:
    assert reasoning_of(said(1)) == "for this"
    assert reasoning_of(Reply('{"reasoning": 3}')) == ""


def test_one_text_is_what_the_user_says(judge_server: JudgeProcess) -> None:
    judge = judge_of(judge_server.model(), TERMS, "some-kind", "7")
    text = '[[say: {"field": 1}]]'
    found, _ = run(
        lambda calls: judge.ask(calls, text, lambda reply: field_of(reply, "field", int, "1"))
    )
    assert found == 1
    assert judge.versions == {"prompts": "7"}
    assert judge_server.bodies == [
        {"model": "judge", "messages": [{"role": "user", "content": text}]}
    ]
