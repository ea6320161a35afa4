"""A trace becomes a case, in the layouts that the tools write.

Sources of the layouts: OTLP's JSON encoding and OpenTelemetry's GenAI conventions (messages as
attributes since 1.37, as events before), OpenLLMetry's indexed attributes; Langfuse's reference of
exported fields and its API's TraceWithFullDetails; Phoenix's REST schema of a span and the columns
of its data frame (OpenInference); LangSmith's page on the format of a run and its bulk export.
"""

import json

import pytest

from pytest_evalmetrics.cases import main
from pytest_evalmetrics.cases.exports import read_export
from pytest_evalmetrics.cases.spans import case_of

QUESTION = "What does the Basic plan cost?"
ANSWER = "The Basic plan costs 8 euros."
DOCUMENT = "Since May the Basic plan costs 12 euros."


def case_in(tmp_path, document, span=""):
    file = tmp_path / "trace.json"
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    export = read_export(file)
    return export.tool, case_of(export.spans, span, str(file))


def otlp_attributes(**values):
    return [
        {"key": key.replace("__", "."), "value": {"stringValue": value}}
        for key, value in values.items()
    ]


def otlp(*spans):
    scope = {"scope": {"name": "shop"}, "spans": list(spans)}
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [scope]}]}


def otlp_span(span_id, parent, attributes, **more):
    return {
        "traceId": "5b8efff798038103d269b633813fc60c",
        "spanId": span_id,
        "parentSpanId": parent,
        "name": span_id,
        "kind": 1,
        "startTimeUnixNano": "1544712660000000000",
        "endTimeUnixNano": "1544712661000000000",
        "attributes": attributes,
        **more,
    }


