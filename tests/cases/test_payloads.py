"""Texts and messages in what tracing tools record, in the forms of the tools."""

import json

import pytest

from pytest_evalmetrics.cases.payloads import (
    Message,
    StepTexts,
    answer_in,
    content_text,
    decoded,
    documents_in,
    messages_in,
    question_in,
    texts_of,
)

ASKED = {"role": "user", "content": "Why?"}
ANSWERED = {"role": "assistant", "content": "So."}
CONVERSATION = (Message("user", "Why?"), Message("assistant", "So."))


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        (' ["a"]', ["a"]),
        ("{no json", "{no json"),
        ("12", "12"),
        ("text", "text"),
        (12, 12),
        (None, None),
    ],
)
def test_objects_and_lists_that_are_written_as_text_are_decoded(written, value):
    assert decoded(written) == value


# -- messages --------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["messages", "chat_history", "input", "kwargs"])
def test_a_conversation_is_found_under_the_keys_of_the_tools(key):
    assert messages_in({key: [ASKED, ANSWERED]}) == CONVERSATION


@pytest.mark.parametrize(
    "value",
    [
        [ASKED, ANSWERED],
        [[ASKED, ANSWERED]],  # a batch of one
        json.dumps([ASKED, ANSWERED]),
        {"kwargs": {"messages": [ASKED, ANSWERED]}},
        {"messages": [], "input": [ASKED, ANSWERED]},
        [ASKED, "text", {"role": "user"}, {"content": "nobody's"}, ANSWERED],
    ],
)
def test_a_conversation_is_a_list_of_messages(value):
    assert messages_in(value) == CONVERSATION


@pytest.mark.parametrize(
    "value", [None, "text", 3, {}, [], {"question": "Why?"}, [[ASKED], [ANSWERED]]]
)
def test_what_holds_no_messages_has_no_conversation(value):
    assert messages_in(value) == ()


LANGCHAIN_ID = ["langchain", "schema", "messages", "HumanMessage"]


@pytest.mark.parametrize(
    ("entry", "role"),
    [
        ({"type": "human", "content": "Why?"}, "user"),
        ({"type": "ai", "content": "Why?"}, "assistant"),
        ({"type": "tool", "content": "Why?"}, "tool"),
        ({"type": "human", "data": {"content": "Why?"}}, "user"),
        (
            {"type": "constructor", "id": LANGCHAIN_ID, "kwargs": {"content": "Why?"}},
            "user",
        ),
        (
            {
                "type": "constructor",
                "id": ["AIMessage"],
                "kwargs": {"content": "Why?"},
            },
            "assistant",
        ),
        (
            {
                "type": "constructor",
                "id": ["SystemMessage"],
                "kwargs": {"content": "Why?"},
            },
            "system",
        ),
        (
            {
                "type": "constructor",
                "id": ["ToolMessage"],
                "kwargs": {"content": "Why?"},
            },
            "tool",
        ),
        ({"kwargs": {"type": "human", "content": "Why?"}}, "user"),
        ({"role": "user", "type": "message", "content": "Why?"}, "user"),
        ({"role": "user", "parts": [{"type": "text", "content": "Why?"}]}, "user"),
    ],
)
def test_the_forms_of_a_message_give_its_role_and_text(entry, role):
    assert messages_in([entry]) == (Message(role, "Why?"),)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Why?", "Why?"),
        (["Why", "not?"], "Why\nnot?"),
        (
            [{"type": "text", "text": "Why"}, {"type": "text", "content": "not?"}],
            "Why\nnot?",
        ),
        ([{"type": "image_url", "image_url": {}}, {"text": "Why?"}], "Why?"),
        ([{"text": None}, 3], ""),
        (None, ""),
    ],
)
def test_the_text_of_a_message_is_joined_of_its_parts(content, text):
    assert content_text(content) == text


# -- questions -------------------------------------------------------------------------------

QUESTION_KEYS = (
    "question query user_input prompt input text user_message message content"
)
ANSWER_KEYS = (
    "answer response output output_text completion result text message content"
)


@pytest.mark.parametrize("key", QUESTION_KEYS.split())
def test_a_question_is_the_text_of_a_key_of_the_tools(key):
    assert question_in({"other": "x", "more": "y", key: "Why?"}) == "Why?"


