"""The parts of a message, and the turns that they become."""

import pytest

from pytest_evalmetrics.transcripts.conversation import (
    Conversation,
    Draft,
    ResultDraft,
)
from pytest_evalmetrics.transcripts.parts import add_content
from pytest_evalmetrics.transcripts.turns import Image, ToolCall, ToolResult, Turn


def drafted(content, role="assistant"):
    draft = Draft(role)
    add_content(draft, content)
    return draft


# -- texts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [
        "text",
        "input_text",
        "output_text",
        "summary_text",
        "user-prompt",
        "system-prompt",
    ],
)
def test_a_part_of_a_text_is_what_is_said(kind):
    assert drafted([{"type": kind, "text": "a"}]).texts == ["a"]
    assert drafted([{"part_kind": kind, "content": "a"}]).texts == ["a"]


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ("a", ["a"]),
        ("", []),
        (None, []),
        (3, []),
        (["a", "b"], ["a", "b"]),
        ({"text": "a"}, ["a"]),
        ({"type": "text", "text": {"value": "a"}}, ["a"]),
        ({"type": "text", "text": ""}, []),
        ({"type": "text", "text": 3}, []),
        ({"type": "unknown", "text": "a"}, ["a"]),
        ({"type": 3, "text": "a"}, ["a"]),
        ({"type": "unknown"}, []),
        ({"message_content": "a"}, ["a"]),
        ({"message_content": ["a"]}, ["a"]),
    ],
)
def test_content_is_a_text_a_part_or_a_list_of_them(content, texts):
    assert drafted(content).texts == texts


@pytest.mark.parametrize(("levels", "texts"), [(4, ["a"]), (5, [])])
def test_content_is_read_four_lists_deep(levels, texts):
    content = "a"
    for _ in range(levels):
        content = [content]
    assert drafted(content).texts == texts


# -- reasoning -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["thinking", "reasoning", "reasoning_text", "thought"])
@pytest.mark.parametrize("key", ["thinking", "reasoning", "text", "content"])
def test_a_part_of_reasoning_is_thought(kind, key):
    draft = drafted([{"type": kind, key: "a"}])
    assert draft.reasoning == ["a"]
    assert draft.texts == []


@pytest.mark.parametrize(
    ("part", "reasoning"),
    [
        ({"type": "reasoning", "summary": [{"text": "a"}]}, ["a"]),
        ({"type": "reasoning", "content": "a", "summary": [{"text": "b"}]}, ["a"]),
        ({"type": "reasoning", "content": [], "summary": [{"text": "b"}]}, ["b"]),
        ({"type": "reasoning", "summary": []}, []),
        ({"text": "a", "thought": True}, ["a"]),  # of Gemini
        ({"text": "", "thought": True}, []),
        ({"reasoningContent": {"reasoningText": {"text": "a"}}}, ["a"]),  # of Bedrock
        ({"reasoningContent": {"redactedContent": "x"}}, []),
        ({"reasoningContent": "a"}, []),
    ],
)
def test_reasoning_is_read_where_the_dialects_keep_it(part, reasoning):
    draft = drafted([part])
    assert draft.reasoning == reasoning
    assert draft.texts == []


def test_a_thought_of_gemini_that_is_none_is_said():
    assert drafted({"text": "a", "thought": False}).texts == ["a"]


# -- refusals, images, calls and results -----------------------------------------------------


@pytest.mark.parametrize("key", ["refusal", "text"])
def test_a_refusal_is_said_and_ends_the_message(key):
    draft = drafted([{"type": "refusal", key: "No."}])
    assert draft.texts == ["No."]
    assert draft.stop_reason == "content_filter"


def test_an_empty_refusal_is_none():
    draft = drafted([{"type": "refusal", "refusal": ""}])
    assert draft.texts == []
    assert draft.stop_reason == ""


@pytest.mark.parametrize("kind", ["image", "image_url", "input_image"])
def test_a_part_of_an_image_is_one(kind):
    draft = drafted([{"type": kind, "image_url": "https://a/b.png"}, {"type": kind}])
    assert draft.images == [Image(url="https://a/b.png")]


CALL = {"name": "f", "args": {"a": 1}, "id": "c1"}


