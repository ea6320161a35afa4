"""Where a row keeps its conversation, what was asked, what was answered, and why it ended."""

import json

import pytest

from pytest_evalmetrics.transcripts import ToolCall, ToolResult, Turn, turns_of

ASKED = {"role": "user", "content": "q"}
ANSWERED = {"role": "assistant", "content": "a"}
Q_AND_A = (Turn("user", "q"), Turn("assistant", "a"))


# -- a whole conversation --------------------------------------------------------------------

HOLDERS = (
    "traj trajectory messages conversation conversations steps intermediate_steps contents "
    "all_messages nodes transcript history"
)


@pytest.mark.parametrize("key", HOLDERS.replace("nodes", "").split())
@pytest.mark.parametrize(
    "value",
    [
        [ASKED, ANSWERED],
        json.dumps([ASKED, ANSWERED]),
        {"messages": [ASKED, ANSWERED]},
        json.dumps({"traj": [ASKED, ANSWERED]}),
        ["first", {"n": 1}, ANSWERED],  # one of the first three is a message
    ],
)
def test_a_conversation_is_found_under_the_keys_of_the_tools(key, value):
    assert turns_of({key: value})[-1] == Turn("assistant", "a")


def test_the_first_key_that_holds_a_conversation_counts():
    other = {"role": "assistant", "content": "other"}
    row = {"traj": [], "trajectory": [1, 2], "messages": [ASKED, ANSWERED]}
    assert turns_of(row | {"history": [other]}) == Q_AND_A


@pytest.mark.parametrize("key", ["system", "system_prompt"])
@pytest.mark.parametrize(
    "system", ["Be brief.", [{"type": "text", "text": "Be brief."}]]
)
def test_the_system_prompt_stands_beside_the_messages(key, system):
    turns = turns_of({key: system, "messages": [ASKED, ANSWERED]})
    assert turns == (Turn("system", "Be brief."), *Q_AND_A)


def test_the_instructions_of_a_request_are_the_system_prompt():
    request = {"instructions": "Be brief.", "input": [ASKED]}
    turns = turns_of({"responses_create_params": request, "response": "a"})
    assert turns == (Turn("system", "Be brief."), *Q_AND_A)


def test_an_answer_beside_messages_that_end_with_a_question_is_added():
    assert turns_of({"messages": [ASKED], "response": "a"}) == Q_AND_A
    assert turns_of({"messages": [ASKED, ANSWERED], "response": "b"}) == Q_AND_A


def test_a_trajectory_of_steps_has_its_question_beside_it():
    row = {"question": "q", "steps": [{"thought": "x", "text": "a"}]}
    assert turns_of(row) == (Turn("user", "q"), Turn("assistant", "a", reasoning="x"))


def test_the_texts_of_an_inspect_ai_log_are_put_back():
    row = {
        "messages": [
            {"role": "user", "content": "attachment://1"},
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "attachment://2"}],
            },
            {"role": "user", "content": "attachment://3"},
        ],
        "attachments": {"1": "q", "2": "a"},
    }
    assert [turn.text for turn in turns_of(row)] == ["q", "a", "attachment://3"]
    assert turns_of(row | {"attachments": {}})[0].text == "attachment://1"


def test_texts_are_put_back_in_the_arguments_of_a_call():
    function = {"name": "f", "arguments": {"q": "attachment://1"}}
    messages = [{"role": "assistant", "tool_calls": [{"function": function}]}]
    (turn,) = turns_of({"messages": messages, "attachments": {"1": "a"}})
    assert turn.calls[0].arguments == '{"q":"a"}'


def node(parent, role, text):
    return {"parent": parent, "message": {"role": role, "content": text}}


@pytest.mark.parametrize(
    ("nodes", "texts"),
    [
        ([node(None, "user", "q"), node(0, "assistant", "a")], ["q", "a"]),
        (
            [
                node(None, "user", "q"),
                node(0, "assistant", "b"),
                node(0, "assistant", "a"),
            ],
            ["q", "a"],
        ),
        ([node(7, "user", "q"), node(0, "assistant", "a")], ["q", "a"]),
        ([node(-1, "user", "q"), node(0, "assistant", "a")], ["q", "a"]),
        (["no node", node(0, "assistant", "a")], ["a"]),
    ],
)
def test_of_a_graph_the_last_branch_is_read(nodes, texts):
    assert [turn.text for turn in turns_of({"nodes": nodes})] == texts


