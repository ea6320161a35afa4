"""Every part of a span, in the layout of each tool, and which file is of which tool."""

import json

import pytest

from pytest_evalmetrics.cases import langfuse, langsmith, opentelemetry, phoenix
from pytest_evalmetrics.cases.exports import LAYOUTS, read_export
from pytest_evalmetrics.cases.payloads import Message
from pytest_evalmetrics.cases.spans import Span
from pytest_evalmetrics.errors import DataError

ASKED = [{"role": "user", "content": "Why?"}]
MESSAGES = (Message("user", "Why?"),)


# -- LangSmith -------------------------------------------------------------------------------

RUN = {
    "id": "r1",
    "trace_id": "t1",
    "parent_run_id": "r0",
    "name": "agent",
    "run_type": "chain",
    "inputs": {"messages": ASKED},
    "outputs": {"output": "So."},
    "error": "TimeoutError()",
    "extra": '{"metadata": {"user_id": "u1"}}',
}


def test_a_run_of_langsmith_is_a_span():
    assert list(langsmith.spans(RUN)) == [
        Span(
            span_id="r1",
            trace_id="t1",
            parent_id="r0",
            name="agent",
            question="Why?",
            answer="So.",
            messages=MESSAGES,
            error="TimeoutError()",
            record={
                "inputs": {"messages": ASKED},
                "outputs": {"output": "So."},
                "extra": {"metadata": {"user_id": "u1"}},
            },
        )
    ]


def test_a_run_of_langsmith_without_further_fields_is_its_own_trace():
    (span,) = langsmith.spans({"id": "r1", "run_type": "llm", "inputs": {}})
    assert (span.span_id, span.trace_id, span.parent_id) == ("r1", "r1", "")
    assert (span.name, span.question, span.answer, span.error) == ("", "", "", "")


def test_the_runs_below_a_run_of_langsmith_follow_it():
    below = {"id": "r3", "run_type": "retriever", "outputs": {"documents": ["one"]}}
    child = {"id": "r2", "run_type": "tool", "outputs": {"output": "12"}}
    spans = list(
        langsmith.spans(RUN | {"child_runs": [child | {"child_runs": [below]}]})
    )
    assert [span.span_id for span in spans] == ["r1", "r2", "r3"]
    assert [span.context for span in spans] == [(), ("12",), ("one",)]


# -- Langfuse --------------------------------------------------------------------------------

OBSERVATION = {
    "id": "o1",
    "traceId": "t1",
    "parentObservationId": "o0",
    "name": "generation",
    "type": "GENERATION",
    "input": json.dumps(ASKED),
    "output": '{"answer": "So."}',
    "metadata": '{"customer_name": "Ada"}',
    "userId": "u1",
    "level": "ERROR",
    "statusMessage": "too long",
}
SNAKE_CASE = {
    "traceId": "trace_id",
    "parentObservationId": "parent_observation_id",
    "userId": "user_id",
    "statusMessage": "status_message",
}


@pytest.mark.parametrize("names", [{}, SNAKE_CASE], ids=["camel case", "snake case"])
def test_an_observation_of_langfuse_is_a_span(names):
    row = {names.get(key, key): value for key, value in OBSERVATION.items()}
    assert list(langfuse.spans(row)) == [
        Span(
            span_id="o1",
            trace_id="t1",
            parent_id="o0",
            name="generation",
            question="Why?",
            answer="So.",
            messages=MESSAGES,
            error="too long",
            record={
                "input": ASKED,
                "output": {"answer": "So."},
                "metadata": {"customer_name": "Ada"},
                "userId": "u1",
            },
        )
    ]


@pytest.mark.parametrize(
    ("level", "message", "error"),
    [
        ("ERROR", None, "failed"),
        ("WARNING", "slow", ""),
        ("DEFAULT", "slow", ""),
        (None, "slow", ""),
    ],
)
def test_an_observation_of_langfuse_failed_if_its_level_says_so(level, message, error):
    (span,) = langfuse.spans(OBSERVATION | {"level": level, "statusMessage": message})
    assert span.error == error


def test_the_observations_of_a_langfuse_trace_are_below_it():
    document = {
        "id": "t1",
        "name": "chat",
        "input": "Why?",
        "output": "So.",
        "observations": [
            {"id": "o1", "type": "SPAN"},
            {"id": "o2", "type": "RETRIEVER", "output": ["one"]}
            | {"parentObservationId": "o1"},
        ],
    }
    spans = list(langfuse.spans(document))
    assert [(span.span_id, span.trace_id, span.parent_id) for span in spans] == [
        ("t1", "t1", ""),
        ("o1", "t1", "t1"),
        ("o2", "t1", "o1"),
    ]
    assert spans[0].question == "Why?"
    assert spans[2].context == ("one",)