@pytest.mark.parametrize(
    "part",
    [
        *(
            {"type": kind, **CALL}
            for kind in (
                "tool_use",
                "server_tool_use",
                "mcp_tool_use",
                "tool_call",
                "tool-call",
                "function_call",
            )
        ),
        {"functionCall": CALL},
        {"function_call": CALL},
        {"toolUse": CALL},
    ],
)
def test_a_part_of_a_call_is_one(part):
    assert drafted([part]).calls == [ToolCall("f", '{"a":1}', "c1")]


def test_a_part_that_names_no_tool_is_no_call():
    assert drafted([{"type": "tool_use"}, {"toolUse": {}}]).calls == []


RESULT = {"tool_use_id": "c1", "content": "r"}


@pytest.mark.parametrize(
    "part",
    [
        *(
            {"type": kind, **RESULT}
            for kind in (
                "tool_result",
                "mcp_tool_result",
                "web_search_tool_result",
                "code_execution_tool_result",
                "web_fetch_tool_result",
                "tool_call_response",
                "tool-result",
                "tool-return",
                "retry-prompt",
                "function_call_output",
            )
        ),
        {"functionResponse": RESULT},
        {"function_response": RESULT},
        {"toolResult": RESULT},
    ],
)
def test_a_part_of_a_result_is_one(part):
    assert drafted([part]).results == [ResultDraft(id="c1", text="r")]


def test_a_result_that_is_no_object_is_none():
    assert drafted([{"toolResult": "r"}]).results == []


# -- a draft becomes a turn ------------------------------------------------------------------


def test_the_parts_of_a_message_are_joined_by_line_breaks():
    draft = drafted(["a", "b", {"type": "thinking", "thinking": "x"}])
    draft.reasoning.append("y")
    draft.images.append(Image(url="u"))
    draft.stop_reason = "stop"
    call = ToolCall("f")
    assert draft.turn([call]) == Turn(
        role="assistant",
        text="a\nb",
        reasoning="x\ny",
        calls=(call,),
        images=(Image(url="u"),),
        stop_reason="stop",
    )


@pytest.mark.parametrize(
    ("text", "reasoning", "answer"),
    [
        ("<think>a\nb</think>\n c", "a\nb", "c"),
        ("  <thinking> a </thinking>c", "a", "c"),
        ("<|think_start|>a<|think_end|>c", "a", "c"),
        ("<think></think>c", "", "c"),
        ("<think>a</think>b</think>c", "a", "b</think>c"),
        ("a</think> c", "a", "c"),  # the template opened the tag
        ("a</think>b</think>c", "a", "b</think>c"),
        ("x <think>a</think>c", "", "x <think>a</think>c"),
        ("<think>a", "", "<think>a"),
        ("1 < 2", "", "1 < 2"),
        ("c", "", "c"),
    ],
)
def test_reasoning_that_stands_in_tags_before_an_answer_is_no_part_of_it(
    text, reasoning, answer
):
    turn = drafted(text).turn([])
    assert (turn.reasoning, turn.text) == (reasoning, answer)


def test_tags_stay_in_what_a_user_says_and_beside_recorded_reasoning():
    said = "<think>a</think>c"
    assert drafted(said, role="user").turn([]).text == said
    draft = drafted(said)
    draft.reasoning.append("x")
    assert draft.turn([]).text == said


@pytest.mark.parametrize("part", ["texts", "reasoning", "calls", "images"])
def test_a_draft_is_empty_until_something_is_added(part):
    draft = Draft("assistant")
    assert draft.is_empty
    getattr(draft, part).append("x")
    assert not draft.is_empty


# -- a conversation --------------------------------------------------------------------------


def called(*calls):
    """Begin a conversation with one message that calls tools."""
    conversation = Conversation()
    draft = Draft("assistant")
    draft.calls.extend(calls)
    conversation.add(draft)
    return conversation


def test_calls_without_an_id_are_numbered():
    conversation = called(ToolCall("f"), ToolCall("g", id="own"), ToolCall("h"))
    (turn,) = conversation.turns
    assert [call.id for call in turn.calls] == ["call_1", "own", "call_3"]
    assert conversation.knows("call_3")
    assert not conversation.knows("call_2")


