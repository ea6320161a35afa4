"""What the attributes and events of a span say, by the conventions for their names."""

import json

import pytest

from pytest_evalmetrics.cases.conventions import content_of, flat
from pytest_evalmetrics.cases.payloads import Message

ASKED = {"role": "user", "content": "Why?"}
ANSWERED = {"role": "assistant", "content": "So."}


@pytest.mark.parametrize(
    ("nested", "attributes"),
    [
        ({"a": 1, "b": "x"}, {"a": 1, "b": "x"}),
        ({"a": {"b": {"c": 1}, "d": 2}}, {"a.b.c": 1, "a.d": 2}),
        ({"a": [1, 2]}, {"a": [1, 2]}),
        ({"a": []}, {"a": []}),
        ({"a": [{"b": 1}, 2]}, {"a": [{"b": 1}, 2]}),
        (
            {"a": [{"b": 1}, {"b": 2}]},
            {"a": [{"b": 1}, {"b": 2}], "a.0.b": 1, "a.1.b": 2},
        ),
        ({"a": {}}, {"a": {}}),
    ],
)
def test_nested_objects_become_dotted_keys(nested, attributes):
    assert flat(nested) == attributes


# -- questions and answers -------------------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    ["gen_ai.input.messages", "input.value", "traceloop.entity.input", "input"],
)
def test_the_question_is_read_of_the_inputs_of_each_convention(key):
    assert content_of({key: json.dumps([ASKED])}).question == "Why?"
    assert content_of({key: "Why?"}).question == "Why?"


@pytest.mark.parametrize(
    "key",
    [
        "gen_ai.output.messages",
        "output.value",
        "traceloop.entity.output",
        "final_result",
        "output",
    ],
)
def test_the_answer_is_read_of_the_outputs_of_each_convention(key):
    assert content_of({key: json.dumps([ANSWERED])}).answer == "So."
    assert content_of({key: "So."}).answer == "So."


def test_the_first_convention_that_says_something_counts():
    attributes = {"gen_ai.input.messages": "", "input.value": "Why?", "input": "Who?"}
    attributes |= {"output.value": "So.", "output": "No."}
    content = content_of(attributes)
    assert content.question == "Why?"
    assert content.answer == "So."


@pytest.mark.parametrize("start", ["llm.input_messages.{}.message", "gen_ai.prompt.{}"])
def test_messages_in_attributes_of_their_own_are_in_the_order_of_their_numbers(start):
    attributes = {}
    for number in (10, 9):
        attributes[f"{start.format(number)}.role"] = "user"
        attributes[f"{start.format(number)}.content"] = f"turn {number}"
    content = content_of({**attributes, "input.value": "other"})
    assert content.messages == (Message("user", "turn 9"), Message("user", "turn 10"))
    assert content.question == "turn 10"


@pytest.mark.parametrize(
    "start", ["llm.output_messages.{}.message", "gen_ai.completion.{}"]
)
def test_the_answer_is_the_last_message_of_the_output(start):
    attributes = {
        f"{start.format(0)}.content": "First.",
        f"{start.format(1)}.role": "assistant",
        f"{start.format(1)}.content": json.dumps([{"type": "text", "text": "So."}]),
        "output.value": "other",
    }
    assert content_of(attributes).answer == "So."


def test_a_message_without_a_role_or_without_a_text_has_an_empty_one():
    attributes = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.1.content": "Why?"}
    assert content_of(attributes).messages == (Message("user", ""), Message("", "Why?"))


def test_a_message_that_is_an_object_without_a_text_is_kept_as_it_is():
    attributes = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": '{"n": 1}'}
    assert content_of(attributes).question == '{"n": 1}'


# -- events ----------------------------------------------------------------------------------


def event(name, **attributes):
    return {"name": name, "attributes": attributes}


def test_messages_are_read_of_events_where_no_attribute_holds_them():
    events = [
        event("gen_ai.system.message", content="Be brief."),
        event("gen_ai.user.message", content='[{"type": "text", "text": "Why?"}]'),
        event("gen_ai.assistant.message", content="So."),
        event("gen_ai.tool.message", content='{"n": 1}'),
        event("gen_ai.user.message"),
        event("exception", content="no message"),
    ]
    content = content_of({}, events)
    assert content.messages == (
        Message("system", "Be brief."),
        Message("user", "Why?"),
        Message("assistant", "So."),
        Message("tool", '{"n": 1}'),
    )
    assert content.question == "Why?"


def test_attributes_go_before_events():
    events = [
        event("gen_ai.user.message", content="Who?"),
        event("gen_ai.choice", message=json.dumps(ANSWERED)),
    ]
    attributes = {"input": json.dumps([ASKED]), "output": "Then."}
    content = content_of(attributes, events)
    assert content.question == "Why?"
    assert content.answer == "Then."


@pytest.mark.parametrize(
    "choice",
    [
        event("gen_ai.choice", message=json.dumps(ANSWERED)),
        event("gen_ai.choice", message=ANSWERED),
        event("gen_ai.choice", content="So."),
    ],
)
def test_the_answer_of_events_is_the_last_choice(choice):
    first = event("gen_ai.choice", message={"content": "No."})
    last = event("gen_ai.user.message", content="Thanks.")
    assert content_of({}, [first, choice, last]).answer == "So."


# -- context ---------------------------------------------------------------------------------


def test_retrieved_documents_are_context():
    attributes = {
        "retrieval.documents.0.document.content": "one",
        "retrieval.documents.0.document.score": 0.7,
        "retrieval.documents.12.document.content": "two",
        "gen_ai.retrieval.documents": json.dumps([{"content": "three"}]),
    }
    assert content_of(attributes).context == ("one", "two", "three")


@pytest.mark.parametrize(
    ("attributes", "context"),
    [
        ({"gen_ai.tool.call.result": "12"}, ("12",)),
        ({"tool_response": "12"}, ("12",)),
        ({"tool_response": {"result": "12"}}, ("12",)),
        ({"output": "12", "openinference.span.kind": "TOOL"}, ("12",)),
        ({"output": "12", "openinference.span.kind": "tool"}, ("12",)),
        ({"output": "12", "gen_ai.operation.name": "execute_tool"}, ("12",)),
        ({"output": "12", "gen_ai.operation.name": "chat"}, ()),
        ({"output": "12"}, ()),
        ({"openinference.span.kind": "TOOL"}, ()),
        # its result, not its answer as well
        (
            {
                "tool_response": "12",
                "output": "other",
                "openinference.span.kind": "TOOL",
            },
            ("12",),
        ),
    ],
)
def test_what_a_tool_returns_is_context(attributes, context):
    assert content_of(attributes).context == context