def test_a_download_of_langfuse_has_the_trace_beside_its_observations():
    document = {"trace": {"id": "t1", "input": "Why?"}, "observations": [{"id": "o1"}]}
    root, below = langfuse.spans(document)
    assert (root.span_id, root.question) == ("t1", "Why?")
    assert (below.span_id, below.parent_id, below.name) == ("o1", "t1", "")


# -- Phoenix ---------------------------------------------------------------------------------

ATTRIBUTES = {
    "input": {"value": json.dumps({"messages": ASKED})},
    "output": {"value": "So."},
}
PHOENIX = {
    "name": "tool",
    "span_kind": "TOOL",
    "parent_id": "s0",
    "status_code": "ERROR",
    "status_message": "too long",
    "context": {"trace_id": "t1", "span_id": "s1"},
    "attributes": ATTRIBUTES,
}
COLUMNS = {
    "name": "tool",
    "span_kind": "TOOL",
    "parent_id": "s0",
    "status_code": "ERROR",
    "status_message": "too long",
    "context.trace_id": "t1",
    "context.span_id": "s1",
    "attributes.input.value": json.dumps({"messages": ASKED}),
    "attributes.output.value": "So.",
    "attributes.llm.token_count": None,
}


@pytest.mark.parametrize("document", [PHOENIX, COLUMNS], ids=["API", "data frame"])
def test_a_span_of_phoenix_is_read_of_the_api_and_of_the_data_frame(document):
    assert list(phoenix.spans(document)) == [
        Span(
            span_id="s1",
            trace_id="t1",
            parent_id="s0",
            name="tool",
            question="Why?",
            answer="So.",
            messages=MESSAGES,
            context=("So.",),  # of a tool
            error="too long",
            record={
                "input.value": json.dumps({"messages": ASKED}),
                "output.value": "So.",
                "openinference.span.kind": "TOOL",
            },
        )
    ]


def test_a_span_of_phoenix_that_did_not_fail_has_no_error():
    (span,) = phoenix.spans(PHOENIX | {"status_code": "OK"})
    assert span.error == ""
    (span,) = phoenix.spans(PHOENIX | {"status_message": ""})
    assert span.error == "failed"


def test_a_span_of_phoenix_without_further_fields_is_a_root():
    (span,) = phoenix.spans({"context": {"trace_id": "t1", "span_id": "s1"}})
    assert (span.parent_id, span.name, span.record) == ("", "", {})


def test_the_kind_that_attributes_state_goes_before_the_column():
    attributes = {"openinference": {"span": {"kind": "LLM"}}}
    (span,) = phoenix.spans(PHOENIX | {"attributes": attributes | ATTRIBUTES})
    assert span.context == ()


def test_events_of_phoenix_are_read():
    event = {"name": "gen_ai.user.message", "attributes": {"content": "Why?"}}
    (span,) = phoenix.spans(PHOENIX | {"attributes": {}, "events": [event]})
    assert span.question == "Why?"


# -- OpenTelemetry ---------------------------------------------------------------------------


def pairs(**values):
    return [
        {"key": key.replace("__", "."), "value": {"stringValue": value}}
        for key, value in values.items()
    ]


OTLP = {
    "traceId": "t1",
    "spanId": "s1",
    "parentSpanId": "s0",
    "name": "chat",
    "startTimeUnixNano": "1",
    "attributes": pairs(input__value=json.dumps(ASKED), output__value="So."),
    "status": {"code": 2, "message": "too long"},
}


def test_a_span_of_otlp_is_read():
    assert list(opentelemetry.spans(OTLP)) == [
        Span(
            span_id="s1",
            trace_id="t1",
            parent_id="s0",
            name="chat",
            question="Why?",
            answer="So.",
            messages=MESSAGES,
            error="too long",
            record={"input.value": json.dumps(ASKED), "output.value": "So."},
        )
    ]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        ({"code": "STATUS_CODE_ERROR", "message": "too long"}, "too long"),
        ({"code": 2}, "failed"),
        ({"code": 1, "message": "fine"}, ""),
        ({}, ""),
        (None, ""),
    ],
)
def test_a_span_of_otlp_failed_if_its_status_says_so(status, error):
    (span,) = opentelemetry.spans(OTLP | {"status": status})
    assert span.error == error


def test_a_span_of_otlp_without_a_parent_is_a_root():
    (span,) = opentelemetry.spans({"traceId": "t1", "spanId": "s1"})
    assert (span.parent_id, span.name, span.question, span.record) == ("", "", "", {})


@pytest.mark.parametrize("scopes", ["scopeSpans", "instrumentationLibrarySpans"])
def test_the_spans_of_all_resources_and_scopes_are_read(scopes):
    def scope(*names):
        return {"spans": [{"spanId": name} for name in names]}

    document = {
        "resourceSpans": [
            {scopes: [scope("a", "b"), scope("c")]},
            {scopes: [scope("d")]},
        ]
    }
    spans = opentelemetry.spans(document)
    assert [span.span_id for span in spans] == ["a", "b", "c", "d"]