def test_a_result_answers_the_call_that_it_names():
    conversation = called(ToolCall("f", id="1"), ToolCall("g", id="2"))
    conversation.add_result(ResultDraft(id="2", name="other", text="r"))
    assert conversation.turns[1] == Turn("tool", "r", result=ToolResult("2", "g"))


def test_a_result_without_an_id_answers_the_first_call_that_waits():
    conversation = called(ToolCall("f", id="1"), ToolCall("g", id="2"))
    for text in ("of f", "of g", "of nobody"):
        conversation.add_result(ResultDraft(text=text))
    results = [turn.result for turn in conversation.turns[1:]]
    assert results == [ToolResult("1", "f"), ToolResult("2", "g"), ToolResult("", "")]


def test_a_result_of_a_tool_answers_the_first_call_of_that_tool():
    conversation = called(ToolCall("f", id="1"), ToolCall("g", id="2"))
    conversation.add_result(ResultDraft(id="?", name="g", text="r"))
    conversation.add_result(ResultDraft(id="?", name="h", text="r"))
    results = [turn.result for turn in conversation.turns[1:]]
    assert results == [ToolResult("2", "g"), ToolResult("?", "h")]


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (ResultDraft(id="2", text="r", error="gone"), "gone"),
        (ResultDraft(id="2", text="Error: gone"), "Error: gone"),
        (ResultDraft(id="2", text="r"), ""),
    ],
)
def test_a_failure_marks_the_call_and_its_result(result, error):
    conversation = called(ToolCall("f", id="1"), ToolCall("g", id="2"))
    conversation.add_result(result)
    assert [call.error for call in conversation.turns[0].calls] == ["", error]
    assert conversation.turns[1].result == ToolResult("2", "g", error)


def test_the_images_of_a_result_are_those_of_its_turn():
    conversation = called(ToolCall("f", id="1"))
    conversation.add_result(ResultDraft(id="1", images=(Image(url="u"),)))
    assert conversation.turns[1].images == (Image(url="u"),)


@pytest.mark.parametrize(
    ("role", "roles"),
    [("user", ["tool", "user"]), ("assistant", ["assistant", "tool"])],
)
def test_a_users_results_come_before_what_is_said_and_an_assistants_after(role, roles):
    conversation = Conversation()
    draft = Draft(role)
    draft.texts.append("a")
    draft.results.append(ResultDraft(text="r"))
    conversation.add(draft)
    assert [turn.role for turn in conversation.turns] == roles


@pytest.mark.parametrize(
    ("role", "is_item", "results", "roles"),
    [
        ("user", False, 1, ["tool"]),
        ("user", False, 0, ["user"]),
        ("assistant", True, 0, []),
        ("assistant", False, 0, ["assistant"]),
        ("tool", False, 1, ["tool"]),
        ("tool", False, 0, []),
    ],
)
def test_a_message_that_says_nothing_is_a_turn_unless_it_only_carries_results(
    role, is_item, results, roles
):
    conversation = Conversation()
    draft = Draft(role, is_item=is_item)
    draft.results.extend(ResultDraft(text="r") for _ in range(results))
    conversation.add(draft)
    assert [turn.role for turn in conversation.turns] == roles


def test_a_conversation_is_answered_once_the_model_has_spoken():
    conversation = Conversation()
    conversation.add_turn(Turn("user", "q"))
    assert not conversation.is_answered
    conversation.add_turn(Turn("assistant", "a"))
    conversation.add_turn(Turn("user", "thanks"))
    assert conversation.is_answered


def reasons_after(reason, *turns):
    conversation = Conversation()
    for turn in turns:
        conversation.add_turn(turn)
    conversation.end(reason)
    return [turn.stop_reason for turn in conversation.turns]


def test_the_reason_of_the_end_is_that_of_the_last_answer():
    turns = [Turn("assistant", "a"), Turn("assistant", "b"), Turn("tool", "r")]
    assert reasons_after("stop", *turns) == ["", "stop", ""]


def test_a_reason_that_is_known_stays():
    known = Turn("assistant", "b", stop_reason="length")
    assert reasons_after("stop", Turn("assistant", "a"), known) == ["", "length"]
    assert reasons_after("", Turn("assistant", "a")) == [""]
    assert reasons_after("stop", Turn("user", "a")) == [""]
