"""A judge's last words: without its reasoning, with its JSON, and with the words beside that."""

import pytest

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.ext import Reply, verdict_in
from pytest_evalmetrics.scoring.chat.replies import final_answer, said_beside


@pytest.mark.parametrize(
    ("text", "answer", "reasoning"),
    [
        ("<think>two and two</think> 4", "4", "two and two"),
        ("<ns:thinking>why</ns:thinking>\n4\n", "4", "why"),
        ("[THINK]why[/THINK]4", "4", "why"),
        ("◁think▷why◁/think▷4", "4", "why"),
        ("<|begin_of_thought|>why<|end_of_thought|>4", "4", "why"),
        ("<|channel|>analysis<|message|>why<|channel|>final<|message|>4", "4", "why"),
        ("why</think>4", "4", "why"),
        ("<think>a <think> b</think>4", "4", "a <think> b"),
        ("<think>a</think>4<think>b</think> 5", "4 5", "ab"),
        ("a<think>b</think>c</think>4", "4", "bac"),
    ],
)
def test_reasoning_in_the_text_is_set_apart_from_the_answer(text, answer, reasoning):
    final = final_answer(Reply(text))
    assert (final.text, final.reasoning) == (answer, reasoning)


def test_reasoning_in_the_text_follows_that_which_the_endpoint_sets_apart():
    final = final_answer(Reply("<think>b</think>4", reasoning="a"))
    assert (final.text, final.reasoning) == ("4", "ab")


def test_an_answer_without_reasoning_stays_as_it_was_written():
    reply = Reply(" 4 \n")
    assert final_answer(reply) is reply


def test_a_tag_that_the_json_talks_about_is_no_reasoning():
    reply = Reply('{"why": "it wrote <think> and </think>", "score": 1}')
    assert final_answer(reply) is reply


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply("4", finish_reason="length"), "cut-off"),
        (Reply("<think>on and on"), "no-answer"),
        (Reply("<think>a</think>4<think>again"), "no-answer"),
        (Reply("", tool_calls=({"id": "1"},)), "tool-call"),
        (Reply("so:\n<tool_call>{}</tool_call>"), "tool-call"),
        (Reply("[TOOL_CALLS] f"), "tool-call"),
        (Reply("<function=f>"), "tool-call"),
        (Reply("<|python_tag|>f()"), "tool-call"),
    ],
    ids=repr,
)
def test_a_judge_that_came_to_no_answer_is_refused(reply, kind):
    with pytest.raises(RowError) as raised:
        final_answer(reply)
    assert raised.value.kind == kind


def test_a_judge_that_was_cut_off_is_shown_with_the_way_out():
    with pytest.raises(RowError, match=r'was cut off .*: "It is"') as raised:
        final_answer(Reply("It is", finish_reason="length"))
    assert raised.value.hint == "raise max_tokens"


def test_a_call_of_a_tool_within_the_reasoning_is_no_answer_and_no_fault():
    reply = Reply("<think>\n<tool_call>x</tool_call>\n</think>4")
    assert final_answer(reply).text == "4"


# -- the JSON ------------------------------------------------------------------------------


def same(value):
    return value


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ('I weighed [1, 2] and say {"score": 1}', {"score": 1}),
        ('{"score": 1} as of [1, 2]', {"score": 1}),
        ('So: [{"score": 1}, 2]', [{"score": 1}, 2]),
        ("[1, 2]", [1, 2]),
        ('{not json} but {"score": 1}', {"score": 1}),
        ('{"a": oops} but {"score": 1}', {"score": 1}),
        ('{"score": 1} and {"a": oops', {"score": 1}),
    ],
)
def test_a_verdict_is_the_last_object_of_an_answer(text, verdict):
    assert verdict_in(Reply(text), same) == verdict


@pytest.mark.parametrize(
    "text", ['{"a": oops, "b": {"score": 1}}', '{ "a" 1 {"score": 1}', "4 [1, 2] 5"]
)
def test_an_object_inside_of_a_broken_one_is_no_verdict(text):
    with pytest.raises(RowError) as raised:
        verdict_in(Reply(text), same)
    assert raised.value.kind == "no-json"


def test_an_earlier_object_that_says_nothing_is_no_contradiction():
    def score(value):
        if "score" not in value:
            raise RowError("no-score", "it has no score")
        return value["score"]

    text = 'The form is {"kind": 0}. {"score": 1}'
    assert verdict_in(Reply(text), score) == 1


def test_an_earlier_object_that_says_another_thing_is_a_contradiction():
    text = 'First {"score": 0}, then {"score": 1}'
    with pytest.raises(RowError, match="it is not clear which counts") as raised:
        verdict_in(Reply(text), same)
    assert raised.value.kind == "disagree"


def test_only_what_values_claim_is_compared():
    text = '{"score": 1, "why": "a"} and {"score": 1, "why": "b"}'
    verdict = verdict_in(Reply(text), same, claim=lambda value: value["score"])
    assert verdict == {"score": 1, "why": "b"}


# -- the words beside it -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("quality: 1", ["1"]),
        ("Quality is **4**", ["4"]),
        ("quality = -0.5", ["-0.5"]),
        ("the quality\uff1a3", ["3"]),
        ('{"quality": 2} so the quality: 1', ["1"]),
        ('{"quality": 2}\nquality: "1"', ["1"]),
        ("quality: 1\nquality: 2", ["1", "2"]),
        ('My final quality: 1\n{"quality": 2}', ["1"]),
    ],
)
def test_words_beside_the_json_say_a_value(text, said):
    assert said_beside(text, "quality") == said


@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"quality": 2}',
        "inequality: 1",
        "quality: 1-5",
        "quality: 1 to 5",
        'quality: "good" or "bad"',
        "quality matters",
        'If I said quality: 1, I would err. {"quality": 2}',
    ],
)
def test_what_argues_or_shows_a_form_says_no_value(text):
    assert said_beside(text, "quality") == []