def test_events_of_otlp_are_read():
    events = [
        {"name": "gen_ai.user.message", "attributes": pairs(content="Why?")},
        {"name": "gen_ai.choice", "attributes": pairs(content="So.")},
    ]
    (span,) = opentelemetry.spans(OTLP | {"attributes": [], "events": events})
    assert (span.question, span.answer) == ("Why?", "So.")


@pytest.mark.parametrize(
    "layout", [langfuse, langsmith, opentelemetry], ids=lambda layout: layout.__name__
)
def test_a_record_without_an_id_has_an_empty_one(layout):
    (span,) = layout.spans({})
    assert (span.span_id, span.trace_id, span.name) == ("", "", "")


# -- which tool wrote a file -----------------------------------------------------------------

DOCUMENTS = [
    ("opentelemetry", {"resourceSpans": []}),
    ("opentelemetry", OTLP),
    ("langsmith", RUN),
    ("phoenix", PHOENIX),
    ("phoenix", COLUMNS),
    ("langfuse", OBSERVATION),
    ("langfuse", {"trace": {}, "observations": []}),
    *(
        ("langfuse", {"id": "x", "input": "", "output": "", key: "y"})
        for key in (
            "observations",
            "traceId",
            "trace_id",
            "sessionId",
            "session_id",
            "userId",
        )
    ),
]


@pytest.mark.parametrize(("tool", "document"), DOCUMENTS)
def test_a_document_is_recognised_by_its_fields(tool, document):
    assert [layout.tool for layout in LAYOUTS if layout.recognises(document)] == [tool]


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"traceId": "t"},
        {"startTimeUnixNano": "1"},
        {"run_type": "llm"},
        {"inputs": {}},
        {"input": "", "output": ""},
        {"input": "", "userId": "u"},
        {"output": "", "userId": "u"},
        {"trace": {}},
        {"observations": []},
    ],
)
def test_a_document_of_another_tool_is_not_recognised(document):
    assert not any(layout.recognises(document) for layout in LAYOUTS)


# -- the records of a file -------------------------------------------------------------------


def run(name):
    return {"id": name, "run_type": "llm", "inputs": {}}


def ids(tmp_path, text):
    file = tmp_path / "trace.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    export = read_export(file)
    assert export.tool == "langsmith"
    return [span.span_id for span in export.spans]


@pytest.mark.parametrize(
    "document",
    [
        [run("a"), run("b")],
        [[run("a")], [run("b")]],
        {"data": [run("a"), run("b")]},
        {"runs": [run("a"), run("b")], "cursor": None, "total": 2},
        {"spans": [run("a"), run("b")]},
        {"traces": [run("a"), run("b")], "meta": {}},
    ],
)
def test_the_records_of_a_page_or_a_list_are_read(tmp_path, document):
    assert ids(tmp_path, json.dumps(document)) == ["a", "b"]


def test_lines_of_json_are_read_and_empty_ones_are_skipped(tmp_path):
    lines = [json.dumps(run("a")), "", json.dumps([run("b"), run("c")])]
    assert ids(tmp_path, "\n".join(lines)) == ["a", "b", "c"]


def test_a_byte_order_mark_is_skipped(tmp_path):
    assert ids(tmp_path, b"\xef\xbb\xbf" + json.dumps(run("a")).encode()) == ["a"]


def test_a_record_with_many_fields_is_no_page(tmp_path):
    document = run("a") | {"data": [run("b")]}
    assert ids(tmp_path, json.dumps(document)) == ["a"]


def refused(file):
    with pytest.raises(DataError) as error:
        read_export(file)
    assert error.value.file == str(file)
    return error.value


def test_a_file_that_is_not_there_is_refused(tmp_path):
    error = refused(tmp_path / "gone.json")
    assert error.message == "the trace can't be read: No such file or directory"


def test_a_file_that_is_no_text_is_refused(tmp_path):
    file = tmp_path / "trace.json"
    file.write_bytes(b"\xff\xfe")
    assert refused(file).message == "the trace is no UTF-8 text"


def test_a_line_that_is_no_json_is_refused_at_its_place(tmp_path):
    file = tmp_path / "trace.json"
    file.write_text(f"{json.dumps(run('a'))}\n\nno json\n")
    error = refused(file)
    assert error.line == 3
    assert error.message.startswith(
        "this is neither JSON nor a line of JSON: Expecting"
    )


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ('{"b": 1, "a": 2}', "b, a"),
        ("[]", "nothing"),
        ("3", "nothing"),
        ('{"resourceSpans": []}', "resourceSpans"),
    ],
)
def test_a_file_of_no_tool_is_refused_with_the_keys_that_it_has(tmp_path, text, keys):
    file = tmp_path / "trace.json"
    file.write_text(text)
    error = refused(file)
    assert error.message == (
        f"this is no export of traces that is known: its first record has {keys}"
    )
    assert error.hint == (
        "export the trace as JSON from OpenTelemetry (OTLP), Langfuse, Phoenix or LangSmith"
    )
