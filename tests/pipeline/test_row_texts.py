"""Texts out of rows: each tool keeps its question, answer and reason elsewhere."""

import pytest

from pytest_evalmetrics.pipeline.row_texts import shortened, texts_of
from pytest_evalmetrics.spec import FieldMap

REASONS = [
    ("inspect_ai", {"scores": {"judge": {"value": "I", "explanation": "wrong year"}}}),
    ("promptfoo", {"gradingResult": {"pass": False, "reason": "wrong year"}}),
    ("deepeval", {"metrics_data": [{"name": "Bias", "reason": "wrong year"}]}),
    ("a column of one's own", {"explanation": "wrong year"}),
]


@pytest.mark.parametrize(
    "row", [row for _, row in REASONS], ids=[n for n, _ in REASONS]
)
def test_a_recorded_reason_is_found(row):
    assert texts_of({"output": "1492", **row}).reason == "wrong year"


def test_the_answer_of_messages_is_the_last_turn_of_the_model():
    call = {"id": "1", "function": {"name": "look_up", "arguments": '{"year":1}'}}
    messages = [
        {"role": "user", "content": "When?"},
        {"role": "assistant", "content": "Let me look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "1492"},
        {"role": "assistant", "content": "In 1492."},
    ]
    texts = texts_of({"messages": messages})
    assert texts.prompt == "When?"
    assert texts.answer == "In 1492."
    assert [turn.role for turn in texts.turns] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert texts.turns[1].text == "Let me look."
    assert texts.turns[1].calls[0].name == "look_up"


def test_named_fields_win():
    row = {"output": "no", "said": "yes", "asked": "Why?", "because": "so"}
    fields = FieldMap(prompt="asked", answer="said", reason="because")
    texts = texts_of(row, fields=fields)
    assert (texts.prompt, texts.answer, texts.reason) == ("Why?", "yes", "so")


def test_a_long_text_keeps_its_end_and_counts_what_is_left_out():
    text = shortened("a" * 30 + "b" * 30, 20)
    assert text == "a" * 10 + "\n… 40 characters left out …\n" + "b" * 10
