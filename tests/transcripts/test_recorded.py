"""Rows as the tools wrote them."""

import json
from pathlib import Path

from pytest_evalmetrics.transcripts import turns_of

DATA = Path(__file__).parent.parent / "data/transcripts"


def turns_in(name):
    return turns_of(json.loads((DATA / name).read_text(encoding="utf-8")))


def roles(turns):
    return [turn.role for turn in turns]


def test_calls_that_verifiers_writes_as_text_are_read():
    turns = turns_in("verifiers.jsonl")
    assert roles(turns) == [
        *("system", "user", "assistant", "tool", "assistant", "tool", "assistant")
    ]
    assert [call.name for turn in turns for call in turn.calls] == ["python", "python"]


def test_a_traceback_marks_the_call_as_failed():
    first, second = [
        call for turn in turns_in("verifiers.jsonl") for call in turn.calls
    ]
    assert first.error.startswith("Traceback (most recent call last)")
    assert second.error == ""


def test_items_of_nemo_gym_are_a_call_its_result_and_an_answer():
    turns = turns_in("nemo_gym.jsonl")
    assert roles(turns) == ["user", "assistant", "tool", "assistant"]
    assert turns[2].text == "inf"
    assert turns[2].result.name == "Bash"


def test_reasoning_in_tags_is_told_from_the_answer():
    answer = turns_in("nemo_gym_thought.jsonl")[-1]
    assert answer.reasoning.startswith("Okay, let's see.")
    assert answer.text.startswith("<|answer_start|>BrC=1C=C")


def test_inspect_ai_says_why_the_answer_ended():
    turns = turns_in("inspect_ai.jsonl")
    assert roles(turns) == ["system", "user", "assistant"]
    assert turns[-1].text == "Yes"
    assert turns[-1].stop_reason == "stop"


def test_promptfoo_has_a_prompt_and_an_answer():
    question, answer = turns_in("promptfoo.jsonl")
    assert question.text == "2+2"
    assert answer.text == "2+2"
