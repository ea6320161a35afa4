"""Texts out of rows: each tool keeps its question, answer and reason elsewhere."""

import pytest

from pytest_evalmetrics.model.rollout_table import RowScores
from pytest_evalmetrics.pipeline.row_texts import (
    KEPT_REASON,
    RowTexts,
    _is_conversation,
    hidden,
    shortened,
    texts_of,
)
from pytest_evalmetrics.spec import FieldMap
from pytest_evalmetrics.transcripts import Turn
from pytest_evalmetrics.transcripts.turns import Image, ToolCall, ToolResult

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


def texts(**row):
    return texts_of(row)


# -- the question ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    [
        "prompt",
        "question",
        "problem",
        "instruction",
        "query",
        "user_input",
        "input",
        "inputs",
    ],
)
def test_a_question_may_have_any_of_the_usual_names(key):
    assert texts_of({key: "Why?"}).prompt == "Why?"


def test_the_first_of_several_names_is_the_question():
    assert texts(input="the whole input", question="Why?").prompt == "Why?"


def test_an_empty_question_is_none():
    assert texts(question="", input="Why?").prompt == "Why?"


def test_a_conversation_begins_with_its_question():
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Why?"},
    ]
    assert texts(messages=messages).prompt == "Why?"


def test_a_conversation_that_asks_nothing_is_shown_as_it_is():
    messages = [{"role": "system", "content": "Be brief."}]
    assert texts(messages=messages).prompt == "system: Be brief."


def test_a_question_of_nemo_gym_is_that_of_its_request():
    request = {"input": [{"role": "user", "content": "Why?"}]}
    assert texts(responses_create_params=request).prompt == "user: Why?"


# -- the answer ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    [
        "output_text",
        "response",
        "output",
        "outputs",
        "completion",
        "generation",
        "prediction",
        "model_output",
        "resps",
        "answer",
    ],
)
def test_an_answer_may_have_any_of_the_usual_names(key):
    assert texts_of({key: "So."}).answer == "So."


def test_an_answer_of_zero_is_one():
    assert texts(output=0).answer == "0"


def test_an_empty_answer_is_none():
    assert texts(output="", completion="So.").answer == "So."


def test_answers_of_several_samples_are_below_each_other():
    assert texts(resps=[["a"], ["b"]]).answer == "a\nb"


def test_the_calls_of_the_last_turn_are_shown_below_its_text():
    call = {"id": "1", "function": {"name": "look_up", "arguments": '{"year":1}'}}
    messages = [
        {"role": "user", "content": "When?"},
        {"role": "assistant", "content": "Let me look.", "tool_calls": [call]},
    ]
    assert texts(messages=messages).answer == 'Let me look.\nlook_up({"year":1})'


def test_a_conversation_without_an_answer_has_none():
    assert texts(messages=[{"role": "user", "content": "When?"}]).answer == ""


# -- the reference ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    [
        "reference",
        "expected",
        "expected_output",
        "expected_answer",
        "target",
        "ground_truth",
        "gold",
        "correct_answer",
        "text",
        "label",
    ],
)
def test_a_reference_may_have_any_of_the_usual_names(key):
    assert texts_of({"output": "So.", key: "Thus."}).reference == "Thus."


def test_an_answer_beside_an_output_is_the_reference():
    row = texts(output="So.", answer="Thus.")
    assert (row.answer, row.reference) == ("So.", "Thus.")


def test_an_answer_alone_is_no_reference():
    assert texts(answer="So.").reference == ""


def test_a_reference_of_zero_is_one():
    assert texts(output="1", expected=0, target=5).reference == "0"


# -- reasons ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    [
        "reason",
        "explanation",
        "rationale",
        "justification",
        "critique",
        "feedback",
        "judge_reason",
        "judge_explanation",
        "judge_reasoning",
        "judge_feedback",
    ],
)
def test_a_reason_may_have_any_of_the_usual_names(key):
    assert texts_of({key: "wrong year"}).reason == "wrong year"


@pytest.mark.parametrize(
    "key",
    [
        "scores",
        "gradingResult",
        "componentResults",
        "metrics_data",
        "metricsData",
        "metrics",
        "results",
        "evaluation",
        "evaluations",
        "judge",
        "grade",
        "grading",
    ],
)
def test_a_reason_may_be_within_a_grade(key):
    assert texts_of({key: [{"reason": "wrong year"}]}).reason == "wrong year"


def test_each_reason_is_shown_once():
    grades = [{"reason": "wrong year"}, {"reason": "rude"}, {"reason": "wrong year"}]
    assert texts(results=grades).reason == "wrong year\nrude"


def test_grades_are_searched_four_levels_deep():
    four = {"results": [{"results": [{"reason": "wrong year"}]}]}
    five = {"results": [{"results": [{"grade": {"reason": "wrong year"}}]}]}
    assert texts_of(four).reason == "wrong year"
    assert texts_of(five).reason == ""


def test_a_reason_that_is_no_text_is_none():
    assert texts(reason=5, explanation="").reason == ""


def test_the_reasons_of_this_projects_judges_come_first():
    def reasons(row):
        return b'[{"reason": "rude %d"}, {"reason": ["a", "b"]}, {"reason": ""}]' % row

    scores = RowScores(None, ("q",), {}, reasons=reasons)
    row = {"reason": "recorded"}
    assert texts_of(row, scores=scores, index=7).reason == "rude 7\na\nb"


