"""Spans of traces: where their messages are, and what is added of each."""

import json

import pytest

from pytest_evalmetrics.transcripts import ToolCall, ToolResult, Turn
from pytest_evalmetrics.transcripts.conversation import Conversation
from pytest_evalmetrics.transcripts.spans import add_spans, spans_in

ASKED = {"role": "user", "content": "q"}
ANSWERED = {"role": "assistant", "content": "a"}
Q_AND_A = [Turn("user", "q"), Turn("assistant", "a")]


def turns_of_spans(*spans):
    conversation = Conversation()
    add_spans(conversation, spans)
    return conversation.turns


def span(asked=(), answered=(), **fields):
    attributes = {
        "gen_ai.input.messages": list(asked),
        "gen_ai.output.messages": list(answered),
    }
    return {"attributes": attributes, **fields}


# -- which parts of a row are spans ----------------------------------------------------------


@pytest.mark.parametrize(
    "row",
    [
        {"attributes": {"gen_ai.system": "x"}},
        {"attributes": {"gen_ai": {"system": "x"}}},
        {"attributes": [{"key": "gen_ai.system", "value": {"stringValue": "x"}}]},
        {"attributes": {"llm.model": "x"}},
        {"attributes": {"openinference.span.kind": "LLM"}},
        {"attributes": {"ai.prompt.messages": "[]"}},
        {"attributes": {"mlflow.spanInputs": "{}"}},
        {"gen_ai.system": "x"},
        *(
            {"type": kind, key: "q"}
            for kind in ("GENERATION", "TOOL", "AGENT", "llm", "tool")
            for key in ("input", "output")
        ),
    ],
)
def test_a_span_is_known_by_its_attributes_or_its_kind(row):
    assert spans_in(row) == [row]


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"attributes": {"http.route": "/"}},
        {"attributes": {}, "gen_ai.system": "x"},
        {"type": "GENERATION"},
        {"type": "SPAN", "input": "q"},
        {"spans": 3},
    ],
)
def test_anything_else_is_no_span(row):
    assert spans_in(row) == []


SPAN = {"attributes": {"gen_ai.system": "x"}}
OTHER = {"attributes": {"gen_ai.system": "y"}}


@pytest.mark.parametrize(
    "key", ["spans", "resourceSpans", "scopeSpans", "observations", "trace", "data"]
)
def test_spans_are_found_under_the_keys_of_the_tools(key):
    assert spans_in({key: [SPAN, "no span", {"n": 1}, OTHER]}) == [SPAN, OTHER]
    assert spans_in({key: SPAN}) == [SPAN]


def test_spans_of_all_resources_and_scopes_are_found():
    scopes = [{"scopeSpans": [{"spans": [SPAN]}, {"spans": [OTHER]}]}]
    assert spans_in({"resourceSpans": [*scopes, *scopes]}) == [SPAN, OTHER] * 2


def test_the_first_key_that_holds_spans_counts():
    assert spans_in({"spans": [], "data": [SPAN], "trace": {}}) == [SPAN]
    assert spans_in({"spans": [SPAN], "data": [OTHER]}) == [SPAN]


# -- messages of attributes ------------------------------------------------------------------

ASKED_NAMES = (
    "gen_ai.input.messages",
    "llm.input_messages",
    "gen_ai.prompt",
    "ai.prompt.messages",
    "gen_ai.request.messages",
    "mlflow.spanInputs",
)
ANSWERED_NAMES = (
    "gen_ai.output.messages",
    "llm.output_messages",
    "gen_ai.completion",
    "gen_ai.response.messages",
    "mlflow.spanOutputs",
)


@pytest.mark.parametrize("asked", ASKED_NAMES)
@pytest.mark.parametrize("answered", ANSWERED_NAMES)
def test_messages_are_read_of_the_attributes_of_each_convention(asked, answered):
    attributes = {asked: json.dumps([ASKED]), answered: [ANSWERED]}
    assert turns_of_spans({"attributes": attributes}) == Q_AND_A


@pytest.mark.parametrize(
    "attributes",
    [
        {
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": "q",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": "a",
        },
        {
            "gen_ai": {
                "prompt": {"0": {"role": "user", "content": "q"}},
                "completion": {"0": {"role": "assistant", "content": "a"}},
            }
        },
        {
            "mlflow.spanInputs": json.dumps({"messages": [ASKED]}),
            "mlflow.spanOutputs": {"choices": [{"message": ANSWERED}]},
        },
    ],
    ids=["dotted", "nested", "objects"],
)
def test_messages_may_be_dotted_names_or_objects(attributes):
    assert turns_of_spans({"attributes": attributes}) == Q_AND_A