# -- what was asked --------------------------------------------------------------------------

QUESTIONS = (
    "responses_create_params prompt input inputs user_input request question problem "
    "problem_statement instruction query arguments"
)
IN_QUESTIONS = (
    "question query problem instruction input text raw user_input gen_args_0 arg_0"
)


@pytest.mark.parametrize("key", QUESTIONS.split())
@pytest.mark.parametrize("question", ["q", [ASKED], {"messages": [ASKED]}, ASKED])
def test_a_question_is_found_under_the_keys_of_the_tools(key, question):
    assert turns_of({key: question, "answer": "a"}) == Q_AND_A


@pytest.mark.parametrize("key", IN_QUESTIONS.split())
def test_a_question_may_be_in_an_object(key):
    assert turns_of({"inputs": {key: "q", "n": 1}, "answer": "a"}) == Q_AND_A
    assert turns_of({"inputs": {key: [{"text": "q"}]}, "answer": "a"}) == Q_AND_A
    assert turns_of({"inputs": {"input": {key: "q"}}, "answer": "a"}) == Q_AND_A


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ({"b": 1, "a": 2}, '{"a":2,"b":1}'),
        (["q", "more"], "q\nmore"),
        ([{"text": "q"}], "q"),
    ],
)
def test_a_question_of_another_form_is_written_as_text(question, text):
    assert turns_of({"prompt": question, "answer": "a"})[0] == Turn("user", text)


@pytest.mark.parametrize(("levels", "questions"), [(5, ["q"]), (6, [])])
def test_a_question_is_found_five_objects_deep(levels, questions):
    question = "q"
    for _ in range(levels):
        question = {"input": question}
    turns = turns_of({"prompt": question, "answer": "a"})
    assert [turn.text for turn in turns if turn.role == "user"] == questions


def test_a_batch_of_langsmith_holds_one_conversation():
    assert turns_of({"inputs": {"messages": [[ASKED]]}, "answer": "a"}) == Q_AND_A
    asked = {"system": "Be brief.", "messages": [ASKED]}
    turns = turns_of({"inputs": asked, "answer": "a"})
    assert turns == (Turn("system", "Be brief."), *Q_AND_A)


def test_a_question_without_an_answer_is_no_conversation():
    assert turns_of({"prompt": "q"}) == ()
    assert turns_of({"prompt": "q", "answer": ""}) == ()


# -- what was answered -----------------------------------------------------------------------

ANSWERS = (
    "response completion output outputs output_text actualOutput generation prediction "
    "model_output resps answer"
)


@pytest.mark.parametrize("key", ANSWERS.split())
def test_an_answer_is_found_under_the_keys_of_the_tools(key):
    assert turns_of({"prompt": "q", key: "a"}) == Q_AND_A


@pytest.mark.parametrize("value", [None, "", True, 3, 0.5])
def test_a_verdict_is_no_answer(value):
    assert turns_of({"prompt": "q", "response": value, "answer": "a"}) == Q_AND_A


def test_a_result_is_an_answer_only_if_it_is_an_object():
    assert turns_of({"prompt": "q", "result": {"answer": "a"}}) == Q_AND_A
    assert turns_of({"prompt": "q", "result": "passed"}) == ()


def test_an_answer_that_says_nothing_leaves_the_next_one():
    assert turns_of({"prompt": "q", "response": {"n": 1}, "answer": "a"}) == Q_AND_A
    assert turns_of({"prompt": "q", "response": "a", "answer": "b"}) == Q_AND_A


@pytest.mark.parametrize(
    "answer",
    [
        [ANSWERED],
        ["a", "b"],  # the first of several
        [["a"]],
        [{"type": "text", "text": "a"}],
        {"choices": [{"message": ANSWERED}, {"message": ASKED}]},
        {"choices": [{"message": {"content": "a"}}]},
        {"choices": [{"text": "a"}]},
        {"candidates": [{"content": {"parts": [{"text": "a"}]}}]},
        {"generations": [[{"text": "a"}]]},
        {"generations": [{"message": ANSWERED}]},
        {"role": "assistant", "content": "a"},
        {"tool_calls": [], "content": "a"},
        {"message": {"role": "assistant", "content": "a"}},
        {"content": "a"},
        {"content": [{"type": "text", "text": "a"}]},
        {"messages": [ANSWERED]},
        {"messages": [ASKED, ANSWERED]},  # which repeats the question
        *(
            {key: "a"}
            for key in (
                "output",
                "output_text",
                "response",
                "answer",
                "completion",
                "body",
                "text",
                "result",
                "value",
            )
        ),
        {"body": {"choices": [{"message": ANSWERED}]}},
        {"choices": [], "output": "a"},
    ],
)
def test_an_answer_is_read_in_the_forms_of_the_tools(answer):
    assert turns_of({"prompt": "q", "response": answer}) == Q_AND_A