def test_without_reasons_of_judges_the_recorded_one_is_shown():
    scores = RowScores(None, ("q",), {})
    assert texts_of({"reason": "recorded"}, scores=scores).reason == "recorded"


def test_a_reason_that_a_baseline_kept_comes_before_recorded_ones():
    row = {KEPT_REASON: "kept", "reason": "recorded"}
    assert texts_of(row).reason == "kept"


# -- values as people read them --------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"content": "a"}, "a"),
        ({"role": "assistant", "content": "a"}, "assistant: a"),
        (
            {"choices": [{"message": {"role": "assistant", "content": "a"}}]},
            "assistant: a",
        ),
        (
            {
                "output": [
                    {"type": "message", "content": [{"text": "a"}, {"text": "b"}]}
                ]
            },
            "a\nb",
        ),
        ({"type": "reasoning", "id": "r"}, ""),
        ([{"type": "reasoning", "id": "r"}, {"text": "a"}], "a"),
        ({"name": "look_up", "arguments": "{}"}, "look_up({})"),
        ({"function": {"name": "look_up", "arguments": "{}"}}, "look_up({})"),
        (
            {"tool_calls": [{"function": {"name": "f", "arguments": "1"}}]},
            "f(1)",
        ),
        (
            {
                "role": "assistant",
                "content": "a",
                "tool_calls": [{"function": {"name": "f", "arguments": "1"}}],
            },
            "assistant: a\nf(1)",
        ),
        ({"name": "look_up"}, '{"name": "look_up"}'),
        ({"grade": "ä"}, '{"grade": "ä"}'),
        (1.5, "1.5"),
        (True, "true"),
        ([None, "a", "", "b"], "a\nb"),
    ],
)
def test_an_answer_is_written_as_a_person_reads_it(value, text):
    assert texts_of({"output": value, "input": "x"}).answer == text


# -- what is hidden and shortened ------------------------------------------------------------


@pytest.mark.parametrize("length", [4_000, 4_001])
def test_a_text_of_4000_characters_is_whole(length):
    answer = texts(output="a" * length).answer
    assert ("left out" in answer) is (length > 4_000)


def test_thousands_of_characters_are_counted_in_groups():
    assert "… 1,996,000 characters left out …" in shortened("a" * 2_000_000)


def test_a_question_and_an_answer_are_no_conversation():
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Why?"},
        {"role": "assistant", "content": "So."},
    ]
    assert texts(messages=messages).turns == ()


def test_keys_are_hidden_in_a_conversation():
    call = {"id": "1", "function": {"name": "look_up", "arguments": '{"k":"s3cr3t"}'}}
    messages = [
        {"role": "user", "content": "s3cr3t?"},
        {"role": "assistant", "content": "s3cr3t.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "Error: s3cr3t"},
    ]
    row = {
        "messages": messages,
        "output": "s3cr3t",
        "reference": "s3cr3t",
        "reason": "s3cr3t",
    }
    shown = hidden(texts_of(row), lambda text: text.replace("s3cr3t", "***"))
    assert "s3cr3t" not in str(shown)
    assert (shown.prompt, shown.answer) == ("***?", "***")
    assert (shown.reference, shown.reason) == ("***", "***")
    assert shown.turns[1].calls[0].arguments == '{"k":"***"}'
    assert shown.turns[1].calls[0].name == "look_up"
    roles = [turn.role for turn in shown.turns]
    assert roles == ["user", "assistant", "tool", "assistant"]


def test_a_large_image_is_left_out_and_a_small_one_stays():
    images = (
        Image("image/png", 9, "a" * 300_000),
        Image("image/png", 9, "a" * 300_001),
    )
    turn = Turn("user", "See.", images=images)
    (shown,) = hidden(RowTexts(turns=(turn,)), str).turns
    assert [len(image.data) for image in shown.images] == [300_000, 0]
    assert shown.images[1].size == 9


def test_long_texts_of_a_turn_are_shortened():
    call = ToolCall("f", "x" * 5_000, "1", error="e" * 5_000)
    result = ToolResult("1", error="e" * 5_000)
    turn = Turn("assistant", "t" * 5_000, "r" * 5_000, (call,), result)
    (shown,) = hidden(RowTexts(turns=(turn,)), str).turns
    cut = "1,000 characters left out"
    assert cut in shown.text
    assert cut in shown.reasoning
    assert cut in shown.calls[0].arguments
    assert cut in shown.calls[0].error
    assert cut in shown.result.error


@pytest.mark.parametrize(
    "more",
    [
        {"reasoning": "because"},
        {"calls": (ToolCall("f"),)},
        {"images": (Image(url="x"),)},
    ],
)
def test_what_a_text_does_not_show_makes_a_conversation(more):
    turns = (Turn("user", "Why?"), Turn("assistant", "So.", **more))
    assert _is_conversation(turns)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_three_turns_are_a_conversation(count):
    turns = (Turn("system", "Be brief."), *([Turn("user", "Why?")] * count))
    assert _is_conversation(turns) is (count == 3)