def test_numbered_messages_are_in_the_order_of_their_numbers():
    attributes = {}
    for number in (10, 9, 2):
        attributes[f"gen_ai.prompt.{number}.role"] = "user"
        attributes[f"gen_ai.prompt.{number}.content"] = str(number)
    turns = turns_of_spans({"attributes": attributes})
    assert [turn.text for turn in turns] == ["2", "9", "10"]


def test_attributes_of_otlp_have_their_values_in_their_types():
    parts = [
        {"key": "role", "value": {"stringValue": "user"}},
        {"key": "content", "value": {"stringValue": "q"}},
    ]
    messages = {"arrayValue": {"values": [{"kvlistValue": {"values": parts}}]}}
    pairs = [{"key": "gen_ai.input.messages", "value": messages}, "no pair", {"key": 3}]
    pairs.append(
        {
            "key": "gen_ai.output.messages",
            "value": {"stringValue": json.dumps([ANSWERED])},
        }
    )
    assert turns_of_spans({"attributes": pairs}) == Q_AND_A


@pytest.mark.parametrize(
    "instructions", ["Be brief.", '[{"type": "text", "content": "Be brief."}]']
)
def test_the_instructions_of_the_system_come_first(instructions):
    attributes = {
        "gen_ai.system_instructions": instructions,
        "gen_ai.input.messages": [ASKED],
    }
    turns = turns_of_spans({"attributes": attributes})
    assert turns == [Turn("system", "Be brief."), Turn("user", "q")]


@pytest.mark.parametrize("reasons", ['["length"]', ["length"], "length"])
def test_the_reason_of_the_end_is_that_of_the_last_message(reasons):
    attributes = {
        "gen_ai.output.messages": [ANSWERED, ANSWERED],
        "gen_ai.response.finish_reasons": reasons,
    }
    turns = turns_of_spans({"attributes": attributes})
    assert [turn.stop_reason for turn in turns] == ["", "length"]


def test_a_reason_that_the_message_has_stays():
    attributes = {
        "gen_ai.output.messages": [ANSWERED | {"finish_reason": "stop"}],
        "gen_ai.response.finish_reasons": ["length"],
    }
    (turn,) = turns_of_spans({"attributes": attributes})
    assert turn.stop_reason == "stop"


# -- several spans ---------------------------------------------------------------------------

MORE = {"role": "user", "content": "more"}
LAST = {"role": "assistant", "content": "last"}


def test_what_a_span_repeats_is_added_once():
    turns = turns_of_spans(
        span([ASKED], [ANSWERED]), span([ASKED, ANSWERED, MORE], [LAST])
    )
    assert [turn.text for turn in turns] == ["q", "a", "more", "last"]


def test_a_span_that_begins_otherwise_is_added_whole():
    turns = turns_of_spans(span([ASKED], [ANSWERED]), span([MORE], [LAST]))
    assert [turn.text for turn in turns] == ["q", "a", "more", "last"]
    turns = turns_of_spans(span([ASKED], [ANSWERED]), span([ASKED, MORE], [LAST]))
    assert [turn.text for turn in turns] == ["q", "a", "q", "more", "last"]


CALLING = {"role": "assistant", "tool_calls": [{"name": "f", "id": "1"}]}
FAILED = {"role": "tool", "tool_call_id": "1", "content": "Error: gone"}


def test_a_later_span_shows_that_a_call_failed():
    first, called, *_ = turns_of_spans(
        span([ASKED], [CALLING]), span([ASKED, CALLING, FAILED], [ANSWERED])
    )
    assert first == Turn("user", "q")
    assert called.calls == (ToolCall("f", "{}", "1", "Error: gone"),)


@pytest.mark.parametrize(
    "starts",
    [
        {"startTimeUnixNano": ("2", "1")},
        {"startTimeUnixNano": (2, 1)},
        {"start_time": ("2026-01-01T00:00:02+00:00", "2026-01-01T00:00:01+00:00")},
        {"startTime": ("2026-01-01T00:00:01Z", "2025-12-31T23:59:59Z")},
        {"start_time_unix_nano": ("10", "9")},
        {"start_time": (2.5, 2.25)},
        {"start_time": (2.5, None)},  # of a span without a time
        {"start_time": ("2026-01-01T00:00:02", "soon")},
    ],
)
def test_spans_are_read_in_the_order_of_their_start(starts):
    ((key, (late, early)),) = starts.items()
    spans = [
        span([MORE], [LAST], **{key: late}),
        span([ASKED], [ANSWERED], **{key: early}),
    ]
    assert [turn.text for turn in turns_of_spans(*spans)] == ["q", "a", "more", "last"]