@pytest.mark.parametrize(
    "answer",
    [
        {"choices": ["a"]},
        {"choices": [{}]},
        {"generations": [[]]},
        {"generations": ["a"]},
        {"text": ""},
        {},
        [],
        [3],
    ],
)
def test_an_answer_without_words_is_none(answer):
    assert turns_of({"prompt": "q", "response": answer}) == ()


@pytest.mark.parametrize(("levels", "is_found"), [(5, True), (6, False)])
def test_an_answer_is_found_five_objects_deep(levels, is_found):
    answer = "a"
    for _ in range(levels):
        answer = {"output": answer}
    assert (turns_of({"prompt": "q", "response": answer}) == Q_AND_A) is is_found


def test_an_answer_may_be_steps():
    steps = [{"thought": "x", "action": "ls", "observation": "r"}]
    _, called, result = turns_of({"prompt": "q", "output": steps})
    assert called.reasoning == "x"
    assert result == Turn("tool", "r", result=ToolResult("call_1", "ls"))


CALLS = [{"name": "f", "id": "1"}]


@pytest.mark.parametrize(
    "row",
    [
        {"response": CALLS},
        {"tool_calls": CALLS},
        {"toolsCalled": CALLS},
        {"tools_called": CALLS},
        {"response": [{"type": "function", "function": {"name": "f"}, "id": "1"}]},
        {"response": [{"type": "tool_call", "name": "f", "id": "1"}]},
    ],
)
def test_an_answer_may_be_calls(row):
    call = Turn("assistant", calls=(ToolCall("f", "{}", "1"),))
    assert turns_of({"prompt": "q", **row}) == (Turn("user", "q"), call)


def test_calls_beside_an_answer_are_what_was_expected():
    assert turns_of({"prompt": "q", "answer": "a", "tools_called": CALLS}) == Q_AND_A
    assert turns_of({"prompt": "q", "tool_calls": "f"}) == ()
    assert turns_of({"prompt": "q", "tool_calls": ["no call"]}) == ()


# -- why it ended ----------------------------------------------------------------------------

STOPS = "finish_reason stop_reason finish_reasons stop_condition termination_reason"


def reason_of(**row):
    return turns_of({"prompt": "q", "completion": "a", **row})[-1].stop_reason


@pytest.mark.parametrize("key", STOPS.split())
def test_the_reason_of_the_end_is_found_under_the_keys_of_the_tools(key):
    assert reason_of(**{key: "max_tokens"}) == "length"
    assert reason_of(response={key: "max_tokens"}) == "length"
    assert reason_of(output={key: "max_tokens"}) == "length"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"is_truncated": True, "stop_reason": "stop"}, "length"),
        ({"is_truncated": False, "stop_reason": "stop"}, "stop"),
        ({"is_truncated": "yes"}, ""),
        ({"response": {"stop_reason": "stop"}, "stop_reason": "length"}, "stop"),
        ({"incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        ({"incomplete_details": {"reason": ""}, "stop_reason": "stop"}, "stop"),
        ({"choices": [{"finish_reason": "length"}]}, "length"),
        ({"choices": [{"finish_reason": "length", "choices": [3]}]}, "length"),
        ({"choices": ["a"]}, ""),
        ({"choices": []}, ""),
        ({"calls": [{"finish_reason": "stop"}, {"finish_reason": "length"}]}, "length"),
        ({"calls": [3]}, ""),
        ({"status": "completed"}, ""),
        ({"response": {"output": [ANSWERED], "status": "completed"}}, "stop"),
    ],
)
def test_the_reason_of_the_end_is_read_beside_the_conversation(row, reason):
    assert reason_of(**row) == reason


@pytest.mark.parametrize("key", ["finish_reason", "stop_reason", "finishReason"])
def test_the_reason_of_a_choice_is_that_of_its_message(key):
    choice = {"message": {"content": "a"}, key: "MAX_TOKENS"}
    turns = turns_of({"prompt": "q", "response": {"candidates": [choice]}})
    assert turns[-1].stop_reason == "length"