def test_opentelemetry_messages_of_attributes_are_read_with_what_was_retrieved(
    tmp_path,
):
    asked = [
        {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
        {"role": "user", "parts": [{"type": "text", "content": QUESTION}]},
    ]
    answered = [
        {
            "role": "assistant",
            "parts": [{"type": "text", "content": ANSWER}],
            "finish_reason": "stop",
        }
    ]
    document = otlp(
        otlp_span("root", "", otlp_attributes(http__route="/chat")),
        otlp_span(
            "agent",
            "root",
            otlp_attributes(
                gen_ai__operation__name="invoke_agent",
                gen_ai__input__messages=json.dumps(asked),
                gen_ai__output__messages=json.dumps(answered),
            ),
        ),
        otlp_span(
            "tool",
            "agent",
            otlp_attributes(
                gen_ai__operation__name="execute_tool",
                gen_ai__tool__call__result=DOCUMENT,
            ),
        ),
    )
    tool, case = case_in(tmp_path, document)
    assert tool == "opentelemetry"
    assert case.span_id == "agent"
    assert case.question == QUESTION
    assert case.wrong_answer == ANSWER
    assert case.context == (DOCUMENT,)


def test_opentelemetry_messages_of_events_are_read(tmp_path):
    choice = json.dumps({"role": "assistant", "content": ANSWER})
    events = [
        {
            "name": "gen_ai.user.message",
            "attributes": otlp_attributes(content=QUESTION),
        },
        {"name": "gen_ai.choice", "attributes": otlp_attributes(message=choice)},
    ]
    _, case = case_in(tmp_path, otlp(otlp_span("a", "", [], events=events)))
    assert case.question == QUESTION
    assert case.wrong_answer == ANSWER


def test_indexed_attributes_of_openllmetry_are_read(tmp_path):
    attributes = otlp_attributes(
        gen_ai__prompt__0__role="user",
        gen_ai__prompt__0__content=QUESTION,
        gen_ai__completion__0__role="assistant",
        gen_ai__completion__0__content=ANSWER,
    )
    _, case = case_in(tmp_path, otlp(otlp_span("a", "", attributes)))
    assert case.question == QUESTION
    assert case.wrong_answer == ANSWER


def test_otlp_spans_are_read_from_json_lines(tmp_path):
    attributes = otlp_attributes(input__value=QUESTION, output__value=ANSWER)
    lines = [
        json.dumps(otlp(otlp_span("a", "", attributes))),
        json.dumps(otlp(otlp_span("b", "a", []))),
    ]
    _, case = case_in(tmp_path, "\n".join(lines))
    assert case.question == QUESTION


def test_a_langfuse_trace_is_read_with_the_documents_of_its_retriever(tmp_path):
    document = {
        "id": "trace-1",
        "name": "chat",
        "userId": "ada",
        "input": {"messages": [{"role": "user", "content": QUESTION}]},
        "output": ANSWER,
        "observations": [
            {
                "id": "obs-1",
                "traceId": "trace-1",
                "type": "RETRIEVER",
                "parentObservationId": None,
                "input": QUESTION,
                "output": [{"page_content": DOCUMENT, "metadata": {}}],
            }
        ],
        "scores": [],
    }
    tool, case = case_in(tmp_path, document)
    assert tool == "langfuse"
    assert case.question == QUESTION
    assert case.wrong_answer == ANSWER
    assert case.context == (DOCUMENT,)


def test_a_downloaded_langfuse_trace_keeps_its_observations_apart(tmp_path):
    trace = {"id": "trace-1", "input": QUESTION, "output": None}
    generation = {
        "id": "g",
        "type": "GENERATION",
        "parentObservationId": None,
        "input": [{"role": "user", "content": QUESTION}],
        "output": {"role": "assistant", "content": ANSWER},
    }
    _, case = case_in(tmp_path, {"trace": trace, "observations": [generation]})
    assert case.wrong_answer == ANSWER


def test_rows_of_langfuse_blob_storage_hold_json_as_text(tmp_path):
    row = {
        "id": "obs-1",
        "trace_id": "trace-1",
        "type": "GENERATION",
        "parent_observation_id": "",
        "input": json.dumps([{"role": "user", "content": QUESTION}]),
        "output": json.dumps({"role": "assistant", "content": ANSWER}),
    }
    tool, case = case_in(
        tmp_path, json.dumps(row) + "\n" + json.dumps(row | {"id": "2"})
    )
    assert tool == "langfuse"
    assert case.question == QUESTION
    assert case.wrong_answer == ANSWER


def phoenix_span(span_id, parent, kind, attributes):
    return {
        "id": f"U3Bhbjo{span_id}",
        "name": span_id,
        "context": {"trace_id": "t1", "span_id": span_id},
        "span_kind": kind,
        "parent_id": parent,
        "start_time": "2026-06-01T10:00:00Z",
        "end_time": "2026-06-01T10:00:01Z",
        "status_code": "OK",
        "status_message": "",
        "attributes": attributes,
        "events": [],
    }


def test_phoenix_spans_of_the_api_are_read(tmp_path):
    document = {
        "data": [
            phoenix_span(
                "a",
                None,
                "CHAIN",
                {
                    "input.value": json.dumps({"question": QUESTION}),
                    "output.value": ANSWER,
                },
            ),
            phoenix_span(
                "b",
                "a",
                "RETRIEVER",
                {"retrieval.documents.0.document.content": DOCUMENT},
            ),
        ],
        "next_cursor": None,
    }
    tool, case = case_in(tmp_path, document)
    assert tool == "phoenix"
    assert case.question == QUESTION
    assert case.wrong_answer == ANSWER
    assert case.context == (DOCUMENT,)


def test_phoenix_rows_of_the_data_frame_are_read(tmp_path):
    message = {"message.role": "user", "message.content": QUESTION}
    answer = {"message.role": "assistant", "message.content": ANSWER}
    rows = [
        {
            "context.span_id": "a",
            "context.trace_id": "t1",
            "parent_id": None,
            "span_kind": "LLM",
            "attributes.llm.input_messages": [message],
            "attributes.llm.output_messages": [answer],
        }
    ]
    tool, case = case_in(tmp_path, rows)
    assert tool == "phoenix"
    assert case.question == QUESTION
    assert case.wrong_answer == ANSWER


def test_a_langsmith_run_is_read_with_langchain_messages(tmp_path):
    human = {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", "HumanMessage"],
        "kwargs": {"content": QUESTION, "type": "human"},
    }
    generation = {"text": ANSWER, "message": {"kwargs": {"content": ANSWER}}}
    document = {
        "id": "run-1",
        "trace_id": "run-1",
        "name": "ChatOpenAI",
        "run_type": "llm",
        "inputs": {"messages": [[human]]},
        "outputs": {"generations": [[generation]]},
        "error": None,
        "child_runs": [],
    }
    tool, case = case_in(tmp_path, document)
    assert tool == "langsmith"
    assert case.question == QUESTION
    assert case.wrong_answer == ANSWER


def test_langsmith_runs_of_a_query_are_joined_by_their_parents(tmp_path):
    root = {
        "id": "run-1",
        "trace_id": "run-1",
        "run_type": "chain",
        "parent_run_id": None,
        "inputs": {"question": QUESTION},
        "outputs": {"answer": ANSWER},
    }
    retriever = {
        "id": "run-2",
        "trace_id": "run-1",
        "run_type": "retriever",
        "parent_run_id": "run-1",
        "inputs": {"query": "price"},
        "outputs": {"documents": [{"page_content": DOCUMENT, "type": "Document"}]},
    }
    tool, case = case_in(tmp_path, {"runs": [retriever, root], "cursors": {}})
    assert tool == "langsmith"
    assert case.question == QUESTION
    assert case.context == (DOCUMENT,)


def test_langsmith_rows_of_a_bulk_export_hold_json_as_text(tmp_path):
    row = {
        "id": "run-1",
        "run_type": "chain",
        "inputs": json.dumps({"messages": [{"type": "human", "content": QUESTION}]}),
        "outputs": json.dumps({"messages": [{"type": "ai", "content": ANSWER}]}),
    }
    _, case = case_in(tmp_path, json.dumps(row))
    assert case.question == QUESTION
    assert case.wrong_answer == ANSWER


def test_a_failed_span_gives_its_error_in_place_of_an_answer(tmp_path):
    row = {"id": "1", "run_type": "chain", "inputs": {"question": QUESTION}}
    _, case = case_in(tmp_path, row | {"outputs": None, "error": "TimeoutError()"})
    assert case.wrong_answer == ""
    assert case.error == "TimeoutError()"


def test_one_of_several_traces_has_to_be_named(tmp_path, capsys):
    rows = [
        {"id": name, "run_type": "chain", "inputs": {"question": name}}
        for name in ("first", "second")
    ]
    file = tmp_path / "runs.json"
    file.write_text(json.dumps(rows))
    data = tmp_path / "cases.jsonl"
    command = ["add", str(file), "--reason", "wrong", "--dataset", str(data)]
    assert main(command) == 2
    assert "2 traces: first, second" in capsys.readouterr().err
    assert main([*command, "--span", "second"]) == 0
    assert json.loads(data.read_text())["question"] == "second"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "neither JSON nor a line of JSON"),
        ('{"a": 1}', "its first record has a"),
        ("[]", "its first record has nothing"),
        ('{"id": "1", "run_type": "chain", "inputs": {}}', "has an input"),
    ],
)
def test_a_file_without_a_case_is_refused_and_nothing_is_written(
    text, message, tmp_path, capsys
):
    file = tmp_path / "trace.json"
    file.write_text(text)
    data = tmp_path / "cases.jsonl"
    assert main(["add", str(file), "--reason", "wrong", "--dataset", str(data)]) == 2
    assert message in capsys.readouterr().err
    assert not data.exists()