@pytest.mark.parametrize(
    ("value", "question"),
    [
        ("Why?", "Why?"),
        (None, ""),
        ([ASKED, ANSWERED, {"role": "user", "content": "And?"}], "And?"),
        ({"question": "Why?", "content": "other"}, "Why?"),  # the first key
        ({"question": "", "content": "Why?"}, "Why?"),
        ({"question": {"text": "Why?"}}, "Why?"),
        ({"question": '{"text": "Why?"}'}, "Why?"),
        ({"question": [{"text": "Why?"}]}, "Why?"),
        ({"kwargs": {"question": "Why?"}}, "Why?"),
        ({"args": ["Why?"]}, "Why?"),
        ({"city": "Rome"}, "Rome"),  # the only text
        ({"city": "Rome", "days": 3}, "Rome"),
        ({"from": "Rome", "to": "Bari"}, '{"from": "Rome", "to": "Bari"}'),
        ({"days": 3, "café": 1}, '{"days": 3, "café": 1}'),
        (["Why?"], "Why?"),
        ({}, ""),
        ([], ""),
    ],
)
def test_a_question_is_the_last_that_the_user_said_or_the_text_of_the_input(
    value, question
):
    assert question_in(value) == question


# -- answers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ANSWER_KEYS.split())
def test_an_answer_is_the_text_of_a_key_of_the_tools(key):
    assert answer_in({"other": "x", "more": "y", key: "So."}) == "So."


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ("So.", "So."),
        (None, ""),
        ([ANSWERED, ASKED, {"role": "assistant", "content": "Then."}], "Then."),
        # the last one calls a tool and says nothing
        ([ANSWERED, {"role": "assistant", "content": ""}], "So."),
        ({"choices": [{"message": ANSWERED}]}, "So."),
        ({"choices": [{"text": "So."}, {"text": "No."}]}, "So."),
        ({"generations": [[{"text": "So."}]]}, "So."),
        ({"choices": [], "output": "So."}, "So."),
        ([{"text": "No."}, {"text": "So."}], "So."),
        ('{"answer": "So."}', "So."),
        ({"answer": "So.", "content": "other"}, "So."),
    ],
)
def test_an_answer_is_the_last_that_the_assistant_said_or_the_text_of_the_output(
    value, answer
):
    assert answer_in(value) == answer


# -- documents -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "document",
    [
        "Basic: 12 euros.",
        {"page_content": "Basic: 12 euros."},
        {"content": "Basic: 12 euros."},
        {"document.content": "Basic: 12 euros."},
        {"text": "Basic: 12 euros."},
        {"kwargs": {"page_content": "Basic: 12 euros."}},
        {"document": {"content": "Basic: 12 euros."}},
        {"page_content": "Basic: 12 euros.", "text": "other"},
        {"page_content": None, "text": "Basic: 12 euros."},
    ],
)
def test_the_text_of_a_document_is_read_in_the_forms_of_the_tools(document):
    assert documents_in([document]) == ("Basic: 12 euros.",)


@pytest.mark.parametrize(
    "key", ["documents", "retrieval.documents", "output", "results"]
)
def test_documents_are_found_under_the_keys_of_the_tools(key):
    assert documents_in({key: ["one", {"text": "two"}, {"score": 1}]}) == ("one", "two")


@pytest.mark.parametrize("value", [None, "one", {}, {"other": ["one"]}, [3]])
def test_what_holds_no_documents_has_none(value):
    assert documents_in(value) == ()


def test_documents_that_are_written_as_text_are_decoded():
    assert documents_in('{"documents": "[\\"one\\"]"}') == ("one",)


@pytest.mark.parametrize("kind", ["retriever", "RETRIEVER"])
def test_a_retriever_makes_context(kind):
    assert texts_of(kind, ["one", "two"]) == StepTexts(context=("one", "two"))


def test_a_tool_makes_an_answer_that_is_context_for_others():
    assert texts_of("TOOL", {"result": "12"}) == StepTexts("12", context=("12",))
    assert texts_of("tool", None) == StepTexts()


def test_any_other_step_makes_an_answer():
    assert texts_of("llm", {"answer": "So."}) == StepTexts("So.")