# -- calls of tools --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "attributes",
    [
        {
            "gen_ai.tool.name": "f",
            "gen_ai.tool.call.id": "1",
            "gen_ai.tool.call.arguments": '{"a": 1}',
            "gen_ai.tool.call.result": "r",
        },
        {
            "tool.name": "f",
            "gen_ai.tool.call.id": "1",
            "input.value": {"a": 1},
            "output.value": "r",
        },
    ],
)
def test_a_span_of_a_tool_is_a_call_and_its_result(attributes):
    assert turns_of_spans({"attributes": attributes}) == [
        Turn("assistant", calls=(ToolCall("f", '{"a":1}', "1"),)),
        Turn("tool", "r", result=ToolResult("1", "f")),
    ]


def test_a_tool_that_failed_has_the_type_of_its_error():
    attributes = {"gen_ai.tool.name": "f", "error.type": "timeout"}
    called, result = turns_of_spans({"attributes": attributes})
    assert called.calls == (ToolCall("f", "{}", "call_1", "timeout"),)
    assert result.result.error == "timeout"


def test_spans_of_tools_are_left_out_where_messages_hold_the_calls():
    tool = {"attributes": {"gen_ai.tool.name": "f"}}
    assert turns_of_spans(tool, span([ASKED], [ANSWERED])) == Q_AND_A
    assert turns_of_spans({"attributes": {"gen_ai.system": "x"}}) == []


# -- observations of Langfuse ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("q", "a"),
        ([ASKED], ANSWERED),
        ({"messages": [ASKED]}, [ANSWERED]),
    ],
)
def test_a_generation_of_langfuse_is_a_call_of_a_model(asked, answered):
    generation = {"type": "GENERATION", "input": asked, "output": answered}
    assert turns_of_spans(generation) == Q_AND_A


@pytest.mark.parametrize("kind", ["TOOL", "tool"])
def test_a_tool_of_langfuse_is_a_call(kind):
    tool = {"type": kind, "name": "f", "input": {"a": 1}, "output": "r"}
    assert turns_of_spans(tool) == [
        Turn("assistant", calls=(ToolCall("f", '{"a":1}', "call_1"),)),
        Turn("tool", "r", result=ToolResult("call_1", "f")),
    ]


# -- events ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "event",
    [
        {"name": "gen_ai.user.message", "body": {"content": "q"}},
        {"event.name": "gen_ai.user.message", "body": {"content": "q"}},
        {"attributes": {"event.name": "gen_ai.user.message", "content": "q"}},
        {"name": "gen_ai.user.message", "body": '{"content": "q"}'},
        {
            "name": "gen_ai.user.message",
            "attributes": {"event_body": '{"content": "q"}'},
        },
        {"name": "gen_ai.user.message", "attributes": {"content": "q"}},
        {"name": "gen_ai.user.message", "attributes": {"message.content": "q"}},
    ],
)
def test_a_message_of_an_event_is_read_where_the_conventions_keep_it(event):
    assert turns_of_spans({"events": [event, "no event"]}) == [Turn("user", "q")]


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("gen_ai.system.message", "system"),
        ("gen_ai.user.message", "user"),
        ("gen_ai.assistant.message", "assistant"),
        ("gen_ai.tool.message", "tool"),
        ("gen_ai.choice", "assistant"),
    ],
)
def test_an_event_is_named_by_who_speaks(name, role):
    (turn,) = turns_of_spans({"events": [{"name": name, "body": {"content": "x"}}]})
    assert (turn.role, turn.text) == (role, "x")


def test_another_event_holds_no_message():
    assert (
        turns_of_spans({"events": [{"name": "exception", "body": {"content": "x"}}]})
        == []
    )


def test_a_choice_has_its_reason_beside_its_message():
    body = {"finish_reason": "length", "message": {"content": "a"}}
    (turn,) = turns_of_spans({"events": [{"name": "gen_ai.choice", "body": body}]})
    assert turn == Turn("assistant", "a", stop_reason="length")


def test_the_details_of_an_operation_hold_its_messages():
    attributes = {
        "gen_ai.input.messages": json.dumps([ASKED]),
        "gen_ai.output.messages": json.dumps([ANSWERED]),
    }
    event = {
        "name": "gen_ai.client.inference.operation.details",
        "attributes": attributes,
    }
    assert turns_of_spans({"attributes": {}, "events": [event]}) == Q_AND_A


def test_events_are_read_only_where_attributes_hold_no_messages():
    event = {"name": "gen_ai.user.message", "body": {"content": "other"}}
    assert turns_of_spans(span([ASKED], [ANSWERED], events=[event])) == Q_AND_A
